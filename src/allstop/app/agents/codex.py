"""Agents that are codex: where it is, which key or login it is given, where it lives."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from allstop.app.agents.api_models import AgentSetupError, key_for, key_name
from allstop.app.agents.box import own_box
from allstop.app.agents.logins import has_login, login_home
from allstop.app.agents.prices import tariff
from allstop.ports import Agent as AgentPort
from allstop.ports import Launcher
from allstop.settings.approval_rules import restricts_commands
from allstop.settings.model import Agent

if TYPE_CHECKING:
    from allstop.app.project import Project

INSTALL = "npm install -g @openai/codex"


def hire_codex(project: Project, launcher: Launcher, name: str, settings: Agent) -> AgentPort:
    """Its box is its sandbox; where a person is there it asks first, else for what leads out of it."""
    program, login = find_codex(project, name, settings), has_login(project, name, settings)
    key = "" if login else key_for(project, name, settings)
    from allstop.adapters.agents.codex import CodexAgent, Setup

    home = login_home(project, name, settings) if login else project.folder / "homes" / name
    host = project.environment.variables
    passed = {each: host[each] for each in settings.pass_env if each in host}
    setup = Setup(
        program=program,
        fallback_box=own_box(project, home),
        model=settings.model,
        base_url=settings.base_url,
        key=key,
        key_name=key_name(settings) if key else "",
        login=login,
        env={**passed, **settings.env},
        ruled=launcher.isolation.boxed or restricts_commands(project.settings.approvals.rules),
    )
    return CodexAgent(
        setup,
        name=name,
        launcher=launcher,
        clock=project.clock,
        price_of=lambda model: tariff(
            project, settings.driver, model, free=login or settings.flat_rate
        ),
    )


def find_codex(project: Project, name: str, settings: Agent) -> str:
    """The program, by the agent's own `command` or as this machine finds it."""
    wanted = settings.command[0] if settings.command else "codex"
    found = shutil.which(wanted, path=project.environment.variables.get("PATH"))
    if found is None:
        raise AgentSetupError(
            f"agent {name!r}: the program {wanted!r} is not on PATH",
            f"install it with `{INSTALL}`, or give its whole path with command",
        )
    return str(Path(found).absolute())


def where_codex(project: Project, name: str, settings: Agent) -> str:
    """What would be started, for people."""
    program = find_codex(project, name, settings)
    if has_login(project, name, settings):
        return f"{program}, logged in; the agent can read that token"
    key_for(project, name, settings)
    return f"{program}, {variable} is set" if (variable := key_name(settings)) else program
