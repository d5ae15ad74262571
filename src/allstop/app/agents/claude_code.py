"""Agents that are Claude Code: where it is, which key it is given, where it lives."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from allstop.app.agents.api_models import AgentSetupError, key_for, key_name
from allstop.app.agents.box import own_box
from allstop.app.agents.logins import has_login, login_home
from allstop.ports import Agent as AgentPort
from allstop.ports import Launcher
from allstop.settings.model import Agent

if TYPE_CHECKING:
    from allstop.app.project import Project

INSTALL = "npm install -g @anthropic-ai/claude-code"
NO_KEY = "none"
"""It does not start without one, also where the endpoint wants none."""


def hire_claude(project: Project, launcher: Launcher, name: str, settings: Agent) -> AgentPort:
    """Where a turn does not ask first, files in its workspace are its own to change."""
    path, login = find_claude(project, name, settings), has_login(project, name, settings)
    key = "" if login else key_for(project, name, settings) or NO_KEY
    from allstop.adapters.agents.claude_code import ClaudeCodeAgent, PermissionMode, Program

    home = login_home(project, name, settings) if login else project.folder / "homes" / name
    host = project.environment.variables
    passed = {each: host[each] for each in settings.pass_env if each in host}
    program = Program(
        path=path,
        key=key,
        login=login,
        base_url=settings.base_url,
        model=settings.model,
        env={**passed, **settings.env},
        permissions=PermissionMode.EDITS,
        ruled=True,
    )
    return ClaudeCodeAgent(
        program,
        launcher=launcher,
        clock=project.clock,
        fallback_box=own_box(project, home),
        flat_rate=login or settings.flat_rate,
    )


def find_claude(project: Project, name: str, settings: Agent) -> str:
    """The program, by the agent's own `command` or as this machine finds it."""
    wanted = settings.command[0] if settings.command else "claude"
    found = shutil.which(wanted, path=project.environment.variables.get("PATH"))
    if found is None:
        raise AgentSetupError(
            f"agent {name!r}: the program {wanted!r} is not on PATH",
            f"install it with `{INSTALL}`, or give its whole path with command",
        )
    return found


def where_claude(project: Project, name: str, settings: Agent) -> str:
    """What would be started, for people."""
    if has_login(project, name, settings):
        return f"{find_claude(project, name, settings)}, logged in; the agent can read that token"
    key_for(project, name, settings)
    with_key = f", {variable} is set" if (variable := key_name(settings)) else ""
    return f"{find_claude(project, name, settings)}{with_key}"
