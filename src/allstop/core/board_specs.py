"""The specs that a board, its tasks, its merges and its sprints are started with."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import UNSET, Struct
from msgspec.structs import replace

from allstop.core.brakes import AtLimit, Limits
from allstop.core.gate import Check, Gate, Integrity, Protection
from allstop.core.ids import AgentName
from allstop.core.retries import Backoff, LimitPatience

EDITION = 3
"""The version of the rules for attempts. An attempt is continued and replayed by the rules it began
with. Edition 1 had no gate if no check or protected path was configured, checked work without the
target's newer commits, and did not mention PROGRESS in prompts. Up to edition 2, a used-up budget
also stopped the gate of finished work."""


class Mode(StrEnum):
    AUTOPILOT = "autopilot"  # the board picks tasks
    SEMI = "semi"  # a person assigns each task


class ReviewMode(StrEnum):
    """Who reviews verified work; from the least to the most strict."""

    SKIP = "skip"
    AUTO = "auto"
    BATCH = "batch"
    PER_TASK = "per-task"


class AgentTerms(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Settings and limits for turns with one agent."""

    done: Literal["signal", "exit"] = "signal"
    turn_s: float = 1800.0
    idle_s: float = 600.0
    max_tokens: int | None = None
    account: str = ""  # agents of one account share its limits
    attempt_s: float | None = None  # of an attempt by this agent; None: the limit of the spec


def agents_sharing_account(
    agent: AgentName, agents: Iterable[AgentName], terms: Mapping[AgentName, AgentTerms]
) -> tuple[AgentName, ...]:
    """The agents that a limit on this agent's account affects, itself included."""
    account = terms[agent].account if agent in terms else ""
    others = [name for name in agents if name in terms and account == terms[name].account != ""]
    return tuple(others) or (agent,)


class EarlierAttempts(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A summary of the earlier attempts at a task."""

    iterations: int = 0
    flawed: bool = False  # a person should see something in them


class TaskSpec(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    task: str
    goal: str
    agents: tuple[AgentName, ...]  # the first choice, then the fallbacks
    target: str | None = None  # the branch to start from; None means no workspace
    branch: str = ""  # the branch that gets the work; "" keeps it in the workspace
    checks: tuple[Check, ...] = ()
    keep_going: bool = False
    protected: tuple[str, ...] = ()
    protection: Protection = Protection.REPORT  # counts if `integrity` is None
    integrity: Integrity | None = None
    unreviewed: bool = False  # no person reviews the work before it is merged
    may_change: tuple[str, ...] = ()  # tests that a person allows to change: paths or ids
    labels: tuple[str, ...] = ()  # what a machine of a fleet must offer for it
    done: Literal["signal", "exit"] = "signal"
    iterations: int = 50
    attempt_s: float | None = None  # time in moves; waiting for people or limits doesn't count
    stuck_after: int = 5  # iterations without a commit
    no_progress: int = 0  # turns without progress after which it waits for a person; 0: never
    stuck_waits: bool = False  # after `stuck_after` turns it waits for a person, too
    turn_s: float = 1800.0
    idle_s: float = 600.0
    max_tokens: int | None = None
    terms: dict[AgentName, AgentTerms] = {}  # of those for whom other ones hold than these four
    compact_at: int | None = None  # a conversation of so many tokens is compacted before a turn
    backoff: Backoff = Backoff()
    limit_retries: int = 3  # of an agent that seems to be limited and gives no retry time
    # how long a limited agent without a retry time is tried; None: forever
    limit_s: float | None = None
    # take the first agent back once its limit is over; None: the first rules about limits
    recover_primary: bool | None = None
    onto: str = ""  # a commit of the target that the work conflicted with
    news: str = ""  # added to the goal in the first prompt
    given: str = ""  # a person's commit to merge in
    stash: bool = False  # a person ended the previous attempt: stash its uncommitted changes
    stop_stashes: bool = True  # the same after a stop; else the agent goes on with these changes
    crash_ends: bool = False  # a crash ends the attempt; otherwise it is retried
    before: EarlierAttempts = EarlierAttempts()
    ask_s: float | None = None  # how long a request waits for a person; None: forever
    criteria: bool = False  # the goal has acceptance criteria; its agent names what shows each
    second: tuple[AgentName, ...] = ()  # who may review the verified work, in order of preference
    second_rounds: int = 2
    edition: int = 1  # see EDITION

    @property
    def gate(self) -> Gate:
        """The gate as it was configured when the run began."""
        return Gate(
            checks=self.checks,
            keep_going=self.keep_going,
            protected=self.protected,
            protection=self.protection,
            integrity=self.integrity,
        )

    @property
    def endurance(self) -> LimitPatience:
        return LimitPatience(
            guesses=self.limit_retries,
            most_s=self.limit_s,
            recover=UNSET if self.recover_primary is None else self.recover_primary,
        )

    def terms_of(self, agent: AgentName) -> AgentTerms:
        own = AgentTerms(
            done=self.done, turn_s=self.turn_s, idle_s=self.idle_s, max_tokens=self.max_tokens
        )
        return self.terms.get(agent, own)

    def attempt_s_of(self, agent: AgentName) -> float | None:
        """How long an attempt by this agent may take; None: no limit."""
        own_s = self.terms_of(agent).attempt_s
        return self.attempt_s if own_s is None else own_s

    def agents_sharing_account(self, agent: AgentName) -> tuple[AgentName, ...]:
        return agents_sharing_account(agent, self.agents, self.terms)


class BatchMember(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A change that is merged after another one and checked together with it."""

    task: str
    message: str


class RedTree(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A tree that has failed a gate."""

    tree: str
    gate: str  # its fingerprint
    checks: tuple[str, ...]  # that have not passed: they failed or never ran


MERGE_EDITION = 2
"""The version of the rules for merges. Edition 1 ran a failed check only once, and had no batches."""


class MergeSpec(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    task: str
    target: str
    message: str
    gate: Gate = Gate()
    verified: str = ""  # the tree that has passed a gate already
    verified_by: str = ""  # the fingerprint of that gate, if known
    revert: str = ""  # a merge commit to revert, instead of work to merge
    unreviewed: bool = False  # no person has reviewed the work
    may_change: tuple[str, ...] = ()  # tests that a person allows to change: paths or ids
    labels: tuple[str, ...] = ()  # what a machine of a fleet must offer for it
    others: tuple[BatchMember, ...] = ()  # the rest of the batch, in order
    red: tuple[RedTree, ...] = ()  # that are not checked as a whole again
    landed: str = ""  # its merge commit, which an earlier batch has landed
    edition: int = 1  # see MERGE_EDITION


class ReviewRule(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    tag: str
    mode: ReviewMode


class TargetKind(StrEnum):
    COUNT = "count"
    DURATION = "duration"
    UNTIL_TIME = "until_time"
    NO_READY = "no_ready"


class Target(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The end of a sprint, as it was given."""

    type: TargetKind = TargetKind.NO_READY
    value: int | float | str | None = None  # tasks, hours, or a time


class Filters(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The tasks of a sprint; empty fields take all."""

    include_operations: tuple[str, ...] = ()
    exclude_operations: tuple[str, ...] = ()
    include_tags: tuple[str, ...] = ()
    exclude_tags: tuple[str, ...] = ()

    def takes(self, operation: str, tags: Collection[str]) -> bool:
        if self.include_operations and operation not in self.include_operations:
            return False
        if self.include_tags and not any(tag in self.include_tags for tag in tags):
            return False
        excluded = operation in self.exclude_operations
        return not excluded and not any(tag in self.exclude_tags for tag in tags)


ALL_TASKS = Filters()


class SprintSpec(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    target: Target = Target()
    ends_at: datetime | None = None  # the moment of a target in time: no task starts after it
    filters: Filters = ALL_TASKS
    checkpoint_before: bool = False
    pause_on_error: bool = False
    pause_on_stuck: bool = False
    batch_review: bool | None = None  # None: as the review mode of the board says
    at_limit: AtLimit = AtLimit.PAUSE  # stop: it ends when its budget is used up


def target_in_words(target: Target) -> str:
    value = target.value
    match target.type:
        case TargetKind.COUNT:
            return "1 task" if value == 1 else f"{value} tasks"
        case TargetKind.DURATION:
            return "1 hour" if value == 1 else f"{value:g} hours"
        case TargetKind.UNTIL_TIME:
            return f"until {value}"
        case TargetKind.NO_READY:
            return "all that is ready"


PersonsSetting: TypeAlias = Literal["mode", "slots", "agents"]


TARGET_FAILS = "target_fails"
"""The fact that a check fails on the target branch without any work, too."""


class BoardSpec(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The settings of a board; the command `Equip` replaces them."""

    target: str
    agents: tuple[AgentName, ...] = ()
    fallbacks: tuple[AgentName, ...] | None = None  # of a task's own agent; None is all of these
    terms: dict[AgentName, AgentTerms] = {}
    mode: Mode = Mode.AUTOPILOT
    slots: int = 2
    gate: Gate = Gate()
    merge: bool = True
    batch: int = 1  # the most changes that are merged and checked together
    conflicts: int = 2  # how often work goes back to the agent after a conflict
    review: ReviewMode = ReviewMode.BATCH
    review_rules: tuple[ReviewRule, ...] = ()
    second: AgentName | None = None  # reviews verified work before a person does
    second_rounds: int = 2
    errors: int = 3  # failed tasks in a row after which the board waits for a person
    iterations: int = 50
    attempt_s: float = 1800.0
    stuck_after: int = 5
    no_progress: int = 0
    compact_at: int | None = None  # a conversation of so many tokens is compacted before a turn
    backoff: Backoff = Backoff()
    limit_retries: int = 3
    limit_s: float | None = None
    recover_primary: bool | None = None
    limits: Limits = Limits()  # of each attempt
    task_limits: Limits = Limits()  # of all attempts at a task together
    count: int | None = None  # start at most this many tasks
    until: datetime | None = None  # start no task after this time
    ask_s: float | None = None  # how long an agent's request waits for a person
    retries_first: bool = True  # retried tasks come before all others; else by their score
    # the board acts only on these tasks, and on those that later commands name; None: on all
    only: tuple[str, ...] | None = None
    own: tuple[PersonsSetting, ...] = (
        "mode",
        "slots",
        "agents",
    )  # a person's choice, whatever settings say

    def in_mode(self, mode: Mode) -> "BoardSpec":
        """The spec with a mode that a person has chosen."""
        return replace(self, mode=mode, own=tuple(dict.fromkeys([*self.own, "mode"])))

    def review_of(self, tags: Collection[str]) -> ReviewMode:
        """The strictest review mode that applies to a task with these tags."""
        modes = [rule.mode for rule in self.review_rules if rule.tag in tags]
        return max([self.review, *modes], key=tuple(ReviewMode).index)

    def attempt_s_of(self, agents: Sequence[AgentName]) -> float:
        """How long an attempt may take; the first of the agents decides."""
        own_s = self.terms[agents[0]].attempt_s if agents and agents[0] in self.terms else None
        return self.attempt_s if own_s is None else own_s

    def reviewers(self) -> tuple[AgentName, ...]:
        """The agents that may review work, in order of preference; none unless one is set."""
        return tuple(dict.fromkeys([self.second, *self.agents])) if self.second else ()

    def agents_for(self, own: AgentName | None) -> tuple[AgentName, ...]:
        """The agents for a task that names `own`, in order of preference."""
        if not own:
            return self.agents
        others = self.agents if self.fallbacks is None else self.fallbacks
        return tuple(dict.fromkeys([own, *others]))
