"""Resuming a run: lifting its hold and giving it the limits of the settings in force."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.app.raise_limits import hold_to_settings
from allstop.app.runs.commands import speak
from allstop.core.commands import Resume

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.runs.status import Recorded
    from allstop.core.brakes import Limits


async def lift_hold(project: Project, recorded: Recorded, limits: Limits | None, by: str) -> None:
    """`limits` are those of the settings in force, for a kind that they apply to.

    Raises:
        AllstopError: the run is over.
    """
    await speak(project, recorded.run, Resume(), by)
    await hold_to_settings(project, recorded, limits, by)
