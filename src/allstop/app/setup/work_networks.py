"""The rows of `doctor` about what checks and the setup command can reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio.to_thread

from allstop.adapters.git.repository.repository import Repository
from allstop.app import runtime
from allstop.app.gateway.lock_files import LockFile, LockFiles
from allstop.core.errors import AllstopError
from allstop.settings import networks
from allstop.settings.model import WorkNetwork

if TYPE_CHECKING:
    from allstop.app.project import Project

MAX_SHOWN = 8


async def lock_files_of_target(project: Project) -> tuple[LockFile, ...]:
    """Those of the branch that work starts from; none if there is no such branch."""
    if project.root is None:
        return ()
    repository = Repository(project.root)
    try:
        branch = runtime.target(project)
        (tree,) = await repository.resolve(f"refs/heads/{branch}^{{tree}}")
        return await LockFiles(repository).of(tree) if tree else ()
    except AllstopError:
        return ()
    finally:
        await anyio.to_thread.run_sync(repository.close)


def describe(project: Project, files: Sequence[LockFile]) -> str:
    """What checks, and the setup command if there is one, can reach."""
    settings = project.settings
    of_checks = networks.of_checks(settings), settings.verification.hosts
    of_setup = networks.of_setup(settings), settings.workspace.hosts
    if not settings.workspace.setup:
        return _reach(*of_checks, files)
    if of_checks == of_setup:
        return f"checks and setup: {_reach(*of_checks, files)}"
    return f"checks: {_reach(*of_checks, files)}; setup: {_reach(*of_setup, files)}"


def _reach(network: WorkNetwork, hosts: Sequence[str], files: Sequence[LockFile]) -> str:
    if network is WorkNetwork.FULL:
        return "the whole network"
    if network is WorkNetwork.NONE:
        return "no network"
    named = [f"{_list(file.hosts)} ({file.path})" for file in files if file.hosts]
    own = [f"{_list(hosts)} (hosts)"] if hosts else []
    return f"only {', '.join((*named[:MAX_SHOWN], *own))}" if named or own else "no host"


def _list(hosts: Sequence[str]) -> str:
    more = [f"{len(hosts) - MAX_SHOWN} more"] if len(hosts) > MAX_SHOWN else []
    return ", ".join((*hosts[:MAX_SHOWN], *more))
