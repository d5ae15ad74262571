"""Agents that speak ACP: their program, key, environment and home."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from allstop.app.agents.agent_programs import (
    AgentSetupError,
    command_line,
    find_program,
)
from allstop.app.agents.box import own_box
from allstop.app.agents.gateway_presets import find_gateway_preset
from allstop.app.agents.keys import describe_key, key_for
from allstop.app.agents.logins import has_login, login_home
from allstop.app.agents.model_access import box_variable, configuration, real_key, uses_gateway
from allstop.ports import Agent as AgentPort
from allstop.ports import Launcher
from allstop.settings.detection.presets import preset_of
from allstop.settings.model import Agent

if TYPE_CHECKING:
    from allstop.app.project import Project

INSTALLS = {
    "claude-agent-acp": "npm install -g @agentclientprotocol/claude-agent-acp",
    "codex-acp": "npm install -g @agentclientprotocol/codex-acp",
}
"""How to install the adapters that speak ACP for other programs."""

DEFAULT_ENV = {
    "claude-agent-acp": {
        "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR": "1",  # the policy judges a command by its folder
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",  # nothing may outlive its turn
        "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "false",  # costs a model call that nobody reads
    }
}
"""Variables that some programs get, unless `env` sets them."""


def make_acp_agent(project: Project, launcher: Launcher, name: str, settings: Agent) -> AgentPort:
    program = find_acp(project, name, settings)
    configured = configuration(project, name, settings)
    is_metered = uses_gateway(project, name, settings)
    key = "" if is_metered else key_for(project, name, settings)
    preset = find_gateway_preset(settings) if is_metered else None
    login = has_login(project, name, settings)
    home = login_home(project, name, settings) if login else project.folder / "homes" / name
    from allstop.adapters.agents.acp import AcpAgent, SessionSettings, Setup
    from allstop.adapters.agents.turn_socket import TurnSockets

    setup = Setup(
        argv=(program, *settings.command[1:]),
        fallback_box=own_box(project, home),
        login=login,
        session=SessionSettings(
            model=None if preset and preset.sets_model else settings.model, mode=settings.mode
        ),
        key=key,
        key_name=box_variable(settings) if key else "",
        env={**DEFAULT_ENV.get(Path(program).name, {}), **configured.env},
        files=configured.files,
        flat_rate=settings.flat_rate,
    )
    sockets = TurnSockets(project.folder / "desks")
    return AcpAgent(setup, launcher=launcher, clock=project.clock, sockets=sockets)


def find_acp(project: Project, name: str, settings: Agent) -> str:
    """The path of the program that the agent's `command` names.

    Raises AgentSetupError if there is no command or no such program, or `base_url` is set.
    """
    example = 'for example command = ["claude-agent-acp"]'
    program = command_line(project, name, settings, example)[0]
    if settings.base_url is not None and not uses_gateway(project, name, settings):
        raise AgentSetupError(
            f"agent {name!r}: ACP has no way to tell a program its base_url",
            'set the program\'s own variable in env, or network = "model-only"',
            code="base_url_unsupported",
        )
    preset = preset_of(settings.command)
    install = INSTALLS.get(Path(program).name, preset.install if preset else "")
    return find_program(project, name, program, install)


def describe_acp(project: Project, name: str, settings: Agent) -> str:
    """The command line and the key's variable, for people."""
    program = find_acp(project, name, settings)
    if uses_gateway(project, name, settings):
        real_key(project, name, settings)
    else:
        key_for(project, name, settings)
    line = " ".join((program, *settings.command[1:]))
    if has_login(project, name, settings):
        return f"{line}, logged in; the agent can read that token"
    return f"{line}, {source}" if (source := describe_key(settings)) else line
