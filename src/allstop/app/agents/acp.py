"""Agents that speak ACP: which program, which key it is given, where it lives."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from allstop.app.agents.api_models import AgentSetupError, key_for, key_name
from allstop.app.agents.box import own_box
from allstop.ports import Agent as AgentPort
from allstop.ports import Launcher
from allstop.settings.model import Agent

if TYPE_CHECKING:
    from allstop.app.project import Project

INSTALLS = {
    "claude-agent-acp": "npm install -g @agentclientprotocol/claude-agent-acp",
    "codex-acp": "npm install -g @agentclientprotocol/codex-acp",
    "gemini": "npm install -g @google/gemini-cli",
    "opencode": "npm install -g opencode-ai",
}
"""How the programs come that are known to speak it."""

HABITS = {
    "claude-agent-acp": {
        "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR": "1",  # a command is judged by where it runs
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",  # a turn's end is the end of all in it
        "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",  # asks its model what we may say next
    }
}
"""What some of them are told, unless `env` says otherwise."""


def hire_acp(project: Project, launcher: Launcher, name: str, settings: Agent) -> AgentPort:
    """It works in its box, and asks for what it would ask a person about."""
    program, key = find_acp(project, name, settings), key_for(project, name, settings)
    from allstop.adapters.agents.acp import AcpAgent, SessionSettings, Setup
    from allstop.adapters.agents.turn_socket import TurnSockets

    host = project.environment.variables
    passed = {each: host[each] for each in settings.pass_env if each in host}
    setup = Setup(
        argv=(program, *settings.command[1:]),
        fallback_box=own_box(project, project.folder / "homes" / name),
        session=SessionSettings(model=settings.model, mode=settings.mode),
        key=key,
        key_name=key_name(settings) if key else "",
        env={**HABITS.get(Path(program).name, {}), **passed, **settings.env},
        flat_rate=settings.flat_rate,
    )
    sockets = TurnSockets(project.folder / "desks")
    return AcpAgent(setup, launcher=launcher, clock=project.clock, sockets=sockets)


def find_acp(project: Project, name: str, settings: Agent) -> str:
    """The program that its `command` names, as this machine finds it.

    Raises:
        CrewError: it names none, or one that isn't here, or what ACP has no place for.
    """
    if not settings.command:
        withheld = [u for u in project.loaded.untrusted if u.key.startswith(f"agents.{name}.")]
        hint = str(withheld[0]) if withheld else 'for example command = ["claude-agent-acp"]'
        raise AgentSetupError(f"agent {name!r} has no command", hint)
    if settings.base_url is not None:
        raise AgentSetupError(
            f"agent {name!r}: ACP has no way to tell a program its base_url",
            "give the program's own variable in env",
        )
    wanted = settings.command[0]
    found = shutil.which(wanted, path=project.environment.variables.get("PATH"))
    if found is None:
        install = INSTALLS.get(Path(wanted).name)
        how = f"install it with `{install}`" if install else "install it"
        raise AgentSetupError(
            f"agent {name!r}: the program {wanted!r} is not on PATH",
            f"{how}, or give its whole path with command",
        )
    return str(Path(found).absolute())


def where_acp(project: Project, name: str, settings: Agent) -> str:
    """What would be started, for people."""
    program = find_acp(project, name, settings)
    key_for(project, name, settings)
    line = " ".join((program, *settings.command[1:]))
    return f"{line}, {variable} is set" if (variable := key_name(settings)) else line
