"""The loop: choose a move, write it down, carry it out, write down what came back, again."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import datetime
from typing import Generic, TypeVar

import anyio
import anyio.lowlevel
from msgspec.structs import replace

from allstop.core import brakes
from allstop.core import run as runs
from allstop.core.asks import (
    A_RULE,
    NOBODY,
    UNANSWERED,
    Answer,
    Ask,
    answer_by_rules,
    describe_ask,
    unasked_note,
)
from allstop.core.budget import NOTHING
from allstop.core.events import Asked, Event, MoveEnded, Noted, Stopped
from allstop.core.ids import MoveId, RunId
from allstop.core.moves import CUT_BY_STOP, Failed, FailureKind, Item, Result, TakeTurn, Work
from allstop.core.run import FoldedRun, Pilot
from allstop.engine.cancel_scope import CancelHandle
from allstop.engine.context import EngineContext
from allstop.engine.move_watch import MoveWatch
from allstop.engine.reservations import Reservations
from allstop.engine.slots import Place, Slots
from allstop.engine.steps import (
    Again,
    Driven,
    Page,
    Parked,
    Queue,
    Rest,
    Step,
    is_capped,
    lay_out,
    lost_by,
    spent,
    unfinished,
)
from allstop.ports import (
    Cursor,
    Entry,
    Live,
    StaleError,
    StoreBusyError,
    StoreFullError,
)
from allstop.views.runs import describe

S = TypeVar("S")

CLEANUP_S = 10.0
NOTES_EVERY_S = 1.0
STORE_RETRY_S = 1.0


class SupersededError(Exception):
    """Another process drives this run now; whatever this one still holds does not count."""


class Drive(Generic[S]):
    """Drives one run until it parks or closes. It folds its own writes and reads only others'."""

    def __init__(
        self, run: RunId, pilot: Pilot[S], context: EngineContext, known: FoldedRun[S]
    ) -> None:
        self.run = run
        self.state = state = known.state
        self._pilot = pilot
        self._context = context
        self._seq = self._heard = known.seq
        self._writing = False
        self._pen = anyio.Lock(fast_acquire=True)
        self.at_work = False  # whether a move is being carried out
        self._stops_seen = context.helm_reader.helm.stops  # when something was last written
        self._cancel_handle = CancelHandle()
        self._frozen = False
        self._held_s = 0.0  # of the last move
        self._place = Place(context.turn_slots if pilot.needs_slots else Slots())
        self._reservations: Reservations[S] = Reservations(run, pilot, context)
        self._reservations.hold_to(state.limits, state.tally)
        if state.open_move is not None:  # what nobody saw the end of counts before anybody goes on
            lost = unfinished(state.open_move, FailureKind.INTERRUPTED)
            context.budgets.settle(run, NOTHING, spent(lost))
        self._notes: list[Item] = []
        self._noted_at = -math.inf
        self._answered: dict[str, anyio.Event] = {}
        self._stirred = anyio.Event()  # others have said something
        self._lost: dict[MoveId, str] = {}

    @property
    def behind(self) -> bool:
        """Whether others have written what this has not read."""
        return self._heard > self._seq

    async def go(self) -> Rest:
        """Until there is nothing to do now, or ever."""
        await self._catch_up()
        result: Result | None = None
        if self.state.open_move is not None:
            result = unfinished(self.state.open_move, FailureKind.INTERRUPTED)
        try:
            while True:
                step = await self._advance(result)
                if isinstance(step, Rest):
                    return step
                result = await self._carry_out(step)
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(CLEANUP_S, shield=True):
                await self._cut_short()
            raise
        finally:
            self._cancel_handle.drop()
            self._reservations.release(NOTHING)
            self._place.leave()

    # --- what others say ---

    def hear(self, seq: int) -> bool:
        """Somebody wrote; true when it was somebody else."""
        if seq > self._heard:
            self._heard = seq
        return not self._writing and seq > self._seq

    def call(self) -> None:
        """Somebody wrote to the helm or to the run: whoever waits in the line must look."""
        self._place.call()

    def seconds_left(self, now: datetime) -> float:
        """Until its time is up, also while it waits; after that there is nothing to wait for."""
        state = self.state
        left_s = (state.limits.time_s or 0.0) - (now - state.opened.at).total_seconds()
        return left_s if left_s > 0 else math.inf

    def lost(self) -> tuple[str, ...]:
        """What a stop of everything cut off or came too late for; each is told once."""
        lost, self._lost = tuple(self._lost.values()), {}
        return lost

    async def heed(self) -> None:
        """Take in what was said while a move is under way."""
        await self._catch_up()
        helm = self._context.helm_reader.helm
        if not self.at_work:
            return
        if self._is_cut:
            self._context.hands.cut(self.run)
        elif runs.is_frozen(self.state, helm) is not self._frozen:
            self._frozen = not self._frozen
            hands = self._context.hands
            await (hands.freeze if self._frozen else hands.thaw)(self.run)
            self._stirred.set()

    async def _catch_up(self) -> None:
        """Fold what others (people, child runs) have written since."""
        await self._context.helm_reader.catch_up()
        for record in await self._context.journal.read(self.run, after=self._seq):
            if self._writing:
                return  # it may be our own: whoever writes looks again afterwards
            if record.seq <= self._seq:
                continue  # folded while this was being read
            if isinstance(record.event, Driven):
                raise SupersededError(self.run)
            self.state = runs.evolve(self._pilot, self.state, record.event)
            self._seq = record.seq
        for ask in self.state.permits:
            if ask in self._answered:
                self._answered[ask].set()
        self._stirred.set()

    # --- deciding and writing ---

    async def _advance(self, result: Result | None) -> Work | Rest:
        """Write what came back together with what comes next."""
        context = self._context
        while True:
            now = context.clock.now()
            is_limited = context.days.is_limited(now, context.helm_reader.helm)
            if is_limited:
                await context.days.catch_up(now)
                now = context.clock.now()
            ended = self.state.open_move if result is not None else None
            step = self._next_step(result, now)
            try:
                place = (
                    context.days.place if is_limited and isinstance(step.then, TakeTurn) else None
                )
                await self._write(step, place)
            except StaleError:
                self._reservations.release(NOTHING)
                await self._catch_up()
                continue
            if ended is not None and ended.helm_stops == context.helm_reader.helm.stops:
                context.hands.forget_killed(self.run)  # no receipt of a later stop tells of them
            result = None
            match step.then:
                case Again():
                    pass
                case Parked(for_room=True) if step.entries:
                    pass  # there may be room by now: whoever rests must have looked at last
                case Queue():
                    if not self.behind:
                        self.show(Live("queued", self._place.words))
                        await self._place.called()
                    await self._catch_up()
                case then:
                    return then

    def _next_step(self, result: Result | None, now: datetime) -> Step[S]:
        context = self._context
        page = self._page(result, now)
        self._reservations.hold_to(self.state.limits, self.state.tally)
        helm = context.helm_reader.helm
        if runs.must_record_stop(self._pilot, page.state, helm, self._stops_seen):
            page = page.also(Stopped(at=page.now, stops=helm.stops))
        move = runs.choose(self._pilot, page.state, page.now, helm)
        if not isinstance(move, TakeTurn):
            self._place.leave()
            return self._reservations.hold_back(page, move) or lay_out(page, move)
        if not self._place.has_slot():
            return page.step(Queue())
        return self._reservations.begin(page, move, self.state.tally)

    def _page(self, result: Result | None, now: datetime) -> Page[S]:
        """The run as it is once `result` has been written."""
        helm = self._context.helm_reader.helm
        page = Page(self.run, self._pilot, self.state, (), now, helm.stops)
        if result is None:
            return page
        open_move = self.state.open_move
        if open_move is None:
            raise SupersededError(self.run)
        result = runs.accepted_result(self.state, helm, result)
        if (
            helm.stops > open_move.helm_stops
            and isinstance(result, Failed)
            and result.kind in CUT_BY_STOP
        ):
            self._lost[open_move.id] = f"{self.run}: {describe(open_move.move)}"
        if self._notes:
            page = page.also(Noted(at=now, id=open_move.id, items=tuple(self._notes)))
        return page.ended(MoveEnded(at=now, id=open_move.id, result=result, held_s=self._held_s))

    async def _write(self, step: Step[S], place: int | None = None) -> None:
        if not step.entries:
            return
        stops = self._context.helm_reader.helm.stops
        await self._append(step.entries, place)
        self._seq += step.own
        self.state = step.state
        self._stops_seen = stops
        self._notes.clear()

    async def _append(self, entries: tuple[Entry, ...], place: int | None = None) -> None:
        expect = Cursor(self.run, self._seq, self._context.helm_reader.seq, place)
        self._writing = True
        try:
            while True:
                try:
                    return await self._context.journal.append(*entries, expect=expect)
                except (StoreFullError, StoreBusyError) as trouble:
                    self._context.show(
                        self.run, Live("trouble", f"{trouble.message}: {trouble.hint}")
                    )
                    await anyio.sleep(STORE_RETRY_S)
                    if self._has_news:  # it would be refused later; a stop is heard now
                        raise StaleError(self.run) from trouble
        finally:
            self._writing = False

    async def _cut_short(self) -> None:
        """The process is about to end: leave no open move behind, and say until when it went on."""
        if self.state.open_move is not None:
            self._notes.append(Item(kind="interrupted", text="the process ended"))
        while self.state.open_move is not None:
            interrupted = unfinished(self.state.open_move, FailureKind.INTERRUPTED)
            page = self._page(interrupted, self._context.clock.now())
            try:
                await self._write(page.step(Again()))
            except StaleError:
                await self._catch_up()

    # --- doing ---

    async def _carry_out(self, move: Work) -> Result:
        self.at_work = True
        try:
            frozen = runs.is_frozen(self.state, self._context.helm_reader.helm)
            if self._has_news or frozen is not self._frozen:
                await self.heed()
            result = await self._perform(move)
        finally:
            self.at_work = False
            self._held_s = self._context.hands.held_s(self.run)
        assert self.state.open_move is not None, "who carries it out ends it"
        if result is None:
            known = self._context.hands.advised(self.run)
            result = unfinished(self.state.open_move, FailureKind.CANCELLED, known)
        result = self._context.hands.clean(result)
        self._reservations.release(spent(result))
        if isinstance(move, TakeTurn):
            self._place.go_back()
        return result

    async def _perform(self, move: Work) -> Result | None:
        """None when it was cut."""
        state = self.state
        assert state.open_move is not None, "it was written before it is done"
        if self._is_cut:
            return None
        left_s = brakes.seconds_left(
            state.limits, state.tally, state.opened.at, state.open_move.started_at
        )
        watch = MoveWatch(self, state.open_move.id, self._context.hands.words)
        try:
            within_s = math.inf if left_s is None else left_s
            most = lost_by(state.open_move) if is_capped(move) else None
            perform = self._context.hands.perform
            return await perform(self.run, move, watch, within_s, self._cancel_handle, most)
        except SupersededError:
            raise
        except Exception as error:  # noqa: BLE001 - an adapter's fault must not stop other runs
            message = f"{type(error).__name__}: {error}"
            return replace(unfinished(state.open_move, FailureKind.CRASHED), message=message)
        finally:
            if watch.has_spoken and not self._is_cut:
                watch.end()

    # --- what the agent says while it works ---

    def show(self, live: Live) -> None:
        self._context.show(self.run, live)

    async def record(self, event_at: Callable[[datetime], Event]) -> None:
        """Write down something of the move that is under way, unless it may not go on."""
        async with self._pen:  # an agent may say several things at once
            while not await self._recorded(event_at):
                pass
        if self.behind:  # something was said before we knew that this was written
            await self.heed()

    async def _recorded(self, event_at: Callable[[datetime], Event]) -> bool:
        """Whether it needs no further try."""
        if self._has_news:
            await self.heed()
        await anyio.lowlevel.checkpoint_if_cancelled()
        if self._is_cut:
            return True  # it may be shielded from that, but nothing it says counts
        event = self._context.hands.clean(event_at(self._context.clock.now()))
        try:
            await self._append((Entry(self.run, event),))
        except StaleError:
            await self.heed()
            return False
        self._seq += 1
        self.state = runs.evolve(self._pilot, self.state, event)
        return True

    @property
    def _has_news(self) -> bool:
        return self._heard > self._seq or self._context.helm_reader.helm.stops > self._stops_seen

    @property
    def _is_cut(self) -> bool:
        return runs.cancelled_by(self.state, self._context.helm_reader.helm) != ""

    async def note(self, move_id: MoveId, item: Item) -> None:
        """Items are written together: at most one write a second, the last ones with the result."""
        if self._is_cut:
            return
        self._notes.append(self._context.hands.clean(item))
        if anyio.current_time() - self._noted_at >= NOTES_EVERY_S:
            self._noted_at = anyio.current_time()
            items, self._notes = tuple(self._notes), []
            await self.record(lambda now: Noted(at=now, id=move_id, items=items))

    async def words(self) -> str:
        """What can be told to the agent at work; one that is frozen would hear it later."""
        while self._frozen or not (undelivered := self._pilot.undelivered(self.state.pilot)):
            self._stirred = anyio.Event()
            await self._stirred.wait()
        return undelivered[0]

    async def ask(self, move_id: MoveId, ask: Ask) -> Answer:
        ask = self._context.appraise(ask, self.state.open_move)
        answer = answer_by_rules(self.state.opened.rules, ask)
        if answer is None or (ask.within and answer.allows):  # that is as if it had not asked
            return answer or await self._ask_a_person(move_id, ask)
        kind = "allowed" if answer.allows else "denied"
        by = f" ({answer.by})" if answer.by != A_RULE else ""
        await self.note(move_id, Item(kind=kind, text=f"{describe_ask(ask)}{by}"))
        return answer

    async def _ask_a_person(self, move_id: MoveId, ask: Ask) -> Answer:
        """Nobody there, or nobody who answers in time, means no."""
        move = self.state.open_move.move if self.state.open_move else None
        wait_s = move.ask_s if isinstance(move, TakeTurn) else None
        if wait_s == 0:
            await self.note(move_id, Item(kind="denied", text=unasked_note(ask)))
            return NOBODY
        answered = self._answered[ask.id] = anyio.Event()
        await self.record(lambda now: Asked(at=now, id=move_id, ask=ask))
        if not self._is_cut:
            with anyio.move_on_after(wait_s if wait_s is not None else math.inf):
                await answered.wait()
        if ask.id not in self.state.permits and not self._is_cut:
            await self.note(move_id, Item(kind="unanswered", text=describe_ask(ask)))
        return self.state.permits.get(ask.id, UNANSWERED)
