"""What happened: the only things ever written to a run's journal."""

from datetime import datetime
from typing import TypeAlias

from msgspec import Struct

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
    cost_microusd: int = 0  # the most it may cost, reserved with its tokens
    helm_stops: int = 0  # Allstops there had been: only a later one cuts it off


class ThreadOpened(_Event, frozen=True, tag="thread_opened"):
    """The agent's own name for its conversation, written before anything is said in it."""

    id: MoveId
    thread: str


class Noted(_Event, frozen=True, tag="noted"):
    id: MoveId
    items: tuple[Item, ...]


class Reached(_Event, frozen=True, tag="reached"):
    """The first of what people had said meanwhile, and its agent had not heard, is told to it."""

    id: MoveId


class Asked(_Event, frozen=True, tag="asked"):
    id: MoveId
    ask: Ask


class MoveEnded(_Event, frozen=True, tag="move_ended"):
    id: MoveId
    result: Result
    held_s: float = 0.0  # of its time, how long it was frozen or waited for a person
    decided: Decided | None = None  # upon it, where the run's pilot decides after turns


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
    failure: FailureKind | None = None  # what led to it


class ChildWaited(_Event, frozen=True, tag="child_waited"):
    """A child can't go on without a person."""

    ref: str
    run: RunId
    reason: str


class ChildRested(_Event, frozen=True, tag="child_rested"):
    """A child needs no slot for a while: it is held, or tries again later."""

    ref: str
    run: RunId
    reason: str
    until: datetime | None = None  # it goes on by itself then


class ChildWentOn(_Event, frozen=True, tag="child_went_on"):
    ref: str
    run: RunId


class Waited(_Event, frozen=True, tag="waited"):
    """The run can't go on without a person, and its parent was told."""

    reason: str
    until: datetime | None = None  # it goes on by itself then: a new day has a new budget


class Rested(_Event, frozen=True, tag="rested"):
    """The run needs no slot for a while, and its parent was told."""

    reason: str
    until: datetime | None = None  # it goes on by itself then


class Stopped(_Event, frozen=True, tag="stopped"):
    """Everything was stopped while this run was under way."""

    stops: int  # of the helm, up to now


class Closed(_Event, frozen=True, tag="closed"):
    outcome: Outcome
    note: str = ""
    facts: dict[str, str] = {}
    failure: FailureKind | None = None  # what led to it


class Killed(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A process tree that a stop put down."""

    label: str
    pid: int


class Halted(_Event, frozen=True, tag="halted"):
    """On the helm: one process's receipt that an Allstop has taken effect in it."""

    asked_at: datetime
    by: str  # who put things down: a process that drives, or the one that said stop
    took_ms: float
    killed: tuple[Killed, ...] = ()
    discarded: tuple[str, ...] = ()  # replies that were cut off or came too late
    runs: dict[RunId, str] = {}  # what state each was left in


Event: TypeAlias = (
    Opened
    | MoveStarted
    | ThreadOpened
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
)
