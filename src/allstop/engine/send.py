"""Sends a command to a run by writing it to the journal."""

from allstop.core.commands import Abort, Allstop, Command, Freeze, Pause, Resume, Thaw
from allstop.core.events import Commanded
from allstop.core.ids import RunId
from allstop.ports import Clock, Entry, Journal

_FOR_ALL_BELOW = (Pause, Resume, Freeze, Thaw, Allstop, Abort)


async def send_command(
    journal: Journal, clock: Clock, run: RunId, command: Command, by: str
) -> None:
    """Write a command for a run; brakes also go to all open runs below it."""
    commanded = Commanded(at=clock.now(), command=command, by=by)
    told: dict[RunId, None] = {}
    while True:
        new = [] if told else [run]
        if isinstance(
            command, _FOR_ALL_BELOW
        ):  # a child may open before its parent reads the command
            open_heads = await journal.heads(open_only=True)
            new += [head.run for head in open_heads if head.run.startswith(f"{run}/")]
        new = [to for to in new if to not in told]
        if not new:
            return
        await journal.append(*(Entry(to, commanded) for to in new))
        told.update(dict.fromkeys(new))
