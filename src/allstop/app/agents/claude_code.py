"""Agents that are Claude Code: its program, key or login, and home."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.app.agents.agent_programs import environment, find_program
from allstop.app.agents.box import own_box
from allstop.app.agents.keys import describe_key, key_for
from allstop.app.agents.logins import has_login, login_home
from allstop.app.agents.model_access import Access, access, outside_login
from allstop.app.agents.outside_logins import box_files
from allstop.metering.stored_logins import is_claude_token
from allstop.ports import Agent as AgentPort
from allstop.ports import Launcher
from allstop.settings.model import Agent

if TYPE_CHECKING:
    from allstop.app.project import Project

KEY_VARIABLE, TOKEN_VARIABLE = "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"
INSTALL = "npm install -g @anthropic-ai/claude-code"
NO_KEY = "none"
"""Claude Code doesn't start without a key, even if the endpoint needs none."""


def make_claude_agent(
    project: Project, launcher: Launcher, name: str, settings: Agent
) -> AgentPort:
    """In turns that don't ask first, the agent may edit files in its workspace unasked."""
    path, outside = find_claude(project, name, settings), outside_login(project, name, settings)
    login = outside is None and has_login(project, name, settings)
    base_url, key = Access(None, "") if login else access(project, name, settings)
    from allstop.adapters.agents.claude_code import ClaudeCodeAgent, PermissionMode, Program

    home = login_home(project, name, settings) if login else project.folder / "homes" / name
    program = Program(
        path=path,
        key=key or NO_KEY,
        key_name=TOKEN_VARIABLE if _is_token(project, name, settings) else KEY_VARIABLE,
        login=login,
        files=box_files(project, outside),
        base_url=base_url,
        model=settings.model,
        env=environment(project, settings),
        permissions=PermissionMode.EDITS,
        ruled=True,
    )
    return ClaudeCodeAgent(
        program,
        launcher=launcher,
        clock=project.clock,
        fallback_box=own_box(project, home),
        flat_rate=login or outside is not None or settings.flat_rate,
    )


def _is_token(project: Project, name: str, settings: Agent) -> bool:
    """Whether what stands for the key is a token of `claude setup-token`."""
    if has_login(project, name, settings):
        return False
    return is_claude_token(key_for(project, name, settings))


def find_claude(project: Project, name: str, settings: Agent) -> str:
    """The path of the program that the agent's `command` names, or of `claude`."""
    return find_program(
        project, name, settings.command[0] if settings.command else "claude", INSTALL
    )


def describe_claude(project: Project, name: str, settings: Agent) -> str:
    """The program, and its login or the key's variable, for people."""
    if outside_login(project, name, settings) is not None:
        return f"{find_claude(project, name, settings)}, logged in; its token stays outside the box"
    if has_login(project, name, settings):
        return f"{find_claude(project, name, settings)}, logged in; the agent can read that token"
    key_for(project, name, settings)
    with_key = f", {source}" if (source := describe_key(settings)) else ""
    return f"{find_claude(project, name, settings)}{with_key}"
