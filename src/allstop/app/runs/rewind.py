"""A run as it stood at any moment, at a bounded cost: a record is folded once, however often."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import anyio.lowlevel

from allstop.core import run as runs
from allstop.core.errors import AllstopError, NotFoundError
from allstop.core.events import Event, Opened
from allstop.core.helm import Helm, steer
from allstop.core.ids import HELM, RunId
from allstop.core.run import Pilot, RunState
from allstop.views.kind import Kind
from allstop.views.snapshots import Snapshots

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from allstop.ports import Journal

REMEMBERED = 8
"""How many runs are kept in mind: who moves a slider asks for the same one again and again."""

PAGE = 512


class Moment(NamedTuple):
    """A run right after one event, and what had been said to all runs by then."""

    pilot: Pilot[Any]
    state: RunState[Any]
    at: datetime
    helm: Helm


class Rewinder:
    def __init__(self, journal: Journal, kinds: Mapping[str, Kind]) -> None:
        self._journal = journal
        self._kinds = kinds
        self._known: dict[RunId, Snapshots] = {}
        self._reading = anyio.Lock()

    async def at(self, run: RunId, seq: int) -> Moment:
        """The run as it stood after event `seq`.

        Raises:
            NotFoundError: its record is not that long.
            AllstopError: it is of a kind nobody knows.
        """
        async with self._reading:
            moments = await self._read(run, seq)
        near, state = moments.before(seq)
        at = state.opened.at
        for record in await self._journal.read(run, max(0, near - 1), seq - near + 1):
            at = record.event.at
            if record.seq > near:
                state = runs.evolve(moments.pilot, state, record.event)
        return Moment(moments.pilot, state, at, await self._helm(at))

    async def _read(self, run: RunId, seq: int) -> Snapshots:
        """As far as is needed, in pages: others get their turn in between."""
        moments = self._known.pop(run, None) or await self._begun(run)
        self._known[run] = moments  # at the end: it was asked for just now
        while len(self._known) > REMEMBERED:
            del self._known[next(iter(self._known))]
        while moments.seq < seq:
            records = await self._journal.read(run, moments.seq, min(PAGE, seq - moments.seq))
            if not records:
                hint = f"it has {moments.seq}"
                raise NotFoundError(f"{run} has no event {seq}", hint)
            for record in records:
                moments.take(record.event)
            await anyio.lowlevel.checkpoint()
        return moments

    async def _begun(self, run: RunId) -> Snapshots:
        records = await self._journal.read(run, 0, 1)
        opened: Event | None = records[0].event if records else None
        if not isinstance(opened, Opened):
            raise NotFoundError(f"there is no run {run!r}")
        if opened.kind not in self._kinds:
            kind = opened.kind
            raise AllstopError(f"{run} is a {kind}, which this version does not know")
        return Snapshots(self._kinds[opened.kind].pilot, opened)

    async def _helm(self, at: datetime) -> Helm:
        """By their times: the helm's record and a run's have no other order."""
        helm = Helm()
        for record in await self._journal.read(HELM):
            if record.event.at > at:
                break
            helm = steer(helm, record.event)
        return helm
