"""Rewinding a run: its state after any of its events, with snapshots to bound the cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
import anyio.lowlevel

from allstop.app.runs.status import unknown_kind_error
from allstop.core import run as runs
from allstop.core.errors import NotFoundError
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
"""How many runs stay in memory: a person who moves the slider asks for the same one often."""

PAGE = 512


class Moment(NamedTuple):
    """A run right after one event, and the helm at that time."""

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
        """The run after event `seq`.

        Raises NotFoundError if there is no such run or event, and AllstopError if this version
        doesn't know the run's kind.
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
        """Folds up to `seq`, in pages, so that other tasks of the event loop run in between."""
        moments = self._known.pop(run, None) or await self._begin(run)
        self._known[run] = moments  # last: most recently used
        while len(self._known) > REMEMBERED:
            del self._known[next(iter(self._known))]
        while moments.seq < seq:
            records = await self._journal.read(run, moments.seq, min(PAGE, seq - moments.seq))
            if not records:
                hint = f"it has {moments.seq} events"
                raise NotFoundError(f"{run} has no event {seq}", hint)
            for record in records:
                moments.take(record.event)
            await anyio.lowlevel.checkpoint()
        return moments

    async def _begin(self, run: RunId) -> Snapshots:
        records = await self._journal.read(run, 0, 1)
        opened: Event | None = records[0].event if records else None
        if not isinstance(opened, Opened):
            raise NotFoundError(f"there is no run {run!r}")
        if opened.kind not in self._kinds:
            raise unknown_kind_error(run, opened.kind)
        return Snapshots(self._kinds[opened.kind].pilot, opened)

    async def _helm(self, at: datetime) -> Helm:
        """The helm at a time: its events and a run's are ordered by time only."""
        helm = Helm()
        for record in await self._journal.read(HELM):
            if record.event.at > at:
                break
            helm = steer(helm, record.event)
        return helm
