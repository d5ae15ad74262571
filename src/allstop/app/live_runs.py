"""Live states of all runs of a project: each event is read once, for all callers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel

from allstop.app.board.overview import attempt_under_way
from allstop.app.runs.status import unknown_kind_error, unknown_run_error
from allstop.core.events import Closed, Event, MoveStarted, Opened
from allstop.core.helm import Helm, steer
from allstop.core.ids import ACCOUNTS, BOARD, HELM, STREAMS, RunId, child_of
from allstop.core.run import RunState
from allstop.core.tasks import Task
from allstop.ports import Head, Holder, PositionedRecord, Record, is_driven
from allstop.views import accounts
from allstop.views.board_phase import ChildRuns, below
from allstop.views.inbox import OpenRun, Waiting, inbox
from allstop.views.kind import Kind
from allstop.views.live_state import LiveState
from allstop.views.runs import RunView, view

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.board.state import BoardState

PAGE = 200
"""How many records are read before other tasks of the event loop run."""

REMEMBERED = 200
"""How many closed runs stay in memory."""

HOLDERS_S = 0.25
"""How long the list of drivers is reused: reading it from the kernel each time is slow."""

Reader = Callable[[Sequence[PositionedRecord]], None]


class LiveRuns:
    """Follows the journal; earlier events of a run are read when it is first asked for."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._journal = project.journal
        self._followed: dict[RunId, LiveState] = {}
        self._heads: dict[RunId, Head] = {}
        self._readers: list[Reader] = []
        self._wake = anyio.Event()
        self._queued: dict[RunId, str] = {}  # what each run that waits for a slot waits for
        self._held: dict[RunId, Holder | None] = {}
        self._held_until = 0.0
        self._reading = anyio.Lock()
        self._stream_seqs: dict[RunId, int] = {}
        self.helm = Helm()
        self.accounts: accounts.Ledger = {}  # the holds and windows of accounts
        self.pos = 0  # the journal's position up to which this has followed

    def subscribe(self, reader: Reader) -> None:
        """Pass all records that are read from here on to `reader`."""
        self._readers.append(reader)

    async def begin(self) -> None:
        """List the runs without reading their events."""
        self.pos = await self._journal.last_place()
        for record in (*await self._journal.read(HELM), *await self._journal.read(ACCOUNTS)):
            self._steer(record)
        self._heads = {head.run: head for head in await self._journal.heads()}

    async def follow(self) -> None:
        """Follow the journal until cancelled."""
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
        """Read all records that have been written."""
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
        if run in STREAMS:
            self._steer(placed.record)
            return
        self._heads[run] = _head(self._heads.get(run), run, seq, event)
        if not is_driven(run, self._held):
            self._held_until = 0.0  # a process may have started to drive it
        if isinstance(event, MoveStarted | Closed):
            self._queued.pop(run, None)
        followed = self._followed.get(run)
        if followed is not None and followed.seq == seq - 1:
            followed.take(event)

    def queue(self, run: RunId, reason: str) -> None:
        """Note that the run waits for a slot."""
        self._queued[run] = reason

    def _steer(self, record: Record) -> None:
        if record.seq <= self._stream_seqs.get(record.run, 0):
            return
        self._stream_seqs[record.run] = record.seq
        if record.run == HELM:
            self.helm = steer(self.helm, record.event)
        else:
            self.accounts = accounts.evolve(self.accounts, record.event)

    # --- looking ---

    @property
    def heads(self) -> Sequence[Head]:
        """Every run but the helm, oldest first."""
        return list(self._heads.values())

    def knows(self, run: RunId) -> bool:
        return run in self._heads

    def kind(self, run: RunId) -> Kind:
        """The kind of a listed run."""
        return self._project.kinds[self._heads[run].kind]

    def known_kind(self, run: RunId) -> Kind | None:
        """The kind of a run; None if the run isn't listed, or this version doesn't know its kind."""
        head = self._heads.get(run)
        return self._project.kinds.get(head.kind) if head is not None else None

    async def run(self, run: RunId) -> LiveState:
        """The current state of a run.

        Raises AllstopError if there is no such run, or this version doesn't know its kind.
        """
        head = self._heads.get(run)
        if head is None:
            raise unknown_run_error(run, list(self._heads))
        followed = self._followed.pop(run, None)
        while followed is None or followed.seq < self._heads[run].seq:
            followed = await self._read(head, followed)
        self._followed[run] = followed  # last: most recently used
        self._forget()
        return followed

    async def _read(self, head: Head, followed: LiveState | None) -> LiveState:
        """Reads in pages, so that a long record doesn't block the event loop."""
        if head.kind not in self._project.kinds:
            raise unknown_kind_error(head.run, head.kind)
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
        """Drop the least recently used closed runs."""
        if len(self._followed) <= 2 * REMEMBERED:
            return
        over = [run for run in self._followed if self._heads[run].closed]
        for run in over[:-REMEMBERED]:
            del self._followed[run]

    async def board(self) -> RunState[BoardState] | None:
        """None until the board has a task."""
        if BOARD not in self._heads:
            return None
        state: RunState[BoardState] = (await self.run(BOARD)).state
        return state

    async def below(self, board: BoardState) -> ChildRuns:
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
            last_at=followed.last_at,
            queued=self._queued.get(run) or self._awaited_worker(run, followed.state),
        )

    def _awaited_worker(self, run: RunId, state: RunState[Any]) -> str:
        if not self._project.shared_remote or state.closed is not None:
            return ""
        from allstop.app.fleet.worker_needs import awaited_worker

        return awaited_worker(self._project, run, state.opened, self.holders())

    async def warning(self, task: Task) -> str:
        """The warning of the task's running attempt."""
        run = attempt_under_way(task)
        if run is None or run not in self._heads:
            return ""
        return self.kind(run).warning((await self.run(run)).state)

    async def waiting(self) -> list[Waiting]:
        """The items that wait for a person, oldest first."""
        runs = [head.run for head in self._heads.values() if not head.closed]
        open_runs = [await self._open_run(run) for run in runs]
        board = await self.board()
        tasks = [node.task for node in board.pilot.board.nodes.values()] if board else []
        return inbox(open_runs, tasks, self.now, self.helm)

    async def _open_run(self, run: RunId) -> OpenRun:
        followed = await self.run(run)
        return OpenRun(
            run=run,
            kind=self.kind(run),
            state=followed.state,
            last_at=followed.last_at,
            driven=self.is_driven(run),
            idle=run == BOARD and not _waits_for_person(followed.state.pilot),
        )

    def is_driven(self, run: RunId) -> bool:
        return is_driven(run, self.holders())

    def holders(self) -> dict[RunId, Holder | None]:
        now = anyio.current_time()
        if now >= self._held_until:
            self._held, self._held_until = self._journal.holders(), now + HOLDERS_S
        return self._held


def _waits_for_person(board: BoardState) -> bool:
    """Whether no task starts until a person resumes the board or its sprint."""
    return board.is_braked or bool(board.sprint_pause)


def _head(known: Head | None, run: RunId, seq: int, event: Event) -> Head:
    if known is not None:
        return known._replace(seq=seq, closed=known.closed or isinstance(event, Closed))
    assert isinstance(event, Opened), "a journal starts with Opened"
    return Head(run, event.kind, event.parent, seq, event.at, closed=False)
