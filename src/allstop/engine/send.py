"""Telling a run something, whoever drives it."""

from __future__ import annotations

from allstop.core.commands import Abort, Allstop, Command, Freeze, Pause, Resume, Thaw
from allstop.core.events import Commanded
from allstop.core.ids import RunId
from allstop.ports import Clock, Entry, Head, Journal

_FOR_ALL_BELOW = (Pause, Resume, Freeze, Thaw, Allstop, Abort)


async def say(journal: Journal, clock: Clock, run: RunId, command: Command, by: str) -> None:
    """Write a command for a run; a brake is for all the open runs below it too."""
    commanded = Commanded(at=clock.now(), command=command, by=by)
    told: dict[RunId, None] = {}
    while True:
        new = [] if told else [run]
        if isinstance(command, _FOR_ALL_BELOW):  # one may have been born before its parent was told
            new += [head.run for head in await journal.heads() if _is_below(head, run)]
        new = [to for to in new if to not in told]
        if not new:
            return
        await journal.append(*(Entry(to, commanded) for to in new))
        told.update(dict.fromkeys(new))


def _is_below(head: Head, run: RunId) -> bool:
    return not head.closed and head.run.startswith(f"{run}/")
