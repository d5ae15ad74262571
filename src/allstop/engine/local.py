"""The local engine: drives runs in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any, TypeVar

import anyio
from anyio.abc import TaskGroup

from allstop.core import run as runs
from allstop.core.asks import Ask, Rule
from allstop.core.brakes import Limits
from allstop.core.budget import NOTHING
from allstop.core.commands import Abort, Allstop, Command
from allstop.core.events import Commanded, Halted, Opened
from allstop.core.helm import Helm
from allstop.core.ids import HELM, AgentName, RunId, root_of
from allstop.core.moves import Outcome
from allstop.core.run import FoldedRun, OpenMove, Pilot, RunState
from allstop.engine.budgets import Budgets
from allstop.engine.claimed_roots import Claims
from allstop.engine.context import EngineContext, HelmReader, Show, Viewers
from allstop.engine.daily_budget import DailyBudget
from allstop.engine.drive import Drive, SupersededError
from allstop.engine.driven_run import DrivenRun, fold
from allstop.engine.hands import Hands
from allstop.engine.parent_budgets import ParentBudgets
from allstop.engine.retry_read import retry_read
from allstop.engine.retry_write import retry_write
from allstop.engine.send import send_command
from allstop.engine.slots import Slots
from allstop.engine.steps import Waiting, used_so_far
from allstop.ports import Clock, Cursor, Entry, Journal, Launcher, Live, RunBudgets, StaleError

T = TypeVar("T")


class StopReceipts:
    def __init__(self) -> None:
        self._written: dict[int, Halted] = {}  # by number of stops
        self._more = anyio.Event()

    def add(self, stops: int, halted: Halted) -> None:
        self._written[stops] = halted
        self._more.set()
        self._more = anyio.Event()

    async def after(self, stops: int) -> Halted:
        """Wait for the receipt of this stop or a later one."""
        while not (done := [number for number in self._written if number >= stops]):
            await self._more.wait()
        return self._written[min(done)]


HALT_S = 10.0  # how long a stop waits for the runs before it writes its receipt

EVERYTHING = ""  # the label of all programs


class LocalEngine:
    """Drives its runs, each in its own task."""

    def __init__(
        self,
        *,
        journal: Journal,
        hands: Hands,
        clock: Clock,
        pilots: Mapping[str, Pilot[Any]],
        launcher: Launcher,
        name: str = "engine",
        slots: int | None = None,
        appraise: Callable[[Ask, OpenMove | None], Ask] = lambda ask, within: ask,
        most_microusd: Callable[[AgentName, int], int] = lambda agent, tokens: 0,
        daily_budget: DailyBudget | None = None,
        run_budgets: RunBudgets | None = None,
    ) -> None:
        """`run_budgets` knows those of runs above, if other processes drive them."""
        self._journal, self._clock = journal, clock
        self._pilots = pilots
        self._launcher = launcher
        self._name = name
        self._helm_reader = HelmReader(journal)
        self._last_helm = Helm()  # the state that all drives have reacted to
        self._stops_before = 0
        self._budgets = Budgets()
        self._viewers = Viewers(hands.clean, clock)
        self.turn_slots = Slots(slots)
        self._context = EngineContext(
            journal,
            hands,
            clock,
            self._helm_reader,
            self.turn_slots,
            self._budgets,
            ParentBudgets(run_budgets),
            self._viewers.show,
            daily_budget or DailyBudget(journal),
            appraise,
            most_microusd,
        )
        self._driven_runs: dict[RunId, DrivenRun] = {}
        self._claims = Claims(journal, self.claim_of)
        self._waiting_for_budget: set[DrivenRun] = set()  # runs that wait for reserved daily budget
        self._receipts = StopReceipts()
        self._outcomes: dict[RunId, Outcome] = {}  # of closed root runs
        self._changed = anyio.Event()  # set when a run starts waiting or closes
        self._pending_children: set[RunId] = set()  # opened but not driven yet
        self._group: TaskGroup | None = None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[LocalEngine]:
        """Drive opened and taken runs until the block is left."""
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._claims.release_all)
            await self._helm_reader.catch_up()
            self._last_helm = self._helm_reader.helm
            self._stops_before = self._helm_reader.helm.stops
            async with anyio.create_task_group() as group:
                self._group = group
                with self._journal.listen(self._on_write, self.kill_agents, self.cut_off):
                    group.start_soon(self._journal.watch_writes)
                    group.start_soon(self._context.hands.keep_time)
                    group.start_soon(self._react_to_helm)
                    try:
                        yield self
                    finally:
                        group.cancel_scope.cancel()

    @property
    def helm(self) -> Helm:
        return self._helm_reader.helm

    @property
    def budgets(self) -> Budgets:
        return self._budgets

    @property
    def daily_budget(self) -> DailyBudget:
        return self._context.daily_budget

    def set_day_limits(self, limits: Limits) -> None:
        """Change the limits of the daily budget and wake all runs."""
        if limits != self.daily_budget.limits:
            self.daily_budget.limits = limits
            for driven_run in list(self._driven_runs.values()):
                self._wake(driven_run)

    def view(self, show: Show) -> None:
        """Register a viewer of live messages."""
        self._viewers.add(show)

    def state(self, run: RunId) -> RunState[Any] | None:
        driven_run = self._driven_runs.get(run)
        return driven_run.drive.state if driven_run else None

    # --- commands ---

    async def open(
        self,
        run: RunId,
        kind: str,
        spec: dict[str, object],
        *,
        title: str = "",
        limits: Limits | None = None,
        rules: tuple[Rule, ...] = (),
    ) -> bool:
        """Open a run; False if a run of that name exists."""
        at, limits = self._clock.now(), limits or Limits()
        opened = Opened(at=at, kind=kind, spec=spec, title=title, limits=limits, rules=rules)
        runs.begin(self._pilots[kind], opened)  # raises if the spec is invalid
        await self._claims.take(run)
        try:
            is_new = await self._write_opened(run, opened)
            if is_new:
                await self._prepare_and_start(run)
        finally:
            await self._claims.release_unless_driven(run)
        return is_new

    async def _write_opened(self, run: RunId, opened: Opened) -> bool:
        while True:
            try:
                expect = Cursor(run, 0, self._helm_reader.seq)
                await self._journal.append(Entry(run, opened), expect=expect)
                return True
            except StaleError:
                if await self._journal.read(run):
                    return False
                await self._helm_reader.catch_up()

    def claim_of(self, run: RunId) -> RunId:
        """The run whose claim gives this process the right to drive a run."""
        return root_of(run)

    def drives_here(self, run: RunId) -> bool:
        """Whether this process drives the run itself once it has the claim."""
        return True

    def has_claimed(self, run: RunId) -> bool:
        """Whether only this process may drive the run."""
        return run in self._claims

    def adopt(self, root: RunId, claim: AbstractAsyncContextManager[object]) -> None:
        self._claims.adopt(root, claim)

    async def take(
        self, run: RunId, known: FoldedRun[Any] | None = None, parked: Collection[RunId] = ()
    ) -> None:
        """Drive an existing run that no process drives, with all runs that its claim covers.

        Runs in `parked` make no move before a command is written for them.

        Raises HeldError if another process drives it.
        """
        root = self.claim_of(run)
        await self._claims.take(root)
        try:
            heads = await self._journal.heads(open_only=True)
            claimed = (head.run for head in heads if self.claim_of(head.run) == root)
            mine = [each for each in claimed if self.drives_here(each)]
            for driven_run in [
                await self._prepare(each, known if each == run else None) for each in mine
            ]:
                # after the past usage of all is counted
                await self._start(driven_run, parked=parked)
        finally:
            await self._claims.release_unless_driven(root)

    async def command(self, run: RunId, command: Command, by: str = "user") -> None:
        """Write a command for a run and all runs below it."""
        await send_command(self._journal, self._clock, run, command, by)

    async def allstop(self, by: str = "user") -> Halted:
        """Stop everything; returns the receipt after all programs have ended."""
        stop = Commanded(at=self._clock.now(), command=Allstop(), by=by)
        await self._journal.append(Entry(HELM, stop))
        await self._helm_reader.catch_up()
        return await self.halted()

    def kill_agents(self) -> None:
        """End all moves and programs now, before an Allstop is written.

        Moves are cut first: they would otherwise take a killed program for a failure and retry.
        """
        for driven_run in self._driven_runs.values():
            if driven_run.drive.at_work:
                self._context.hands.cut(driven_run.drive.run)
        self._launcher.kill(EVERYTHING)

    def cut_off(self) -> None:
        """End all moves and programs: other processes may soon take over the runs.

        The moves count as interrupted. That is written when the store answers, unless another
        process has taken over the run by then.
        """
        for driven_run in self._driven_runs.values():
            driven_run.drive.interrupt()
        self._launcher.kill(EVERYTHING)

    @property
    def was_stopped(self) -> bool:
        """Whether an Allstop came since `serving` began."""
        return self._helm_reader.helm.stops > self._stops_before

    async def halted(self) -> Halted:
        """The receipt of the latest Allstop since `serving` began."""
        return await self._receipts.after(self._helm_reader.helm.stops)

    async def rested(self, run: RunId) -> Waiting | Outcome:
        """Wait until the run is closed or waits for others without a time limit."""
        driven_run = self._driven_runs.get(run)
        while driven_run is not None:
            await driven_run.rested.wait()
            resting = driven_run.resting
            if isinstance(resting, Outcome) or (resting is not None and resting.until is None):
                return resting
            await driven_run.resumed.wait()
        return self._outcomes[run]

    async def idle(self) -> None:
        """Wait until all runs are closed or need a person."""
        while self._pending_children or not all(b.needs_person for b in self._driven_runs.values()):
            await self._next_change()

    async def _next_change(self) -> None:
        """Wait until a run starts waiting, closes or is opened."""
        if self._changed.is_set():
            self._changed = anyio.Event()
        await self._changed.wait()

    # --- reacting to writes ---

    def _on_write(self, run: RunId, seq: int) -> None:
        assert self._group is not None
        for waiting in self._waiting_for_budget:  # a turn may have ended below its reservation
            self._wake(waiting)
        self._context.parent_budgets.note_write(run)
        self._budgets.notify()
        if run == HELM:
            self._group.start_soon(self._react_to_helm)
            return
        driven_run = self._driven_runs.get(run)
        if driven_run is None:
            claim = self.claim_of(run)
            if claim in self._claims and run != claim and self.drives_here(run):
                self._pending_children.add(run)
                self._group.start_soon(self._prepare_and_start, run)
        elif driven_run.drive.note_write(seq):
            self._wake(driven_run)

    def _wake(self, driven_run: DrivenRun) -> None:
        assert self._group is not None
        if driven_run.drive.at_work:
            self._group.start_soon(self._react, driven_run)
        else:
            driven_run.wake_event.set()
            driven_run.drive.wake()

    async def _react(self, driven_run: DrivenRun) -> None:
        try:
            await driven_run.drive.react()
        except SupersededError:
            return  # the drive raises it again at its next write
        except Exception as error:  # noqa: BLE001 - a defect in one run must not stop the others
            self._viewers.show(
                driven_run.drive.run, Live("trouble", f"{type(error).__name__}: {error}")
            )

    async def _react_to_helm(self) -> None:
        await self._retry_read(self._helm_reader.catch_up)
        before, after = self._last_helm, self._helm_reader.helm
        if after == before:
            return
        self._last_helm = after
        if after.stops > before.stops:
            self._launcher.kill(EVERYTHING)
        for driven_run in list(self._driven_runs.values()):
            self._wake(driven_run)
        if after.stops > before.stops:
            await self._halt(after.stops)

    async def _halt(self, stops: int) -> None:
        """Wait until all runs rest, and write the stop receipt."""
        asked_at = self._helm_reader.helm.asked_at or self._clock.now()
        with anyio.move_on_after(HALT_S):
            for driven_run in list(self._driven_runs.values()):
                await driven_run.rested.wait()
        now = self._clock.now()
        halted = Halted(
            at=now,
            asked_at=asked_at,
            by=self._name,
            took_ms=round((now - asked_at).total_seconds() * 1000, 1),
            killed=self._launcher.killed(),
            discarded=tuple(
                lost
                for driven_run in self._driven_runs.values()
                for lost in driven_run.drive.lost()
            ),
            runs={
                run: driven_run.describe(self._pilots, now)
                for run, driven_run in self._driven_runs.items()
            },
        )
        await retry_write(
            lambda write: self._journal.append(Entry(HELM, halted), write=write),
            self._viewers.show,
        )
        self._receipts.add(stops, halted)

    async def _retry_read(self, read: Callable[[], Awaitable[T]]) -> T:
        return await retry_read(read, lambda live: self._viewers.show(HELM, live))

    # --- driving ---

    async def _prepare_and_start(self, run: RunId) -> None:
        try:
            await self._start(await self._prepare(run))
        finally:
            self._pending_children.discard(run)
            self._changed.set()

    async def _prepare(self, run: RunId, known: FoldedRun[Any] | None = None) -> DrivenRun | None:
        """Fold a run for driving; None if it is closed, already driven or broken."""
        try:
            after = known.seq if known else 0
            records = await self._retry_read(lambda: self._journal.read(run, after=after))
            if run in self._driven_runs:
                return None
            pilot, folded = fold(self._pilots, records, known)
            drive = Drive(run, pilot, self._context, folded)
        except Exception as error:  # noqa: BLE001 - an unknown kind, or an unreadable spec or event
            self._viewers.show(run, Live("trouble", f"broken: {type(error).__name__}: {error}"))
            return None
        if drive.state.closed is not None:
            return None
        if drive.state.opened.parent is not None:  # its past usage counts for its parents
            self._budgets.settle(drive.state.opened.parent, NOTHING, used_so_far(drive.state.tally))
        driven_run = self._driven_runs[run] = DrivenRun(drive)
        self._claims.drive(run)
        return driven_run

    async def _start(self, driven_run: DrivenRun | None, parked: Collection[RunId] = ()) -> None:
        if driven_run is None:
            return
        assert self._group is not None
        is_parked = driven_run.drive.run in parked
        drive = self._drive_when_told if is_parked else self._keep_driving
        self._group.start_soon(drive, driven_run)
        run, parent = driven_run.drive.run, driven_run.drive.state.opened.parent
        is_root = run == self.claim_of(run)
        if parent is not None and not is_root and parent not in self._driven_runs:
            await self._abort_orphan(run, parent)

    async def _abort_orphan(self, run: RunId, parent: RunId) -> None:
        by = f"the end of {parent}"
        await retry_write(lambda _: self.command(run, Abort(), by=by), self._viewers.show)

    async def _drive_when_told(self, driven_run: DrivenRun) -> None:
        driven_run.rest(Waiting("not asked for", for_person=True))
        while not driven_run.drive.behind:
            await driven_run.wake_event.wait()
            driven_run.wake_event = anyio.Event()
        await self._keep_driving(driven_run)

    async def _keep_driving(self, driven_run: DrivenRun) -> None:
        drive = driven_run.drive
        while True:
            driven_run.wake_event = anyio.Event()
            driven_run.resume()
            try:
                ended = await drive.go()
            except SupersededError:
                ended = Outcome.ABORTED
                break
            except Exception as error:  # noqa: BLE001 - a defect in one run must not stop the others
                ended = Waiting(f"broken: {type(error).__name__}: {error}", for_person=True)
                self._viewers.show(drive.run, Live("trouble", ended.reason))
                driven_run.rest(ended)
                self._changed.set()
                # The event that broke it is still unread, so don't retry at once.
                await driven_run.wake_event.wait()
                continue
            if isinstance(ended, Outcome):
                break
            driven_run.rest(ended)
            self._changed.set()
            if not drive.behind:
                if ended.for_room:
                    self._waiting_for_budget.add(driven_run)
                await driven_run.sleep(ended, self._clock)
                self._waiting_for_budget.discard(driven_run)
        if drive.state.closed is not None:
            for other in list(self._driven_runs.values()):
                if other.drive.state.opened.parent == drive.run:
                    await self._abort_orphan(other.drive.run, drive.run)
        await self._remove(drive.run, ended)
        driven_run.rest(ended)
        self._changed.set()

    async def _remove(self, run: RunId, outcome: Outcome) -> None:
        self._budgets.close(run)
        self._context.parent_budgets.leave(run)
        self._launcher.killed(run)  # drop its killed programs
        del self._driven_runs[run]
        if self.claim_of(run) == run:
            self._outcomes[run] = outcome
        await self._claims.leave(run)
