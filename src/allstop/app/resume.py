"""Resuming a run: lifting its hold and giving it the limits of the settings in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.app.raise_limits import apply_settings_limits
from allstop.app.runs.commands import deliver_command
from allstop.core.commands import Resume

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.runs.status import RunRecord
    from allstop.core.brakes import Limits


async def lift_hold(project: Project, recorded: RunRecord, limits: Limits | None, by: str) -> None:
    """`limits` are those of the settings in force, for a kind that they apply to.

    Raises AllstopError if the run is over.
    """
    await deliver_command(project, recorded.run, Resume(), by)
    await apply_settings_limits(project, recorded, limits, by)
