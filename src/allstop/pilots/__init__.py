"""Every kind of run there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allstop.core.run import Pilot
from allstop.pilots.auto import AutoPilot
from allstop.pilots.board import BoardPilot
from allstop.pilots.merge import MergePilot
from allstop.pilots.room import RoomPilot
from allstop.pilots.task import TaskPilot

PILOTS: Mapping[str, Pilot[Any]] = {
    pilot.kind: pilot
    for pilot in (BoardPilot(), TaskPilot(), MergePilot(), RoomPilot(), AutoPilot())
}
