"""Full Auto: what is known after a turn, and what is decided."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from enum import StrEnum
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from allstop.auto.guidance import Guide, GuideSpec
from allstop.auto.structured_output import read
from allstop.core.asks import Ask
from allstop.core.decisions import Action as Action
from allstop.core.decisions import Decision as Decision
from allstop.core.gate import Gate
from allstop.core.ids import AgentName, MoveId
from allstop.core.moves import Change, FailureKind, Outcome, Usage
from allstop.core.retries import NO_STREAK, Backoff, LimitPatience, LimitStreak
from allstop.core.signals import Signal, SignalClaim
from allstop.core.text import one_line


class DecisionPolicy(StrEnum):
    RULES = "rules"
    MODEL = "model"


class ReviewWhen(StrEnum):
    NEVER = "never"
    END = "end"
    ERROR = "error"
    BOTH = "both"


EDITION = 3
"""Of the rules, and of what a model is told. What was begun by older ones is gone on with, and
replayed, by those."""


class AutoSpec(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    goal: str
    agent: AgentName
    name: str = ""  # of its workspace; "" works without one
    target: str = ""
    policy: DecisionPolicy = DecisionPolicy.RULES
    decision_agent: AgentName | None = None
    adviser: AgentName | None = None  # answers questions of tools, where it is sure enough
    review: ReviewWhen = ReviewWhen.END
    min_confidence: float = 0.6
    no_progress_turns: int = 3
    repeated_errors: int = 3
    max_compactions: int = 3
    compaction_turns: int = 10
    cooldown_s: float = 1.0
    asks_first: bool = False  # before every command, so that the rules see each of them
    ask_s: float | None = None  # how long a question waits for a person; 0: nobody is there
    turn_s: float = 1800.0
    idle_s: float = 600.0
    max_tokens: int | None = None
    gate: Gate = Gate()
    merge: bool = True
    backoff: Backoff = Backoff()
    guide: GuideSpec | None = None
    summary: TurnSummary | None = None  # of a turn before this run: it begins with deciding
    edition: int = 1  # of the rules
    guards_files: bool = False  # a person looks when the work changes what steers others
    endurance: LimitPatience | None = None  # of limits; None: ten waits for one that names no time


class TurnSummary(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What a decision is made from."""

    turn: int
    status: str  # completed, interrupted, failed
    error: str = ""
    kind: FailureKind | None = None
    said: SignalClaim = SignalClaim(signal=Signal.NONE)
    text: str = ""  # the end of the final message
    plan: str = ""
    change: Change | None = None
    usage: Usage = Usage()
    compactions: int = 0
    unanswered: tuple[str, ...] = ()  # what it asked, and nobody answered in time
    was_review: bool = False
    pending: tuple[str, ...] = ()  # what it asked, and the turn ended before an answer
    denied: tuple[str, ...] = ()  # what it asked, and rules or nobody's presence denied
    thread: str = ""  # the agent's own name for the conversation
    move: MoveId = MoveId(0)  # the turn's in the record
    did: tuple[str, ...] = ()  # the last of what it did, each in a line

    @property
    def only_reviewed(self) -> bool:
        """By a review of the agent's own, which says what it found and ends with no signal."""
        return self.was_review and self.said.signal is Signal.NONE

    @property
    def footprint(self) -> str:
        """The same after two turns that changed neither the plan nor the work.

        Of an agent that has neither, what it says is all there is.
        """
        work = f"{self.change.tree or self.change.head} {self.change.files}" if self.change else ""
        text = f"{self.plan}\0{work}" if self.plan or work else self.text
        return hashlib.blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()


class History(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What the rules remember of the turns before."""

    footprints: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()  # in a row
    compactions: tuple[int, ...] = ()  # in which turns
    reviews: int = 0
    reviewed: str = ""  # the footprint that a review has seen
    looked_at: int = 0  # the last turn that a person was called to, and has let go on
    vouched: tuple[str, ...] = ()  # files whose change a person knows of

    def forgiven(self) -> History:
        """A person has looked at it: what led to a pause is not counted again."""
        return msgspec.structs.replace(self, footprints=(), errors=(), compactions=())

    def after(self, summary: TurnSummary) -> History:
        error = f"{summary.kind}: {_alike(summary.error)}" if summary.error else ""
        return History(
            footprints=self.footprints
            if summary.status == "failed"
            else (*self.footprints[-19:], summary.footprint),
            errors=(*self.errors[-19:], error) if error else (),
            compactions=(*self.compactions[-19:], *([summary.turn] * summary.compactions)),
            reviews=self.reviews + summary.was_review,
            reviewed=summary.footprint if summary.was_review else self.reviewed,
            looked_at=self.looked_at,
            vouched=self.vouched,
        )


_NUMBERED = re.compile(r"[\w-]*\d[\w-]*")


def _alike(error: str) -> str:
    """The same for errors that differ in a number, a time or the id of a request only."""
    return _NUMBERED.sub("#", one_line(error, 200))


class Doing(Struct, frozen=True, gc=False, kw_only=True):
    """What is known of the turn that is under way."""

    is_decision: bool = False
    is_review: bool = False
    is_guidance: bool = False
    plan: str = ""
    compactions: int = 0
    unanswered: tuple[str, ...] = ()
    asks: tuple[Ask, ...] = ()  # of which nobody has answered yet
    denied: tuple[str, ...] = ()
    move: MoveId = MoveId(0)
    did: tuple[str, ...] = ()
    hears: int = 0  # how many of the words of people it was told

    @property
    def is_aside(self) -> bool:
        """Another agent's turn than that of the one that works."""
        return self.is_decision or self.is_guidance


class AutoState(Struct, frozen=True, gc=False, kw_only=True):
    spec: AutoSpec
    base: str = ""
    gate: Gate | None = None  # the target's, when the workspace was last opened
    thread: str | None = None
    turns: int = 0
    ended_at: datetime | None = None  # the last of them
    doing: Doing | None = None  # the turn under way
    plan: str = ""
    change: Change | None = None
    history: History = History()
    summary: TurnSummary | None = None
    undecided: bool = False  # a model is to be asked about the summary
    guide: Guide | None = None
    decided: Decision | None = None  # to go on, once guidance has said with what
    decisions: tuple[Decision, ...] = ()
    step: str = ""  # what the next turn is about, in the decider's words
    news: str = ""  # what the next turn is told besides
    told: tuple[str, ...] = ()  # by people
    reviews: bool = False  # the next turn is one
    paused: str = ""
    paused_by: FailureKind | None = None  # where a failure led to it
    wait_until: datetime | None = None
    waits_for: str = ""
    failures: int = 0
    standstill: LimitStreak = NO_STREAK
    done: bool = False
    checked: bool = False
    tree: str = ""
    merging: bool = False
    merge_waits: str = ""  # for what a person has to do
    merges: int = 0  # tried
    end: Outcome | None = None
    note: str = ""

    @property
    def decision(self) -> Decision | None:
        return self.decisions[-1] if self.decisions else None


# --- what a model decides ---


class ModelDecision(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The signature of a decision: what a model answers with."""

    action: Action
    reason: Annotated[str, Meta(min_length=1, max_length=500)]
    confidence: Annotated[float, Meta(ge=0, le=1)]
    next_input: Annotated[str, Meta(max_length=2000)] = ""


def read_decision(text: str, turn: int, by: str) -> Decision | str:
    """What a model decided; or why that can't be taken for a decision."""
    found = read(text, ModelDecision)
    if isinstance(found, str):
        return found
    return Decision(
        turn=turn,
        action=found.action,
        reason=one_line(found.reason, 500),
        confidence=found.confidence,
        next_input=found.next_input.strip(),
        by=by,
    )
