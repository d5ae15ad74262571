"""State of a plan's run: its spec, the step it has reached, and why it waits."""

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from allstop.core.accounts import Roster
from allstop.core.board_specs import AgentTerms, agents_sharing_account
from allstop.core.conversation import EMPTY, Conversation
from allstop.core.gate import Gate
from allstop.core.ids import AgentName
from allstop.core.moves import Change, FailureKind, Outcome
from allstop.core.retries import NO_STREAK, Backoff, LimitPatience, LimitStreak
from allstop.plans.plan import Plan, Step


class PlanMode(StrEnum):
    MANUAL = "manual"  # all steps; the first error pauses the plan
    STEP = "step"  # each step waits for approval; the first error pauses the plan
    AUTOPILOT = "autopilot"  # retries, skips, fallback agents


class ErrorStrategy(StrEnum):
    """What follows after a step fails in autopilot."""

    RETRY = "retry"
    SKIP = "skip"
    ABORT = "abort"


class PauseReason(StrEnum):
    USER = "user"
    FAILED = "failed"
    LIMITED = "limited"
    APPROVAL = "approval"


PHASE_TOKENS = 20_000
"""A smaller conversation is not worth a turn that compacts it between two phases."""


class PlanSpec(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    plan: Plan
    name: str  # of its workspace; also the seed of the retries' jitter
    target: str
    agents: tuple[AgentName, ...]  # the first works; the others replace it while it is limited
    plan_id: str = ""
    terms: dict[AgentName, AgentTerms] = {}
    mode: PlanMode = PlanMode.AUTOPILOT
    on_error: ErrorStrategy = ErrorStrategy.RETRY
    backoff: Backoff = Backoff()
    patience: LimitPatience = LimitPatience()
    step_delay_s: float = 0.5
    check_s: float = 300.0  # the time limit of a step's check
    ask_s: float | None = None  # how long a request waits for a person
    gate: Gate = Gate()
    may_change: tuple[str, ...] = ()  # declared by the person; see `gate.intent`
    merge: bool = True
    auto_commit: bool = False  # one commit for each step; otherwise one before the gate
    compact_at: int | None = None  # a conversation of so many tokens is compacted before a step
    phases_compact_at: int | None = None  # the same for the first step of another phase
    edition: int = 1  # of the prompts and rules

    def terms_of(self, agent: AgentName) -> AgentTerms:
        return self.terms.get(agent, AgentTerms())

    def agents_sharing_account(self, agent: AgentName) -> tuple[AgentName, ...]:
        return agents_sharing_account(agent, self.agents, self.terms)


class Skipped(Struct, frozen=True, gc=False, kw_only=True):
    """A step that was not done, and why the plan continued without it."""

    step: str
    reason: str


class PlanState(Struct, frozen=True, gc=False, kw_only=True):
    spec: PlanSpec
    steps: tuple[tuple[int, Step], ...]  # in order, each with the number of its phase
    roster: Roster
    position: int = 0  # of the current step; after the last one: gate and merge
    base: str = ""
    gate: Gate | None = None  # the target's gate when the workspace was last opened
    agent: AgentName = AgentName("")  # of the last turn
    thread: str | None = None
    talk: Conversation = EMPTY
    talked_in: int = 0  # the phase of the last turn
    change: Change | None = None
    turns: int = 0
    moving: bool = False  # a move is open
    in_turn: bool = False  # and it is a turn
    approved: bool = False  # a person approved the current step
    turn_done: bool = False  # the step's turn has ended; its check decides
    failures: int = 0  # of the current step
    news: str = ""  # further text for the next prompt
    told: tuple[str, ...] = ()  # messages of people
    heard: int = 0  # how many of them the current turn has received
    completed: int = 0
    failed: tuple[str, ...] = ()  # ids of steps that failed for good
    skipped: tuple[Skipped, ...] = ()
    skip_asked: str = ""  # a person asked during a move to skip its step, and why
    paused: str = ""
    paused_by: FailureKind | None = None
    wait_until: datetime | None = None
    waits_for: str = ""
    standstill: LimitStreak = NO_STREAK
    uncommitted: bool = False  # the workspace may have uncommitted changes
    to_commit: str = ""  # the message for the changes of a step that is over
    repairs: bool = False  # the next turn corrects what the gate found
    checked: bool = False
    tree: str = ""
    merging: bool = False
    merge_waits: str = ""  # why the merge waits for a person
    merges: int = 0
    end: Outcome | None = None
    note: str = ""
    ended_at: datetime | None = None  # the time of the last event that changed it

    @property
    def step(self) -> Step | None:
        """The current step; None after the last one."""
        return self.steps[self.position][1] if self.position < len(self.steps) else None

    @property
    def phase(self) -> int:
        """The number of the current phase, counted from 0; the last one at the end."""
        place = min(self.position, len(self.steps) - 1)
        return self.steps[place][0] if self.steps else 0

    @property
    def needs_approval(self) -> bool:
        is_open = self.step is not None and not self.turn_done and not self.approved
        return is_open and self.spec.mode is PlanMode.STEP
