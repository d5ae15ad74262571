"""State of a Full Auto run: spec, turn summaries, history and decisions."""

from __future__ import annotations

import hashlib
import re
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from allstop.auto.guidance import Guide, GuideSpec
from allstop.auto.structured_output import read
from allstop.core.accounts import Roster
from allstop.core.asks import Ask
from allstop.core.board_specs import AgentTerms, agents_sharing_account
from allstop.core.conversation import EMPTY, Conversation
from allstop.core.decisions import Action as Action
from allstop.core.decisions import Decision as Decision
from allstop.core.decisions import DecisionPolicy as DecisionPolicy
from allstop.core.decisions import ReviewWhen as ReviewWhen
from allstop.core.gate import Gate
from allstop.core.ids import AgentName, MoveId
from allstop.core.moves import Change, FailureKind, Outcome, Usage
from allstop.core.retries import NO_STREAK, Backoff, LimitPatience, LimitStreak
from allstop.core.signals import Signal, SignalClaim
from allstop.core.text import one_line

EDITION = 5
"""Version of the rules and prompts. A run keeps its edition when it is resumed or replayed.
Since 4, a used-up budget doesn't stop the gate and the merge of finished work.
Since 5, an agent's own review says by a signal that it found nothing."""


class AutoSpec(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    goal: str
    agent: AgentName
    name: str = ""  # of its workspace; "" works without one
    target: str = ""
    policy: DecisionPolicy = DecisionPolicy.RULES
    decision_agent: AgentName | None = None
    adviser: AgentName | None = None  # answers questions of tools if confident enough
    review: ReviewWhen = ReviewWhen.END
    min_confidence: float = 0.6
    no_progress_turns: int = 3
    repeated_errors: int = 3
    max_compactions: int = 3
    compaction_turns: int = 10
    cooldown_s: float = 1.0
    asks_first: bool = False  # the agent asks before every command, so that rules see all
    ask_s: float | None = None  # how long a request waits for a person; 0: don't ask
    turn_s: float = 1800.0
    idle_s: float = 600.0
    max_tokens: int | None = None
    gate: Gate = Gate()
    merge: bool = True
    backoff: Backoff = Backoff()
    guide: GuideSpec | None = None
    summary: TurnSummary | None = None  # of an earlier turn: the run starts with a decision
    edition: int = 1  # of the rules
    guards_files: bool = False  # pause when guarded files change
    endurance: LimitPatience | None = None  # None: ten waits for a limit without a reset time
    fallbacks: tuple[AgentName, ...] = ()  # replace the agent while its account is limited
    terms: dict[AgentName, AgentTerms] = {}  # of all agents, if there are fallbacks
    compact_at: int | None = None  # a conversation of so many tokens is compacted before a turn

    def terms_of(self, agent: AgentName) -> AgentTerms:
        own = AgentTerms(turn_s=self.turn_s, idle_s=self.idle_s, max_tokens=self.max_tokens)
        return self.terms.get(agent, own)

    def agents_sharing_account(self, agent: AgentName) -> tuple[AgentName, ...]:
        return agents_sharing_account(agent, self.terms, self.terms)


class TurnSummary(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The result of a turn, as input for a decision."""

    turn: int
    status: str  # completed, interrupted, failed
    error: str = ""
    kind: FailureKind | None = None
    said: SignalClaim = SignalClaim(signal=Signal.NONE)
    text: str = ""  # end of the final message
    plan: str = ""
    change: Change | None = None
    usage: Usage = Usage()
    compactions: int = 0
    unanswered: tuple[str, ...] = ()  # requests without an answer in time
    was_review: bool = False
    pending: tuple[str, ...] = ()  # requests still open at the end of the turn
    denied: tuple[str, ...] = ()  # requests that were denied
    thread: str = ""  # the agent's conversation id
    move: MoveId = MoveId(0)  # the turn's move in the journal
    did: tuple[str, ...] = ()  # the last actions, one line each

    @property
    def only_reviewed(self) -> bool:
        """Whether the turn was the agent's own review, which ends without a signal."""
        return self.was_review and self.said.signal is Signal.NONE

    @property
    def footprint(self) -> str:
        """A digest of plan and work: equal after turns without progress.

        Without plan and work, the digest covers the agent's text.
        """
        work = f"{self.change.tree or self.change.head} {self.change.files}" if self.change else ""
        text = f"{self.plan}\0{work}" if self.plan or work else self.text
        return hashlib.blake2b(text.encode(errors="replace"), digest_size=8).hexdigest()


class History(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The facts about earlier turns that the rules need."""

    footprints: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()  # in a row
    compactions: tuple[int, ...] = ()  # turn numbers
    reviews: int = 0
    reviewed: str = ""  # footprint at the last review
    looked_at: int = 0  # the last turn that a person reviewed and resumed
    vouched: tuple[str, ...] = ()  # guarded files that a person approved

    def forgiven(self) -> History:
        """Reset the counters that led to a pause."""
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
    """Normalize an error: numbers, times and request ids are replaced."""
    return _NUMBERED.sub("#", one_line(error, 200))


class OpenTurn(Struct, frozen=True, gc=False, kw_only=True):
    """The current turn."""

    is_decision: bool = False
    is_review: bool = False
    is_guidance: bool = False
    compacts: bool = False  # the agent's conversation is compacted
    plan: str = ""
    compactions: int = 0
    unanswered: tuple[str, ...] = ()
    asks: tuple[Ask, ...] = ()  # open requests
    denied: tuple[str, ...] = ()
    move: MoveId = MoveId(0)
    did: tuple[str, ...] = ()
    hears: int = 0  # number of people's messages that the agent has received

    @property
    def is_aside(self) -> bool:
        """Whether it is no turn of the work: a decision, guidance, or a compaction."""
        return self.is_decision or self.is_guidance or self.compacts


class AutoState(Struct, frozen=True, gc=False, kw_only=True):
    spec: AutoSpec
    base: str = ""
    gate: Gate | None = None  # the target's gate when the workspace was last opened
    thread: str | None = None
    talk: Conversation = EMPTY
    roster: Roster = Roster(agents=())
    agent: AgentName = AgentName("")  # of the last turn
    turns: int = 0
    ended_at: datetime | None = None  # end of the last turn
    doing: OpenTurn | None = None
    plan: str = ""
    change: Change | None = None
    history: History = History()
    summary: TurnSummary | None = None
    undecided: bool = False  # a model has to decide about the summary
    guide: Guide | None = None
    decided: Decision | None = None  # continue, after guidance
    decisions: tuple[Decision, ...] = ()
    step: str = ""  # next_input of the last decision
    news: str = ""  # further text for the next prompt
    told: tuple[str, ...] = ()  # messages of people
    reviews: bool = False  # the next turn is a review
    paused: str = ""
    paused_by: FailureKind | None = None  # the failure that led to the pause
    wait_until: datetime | None = None
    waits_for: str = ""
    failures: int = 0
    standstill: LimitStreak = NO_STREAK
    done: bool = False
    checked: bool = False
    tree: str = ""
    merging: bool = False
    merge_waits: str = ""  # why the merge waits for a person
    merges: int = 0  # attempts
    end: Outcome | None = None
    note: str = ""

    @property
    def decision(self) -> Decision | None:
        return self.decisions[-1] if self.decisions else None


# --- decisions of a model ---


class ModelDecision(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The signature of a decision: what a model answers with."""

    action: Action
    reason: Annotated[str, Meta(min_length=1, max_length=500)]
    confidence: Annotated[float, Meta(ge=0, le=1)]
    next_input: Annotated[str, Meta(max_length=2000)] = ""


def read_decision(text: str, turn: int, by: str) -> Decision | str:
    """Parse a model's decision; returns the reason if it is invalid."""
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
