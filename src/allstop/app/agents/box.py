"""The box of an agent, as [sandbox] and [limits] configure it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from allstop.adapters.processes.tools.named_programs import named_programs
from allstop.adapters.processes.tools.network_variables import (
    PROXIES,
    NetworkVariables,
    network_variables,
)
from allstop.adapters.processes.tools.person_tools import PersonTools, find_tools
from allstop.adapters.processes.tools.version_files import Asker
from allstop.ports import Box, Caps, Network
from allstop.settings import networks
from allstop.settings.model import Network as NetworkSetting
from allstop.settings.model import WorkNetwork

if TYPE_CHECKING:
    from allstop.app.project import Project


def box(project: Project) -> Box:
    """An agent's box without a home and a workspace."""
    hosts = project.settings.sandbox.hosts
    network = networks.of_agents(project.settings) or NetworkSetting.FULL
    return box_with(project, network, hosts if network is NetworkSetting.ALLOW else None)


def work_box(project: Project, network: WorkNetwork, hosts: Iterable[str]) -> Box:
    """The box of checks or of the setup command, without a home and a workspace."""
    allowed = tuple(hosts) if network is WorkNetwork.ALLOW else None
    return box_with(project, NetworkSetting(network.value), allowed)


def box_with(project: Project, network: NetworkSetting, hosts: tuple[str, ...] | None) -> Box:
    settings = project.settings
    limits = settings.limits
    tools = person_tools(project)
    connection = _variables(project, network)
    read = (os.path.expanduser(path) for path in settings.sandbox.read)  # noqa: PTH111
    return Box(
        home="",
        read=tuple(dict.fromkeys((*read, *tools.read, *connection.read))),
        path=tools.path,
        tools=tools.programs,
        env={**connection.env, **tools.env},
        network=Network.FULL if network is NetworkSetting.FULL else Network.NONE,
        hosts=hosts,
        caps=Caps(
            processes=limits.processes or Caps().processes,
            memory_mb=limits.memory_mb,
            file_mb=limits.file_mb,
        ),
    )


def without_network(project: Project, box: Box) -> Box:
    """The box without the whole network, and without what programs need only for that."""
    if box.network is Network.NONE:
        return box
    given, own = network_variables(asker(project)), project.settings.sandbox.read
    kept = {*map(os.path.expanduser, own), *person_tools(project).read}
    return replace(
        box,
        network=Network.NONE,
        env={name: value for name, value in box.env.items() if name not in given.env},
        read=tuple(path for path in box.read if path in kept or path not in given.read),
    )


def _variables(project: Project, network: NetworkSetting) -> NetworkVariables:
    """The person's proxies reach only a box with the whole network; allowed hosts need certificates."""
    match network:
        case NetworkSetting.FULL:
            return network_variables(asker(project))
        case NetworkSetting.ALLOW:
            found = network_variables(asker(project))
            kept = {name: value for name, value in found.env.items() if name not in PROXIES}
            return NetworkVariables(env=kept, read=found.read)
        case _:
            return NetworkVariables()


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
