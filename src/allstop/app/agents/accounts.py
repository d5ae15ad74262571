"""Agents and the limits of their accounts: a held account is not called by any run or process.

A provider's limit applies to the account, not to one task. Holds and windows are events of one
stream in the journal, beside the helm. A turn on a held account fails at once with the time at
which the hold ends. This result is in the run's own record, so its pilot decides from the record
alone, and a replay decides the same.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from allstop.adapters.agents.account_windows import window_of_failure
from allstop.app.agents.shared_holds import SharedHolds
from allstop.core.accounts import LONG_WAIT, AccountHold, Window
from allstop.core.asks import Answer, Ask
from allstop.core.events import AccountHeld, AccountReleased, Event, WindowsSeen
from allstop.core.ids import ACCOUNTS
from allstop.core.moves import Failed, FailureKind, Item, TurnDone
from allstop.core.text import one_line
from allstop.ports import (
    Abilities,
    Agent,
    Clock,
    Entry,
    Journal,
    Live,
    StoreTroubleError,
    Turn,
    Watch,
)
from allstop.views.accounts import AccountState, Ledger, evolve, hold_of, local_time, news

FIRST = timedelta(minutes=1)
MOST = timedelta(minutes=30)
"""The first and the longest hold if the provider gave no time; it doubles each time."""

HOP = timedelta(seconds=1)
"""When to try again if another account of the agent is free."""

REASON_CHARS = 300
UNPAID = timedelta(minutes=1)
"""The hold of an account without credit: a person who has paid doesn't want to wait for it."""

_OF_ACCOUNT = frozenset({FailureKind.RATE_LIMITED, FailureKind.USAGE_LIMITED, FailureKind.BILLING})
_HOLDING = _OF_ACCOUNT | {FailureKind.OVERLOADED}


class AccountNames(NamedTuple):
    """An account's name for people, and the one that is the same in all repositories."""

    name: str
    shared: str


class Accounts:
    """Reads and writes the stream of accounts. Events that can't be written apply to this process."""

    def __init__(self, journal: Journal, clock: Clock, shared: SharedHolds) -> None:
        self._journal = journal
        self._clock = clock
        self._shared = shared
        self._ledger: Ledger = {}
        self._seq = 0
        self._unwritten: list[Event] = []
        self._names: dict[str, str] = {}  # the shared name of each account

    async def failure(self, account: AccountNames, run: str) -> Failed | None:
        """The failure of a turn that the account can't take now."""
        await self._catch_up()
        await self._take_over(account)
        hold = hold_of(self._state(account), self._clock.now())
        if hold is None or (not hold.announced and hold.run == run and not hold.elsewhere):
            return None
        message = f"account {account.name} is held" + (f": {hold.reason}" if hold.reason else "")
        is_unpaid = hold.kind is FailureKind.BILLING and not hold.announced
        return Failed(kind=hold.kind, message=message, retry_at=None if is_unpaid else hold.until)

    async def settle(self, account: AccountNames, run: str, result: TurnDone | Failed) -> None:
        """Hold the account after a limit; release it after a turn that went well."""
        await self._catch_up()
        now, before = self._clock.now(), self._state(account).hold
        if isinstance(result, TurnDone):
            if before is not None and (not before.announced or before.until <= now):
                await self._write(AccountReleased(at=now, account=account.name, run=run))
                self._shared.put(account.shared, None, now)
        elif (hold := next_hold(before, run, result, now)) is not None:
            await self._write(AccountHeld(at=now, account=account.name, hold=hold))
            if not self._unwritten:  # as it is in the journal, without secrets
                self._shared.put(account.shared, self._state(account).hold, now)

    async def report(self, account: AccountNames, windows: Sequence[Window]) -> None:
        """Record what a provider reported, if it differs from what is known."""
        await self._catch_up()
        if seen := news(self._state(account), windows):
            at = self._clock.now()
            await self._write(WindowsSeen(at=at, account=account.name, windows=seen))

    def _state(self, account: AccountNames) -> AccountState:
        return self._ledger.get(account.name, AccountState())

    async def _take_over(self, account: AccountNames) -> None:
        """Record a hold that a run of another repository has met, or the end of such a hold."""
        self._names[account.name] = account.shared
        now, known = self._clock.now(), self._state(account).hold
        theirs = self._shared.get(account.shared)
        if theirs is not None and theirs.until > now and (known is None or known.until <= now):
            hold = replace(theirs, run="", elsewhere=True)
            await self._write(AccountHeld(at=now, account=account.name, hold=hold))
        elif theirs is None and known is not None and known.elsewhere and known.until > now:
            await self._write(AccountReleased(at=now, account=account.name))

    async def _catch_up(self) -> None:
        if self._unwritten:
            await self._flush()
        try:
            newer = await self._journal.read(ACCOUNTS, after=self._seq)
        except StoreTroubleError:
            return  # a turn must not fail for that: what is known applies
        for record in newer:
            if record.seq > self._seq:  # a concurrent call may have folded it
                if self._seq:
                    self._release_shared(record.event)
                self._ledger, self._seq = evolve(self._ledger, record.event), record.seq

    def _release_shared(self, event: Event) -> None:
        """A run on another machine has found that the account works again."""
        if isinstance(event, AccountReleased) and event.account in self._names:
            self._shared.put(self._names[event.account], None, self._clock.now())

    async def _write(self, event: Event) -> None:
        self._unwritten.append(event)
        await self._flush()
        if self._unwritten:
            self._ledger = evolve(self._ledger, event)
        else:
            await self._catch_up()

    async def _flush(self) -> None:
        entries = tuple(Entry(ACCOUNTS, event) for event in self._unwritten)
        try:
            await self._journal.append(*entries)
        except StoreTroubleError:
            return
        del self._unwritten[: len(entries)]


def next_hold(
    before: AccountHold | None, run: str, failed: Failed, now: datetime
) -> AccountHold | None:
    """The hold that follows from a failure; None if it holds no account, or not longer."""
    until = failed.retry_at
    if failed.kind not in _HOLDING:
        return None
    reason = one_line(failed.message, REASON_CHARS)
    in_force = before if before is not None and before.until > now else None
    if until is not None and until > now:
        if in_force is not None and in_force.announced and in_force.until >= until:
            return None
        return AccountHold(until=until, kind=failed.kind, reason=reason, run=run)
    if failed.guessed or failed.kind is FailureKind.OVERLOADED:
        return None  # it may be no limit at all, or over at once
    if in_force is not None and (in_force.announced or in_force.run != run):
        return None  # another run has met the same limit
    times = before.times + 1 if before is not None and not before.announced else 1
    span = min(FIRST * 2 ** min(times - 1, 10), MOST)
    if failed.kind is FailureKind.BILLING:
        span = UNPAID
    return AccountHold(
        until=now + span, kind=failed.kind, reason=reason, announced=False, times=times, run=run
    )


class Choice(NamedTuple):
    """One account of an agent, and the driver that uses it."""

    account: AccountNames
    agent: Agent


class HeldAgent:
    """An agent whose turns respect the holds of its accounts.

    It stays on its first account until that is exhausted, hops once, and goes back after the
    reset, so that the provider's prompt caches stay warm. It waits for a short limit.
    """

    def __init__(self, accounts: Accounts, choices: Sequence[Choice], clock: Clock) -> None:
        self._accounts = accounts
        self._choices = tuple(choices)
        self._clock = clock
        self._last = self._choices[0].account.name

    @property
    def abilities(self) -> Abilities:
        return self._choices[0].agent.abilities

    async def take_turn(self, turn: Turn, watch: Watch) -> TurnDone | Failed:
        chosen = await self._choose(turn.run)
        if isinstance(chosen, Failed):
            return chosen
        account, agent = chosen
        if account.name != self._last:
            text = f"account {account.name} works now, not {self._last}"
            await watch.saw(Item(kind="notice", text=text))
            self._last = account.name
        reports = _ReportReader(watch, self._accounts, account)
        result = await agent.take_turn(turn, reports)
        if isinstance(result, Failed) and (window := window_of_failure(result)) is not None:
            reports.add(window)
        await reports.flush()
        await self._accounts.settle(account, turn.run, result)
        if isinstance(result, Failed) and result.kind in _OF_ACCOUNT:
            return await self._hopping(account, turn.run, result)
        return result

    async def close(self) -> None:
        for choice in self._choices:
            await choice.agent.close()

    async def _choose(self, run: str) -> Choice | Failed:
        """The first account that is free, or the failure that ends first."""
        failures: list[Failed] = []
        for choice in self._choices:
            failed = await self._accounts.failure(choice.account, run)
            if failed is None:
                return choice
            failures.append(failed)
            if not _is_exhausted(failed, self._clock.now()):
                break
        return min(failures, key=lambda each: each.retry_at or self._clock.now())

    async def _hopping(self, used: AccountNames, run: str, failed: Failed) -> Failed:
        """The failure, to be retried at once if another account of the agent is free."""
        if len(self._choices) == 1:
            return failed
        following = await self._choose(run)
        if isinstance(following, Failed) or following.account == used:
            return failed
        now = self._clock.now()
        until = f" until {local_time(failed.retry_at, now)}" if failed.retry_at else ""
        message = (
            f"account {used.name} is limited{until}, account {following.account.name} continues: "
        )
        return replace(failed, retry_at=now + HOP, message=message + failed.message)


def _is_exhausted(failed: Failed, now: datetime) -> bool:
    """Whether another account takes over: for a short limit it isn't worth the lost caches."""
    return failed.retry_at is None or failed.retry_at - now > LONG_WAIT


class _ReportReader:
    """Records the windows that a driver reports, and passes everything on."""

    def __init__(self, watch: Watch, accounts: Accounts, account: AccountNames) -> None:
        self._watch = watch
        self._accounts = accounts
        self._account = account
        self._windows: dict[str, Window] = {}

    async def flush(self) -> None:
        if self._windows:
            windows, self._windows = tuple(self._windows.values()), {}
            await self._accounts.report(self._account, windows)

    def add(self, *windows: Window) -> None:
        self._windows |= {each.name: each for each in windows}

    def live(self, live: Live) -> None:
        self.add(*live.windows)
        if live.text:
            self._watch.live(live)

    async def saw(self, item: Item) -> None:
        await self.flush()
        await self._watch.saw(item)

    async def opened(self, thread: str) -> None:
        await self._watch.opened(thread)

    async def words(self) -> str:
        return await self._watch.words()

    async def reached(self) -> None:
        await self._watch.reached()

    async def ask(self, ask: Ask) -> Answer:
        return await self._watch.ask(ask)
