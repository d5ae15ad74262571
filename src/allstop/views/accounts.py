"""Accounts: their holds and windows, folded from the stream of accounts, and as people see them."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.accounts import AccountHold, Window
from allstop.core.events import AccountHeld, AccountReleased, Event, WindowsSeen
from allstop.core.moves import FailureKind
from allstop.core.text import one_line

EVEN_SHARE = 0.02
"""A smaller distance from even use is called even."""

NEWS_SHARE = 0.01
"""A smaller change of a window's used share is not recorded."""

NEWS_S = 120.0
"""Providers round the reset of one window in different ways; a smaller change is not recorded."""


class AccountState(Struct, frozen=True, gc=False, kw_only=True):
    """What is known of one account."""

    hold: AccountHold | None = None
    windows: tuple[Window, ...] = ()


class Pace(StrEnum):
    """Whether a window is used up faster or slower than evenly."""

    AHEAD = "ahead"
    EVEN = "even"
    BEHIND = "behind"


class WindowView(Struct, frozen=True, kw_only=True):
    """A window of an account."""

    name: str
    used: float | None = None  # the share, from 0 to 1; null if unknown
    even: float | None = None  # the share that even use would have reached; null if unknown
    pace: Pace | None = None
    resets_at: datetime | None = None
    text: str = ""  # all of this in words, with the reset in local time


class AccountHoldView(Struct, frozen=True, kw_only=True):
    """Until when no run calls an account."""

    until: datetime
    kind: FailureKind
    reason: str
    announced: bool = True  # the provider gave the time
    text: str = ""


class AccountView(Struct, frozen=True, kw_only=True):
    """An account: the agents that use it, its hold, and its windows."""

    name: str
    agents: list[str]
    hold: AccountHoldView | None = None
    windows: list[WindowView]


Ledger = Mapping[str, AccountState]
"""What is known of each account, by its name."""

UNKNOWN = AccountState()


def fold(ledger: Ledger, events: Iterable[Event]) -> Ledger:
    for event in events:
        ledger = evolve(ledger, event)
    return ledger


def evolve(ledger: Ledger, event: Event) -> Ledger:
    match event:
        case AccountHeld(account=name, hold=hold):
            return {**ledger, name: replace(ledger.get(name, UNKNOWN), hold=hold)}
        case AccountReleased(account=name):
            return {**ledger, name: replace(ledger.get(name, UNKNOWN), hold=None)}
        case WindowsSeen(account=name, windows=windows):
            before = ledger.get(name, UNKNOWN)
            known = {each.name: each for each in before.windows}
            known |= {each.name: each for each in windows}
            return {**ledger, name: replace(before, windows=tuple(known.values()))}
        case _:
            return ledger


def news(state: AccountState, windows: Iterable[Window]) -> tuple[Window, ...]:
    """The windows that differ enough from what is known to be recorded."""
    known = {each.name: each for each in state.windows}
    latest = {each.name: each for each in windows}
    return tuple(each for each in latest.values() if _is_news(known.get(each.name), each))


def _is_news(before: Window | None, after: Window) -> bool:
    if before is None or (before.used is None) is not (after.used is None):
        return True
    if abs((after.used or 0.0) - (before.used or 0.0)) >= NEWS_SHARE:
        return True
    if before.resets_at is None or after.resets_at is None:
        return before.resets_at is not after.resets_at
    return abs((after.resets_at - before.resets_at).total_seconds()) >= NEWS_S


def hold_of(state: AccountState, now: datetime) -> AccountHold | None:
    """The hold in force."""
    return state.hold if state.hold is not None and state.hold.until > now else None


def account_view(name: str, agents: Iterable[str], state: AccountState, now: datetime) -> AccountView:  # fmt: skip
    hold = hold_of(state, now)
    return AccountView(
        name=name,
        agents=list(agents),
        hold=hold_view(hold, now) if hold is not None else None,
        windows=[window_view(each, now) for each in state.windows],
    )


def hold_view(hold: AccountHold, now: datetime) -> AccountHoldView:
    about = "" if hold.announced else "about "
    why = f": {one_line(hold.reason, 120)}" if hold.reason else ""
    return AccountHoldView(
        until=hold.until,
        kind=hold.kind,
        reason=hold.reason,
        announced=hold.announced,
        text=f"held until {about}{local_time(hold.until, now)}{why}",
    )


def window_view(window: Window, now: datetime) -> WindowView:
    """After its reset nothing is known of a window until its provider reports it again."""
    if window.resets_at is not None and window.resets_at <= now:
        return WindowView(name=window.name, text=f"{window.name}: unknown since its reset")
    even = even_share(window, now)
    return WindowView(
        name=window.name,
        used=window.used,
        even=even,
        pace=pace_of(window.used, even),
        resets_at=window.resets_at,
        text=window_line(window, now),
    )


def even_share(window: Window, now: datetime) -> float | None:
    """The share of the window's time that has passed."""
    if window.resets_at is None or not window.span_s:
        return None
    left = (window.resets_at - now).total_seconds() / window.span_s
    return min(1.0, max(0.0, 1.0 - left))


def pace_of(used: float | None, even: float | None) -> Pace | None:
    if used is None or even is None:
        return None
    if abs(used - even) < EVEN_SHARE:
        return Pace.EVEN
    return Pace.AHEAD if used > even else Pace.BEHIND


_PACE_WORDS = {Pace.AHEAD: "ahead of even use", Pace.BEHIND: "behind even use", Pace.EVEN: "even use"}  # fmt: skip


def window_line(window: Window, now: datetime) -> str:
    """For example: 5 hours 58 % used, ahead of even use, resets 17:30."""
    used = "unknown" if window.used is None else f"{window.used:.0%} used".replace("%", " %")
    pace = pace_of(window.used, even_share(window, now))
    parts = [f"{one_line(window.name, 40)} {used}"]
    if pace is not None:
        parts.append(_PACE_WORDS[pace])
    if window.resets_at is not None:
        parts.append(f"resets {local_time(window.resets_at, now)}")
    return ", ".join(parts)


def local_time(at: datetime, now: datetime) -> str:
    """The time in this machine's zone, with the day if it isn't today."""
    local, today = at.astimezone(), now.astimezone().date()
    if local.date() == today:
        return f"{local:%H:%M}"
    is_near = 0 < (local.date() - today).days < 7
    return f"{local:%a %H:%M}" if is_near else f"{local:%Y-%m-%d %H:%M}"


def event_lines(event: AccountHeld | AccountReleased | WindowsSeen) -> list[tuple[str, str]]:
    """The log lines of an event of the stream: a mark and a text."""
    name, at = one_line(event.account), event.at
    match event:
        case AccountHeld(hold=hold):
            why = f"{hold.kind.value.replace('_', ' ')}, {hold_view(hold, at).text}"
            return [("✗", f"{name}: {why}")]
        case AccountReleased():
            return [("✓", f"{name} is no longer held")]
        case WindowsSeen(windows=windows):
            return [(" ", f"{name}: {window_line(each, at)}") for each in windows]


def account_lines(accounts: Iterable[AccountView]) -> list[str]:
    """The accounts with a hold or known windows, for the terminal."""
    lines = []
    for account in accounts:
        if account.hold is None and not account.windows:
            continue
        mark = "◷" if account.hold is not None else " "
        agents = ", ".join(account.agents)
        of = f" ({agents})" if agents and agents != account.name else ""
        lines.append(f"{mark} account {account.name}{of}" + (f": {account.hold.text}" if account.hold else ""))  # fmt: skip
        lines += [f"    {each.text}" for each in account.windows]
    return lines
