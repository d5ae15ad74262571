"""What the doctor finds of a fleet: the database, this machine's clock, and the shared remote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.app import runtime
from allstop.app.machines import clock_warning
from allstop.app.project import SQLITE
from allstop.app.setup.doctor import Finding
from allstop.core.errors import AllstopError

if TYPE_CHECKING:
    from allstop.app.project import Project


async def fleet_findings(project: Project) -> list[Finding]:
    """Nothing without a store on a server, or if that can't be used: the doctor has said so."""
    if project.store_url == SQLITE:
        return []
    from allstop.adapters.journals.postgres_connection import describe

    try:
        warning = await clock_warning(project)
    except AllstopError:
        return []
    found = [Finding(name="database", ok=True, found=describe(project.store_url))]
    if warning:
        hint = "set this machine's clock"
        found.append(Finding(name="clock", ok=False, found=warning, hint=hint, needed=False))
    return [*found, *await _remote(project)]


async def _remote(project: Project) -> list[Finding]:
    if not project.shared_remote:
        found, hint = "none", 'workers need [fleet] remote = "origin" in your own settings'
        return [Finding(name="shared remote", ok=False, found=found, hint=hint, needed=False)]
    from allstop.adapters.git.shared.mirror import Mirror
    from allstop.app.fleet.membership import remote_addresses

    try:
        addresses = remote_addresses(project)
        mirror = Mirror(project.repository, *addresses, lambda trouble: None)
        await mirror.check(runtime.target(project))
    except AllstopError as error:
        return [Finding(name="shared remote", ok=False, found=error.message, hint=error.hint)]
    found = f"{project.shared_remote} can be fetched from and pushed to"
    return [Finding(name="shared remote", ok=True, found=found)]
