"""The daily budget: limits the usage of all runs of a journal together, across processes."""

from collections.abc import Iterable
from datetime import datetime, tzinfo
from typing import NamedTuple

import anyio
from msgspec.structs import replace

from allstop.core.brakes import AtLimit, Limits, cap_of
from allstop.core.budget import NOTHING, Account, Amount, refuse
from allstop.core.daily_budget import (
    NAME,
    Day,
    DayUsage,
    day_of,
    is_limited,
    near_limit,
    reserved_by,
    spent,
)
from allstop.core.events import CallReserved, Event, MoveEnded, MoveStarted, Noted
from allstop.core.helm import Helm
from allstop.core.ids import RunId
from allstop.core.moves import TakeTurn
from allstop.core.run import NO_CALLS, OpenCalls, calls_after
from allstop.engine.call_account import TurnAccount, amount_of
from allstop.engine.journal_position import position_before
from allstop.ports import Journal, Left, Room, is_driven

READ_AT_ONCE = 1000

UNLIMITED = Limits()


class DayRefusal(NamedTuple):
    """Why a turn doesn't fit into the daily budget."""

    reason: str
    until: datetime
    for_person: bool  # False: the turn may fit after running turns end
    ends: bool = False  # the setting says to stop instead of waiting for a person


class DayCheck(NamedTuple):
    """What the journal has to check when it writes a reservation."""

    place: int  # no other process has written after it; or, in a store that counts turns:
    room: Room


class OpenTurn(NamedTuple):
    """A turn that was started today."""

    own: Amount  # reserved for the whole turn
    calls: OpenCalls = NO_CALLS

    @property
    def amount(self) -> Amount:
        """What it may use. If tokens are reserved for the whole turn, its calls are within them."""
        return self.own if self.own.tokens else self.own.plus(amount_of(self.calls.most))

    @property
    def used(self) -> Amount:
        """What its calls are known to have used, beyond what is reserved for the whole turn."""
        return NOTHING if self.own.tokens else amount_of(self.calls.used)


class DailyBudget:
    """Folds all events since midnight; the journal is the only account.

    A turn is reserved here until its MoveStarted is written. That write names the `position` up to
    which this process has read, and the journal refuses it if another process has written since.
    A store that counts turns refuses it only if it doesn't fit any more. So two processes can't
    both take the rest of the budget.
    """

    def __init__(
        self, journal: Journal, limits: Limits = UNLIMITED, zone: tzinfo | None = None
    ) -> None:
        self.limits = limits  # unless a person granted others today
        self.position = 0
        self._journal = journal
        self._reading = anyio.Lock(fast_acquire=True)  # only one reader may start a day
        self._zone = zone
        self._day: Day | None = None
        self._spent = NOTHING
        self._first_at: datetime | None = None
        self._open: dict[RunId, OpenTurn] = {}  # turns started today, as they are written
        self._reserved: dict[RunId, OpenTurn] = {}  # newer than what is written
        self._noted = ""
        self._last_refusal: tuple[DayRefusal, Limits] | None = None

    def limits_at(self, now: datetime, helm: Helm) -> Limits:
        """The limits of the settings, or those that a person granted today."""
        grant = helm.grant
        if grant is None or not day_of(now, self._zone).has(grant.at):
            return self.limits
        return replace(grant.limits, at_limit=self.limits.at_limit)

    def is_limited(self, now: datetime, helm: Helm) -> bool:
        limits = self.limits if helm.grant is None else self.limits_at(now, helm)
        return limits is not UNLIMITED and is_limited(limits)

    def used(self) -> DayUsage:
        reserved = _sum(turn.amount for turn in {**self._open, **self._reserved}.values())
        return DayUsage(spent=self._spent, reserved=reserved, first_at=self._first_at)

    async def catch_up(self, now: datetime) -> Day:
        """Fold newer events; on another day, start at its beginning."""
        async with self._reading:
            day = self._day
            if day is None or not day.has(now):  # the clock may also be set back
                day = await self._begin(day_of(now, self._zone))
            while records := await self._journal.written(self.position, READ_AT_ONCE):
                for pos, record in records:
                    self._fold(day, record.run, record.event)
                    self.position = pos
            return day

    async def _begin(self, day: Day) -> Day:
        self.position = await position_before(self._journal, day.begins_at)
        self._day = day
        self._spent, self._first_at, self._noted, self._last_refusal = NOTHING, None, "", None
        self._open.clear()
        return day

    def check(self, asked: Amount, now: datetime, helm: Helm) -> DayCheck | None:
        """What the journal has to check for a reservation; None if the day has no limit."""
        if not self.is_limited(now, helm):
            return None
        cap = cap_of(self.limits_at(now, helm))
        if not asked.turns:  # of a call: its turn is counted already
            cap = replace(cap, turns=None)
        return DayCheck(
            self.position,
            Room(cap, replace(asked, partial=False), since=day_of(now, self._zone).begins_at),
        )

    def reserve(
        self, run: RunId, asked: Amount, used: Amount, now: datetime, helm: Helm
    ) -> DayRefusal | None:
        """Reserve a turn. `used` is the usage of the run's last turn if it isn't written yet.

        Call it directly after `catch_up`, without awaiting anything in between.
        """
        limits, day = self.limits_at(now, helm), self._day
        if day is None or not day.has(now):  # midnight has passed since catch_up
            return DayRefusal(f"{NAME} has just begun", now, for_person=False)
        if limits.time_s is not None and self._seconds(now) >= limits.time_s:
            words = f"minutes {self._seconds(now) / 60:,.0f} of {limits.time_s / 60:,.0f}"
            return self._refused(f"{NAME}: {words}", day, limits)
        mine = used if run in self._open else NOTHING
        others = {**self._open, **self._reserved}
        others.pop(run, None)
        account = Account(
            cap=cap_of(limits),
            spent=self._spent.plus(mine),
            reserved=_sum(turn.amount for turn in others.values()),
        )
        refusal = refuse(NAME, account, asked)
        if refusal is None:
            self._reserved[run] = OpenTurn(asked.plus(mine))
            self._last_refusal = None
            return None
        fits_later = refuse(NAME, replace(account, reserved=NOTHING), asked) is None
        if fits_later and any(is_driven(each, self._journal.holders()) for each in others):
            why = f"{refusal}, partly reserved by running turns"
            return DayRefusal(why, day.ends_at, for_person=False)
        return self._refused(str(refusal), day, limits)

    def _refused(self, reason: str, day: Day, limits: Limits) -> DayRefusal:
        ends = limits.at_limit is AtLimit.STOP
        current_refusal = DayRefusal(reason, day.ends_at, for_person=True, ends=ends)
        self._last_refusal = current_refusal, limits
        return current_refusal

    def current_refusal(self, now: datetime, helm: Helm) -> DayRefusal | None:
        """The last refusal, if it still holds: no run that needs turns has to be started."""
        if self._last_refusal is None:
            return None
        current_refusal, limits = self._last_refusal
        return (
            current_refusal
            if now < current_refusal.until and limits == self.limits_at(now, helm)
            else None
        )

    def left(self, now: datetime, helm: Helm, *, if_settled: bool = False) -> Left:
        """What is left today. `if_settled`: if turns and calls under way use nothing more."""
        limits, used = self.limits_at(now, helm), self.used()
        kept = self._kept() if if_settled else used.reserved
        total = used.spent.plus(kept)
        tokens, cost = limits.tokens, limits.cost_microusd
        return Left(
            None if tokens is None else tokens - total.tokens,
            None if cost is None else cost - total.cost_microusd,
        )

    def _kept(self) -> Amount:
        """Reservations that nobody will free: of calls that have ended, and of dead processes."""
        holders, turns = self._journal.holders(), {**self._open, **self._reserved}
        return _sum(
            turn.used if is_driven(run, holders) else turn.amount for run, turn in turns.items()
        )

    def hold(self, run: RunId, own: Amount, account: TurnAccount) -> None:
        """Count the calls of a turn of this process as they are, before all is written."""
        self._reserved[run] = OpenTurn(own, account.calls)

    def withdraw(self, run: RunId) -> None:
        """Drop the reservation of a turn that wasn't written."""
        self._reserved.pop(run, None)

    def warning(self, now: datetime, helm: Helm) -> str:
        """A warning about a nearly reached limit, once per day and limit."""
        found = near_limit(self.limits_at(now, helm), self.used(), now)
        about = found.rpartition(" of ")[0].rpartition(":")[0]
        if not found or about == self._noted:
            return ""
        self._noted = about
        return found

    def _seconds(self, now: datetime) -> float:
        return DayUsage(first_at=self._first_at).seconds(now)

    def _fold(self, day: Day, run: RunId, event: Event) -> None:
        match event:
            case MoveStarted(move=TakeTurn(), at=at):
                self._reserved.pop(run, None)
                if day.has(at):
                    self._open[run] = OpenTurn(reserved_by(event))
                    self._first_at = min(at, self._first_at or at)
                else:
                    self._open.pop(run, None)
            case CallReserved() | Noted() if run in self._open:
                turn = self._open[run]
                self._open[run] = turn._replace(calls=calls_after(turn.calls, event))
            case MoveEnded(result=result) if self._open.pop(run, None) is not None:
                self._spent = self._spent.plus(spent(result))


def _sum(amounts: Iterable[Amount]) -> Amount:
    total = NOTHING
    for amount in amounts:
        total = total.plus(amount)
    return total
