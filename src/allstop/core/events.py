"""The events of a run's journal."""

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

from allstop.core.accounts import AccountHold, Window
from allstop.core.asks import Ask, Rule
from allstop.core.brakes import Limits, Tally
from allstop.core.commands import Command
from allstop.core.decisions import Decided
from allstop.core.ids import MoveId, RunId
from allstop.core.moves import FailureKind, Item, Outcome, Result, Work


class _Event(
    Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, tag_field="event", tag=True
):
    at: datetime


class Opened(_Event, frozen=True, tag="opened"):
    kind: str
    spec: dict[str, object]
    title: str = ""
    limits: Limits = Limits()
    rules: tuple[Rule, ...] = ()
    parent: RunId | None = None
    ref: str = ""


class MoveStarted(_Event, frozen=True, tag="move_started"):
    id: MoveId
    move: Work
    cost_microusd: int = 0  # the most it may cost; reserved
    helm_stops: int = 0  # the number of Allstops so far; a later one cancels the move


class ThreadOpened(_Event, frozen=True, tag="thread_opened"):
    """The agent's id for its conversation, written before the first message."""

    id: MoveId
    thread: str


class Noted(_Event, frozen=True, tag="noted"):
    """Messages and actions of the agent during its turn."""

    id: MoveId
    items: tuple[Item, ...]


class CallReserved(_Event, frozen=True, tag="call_reserved"):
    """A model call begins, and may use so much; a `Noted` call of that number replaces it."""

    id: MoveId
    number: int  # in this turn
    tokens: int
    cost_microusd: int = 0


class Reached(_Event, frozen=True, tag="reached"):
    """The agent received the first undelivered message of a person during its turn."""

    id: MoveId


class Asked(_Event, frozen=True, tag="asked"):
    """The agent asked for permission, or asked a question."""

    id: MoveId
    ask: Ask


class MoveEnded(_Event, frozen=True, tag="move_ended"):
    id: MoveId
    result: Result
    held_s: float = 0.0  # how long it was frozen or waited for a person
    decided: Decided | None = None  # the decision of a pilot that decides after each turn


class Commanded(_Event, frozen=True, tag="commanded"):
    command: Command
    by: str = "user"


class ChildClosed(_Event, frozen=True, tag="child_closed"):
    ref: str
    run: RunId
    outcome: Outcome
    tally: Tally
    note: str = ""
    facts: dict[str, str] = {}
    failure: FailureKind | None = None  # the cause


class ChildWaited(_Event, frozen=True, tag="child_waited"):
    """A child run waits for a person."""

    ref: str
    run: RunId
    reason: str


class ChildRested(_Event, frozen=True, tag="child_rested"):
    """A child run needs no slot for a while: it is held, or retries later."""

    ref: str
    run: RunId
    reason: str
    until: datetime | None = None  # when it continues by itself


class ChildWentOn(_Event, frozen=True, tag="child_went_on"):
    ref: str
    run: RunId


class Waited(_Event, frozen=True, tag="waited"):
    """The run waits for a person; its parent knows."""

    reason: str
    until: datetime | None = None  # when it continues by itself, with the next day's budget


class Rested(_Event, frozen=True, tag="rested"):
    """The run needs no slot for a while; its parent knows."""

    reason: str
    until: datetime | None = None  # when it continues by itself


class Stopped(_Event, frozen=True, tag="stopped"):
    """An Allstop ended this run's work."""

    stops: int  # the number of Allstops so far


class Closed(_Event, frozen=True, tag="closed"):
    outcome: Outcome
    note: str = ""
    facts: dict[str, str] = {}
    failure: FailureKind | None = None  # the cause


class Killed(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A process tree that a stop killed."""

    label: str
    pid: int


class Halted(_Event, frozen=True, tag="halted"):
    """On the helm's journal: the receipt of a process in which an Allstop took effect."""

    asked_at: datetime
    by: str  # the process that stopped its runs: one that drives, or the one that gave the command
    took_ms: float
    killed: tuple[Killed, ...] = ()
    discarded: tuple[str, ...] = ()  # replies that were cut off or came too late
    runs: dict[RunId, str] = {}  # the state each was left in
    unanswered: tuple[str, ...] = ()  # processes of other machines that had not answered by then


class AccountHeld(_Event, frozen=True, tag="account_held"):
    """On the stream of accounts: no run calls the account before the hold ends."""

    account: str
    hold: AccountHold


class AccountReleased(_Event, frozen=True, tag="account_released"):
    """On the stream of accounts: a turn went well, so the limit is over."""

    account: str
    run: str = ""


class WindowsSeen(_Event, frozen=True, tag="windows_seen"):
    """On the stream of accounts: the windows of an account, as its provider reported them."""

    account: str
    windows: tuple[Window, ...]


Event: TypeAlias = (
    Opened
    | MoveStarted
    | ThreadOpened
    | CallReserved
    | Noted
    | Reached
    | Asked
    | MoveEnded
    | Commanded
    | ChildClosed
    | ChildWaited
    | ChildRested
    | ChildWentOn
    | Waited
    | Rested
    | Stopped
    | Closed
    | Halted
    | AccountHeld
    | AccountReleased
    | WindowsSeen
)
