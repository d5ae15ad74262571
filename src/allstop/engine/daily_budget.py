"""The budget of the day: what all runs of a store use together, whichever process drives them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, tzinfo
from typing import NamedTuple

import anyio
from msgspec.structs import replace

from allstop.core.brakes import AtLimit, Limits, cap_of
from allstop.core.budget import NOTHING, Account, Amount, refuse
from allstop.core.daily_budget import NAME, Day, DayUsage, day_of, is_limited, near_limit
from allstop.core.events import Event, MoveEnded, MoveStarted
from allstop.core.helm import Helm
from allstop.core.ids import RunId, root_of
from allstop.core.moves import TakeTurn
from allstop.engine.journal_search import place_before
from allstop.engine.steps import reserved_by, spent
from allstop.ports import Journal

READ_AT_ONCE = 1000

UNLIMITED = Limits()


class Short(NamedTuple):
    """Why a turn does not fit into the day."""

    reason: str
    until: datetime
    for_person: bool  # else it fits once turns that are under way have ended
    ends: bool = False  # by the setting: rather than wait for a person


class Days:
    """Folds what was written since midnight, by whomever: the journal is the only account.

    A turn is reserved here until its beginning is on record. Who writes it names the `place` up
    to which this has read; it is refused when another process has written since. So no two
    processes can both take what is left.
    """

    def __init__(
        self, journal: Journal, limits: Limits = UNLIMITED, zone: tzinfo | None = None
    ) -> None:
        self.limits = limits  # unless a person has said otherwise today
        self.place = 0
        self._journal = journal
        self._reading = anyio.Lock(fast_acquire=True)  # two who begin a day would lose what it had
        self._zone = zone
        self._day: Day | None = None
        self._spent = NOTHING
        self._first_at: datetime | None = None
        self._open: dict[RunId, Amount] = {}  # turns that began today
        self._coming: dict[RunId, Amount] = {}  # in place of the run's open one
        self._noted = ""
        self._short: tuple[Short, Limits] | None = None  # the last word, and for which limits

    def limits_at(self, now: datetime, helm: Helm) -> Limits:
        """Those of the settings, or what a person has said today."""
        grant = helm.grant
        if grant is None or not day_of(now, self._zone).has(grant.at):
            return self.limits
        return replace(grant.limits, at_limit=self.limits.at_limit)

    def is_limited(self, now: datetime, helm: Helm) -> bool:
        limits = self.limits if helm.grant is None else self.limits_at(now, helm)
        return limits is not UNLIMITED and is_limited(limits)

    def used(self) -> DayUsage:
        reserved = _sum({**self._open, **self._coming}.values())
        return DayUsage(spent=self._spent, reserved=reserved, first_at=self._first_at)

    async def catch_up(self, now: datetime) -> Day:
        """Read what was written since; on another day, from its beginning."""
        async with self._reading:
            day = self._day
            if day is None or not day.has(now):  # a clock that is set back makes another day, too
                day = await self._begin(day_of(now, self._zone))
            while records := await self._journal.written(self.place, READ_AT_ONCE):
                for pos, record in records:
                    self._fold(day, record.run, record.event)
                    self.place = pos
            return day

    async def _begin(self, day: Day) -> Day:
        self.place = await place_before(self._journal, day.begins_at)
        self._day = day
        self._spent, self._first_at, self._noted, self._short = NOTHING, None, "", None
        self._open.clear()
        return day

    def reserve(
        self, run: RunId, asked: Amount, used: Amount, now: datetime, helm: Helm
    ) -> Short | None:
        """Reserve a turn; `used` is what the run's last one used, if that is not written yet.

        Call it when all has been read, and nothing was awaited since.
        """
        limits, day = self.limits_at(now, helm), self._day
        if day is None or not day.has(now):  # midnight came after it was read
            return Short(f"{NAME} has just begun", now, for_person=False)
        if limits.time_s is not None and self._seconds(now) >= limits.time_s:
            words = f"minutes {self._seconds(now) / 60:,.0f} of {limits.time_s / 60:,.0f}"
            return self._refused(f"{NAME}: {words}", day, limits)
        mine = used if run in self._open else NOTHING
        others = {**self._open, **self._coming}
        others.pop(run, None)
        account = Account(
            cap=cap_of(limits), spent=self._spent.plus(mine), reserved=_sum(others.values())
        )
        refusal = refuse(NAME, account, asked)
        if refusal is None:
            self._coming[run] = asked.plus(mine)
            self._short = None
            return None
        fits_later = refuse(NAME, replace(account, reserved=NOTHING), asked) is None
        if fits_later and any(root_of(each) in self._journal.holders() for each in others):
            why = f"{refusal}, of which turns under way have reserved a part"
            return Short(why, day.ends_at, for_person=False)
        return self._refused(str(refusal), day, limits)

    def _refused(self, reason: str, day: Day, limits: Limits) -> Short:
        ends = limits.at_limit is AtLimit.STOP
        short = Short(reason, day.ends_at, for_person=True, ends=ends)
        self._short = short, limits
        return short

    def short(self, now: datetime, helm: Helm) -> Short | None:
        """Why nobody who wants turns need be begun: the last who asked for one was refused."""
        if self._short is None:
            return None
        short, limits = self._short
        return short if now < short.until and limits == self.limits_at(now, helm) else None

    def withdraw(self, run: RunId) -> None:
        """Its turn was not written after all."""
        self._coming.pop(run, None)

    def warning(self, now: datetime, helm: Helm) -> str:
        """Once a day for each limit that is nearly reached."""
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
                self._coming.pop(run, None)
                if day.has(at):
                    self._open[run] = reserved_by(event)
                    self._first_at = min(at, self._first_at or at)
                else:
                    self._open.pop(run, None)
            case MoveEnded(result=result) if self._open.pop(run, None) is not None:
                self._spent = self._spent.plus(spent(result))


def _sum(amounts: Iterable[Amount]) -> Amount:
    total = NOTHING
    for amount in amounts:
        total = total.plus(amount)
    return total
