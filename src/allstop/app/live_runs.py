"""All runs of a house as they stand now: each event is read once, whoever asks and how often."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import anyio
import anyio.lowlevel

from allstop.app.board.overview import attempt_under_way
from allstop.app.runs.status import unknown_run_error
from allstop.core.errors import AllstopError
from allstop.core.events import Closed, Event, MoveStarted, Opened
from allstop.core.helm import Helm, steer
from allstop.core.ids import BOARD, HELM, RunId, child_of, root_of
from allstop.core.run import RunState
from allstop.core.tasks import Task
from allstop.ports import Head, Holder, PositionedRecord, Record
from allstop.views.board_phase import Below, below
from allstop.views.inbox import Sight, Waiting, inbox
from allstop.views.kind import Kind
from allstop.views.live_state import LiveState
from allstop.views.runs import RunView, view

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.board.board_pilot import BoardState

PAGE = 200
"""So many records are read at once: others get their turn in between."""

REMEMBERED = 200
"""How many runs that are over are kept in mind."""

HOLDERS_S = 0.25
"""For so long it is believed who drives what: asking the kernel for each answer is dear."""

Reader = Callable[[Sequence[PositionedRecord]], None]


class LiveRuns:
    """Follows the journal from now on; what was before is read when it is asked for."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._journal = project.journal
        self._followed: dict[RunId, LiveState] = {}
        self._heads: dict[RunId, Head] = {}
        self._readers: list[Reader] = []
        self._wake = anyio.Event()
        self._queued: dict[RunId, str] = {}  # who stands in the line for a slot, in words
        self._held: dict[RunId, Holder | None] = {}
        self._held_until = 0.0
        self._reading = anyio.Lock()
        self._helm_seq = 0
        self.helm = Helm()
        self.pos = 0  # everything up to here has been read, or will be when it is asked for

    def tell(self, reader: Reader) -> None:
        """Everything that is written from now on goes to `reader` too."""
        self._readers.append(reader)

    async def begin(self) -> None:
        """Know what there is, without reading it."""
        self.pos = await self._journal.last_place()
        for record in await self._journal.read(HELM):
            self._steer(record)
        self._heads = {head.run: head for head in await self._journal.heads()}

    async def follow(self) -> None:
        """Runs until cancelled."""
        async with anyio.create_task_group() as group:
            with self._journal.listen(self._on_write):
                group.start_soon(self._journal.watch_writes)
                while True:
                    self._wake = anyio.Event()
                    await self.catch_up()
                    await self._wake.wait()

    def _on_write(self, run: RunId, seq: int) -> None:
        self._wake.set()

    async def catch_up(self) -> None:
        """Read what has been written by now."""
        async with self._reading:
            while placed := await self._journal.written(self.pos, PAGE):
                for each in placed:
                    self._take(each)
                self.pos = placed[-1].pos
                for reader in self._readers:
                    reader(placed)
                await anyio.lowlevel.checkpoint()

    def _take(self, placed: PositionedRecord) -> None:
        run, seq, event = placed.record
        if run == HELM:
            self._steer(placed.record)
            return
        self._heads[run] = _head(self._heads.get(run), run, seq, event)
        if root_of(run) not in self._held:
            self._held_until = 0.0  # somebody may have begun to drive it
        if isinstance(event, MoveStarted | Closed):
            self._queued.pop(run, None)
        followed = self._followed.get(run)
        if followed is not None and followed.seq == seq - 1:
            followed.take(event)

    def queue(self, run: RunId, words: str) -> None:
        """Whoever drives it says that it waits for a slot."""
        self._queued[run] = words

    def _steer(self, record: Record) -> None:
        if record.seq > self._helm_seq:
            self.helm, self._helm_seq = steer(self.helm, record.event), record.seq

    # --- looking ---

    @property
    def heads(self) -> Sequence[Head]:
        """Every run but the helm, oldest first."""
        return list(self._heads.values())

    def knows(self, run: RunId) -> bool:
        return run in self._heads

    def kind(self, run: RunId) -> Kind:
        """The kind of a run that is known."""
        return self._project.kinds[self._heads[run].kind]

    def has_messages(self, run: RunId) -> bool:
        """Whether events of the run are messages, too."""
        head = self._heads.get(run)
        kinds = self._project.kinds
        return head is not None and head.kind in kinds and kinds[head.kind].has_messages

    async def run(self, run: RunId) -> LiveState:
        """A run as it stands.

        Raises:
            AllstopError: there is none of that name, or it is of a kind nobody knows.
        """
        head = self._heads.get(run)
        if head is None:
            raise unknown_run_error(run, list(self._heads))
        followed = self._followed.pop(run, None)
        while followed is None or followed.seq < self._heads[run].seq:
            followed = await self._read(head, followed)
        self._followed[run] = followed  # at the end: it was asked for just now
        self._forget()
        return followed

    async def _read(self, head: Head, followed: LiveState | None) -> LiveState:
        """In pages, so that a long record does not keep everybody waiting."""
        if head.kind not in self._project.kinds:
            hint = "use a newer allstop"
            raise AllstopError(
                f"{head.run} is a {head.kind}, which this version does not know", hint
            )
        records = await self._journal.read(head.run, after=followed.seq if followed else 0)
        for number, record in enumerate(records):
            if number % PAGE == PAGE - 1:
                await anyio.lowlevel.checkpoint()
            if followed is None:
                followed = self._begin(record.event)
            else:
                followed.take(record.event)
        assert followed is not None, "a run that is listed has a record"
        return followed

    def _begin(self, event: Event) -> LiveState:
        assert isinstance(event, Opened), "a journal starts with Opened"
        return self._project.kinds[event.kind].begin(event)

    def _forget(self) -> None:
        """The runs that are over and were not asked for the longest."""
        if len(self._followed) <= 2 * REMEMBERED:
            return
        over = [run for run in self._followed if self._heads[run].closed]
        for run in over[:-REMEMBERED]:
            del self._followed[run]

    async def board(self) -> RunState[BoardState] | None:
        """None until something was put on it."""
        if BOARD not in self._heads:
            return None
        state: RunState[BoardState] = (await self.run(BOARD)).state
        return state

    async def below(self, board: BoardState) -> Below:
        names = [child_of(BOARD, ref) for ref in board.refs]
        known = [(await self.run(name)).state for name in names if name in self._heads]
        return below(board, known)

    @property
    def now(self) -> datetime:
        return self._project.clock.now()

    async def view(self, run: RunId) -> RunView:
        followed = await self.run(run)
        return view(
            run,
            self.kind(run),
            followed.state,
            helm=self.helm,
            now=self.now,
            driven=self.is_driven(run),
            queued=self._queued.get(run, ""),
        )

    async def warning(self, task: Task) -> str:
        """Of the attempt at it that is under way."""
        run = attempt_under_way(task)
        if run is None or run not in self._heads:
            return ""
        return self.kind(run).warning((await self.run(run)).state)

    async def waiting(self) -> list[Waiting]:
        """What waits for a person, the oldest first."""
        runs = [head.run for head in self._heads.values() if not head.closed]
        sights = [await self._sight(run) for run in runs]
        board = await self.board()
        tasks = [node.task for node in board.pilot.board.nodes.values()] if board else []
        return inbox(sights, tasks, self.now, self.helm)

    async def _sight(self, run: RunId) -> Sight:
        followed = await self.run(run)
        return Sight(
            run=run,
            kind=self.kind(run),
            state=followed.state,
            last_at=followed.last_at,
            driven=self.is_driven(run),
            idle=run == BOARD and not followed.state.pilot.is_braked,
        )

    def is_driven(self, run: RunId) -> bool:
        return root_of(run) in self.holders()

    def holders(self) -> dict[RunId, Holder | None]:
        now = anyio.current_time()
        if now >= self._held_until:
            self._held, self._held_until = self._journal.holders(), now + HOLDERS_S
        return self._held


def _head(known: Head | None, run: RunId, seq: int, event: Event) -> Head:
    if known is not None:
        return known._replace(seq=seq, closed=known.closed or isinstance(event, Closed))
    assert isinstance(event, Opened), "a journal starts with Opened"
    return Head(run, event.kind, event.parent, seq, event.at, closed=False)
