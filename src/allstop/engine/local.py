"""Runs everything in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from datetime import datetime
from typing import Any

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
from allstop.engine.context import EngineContext
from allstop.engine.daily_budget import Days
from allstop.engine.drive import Drive, SupersededError
from allstop.engine.driven_run import DrivenRun
from allstop.engine.hands import Hands
from allstop.engine.helm_reader import HelmReader
from allstop.engine.retry_write import insist
from allstop.engine.run_state import fold
from allstop.engine.send import say
from allstop.engine.slots import Slots
from allstop.engine.steps import Parked, used_so_far
from allstop.engine.stop_receipts import Receipts
from allstop.engine.viewers import Show, Viewers
from allstop.ports import Clock, Cursor, Entry, Journal, Launcher, Live, StaleError

HALT_S = 10.0  # a stop waits so long for what it cut off before it says so

EVERYTHING = ""  # the label above all others


class LocalEngine:
    """Drives the runs it was given, each in a task of its own."""

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
        days: Days | None = None,
    ) -> None:
        self._journal, self._clock = journal, clock
        self._pilots = pilots
        self._launcher = launcher
        self._name = name
        self._helm_reader = HelmReader(journal)
        self._heeded = Helm()  # what all drives have been told of
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
            self._viewers.show,
            days or Days(journal),
            appraise,
            most_microusd,
        )
        self._driven_runs: dict[RunId, DrivenRun] = {}
        self._claims = Claims(journal)
        self._short: set[DrivenRun] = (
            set()
        )  # who waits until others need no more of the day's budget
        self._receipts = Receipts()
        self._outcomes: dict[RunId, Outcome] = {}  # of the roots that are over
        self._stir = anyio.Event()  # somebody came to rest
        self._coming: set[RunId] = set()  # children that were born and are not driven yet
        self._group: TaskGroup | None = None

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[LocalEngine]:
        """Drive what is opened or taken, until the block is left."""
        with ExitStack() as stack:
            stack.callback(self._claims.let_go)
            await self._helm_reader.catch_up()
            self._heeded = self._helm_reader.helm
            self._stops_before = self._helm_reader.helm.stops
            async with anyio.create_task_group() as group:
                self._group = group
                with self._journal.listen(self._heard, self.strike):
                    group.start_soon(self._journal.attend)
                    group.start_soon(self._context.hands.keep_time)
                    group.start_soon(self._heed_helm)
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
    def days(self) -> Days:
        return self._context.days

    def limit_day(self, limits: Limits) -> None:
        """Other limits for what all runs use in a day; whoever waits looks again."""
        if limits != self.days.limits:
            self.days.limits = limits
            for driven_run in list(self._driven_runs.values()):
                self._call(driven_run)

    def view(self, show: Show) -> None:
        """Be shown what happens live, from now on."""
        self._viewers.add(show)

    def state(self, run: RunId) -> RunState[Any] | None:
        driven_run = self._driven_runs.get(run)
        return driven_run.drive.state if driven_run else None

    # --- what people do ---

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
        """Begin a run; false when there is one of that name already."""
        at, limits = self._clock.now(), limits or Limits()
        opened = Opened(at=at, kind=kind, spec=spec, title=title, limits=limits, rules=rules)
        runs.begin(self._pilots[kind], opened)  # what makes no sense is not even written
        self._claims.take(run)
        try:
            is_new = await self._write_opened(run, opened)
            if is_new:
                await self._embark_and_start(run)
        finally:
            self._claims.give_up_unless_driven(run)
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

    def adopt(self, root: RunId, claim: AbstractContextManager[object]) -> None:
        self._claims.adopt(root, claim)

    async def take(self, run: RunId, known: FoldedRun[Any] | None = None) -> None:
        """Go on with a run that nobody drives, known or not, and with everything below it.

        Raises:
            HeldError: another process drives it.
        """
        root = root_of(run)
        self._claims.take(root)
        try:
            open_runs = [head.run for head in await self._journal.heads() if not head.closed]
            mine = [each for each in open_runs if root_of(each) == root]
            for driven_run in [
                await self._embark(each, known if each == run else None) for each in mine
            ]:
                await self._start(driven_run)  # once all that was used before is counted
        finally:
            self._claims.give_up_unless_driven(root)

    async def command(self, run: RunId, command: Command, by: str = "user") -> None:
        """Tell a run and everything below it, in one write."""
        await say(self._journal, self._clock, run, command, by)

    async def allstop(self, by: str = "user") -> Halted:
        """Stop everything; the receipt is written when nothing of it is alive."""
        stop = Commanded(at=self._clock.now(), command=Allstop(), by=by)
        await self._journal.append(Entry(HELM, stop))
        await self._helm_reader.catch_up()
        return await self.halted()

    def strike(self) -> None:
        """End all that is being done, now: a stop of everything is about to be written.

        Who waits for a program is told first. It would take its end for a failure, and try again.
        """
        for driven_run in self._driven_runs.values():
            if driven_run.drive.at_work:
                self._context.hands.cut(driven_run.drive.run)
        self._launcher.strike(EVERYTHING)

    @property
    def was_stopped(self) -> bool:
        """Whether an Allstop came while this was serving."""
        return self._helm_reader.helm.stops > self._stops_before

    async def halted(self) -> Halted:
        """The receipt of the latest Allstop that came while this was serving."""
        return await self._receipts.after(self._helm_reader.helm.stops)

    async def rested(self, run: RunId) -> Parked | Outcome:
        """Wait until the run is over, or waits for something that only others can do."""
        driven_run = self._driven_runs.get(run)
        while driven_run is not None:
            await driven_run.rested.wait()
            resting = driven_run.resting
            if isinstance(resting, Outcome) or (resting is not None and resting.until is None):
                return resting
            await driven_run.risen.wait()
        return self._outcomes[run]

    async def idle(self) -> None:
        """Wait until nothing goes on unless a person does something."""
        while self._coming or not all(b.needs_a_person for b in self._driven_runs.values()):
            self._stir = anyio.Event()
            await self._stir.wait()

    # --- hearing ---

    def _heard(self, run: RunId, seq: int) -> None:
        assert self._group is not None
        for waiting in self._short:  # somebody's turn may have ended, and used less than it might
            self._call(waiting)
        if run == HELM:
            self._group.start_soon(self._heed_helm)
            return
        driven_run = self._driven_runs.get(run)
        if driven_run is None:
            if root_of(run) in self._claims and run != root_of(run):
                self._coming.add(run)
                self._group.start_soon(self._embark_and_start, run)
        elif driven_run.drive.hear(seq):
            self._call(driven_run)

    def _call(self, driven_run: DrivenRun) -> None:
        assert self._group is not None
        if driven_run.drive.at_work:
            self._group.start_soon(self._heed, driven_run)
        else:
            driven_run.bell.set()
            driven_run.drive.call()

    async def _heed(self, driven_run: DrivenRun) -> None:
        try:
            await driven_run.drive.heed()
        except SupersededError:
            return  # the drive itself finds out when it next writes
        except Exception as error:  # noqa: BLE001 - one run's fault is not the others'
            self._viewers.show(
                driven_run.drive.run, Live("trouble", f"{type(error).__name__}: {error}")
            )

    async def _heed_helm(self) -> None:
        await self._helm_reader.catch_up()
        before, after = self._heeded, self._helm_reader.helm
        if after == before:
            return
        self._heeded = after
        if after.stops > before.stops:
            self._launcher.strike(EVERYTHING)
        for driven_run in list(self._driven_runs.values()):
            self._call(driven_run)
        if after.stops > before.stops:
            await self._halt(after.stops)

    async def _halt(self, stops: int) -> None:
        """Wait until nothing moves any more, and write the receipt of it."""
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
                run: self._where(driven_run, now) for run, driven_run in self._driven_runs.items()
            },
        )
        await insist(lambda: self._journal.append(Entry(HELM, halted)), self._viewers.show)
        self._receipts.add(stops, halted)

    def _where(self, driven_run: DrivenRun, now: datetime) -> str:
        return driven_run.where(self._pilots[driven_run.drive.state.opened.kind], now)

    # --- driving ---

    async def _embark_and_start(self, run: RunId) -> None:
        try:
            await self._start(await self._embark(run))
        finally:
            self._coming.discard(run)
            self._stir.set()

    async def _embark(self, run: RunId, known: FoldedRun[Any] | None = None) -> DrivenRun | None:
        """Make it ready to be driven; one that can't be driven is not the others' trouble."""
        try:
            records = await self._journal.read(run, after=known.seq if known else 0)
            if run in self._driven_runs:
                return None
            pilot, folded = fold(self._pilots, records, known)
            drive = Drive(run, pilot, self._context, folded)
        except Exception as error:  # noqa: BLE001 - an unknown kind, a spec or an event nobody can read
            self._viewers.show(run, Live("trouble", f"broken: {type(error).__name__}: {error}"))
            return None
        if drive.state.closed is not None:
            return None
        if drive.state.opened.parent is not None:  # what it used before counts for those above
            self._budgets.settle(drive.state.opened.parent, NOTHING, used_so_far(drive.state.tally))
        driven_run = self._driven_runs[run] = DrivenRun(drive)
        self._claims.drive(run)
        return driven_run

    async def _start(self, driven_run: DrivenRun | None) -> None:
        if driven_run is None:
            return
        assert self._group is not None
        self._group.start_soon(self._keep_driving, driven_run)
        parent = driven_run.drive.state.opened.parent
        if parent is not None and parent not in self._driven_runs:
            await self._recall(driven_run.drive.run, parent)

    async def _recall(self, run: RunId, parent: RunId) -> None:
        """Whoever was started by a run that is over ends with it."""
        by = f"the end of {parent}"
        await insist(lambda: self.command(run, Abort(), by=by), self._viewers.show)

    async def _keep_driving(self, driven_run: DrivenRun) -> None:
        drive = driven_run.drive
        while True:
            driven_run.bell = anyio.Event()
            driven_run.rise()
            try:
                ended = await drive.go()
            except SupersededError:
                ended = Outcome.ABORTED
                break
            except Exception as error:  # noqa: BLE001 - one run's fault is not the others'
                ended = Parked(f"broken: {type(error).__name__}: {error}", for_person=True)
                self._viewers.show(drive.run, Live("trouble", ended.reason))
                driven_run.rest(ended)
                self._stir.set()
                await (
                    driven_run.bell.wait()
                )  # what it can't take in stays unread: don't ask at once
                continue
            if isinstance(ended, Outcome):
                break
            driven_run.rest(ended)
            self._stir.set()
            if not drive.behind:
                if ended.for_room:
                    self._short.add(driven_run)
                await driven_run.stay(ended, self._clock.now())
                self._short.discard(driven_run)
        if drive.state.closed is not None:
            for other in list(self._driven_runs.values()):
                if other.drive.state.opened.parent == drive.run:
                    await self._recall(other.drive.run, drive.run)
        self._disembark(drive.run, ended)
        driven_run.rest(ended)
        self._stir.set()

    def _disembark(self, run: RunId, outcome: Outcome) -> None:
        self._budgets.close(run)
        self._launcher.killed(run)  # what it left when it was over
        del self._driven_runs[run]
        if root_of(run) == run:
            self._outcomes[run] = outcome
        self._claims.leave(run)
