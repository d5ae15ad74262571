"""Telling a run something, whoever drives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allstop.app.looking import helm_of, record_of
from allstop.core import run as runs
from allstop.core.approvals import Ask
from allstop.core.commands import Command
from allstop.core.errors import AllstopError
from allstop.core.events import Commanded
from allstop.core.helm import Hold
from allstop.core.ids import HELM, root_of
from allstop.engines.saying import say
from allstop.ports import Entry

if TYPE_CHECKING:
    from allstop.app.house import House


class Spoken(NamedTuple):
    driven: bool


async def asked_of(house: House, run: str, ask: str | None) -> Ask:
    """What a run's agent asks and nobody has answered: the one of that name, or the oldest.

    Raises:
        AllstopError: there is no such question.
    """
    recorded = await record_of(house, run)
    asks = runs.fold(recorded.pilot, recorded.events).asks
    if not asks:
        raise AllstopError(f"{run} asks nothing", "`allstop status` shows who waits for what")
    if ask is None:
        return next(iter(asks.values()))
    if ask not in asks:
        raise AllstopError(f"{run} has no question {ask!r}", f"it has: {', '.join(asks)}")
    return asks[ask]


async def refuse_if_stopped(house: House) -> None:
    """Raises AllstopError while an Allstop for everything is in force."""
    stopped = house.has_store and (await helm_of(house)).hold is Hold.STOPPED
    if stopped or (house.folder / "STOP").exists():
        raise AllstopError("Allstop is in force", "`allstop resume` lifts it")


async def speak(house: House, run: str | None, command: Command, by: str = "user") -> Spoken:
    """To one run and what is below it, or to all.

    Raises:
        AllstopError: there is no such run, or it is over.
    """
    if run is None:
        commanded = Commanded(at=house.clock.now(), command=command, by=by)
        await house.journal.append(Entry(HELM, commanded))
        return Spoken(driven=bool(house.journal.holders()))
    recorded = await record_of(house, run)
    state = runs.fold(recorded.pilot, recorded.events)
    if state.closed is not None:
        raise AllstopError(f"{run} is over: {state.closed.outcome}", f"see `allstop log {run}`")
    await say(house.journal, house.clock, recorded.run, command, by)
    return Spoken(driven=root_of(recorded.run) in house.journal.holders())
