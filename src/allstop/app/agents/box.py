"""The box of an agent, as [sandbox] and [limits] configure it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from allstop.adapters.processes.tools.named_programs import named_programs
from allstop.adapters.processes.tools.network_variables import NetworkVariables, network_variables
from allstop.adapters.processes.tools.person_tools import PersonTools, find_tools
from allstop.adapters.processes.tools.version_files import Asker
from allstop.ports import Box, Caps, Network
from allstop.settings.model import Network as NetworkSetting

if TYPE_CHECKING:
    from allstop.app.project import Project


def box(project: Project) -> Box:
    """A box without a home and a workspace."""
    settings = project.settings
    limits = settings.limits
    tools = person_tools(project)
    is_open = settings.sandbox.network is NetworkSetting.FULL
    connection = network_variables(asker(project)) if is_open else NetworkVariables()
    read = (os.path.expanduser(path) for path in settings.sandbox.read)  # noqa: PTH111
    return Box(
        home="",
        read=tuple(dict.fromkeys((*read, *tools.read, *connection.read))),
        path=tools.path,
        tools=tools.programs,
        env={**connection.env, **tools.env},
        network=Network.FULL if is_open else Network.NONE,
        caps=Caps(
            processes=limits.processes or Caps().processes,
            memory_mb=limits.memory_mb,
            file_mb=limits.file_mb,
        ),
    )


def asker(project: Project) -> Asker:
    """The person, in the repository's folder."""
    environment = project.environment
    return Asker(home=environment.home, folder=project.root, variables=environment.variables)


def person_tools(project: Project) -> PersonTools:
    """The person's programs that checks, the setup command and agents may run."""
    return find_tools(asker(project), programs_in_settings(project))


def programs_in_settings(project: Project) -> tuple[str, ...]:
    """The programs that the checks and the setup command name."""
    settings = project.settings
    lines = (*(check.run for check in settings.verification.commands), settings.workspace.setup)
    return tuple(dict.fromkeys(name for line in lines if line for name in named_programs(line)))


def own_box(project: Project, home: Path) -> Box:
    """A box with a home but no workspace."""
    project.make_folder()
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return replace(box(project), home=str(home))
