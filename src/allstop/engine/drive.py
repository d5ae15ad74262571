"""The drive of one run: chooses a move, records it, performs it and records its result."""

import math
from collections.abc import Callable
from datetime import datetime
from typing import Generic, TypeVar

import anyio
import anyio.lowlevel
from msgspec.structs import replace

from allstop import ports
from allstop.core import asks, brakes
from allstop.core import run as runs
from allstop.core.budget import NOTHING, Amount
from allstop.core.daily_budget import spent
from allstop.core.events import Asked, CallReserved, Event, MoveEnded, Noted, Stopped
from allstop.core.ids import MoveId, RunId
from allstop.core.moves import (
    CUT_BY_STOP,
    CUT_TEXT,
    Failed,
    FailureKind,
    Item,
    Result,
    TakeTurn,
    Work,
)
from allstop.core.prompt import with_note
from allstop.core.run import FoldedRun, Pilot
from allstop.engine import steps
from allstop.engine.cancel_scope import CancelHandle
from allstop.engine.context import EngineContext
from allstop.engine.move_watch import MoveWatch
from allstop.engine.reservations import Reservations, WriteCheck
from allstop.engine.retry_read import STORE_RETRY_S, retry_read
from allstop.engine.slots import RunSlot, Slots
from allstop.views.log import describe

S = TypeVar("S")

CLEANUP_S = 10.0
NOTES_EVERY_S = 1.0


class SupersededError(Exception):
    """Another process drives this run; this process must stop writing to it."""


class Drive(Generic[S]):
    """Drives one run until it waits or closes. It folds its own writes and reads only others'."""

    def __init__(
        self, run: RunId, pilot: Pilot[S], context: EngineContext, known: FoldedRun[S]
    ) -> None:
        self.run = run
        self.state = state = known.state
        self._pilot = pilot
        self._context = context
        self._seq = self._last_seq = known.seq
        self._writing = False
        self._write_lock = anyio.Lock(fast_acquire=True)
        self.at_work = False  # whether a move is being performed
        self._stops_seen = context.helm_reader.helm.stops  # at the last write
        self._cancel_handle = CancelHandle()
        self._frozen = False
        self._is_interrupted = False
        self._held_s = 0.0  # of the last move
        self._slot = RunSlot(context.turn_slots if pilot.needs_slots else Slots())
        self._reservations: Reservations[S] = Reservations(run, pilot, context)
        self._reservations.hold_to(state.limits, state.tally)
        if state.open_move is not None:  # an interrupted move counts before any run continues
            lost = steps.unfinished_result(state.open_move, FailureKind.INTERRUPTED)
            context.budgets.settle(run, NOTHING, spent(lost))
        self._notes: list[Item] = []
        self._said = ""  # by the agent in the last move
        self._late_calls = ""  # of that move
        self._noted_at = -math.inf
        self._answered: dict[str, anyio.Event] = {}
        self._news = anyio.Event()  # set when others have written
        self._lost: dict[MoveId, str] = {}

    @property
    def behind(self) -> bool:
        """Whether others have written events that this drive hasn't read."""
        return self._last_seq > self._seq

    async def go(self) -> steps.Idle:
        """Drive until the run waits or closes."""
        await self._catch_up()
        result: Result | None = None
        if self.state.open_move is not None:
            result = steps.unfinished_result(self.state.open_move, FailureKind.INTERRUPTED)
        try:
            while True:
                step = await self._advance(result)
                if isinstance(step, steps.Idle):
                    return step
                result = await self._carry_out(step)
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(CLEANUP_S, shield=True):
                await self._record_interruption()
            raise
        finally:
            self._cancel_handle.drop()
            self._reservations.release(NOTHING)
            self._slot.leave()

    # --- events of others ---

    def note_write(self, seq: int) -> bool:
        """Take note of a write; returns whether it came from somebody else."""
        if seq > self._last_seq:
            self._last_seq = seq
        return not self._writing and seq > self._seq

    def wake(self) -> None:
        """Wake a drive that waits for a slot, after a write to the helm or the run."""
        self._slot.wake()

    def seconds_left(self, now: datetime) -> float:
        """Seconds until the run's time limit, also while it waits; infinite after the limit."""
        state = self.state
        left_s = (state.limits.time_s or 0.0) - (now - state.opened.at).total_seconds()
        return left_s if left_s > 0 else math.inf

    def lost(self) -> tuple[str, ...]:
        """Moves that an Allstop cut off or whose results it discarded; each is returned once."""
        lost, self._lost = tuple(self._lost.values()), {}
        return lost

    def interrupt(self) -> None:
        """End the current move as if the process had ended; the drive continues."""
        if self.at_work:
            self._is_interrupted = True
            self._context.hands.cut(self.run)

    async def react(self) -> None:
        """Read newer events while a move is being performed, and cut, freeze or thaw it."""
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
            self._news.set()

    async def _catch_up(self) -> None:
        """Fold newer events of others (people, child runs)."""
        read = self._context.journal.read
        await retry_read(self._context.helm_reader.catch_up, self.show)
        for record in await retry_read(lambda: read(self.run, after=self._seq), self.show):
            if self._writing:
                return  # the events may be our own; the writer reads again afterwards
            if record.seq <= self._seq:
                continue  # already folded during the read
            if isinstance(record.event, steps.DriverEvent):
                raise SupersededError(self.run)
            self.state = runs.evolve(self._pilot, self.state, record.event)
            self._seq = record.seq
        for ask in self.state.permits:
            if ask in self._answered:
                self._answered[ask].set()
        self._news.set()
        self._context.budgets.notify()  # others may have raised a limit

    # --- choosing and recording moves ---

    async def _advance(self, result: Result | None) -> Work | steps.Idle:
        """Record the last move's result together with the next move."""
        context = self._context
        while True:
            await self._reservations.catch_up()
            now = context.clock.now()
            ended = self.state.open_move if result is not None else None
            step = self._next_step(result, now)
            try:
                is_turn = isinstance(step.then, TakeTurn)
                await self._write(step, self._reservations.check() if is_turn else None)
            except ports.StaleError as stale:
                self._reservations.release(NOTHING)
                await self._catch_up()
                if isinstance(stale, ports.NoRoomError):
                    await self._reservations.changed()
                continue
            if ended is not None and ended.helm_stops == context.helm_reader.helm.stops:
                context.hands.forget_killed(self.run)  # they belong to no later stop's receipt
            result = None
            match step.then:
                case steps.ChooseAgain():
                    pass
                case steps.Waiting(for_room=True) if step.entries:
                    pass  # check once more before waiting: there may be room by now
                case steps.WaitForSlot():
                    if not self.behind:
                        self.show(ports.Live("queued", self._slot.words))
                        await self._slot.wait()
                    await self._catch_up()
                case then:
                    return then

    def _next_step(self, result: Result | None, now: datetime) -> steps.Step[S]:
        context = self._context
        pending = self._pending(result, now)
        self._reservations.hold_to(self.state.limits, self.state.tally)
        helm = context.helm_reader.helm
        if runs.must_record_stop(self._pilot, pending.state, helm, self._stops_seen):
            pending = pending.with_event(Stopped(at=pending.now, stops=helm.stops))
        move = runs.choose(self._pilot, pending.state, pending.now, helm)
        if not isinstance(move, TakeTurn):
            self._slot.leave()
            return self._reservations.hold_back(pending, move) or steps.step_for(pending, move)
        if not self._slot.has_slot():
            return pending.step(steps.WaitForSlot())
        return self._reservations.begin(pending, move, self.state.tally)

    def _pending(self, result: Result | None, now: datetime) -> steps.PendingWrite[S]:
        """The run's state with `result` folded in, not yet written."""
        helm = self._context.helm_reader.helm
        pending = steps.PendingWrite(self.run, self._pilot, self.state, (), now, helm.stops)
        if result is None:
            return pending
        open_move = self.state.open_move
        if open_move is None:
            raise SupersededError(self.run)
        result = runs.accepted_result(self.state, helm, result)
        if (
            helm.stops > open_move.helm_stops
            and isinstance(result, Failed)
            and result.kind in CUT_BY_STOP
        ):
            late = f" ({self._late_calls})" if self._late_calls else ""
            self._lost[open_move.id] = f"{self.run}: {describe(open_move.move)}{late}"
        items = [*self._notes, *self._cut_text(result)]
        if items:
            pending = pending.with_event(Noted(at=now, id=open_move.id, items=tuple(items)))
        return pending.ended(MoveEnded(at=now, id=open_move.id, result=result, held_s=self._held_s))

    def _cut_text(self, result: Result) -> tuple[Item, ...]:
        """The text before a stop that ended a talk; finished messages of other runs are items."""
        is_cut = isinstance(result, Failed) and result.kind in CUT_BY_STOP
        if not (is_cut and self._said and self._pilot.ends_when_stopped):
            return ()
        return (self._context.hands.clean(Item(kind=CUT_TEXT, text=self._said)),)

    async def _write(self, step: steps.Step[S], check: WriteCheck | None = None) -> None:
        if not step.entries:
            return
        stops = self._context.helm_reader.helm.stops
        await self._append(step.entries, check)
        self._seq += step.own
        self.state = step.state
        self._stops_seen = stops
        self._notes.clear()

    async def _append(
        self, entries: tuple[ports.Entry, ...], check: WriteCheck | None = None
    ) -> None:
        place, rooms = check or (None, ())
        expect = ports.Cursor(self.run, self._seq, self._context.helm_reader.seq, place, rooms)
        write = None  # the id of a try that may have arrived
        self._writing = True
        try:
            while True:
                try:
                    return await self._context.journal.append(*entries, expect=expect, write=write)
                except ports.ClaimLostError as lost:
                    raise SupersededError(self.run) from lost
                except ports.StoreTroubleError as trouble:
                    self._context.show(
                        self.run, ports.Live("trouble", f"{trouble.message}: {trouble.hint}")
                    )
                    await anyio.sleep(STORE_RETRY_S)
                    write = trouble.write or write
                    if self._has_news and write is None:
                        # the write would be refused anyway; react to a stop now
                        raise ports.StaleError(self.run) from trouble
        finally:
            self._writing = False

    async def _record_interruption(self) -> None:
        """Close the open move before the process ends, and record when it was interrupted."""
        if self.state.open_move is not None:
            self._notes.append(Item(kind="interrupted", text="the process ended"))
        while self.state.open_move is not None:
            known = self._context.hands.known_usage(self.run)
            interrupted = steps.unfinished_result(
                self.state.open_move, FailureKind.INTERRUPTED, known
            )
            pending = self._pending(interrupted, self._context.clock.now())
            try:
                await self._write(pending.step(steps.ChooseAgain()))
            except ports.StaleError:
                await self._catch_up()

    # --- performing moves ---

    async def _carry_out(self, move: Work) -> Result:
        self.at_work = True
        self._is_interrupted = False
        try:
            frozen = runs.is_frozen(self.state, self._context.helm_reader.helm)
            if self._has_news or frozen is not self._frozen:
                await self.react()
            result = await self._perform(move)
        finally:
            self.at_work = False
            self._held_s = self._context.hands.held_s(self.run)
        assert self.state.open_move is not None, "the move being performed is open"
        if result is None:
            known = self._context.hands.known_usage(self.run)
            kind = FailureKind.INTERRUPTED if self._is_interrupted else FailureKind.CANCELLED
            result = steps.unfinished_result(self.state.open_move, kind, known)
        result = self._context.hands.clean(result)
        self._reservations.release(spent(result))
        if isinstance(move, TakeTurn):
            self._slot.requeue()
        return result

    async def _perform(self, move: Work) -> Result | None:
        """The result; None if the move was cut."""
        state = self.state
        assert state.open_move is not None, "a move is recorded before it is performed"
        if self._is_cut:
            return None
        left_s = brakes.seconds_left(
            state.limits, state.tally, state.opened.at, state.open_move.started_at
        )
        watch = MoveWatch(self, state.open_move.id, self._context.hands.words)
        try:
            within_s = math.inf if left_s is None else left_s
            most = steps.max_usage(state.open_move) if steps.is_capped(move) else None
            if isinstance(move, TakeTurn):
                move = self._with_account(move, state.open_move.id)
            perform = self._context.hands.perform
            return await perform(self.run, move, watch, within_s, self._cancel_handle, most)
        except SupersededError:
            raise
        except Exception as error:  # noqa: BLE001 - a defect in an adapter must not stop other runs
            message = f"{type(error).__name__}: {error}"
            known = self._context.hands.known_usage(self.run)
            crashed = steps.unfinished_result(state.open_move, FailureKind.CRASHED, known)
            return replace(crashed, message=message)
        finally:
            self._said, self._late_calls = watch.said, watch.late_calls
            if watch.has_spoken and not self._is_cut:
                watch.end()

    def _with_account(self, move: TakeTurn, move_id: MoveId) -> TakeTurn:
        """Open the account of the turn's model calls; the agent may have to end at a cap."""
        account = self._reservations.open_account(
            move,
            lambda: self._reservations.hold_to(self.state.limits, self.state.tally),
            lambda number, amount, check: self._reserve_call(move_id, number, amount, check),
        )
        self._context.hands.give_account(self.run, account)
        if move.max_tokens is None:
            move = self._context.hands.capped(move, account.left.tokens)
        told = "" if move.compacts else self._reservations.near_end(account.left)
        if not told:
            return move
        self._notes.append(Item(kind="budget", text=told))
        return replace(move, prompt=with_note(move.prompt, told))

    # --- messages of the agent during a move ---

    def show(self, live: ports.Live) -> None:
        self._context.show(self.run, live)

    async def record(self, event_at: Callable[[datetime], Event]) -> None:
        """Record an event of the current move, unless the move was cut."""
        async with self._write_lock:  # an agent may send several messages at once
            while not await self._recorded(event_at):
                pass
        if self.behind:  # others wrote before this write was confirmed
            await self.react()

    async def _reserve_call(
        self, move_id: MoveId, number: int, amount: Amount, check: WriteCheck | None
    ) -> bool:
        """Record the reservation of a model call; False if others wrote first.

        Earlier calls are settled in the same write, else the store would refuse a call because of
        what these have reserved.
        """

        def reserved(now: datetime) -> Event:
            tokens, cost = amount.tokens, amount.cost_microusd
            return CallReserved(
                at=now, id=move_id, number=number, tokens=tokens, cost_microusd=cost
            )

        async with self._write_lock:
            items, self._notes = tuple(self._notes), []
            settled = [lambda now: Noted(at=now, id=move_id, items=items)] if items else []
            seq = self._seq
            try:
                is_done = await self._recorded(*settled, reserved, check=check)
            finally:
                if self._seq == seq:
                    self._notes[:0] = items
        if self.behind:
            await self.react()
        if self._is_cut:  # it is about to be cancelled; no call may begin
            await anyio.sleep_forever()
        return is_done

    async def _recorded(
        self, *events_at: Callable[[datetime], Event], check: WriteCheck | None = None
    ) -> bool:
        """Try once; returns whether no further attempt is needed."""
        if self._has_news:
            await self.react()
        await anyio.lowlevel.checkpoint_if_cancelled()
        if self._is_cut:
            return True  # the agent may be shielded from the cut, but its messages are dropped
        now = self._context.clock.now()
        events = [self._context.hands.clean(event_at(now)) for event_at in events_at]
        try:
            await self._append(tuple(ports.Entry(self.run, event) for event in events), check)
        except ports.StaleError:
            await self.react()
            return False
        for event in events:
            self._seq += 1
            self.state = runs.evolve(self._pilot, self.state, event)
        return True

    @property
    def _has_news(self) -> bool:
        return self._last_seq > self._seq or self._context.helm_reader.helm.stops > self._stops_seen

    @property
    def _is_cut(self) -> bool:
        return runs.cancelled_by(self.state, self._context.helm_reader.helm) != ""

    async def note(self, move_id: MoveId, item: Item) -> None:
        """Record items in batches: at most one write a second, the last ones with the result.

        Results of checks are few, and the next check may take minutes: they are written at once.
        """
        if self._is_cut:
            return
        self._notes.append(self._context.hands.clean(item))
        if item.kind == "check" or anyio.current_time() - self._noted_at >= NOTES_EVERY_S:
            self._noted_at = anyio.current_time()
            items, self._notes = tuple(self._notes), []
            await self.record(lambda now: Noted(at=now, id=move_id, items=items))

    async def words(self) -> str:
        """Wait for a message that can be passed to the working agent; none while it is frozen."""
        while self._frozen or not (undelivered := self._pilot.undelivered(self.state.pilot)):
            self._news = anyio.Event()
            await self._news.wait()
        return undelivered[0]

    async def ask(self, move_id: MoveId, ask: asks.Ask) -> asks.Answer:
        ask = self._context.appraise(ask, self.state.open_move)
        answer = asks.answer_by_rules(self.state.opened.rules, ask)
        if answer is None:
            return await self._ask_a_person(move_id, ask)
        if answer.allows and (ask.within or answer.by == asks.BOX):  # the agent's own items show it
            return answer
        kind = "allowed" if answer.allows else "denied"
        by = f" ({answer.by})" if answer.by != asks.A_RULE else ""
        await self.note(move_id, Item(kind=kind, text=f"{asks.describe_ask(ask)}{by}"))
        return answer

    async def _ask_a_person(self, move_id: MoveId, ask: asks.Ask) -> asks.Answer:
        """Wait for a person's answer; no answer in time means no."""
        move = self.state.open_move.move if self.state.open_move else None
        wait_s = move.ask_s if isinstance(move, TakeTurn) else None
        if wait_s == 0:
            await self.note(move_id, Item(kind="denied", text=asks.unasked_note(ask)))
            return asks.NOBODY
        answered = self._answered[ask.id] = anyio.Event()
        await self.record(lambda now: Asked(at=now, id=move_id, ask=ask))
        if not self._is_cut:
            with anyio.move_on_after(wait_s if wait_s is not None else math.inf):
                await answered.wait()
        if ask.id not in self.state.permits and not self._is_cut:
            await self.note(move_id, Item(kind="unanswered", text=asks.describe_ask(ask)))
        return self.state.permits.get(ask.id, asks.UNANSWERED)
