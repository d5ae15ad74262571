"""Looking at what is there, without driving anything."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from allstop.core import helm as helms
from allstop.core import run as runs
from allstop.core.errors import AllstopError
from allstop.core.events import Event, Opened
from allstop.core.helm import Helm
from allstop.core.ids import HELM, RunId, root_of
from allstop.core.run import Pilot
from allstop.core.views import RunView, view
from allstop.pilots import PILOTS
from allstop.ports import Head, Holder

if TYPE_CHECKING:
    from allstop.app.house import House

RECENT = 10


class Status(Struct, frozen=True, kw_only=True):
    """What `allstop status` shows."""

    hold: str
    stopped_since: str | None
    stopped_by: str
    runs: list[RunView]
    needs_you: int


class Recorded(NamedTuple):
    run: RunId
    pilot: Pilot[Any]
    opened: Opened
    events: list[Event]


async def helm_of(house: House) -> Helm:
    return helms.fold([record.event for record in await house.journal.read(HELM)])


async def status(house: House) -> Status:
    """Every open run and the latest ended ones."""
    if not house.has_store:
        return Status(hold="running", stopped_since=None, stopped_by="", runs=[], needs_you=0)
    helm = await helm_of(house)
    held = house.journal.holders()
    heads = await house.journal.heads()
    ended = [head for head in heads if head.closed and head.parent is None][-RECENT:]
    shown = [head for head in heads if not head.closed or head in ended]
    views = [await _view(house, head, helm, held) for head in shown]
    return Status(
        hold=helm.hold.value,
        stopped_since=helm.since.isoformat() if helm.since else None,
        stopped_by=helm.by,
        runs=views,
        needs_you=sum(each.needs_you for each in views),
    )


async def _view(house: House, head: Head, helm: Helm, held: dict[RunId, Holder | None]) -> RunView:
    recorded = await record_of(house, head.run)
    state = runs.fold(recorded.pilot, recorded.events)
    return view(
        head.run,
        recorded.pilot,
        state,
        helm=helm,
        now=house.clock.now(),
        driven=root_of(head.run) in held,
    )


async def record_of(house: House, run: str) -> Recorded:
    """The whole record of a run.

    Raises:
        AllstopError: there is none of that name.
    """
    records = await house.journal.read(RunId(run)) if house.has_store else []
    if not records or run == HELM:
        raise AllstopError(f"there is no run {run!r}", await _known(house))
    opened = records[0].event
    assert isinstance(opened, Opened), "a journal starts with Opened"
    if opened.kind not in PILOTS:
        raise AllstopError(
            f"{run} is a {opened.kind}, which this version does not know", "use a newer allstop"
        )
    events = [record.event for record in records]
    return Recorded(RunId(run), PILOTS[opened.kind], opened, events)


async def _known(house: House) -> str:
    heads = await house.journal.heads() if house.has_store else []
    if not heads:
        return 'no run has been started here yet: allstop run "PROMPT"'
    return "runs here: " + ", ".join(head.run for head in heads[-RECENT:])


def others_at_work(house: House) -> dict[int, Holder]:
    """The other processes that drive runs of this store, by their ids."""
    holders = (holder for holder in house.journal.holders().values() if holder is not None)
    return {holder.pid: holder for holder in holders if holder.pid != os.getpid()}
