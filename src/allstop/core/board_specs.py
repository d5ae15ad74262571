"""What runs are opened with: a board, its tasks, and the merges of their work."""

from collections.abc import Collection, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.brakes import Limits
from allstop.core.gate import Check, Gate, Protection
from allstop.core.ids import AgentName
from allstop.core.retries import Backoff, Endurance

EDITION = 2
"""Of the rules by which tasks are worked on. What was begun by older ones is gone on with, and
replayed, by those: the first had no gate where neither a command nor a path was configured, checked
work without what was new on its target, and did not tell agents of PROGRESS."""


class Mode(StrEnum):
    AUTOPILOT = "autopilot"  # the loop picks
    SEMI = "semi"  # a person assigns each task


class ReviewMode(StrEnum):
    """From the laxest to the strictest."""

    SKIP = "skip"
    AUTO = "auto"
    BATCH = "batch"
    PER_TASK = "per-task"


class Terms(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """How turns are taken with one agent."""

    done: Literal["signal", "exit"] = "signal"
    turn_s: float = 1800.0
    idle_s: float = 600.0
    max_tokens: int | None = None
    account: str = ""  # agents of one share its limits
    attempt_s: float | None = None  # of an attempt while it works; None: what holds for others too


class Before(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What the attempts at a task that went before were like."""

    iterations: int = 0
    flawed: bool = False  # something in them is for a person to see


class TaskSpec(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    task: str
    goal: str
    agents: tuple[AgentName, ...]  # the first choice, then what to fall back on
    target: str | None = None  # the branch to start from; None means no workspace
    branch: str = ""  # where the work is brought; "" keeps it in the workspace
    checks: tuple[Check, ...] = ()
    keep_going: bool = False
    protected: tuple[str, ...] = ()
    protection: Protection = Protection.REPORT
    done: Literal["signal", "exit"] = "signal"
    iterations: int = 50
    attempt_s: float | None = None  # in moves: waiting for people or for a rate limit is free
    stuck_after: int = 5  # iterations without a commit
    turn_s: float = 1800.0
    idle_s: float = 600.0
    max_tokens: int | None = None
    terms: dict[AgentName, Terms] = {}  # of those for whom other ones hold than these four
    backoff: Backoff = Backoff()
    limit_retries: int = 3  # of an agent that seems to be at a limit and says not until when
    limit_s: float | None = None  # for how long one that is, and says not, is tried; None: for ever
    onto: str = ""  # a commit of the target that the work did not fit
    news: str = ""  # what the first prompt adds to the goal
    given: str = ""  # a commit of a person's, to bring in
    stash: bool = False  # a person ended the attempt before it: what it left is put aside
    crash_ends: bool = False  # whoever started it decides what then; else it is tried again
    before: Before = Before()
    edition: int = 1  # of the rules

    @property
    def gate(self) -> Gate:
        """As it was when the run began."""
        return Gate(
            checks=self.checks,
            keep_going=self.keep_going,
            protected=self.protected,
            protection=self.protection,
        )

    @property
    def endurance(self) -> Endurance:
        return Endurance(guesses=self.limit_retries, most_s=self.limit_s)

    def terms_of(self, agent: AgentName) -> Terms:
        own = Terms(
            done=self.done, turn_s=self.turn_s, idle_s=self.idle_s, max_tokens=self.max_tokens
        )
        return self.terms.get(agent, own)

    def attempt_s_of(self, agent: AgentName) -> float | None:
        """How long an attempt may take while this one works on it; None is without end."""
        own_s = self.terms_of(agent).attempt_s
        return self.attempt_s if own_s is None else own_s

    def sharing(self, agent: AgentName) -> tuple[AgentName, ...]:
        """Those whom a limit on its account holds, itself included."""
        account = self.terms_of(agent).account
        others = [name for name in self.agents if account == self.terms_of(name).account != ""]
        return tuple(others) or (agent,)


class MergeSpec(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    task: str
    target: str
    message: str
    gate: Gate = Gate()
    verified: str = ""  # the tree that has passed a gate already
    verified_by: str = ""  # the mark of that gate, where it is known
    revert: str = ""  # a merge to take out again, rather than work to bring in


class ReviewRule(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    tag: str
    mode: ReviewMode


Own: TypeAlias = Literal["mode", "slots", "agents"]


class BoardSpec(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """How a board works from now on; `Equip` gives it a new one."""

    target: str
    agents: tuple[AgentName, ...] = ()
    fallbacks: tuple[AgentName, ...] | None = None  # of a task's own agent; None is all of these
    terms: dict[AgentName, Terms] = {}
    mode: Mode = Mode.AUTOPILOT
    slots: int = 2
    gate: Gate = Gate()
    merge: bool = True
    conflicts: int = 2  # how often work goes back to the agent because it does not fit
    review: ReviewMode = ReviewMode.BATCH
    review_rules: tuple[ReviewRule, ...] = ()
    errors: int = 3  # failed tasks in a row, after which a person must look
    iterations: int = 50
    attempt_s: float = 1800.0
    stuck_after: int = 5
    backoff: Backoff = Backoff()
    limit_retries: int = 3
    limit_s: float | None = None
    limits: Limits = Limits()  # of each attempt
    task_limits: Limits = Limits()  # of all attempts at a task together
    count: int | None = None  # start no more than so many from now on
    until: datetime | None = None  # start none after this
    retries_first: bool = True  # whoever is retried is taken before all others; else by its score
    own: tuple[Own, ...] = ("mode", "slots", "agents")  # a person's choice, whatever settings say

    def in_mode(self, mode: Mode) -> "BoardSpec":
        """As a person wants it."""
        return replace(self, mode=mode, own=tuple(dict.fromkeys([*self.own, "mode"])))

    def review_of(self, tags: Collection[str]) -> ReviewMode:
        """The strictest of what holds for a task with these tags."""
        modes = [rule.mode for rule in self.review_rules if rule.tag in tags]
        return max([self.review, *modes], key=tuple(ReviewMode).index)

    def attempt_s_of(self, agents: Sequence[AgentName]) -> float:
        """How long an attempt may take that these work on, the first of them first."""
        own_s = self.terms[agents[0]].attempt_s if agents and agents[0] in self.terms else None
        return self.attempt_s if own_s is None else own_s

    def agents_for(self, own: AgentName | None) -> tuple[AgentName, ...]:
        """Who may work on a task that names this one, in order of preference."""
        if not own:
            return self.agents
        others = self.agents if self.fallbacks is None else self.fallbacks
        return tuple(dict.fromkeys([own, *others]))
