"""Programs of agents: their command line, where they are installed, their environment."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from allstop.adapters.processes.tools.version_managers import expand
from allstop.app.agents.box import asker
from allstop.core.errors import AllstopError

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.settings.model import Agent


class AgentSetupError(AllstopError):
    """An agent that can't be used as it is configured."""

    default_code = "agent_unusable"


def command_line(project: Project, name: str, settings: Agent, hint: str) -> tuple[str, ...]:
    """The program and its arguments, from the agent's `command`.

    Raises AgentSetupError if it has none, or none that the person trusts.
    """
    if settings.command:
        return tuple(settings.command)
    withheld = [each for each in project.loaded.untrusted if each.key.startswith(f"agents.{name}.")]
    raise AgentSetupError(
        f"agent {name!r} has no command",
        str(withheld[0]) if withheld else hint,
        code="agent_command_missing",
    )


def find_program(project: Project, agent: str, program: str, install: str = "") -> str:
    """The absolute path of a program on the PATH.

    Raises AgentSetupError if it is not on the PATH.
    """
    found = shutil.which(program, path=os.pathsep.join(_search_path(project)))
    if found is None:
        how = f"install it with `{install}`" if install else "install it"
        raise AgentSetupError(
            f"agent {agent!r}: the program {program!r} is not on PATH",
            f"{how}, or give its whole path with command",
            code="program_missing",
        )
    return str(Path(found).absolute())


def _search_path(project: Project) -> tuple[str, ...]:
    """The PATH with real folders instead of shims, which no sandbox can run."""
    path = project.environment.variables.get("PATH", os.defpath).split(os.pathsep)
    return expand(path, asker(project))


def environment(project: Project, settings: Agent) -> dict[str, str]:
    """The variables that `pass_env` and `env` name."""
    host = project.environment.variables
    passed = {name: host[name] for name in settings.pass_env if name in host}
    return {**passed, **settings.env}
