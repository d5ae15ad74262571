"""The kind `room` in the terminal: prints its messages, and resumes by `allstop room`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.cli.rooms.screen import event_lines
from allstop.cli.terminal_kind import Print, TerminalKind
from allstop.core.errors import AllstopError
from allstop.core.events import Event, Opened
from allstop.views.rooms import RoomView

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.runs.status import RunRecord
    from allstop.views.kind import Kind


class RoomTerminal(TerminalKind):
    def log(self, kind: Kind) -> Print:
        views: list[RoomView] = []

        def show(event: Event) -> list[str]:
            if isinstance(event, Opened):
                views.append(RoomView(kind.pilot, event))
                return []
            return [line for shown in views[0].take(event) for line in event_lines(shown)]

        return show

    async def check_resume(self, project: Project, recorded: RunRecord) -> None:
        command = recorded.kind.resume_command(recorded.run, recorded.opened)
        raise AllstopError(
            f"{recorded.run} is a room, which `allstop resume` can't resume",
            f"use `{command}`",
            code="room_not_resumable_by_run",
        )
