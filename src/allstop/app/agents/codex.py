"""Agents that are codex: its program, key or login, and home."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.app.agents.agent_programs import environment, find_program
from allstop.app.agents.box import own_box
from allstop.app.agents.keys import describe_key, key_for, key_name
from allstop.app.agents.logins import has_login, login_home
from allstop.app.agents.model_access import Access, access, outside_login
from allstop.app.agents.outside_logins import box_files
from allstop.app.agents.prices import PRICED_AS, token_price
from allstop.ports import Agent as AgentPort
from allstop.ports import Launcher
from allstop.settings.approval_rules import restricts_commands
from allstop.settings.model import Agent

if TYPE_CHECKING:
    from allstop.app.project import Project

INSTALL = "npm install -g @openai/codex"


def make_codex_agent(project: Project, launcher: Launcher, name: str, settings: Agent) -> AgentPort:
    """The box is its sandbox. Unattended, it asks only before it leaves the box."""
    program, outside = find_codex(project, name, settings), outside_login(project, name, settings)
    login = outside is None and has_login(project, name, settings)
    base_url, key = Access(None, "") if login else access(project, name, settings)
    from allstop.adapters.agents.codex import CodexAgent, Setup

    home = login_home(project, name, settings) if login else project.folder / "homes" / name
    setup = Setup(
        program=program,
        fallback_box=own_box(project, home),
        model=settings.model,
        base_url=base_url,
        key=key,
        key_name=key_name(settings) if key else "",
        login=login,
        files=box_files(project, outside),
        env=environment(project, settings),
        ruled=launcher.isolation.boxed or restricts_commands(project.settings.approvals.rules),
    )
    return CodexAgent(
        setup,
        name=name,
        launcher=launcher,
        clock=project.clock,
        price_of=lambda model: token_price(
            project,
            PRICED_AS[settings.driver],
            model,
            free=login or outside is not None or settings.flat_rate,
        ),
    )


def find_codex(project: Project, name: str, settings: Agent) -> str:
    """The path of the program that the agent's `command` names, or of `codex`."""
    return find_program(
        project, name, settings.command[0] if settings.command else "codex", INSTALL
    )


def describe_codex(project: Project, name: str, settings: Agent) -> str:
    """The program, and its login or the key's variable, for people."""
    program = find_codex(project, name, settings)
    if outside_login(project, name, settings) is not None:
        return f"{program}, logged in; its token stays outside the box"
    if has_login(project, name, settings):
        return f"{program}, logged in; the agent can read that token"
    key_for(project, name, settings)
    return f"{program}, {source}" if (source := describe_key(settings)) else program
