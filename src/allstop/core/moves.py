"""What a pilot can ask the loop to do next, and what can come back."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Self, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.brakes import Limits
from allstop.core.gate import Check, Gate, Protection
from allstop.core.ids import AgentName, RunId
from allstop.core.prompt import Prompt
from allstop.core.signals import Said, agreed


class Outcome(StrEnum):
    """How a run ended."""

    DONE = "done"
    BLOCKED = "blocked"
    FAILED = "failed"
    TIMED_OUT = "timed_out"  # its own limit of turns or time
    BRAKED = "braked"  # a budget
    ABORTED = "aborted"
    CRASHED = "crashed"  # its agent died; nobody says it can't be done
    CONFLICT = "conflict"  # it doesn't fit what others have done meanwhile


class FailureKind(StrEnum):
    """Why a move did not succeed."""

    RATE_LIMITED = "rate_limited"
    USAGE_LIMITED = "usage_limited"
    OVERLOADED = "overloaded"
    AUTH = "auth"
    CONTEXT = "context"  # the conversation no longer fits the model
    NETWORK = "network"
    BAD_REQUEST = "bad_request"
    UNAVAILABLE = "unavailable"  # the agent can't be started
    EXITED = "exited"  # the program ended with another code than 0
    TIMED_OUT = "timed_out"
    STALLED = "stalled"  # no sign of life for too long
    CRASHED = "crashed"
    CANCELLED = "cancelled"  # cut off by a brake
    DISCARDED = "discarded"  # it came back, but after a stop
    INTERRUPTED = "interrupted"  # the process died while the move was open
    OUT_OF_BUDGET = "out_of_budget"
    OUT_OF_ROOM = "out_of_room"  # its workspace, or the disk, can hold no more
    OUT_OF_MEMORY = "out_of_memory"  # its programs held more than they may
    CAPPED = "capped"  # the turn has used all the tokens it may, and was ended
    UNSAFE = "unsafe"  # there is no sandbox and nobody said that is fine
    CONFLICT = "conflict"
    MOVED = "moved"  # the target branch is elsewhere by now
    BUSY = "busy"  # somebody's uncommitted changes are in the way


LIMITED = frozenset({FailureKind.RATE_LIMITED, FailureKind.USAGE_LIMITED, FailureKind.OVERLOADED})
"""The agent is fine; it must only wait."""

LOST = frozenset({FailureKind.CANCELLED, FailureKind.DISCARDED})
"""What a stop cut off, or came after it."""

OVERGROWN = frozenset({FailureKind.OUT_OF_ROOM, FailureKind.OUT_OF_MEMORY})
"""A turn took more of the machine than it may, and was ended."""

BRAKED = OVERGROWN | {FailureKind.OUT_OF_BUDGET}
"""A limit was reached: a person decides whether it goes on."""

OURS = LOST | {FailureKind.INTERRUPTED}
"""Nobody's fault: the move is simply taken up again."""


class _Move(
    Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, tag_field="move", tag=True
):
    pass


class Adviser(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Who answers questions of an agent's tools, where it is sure enough."""

    agent: AgentName
    min_confidence: float


class TakeTurn(_Move, frozen=True, tag="take_turn"):
    agent: AgentName
    prompt: Prompt
    thread: str | None = None
    workspace: str | None = None
    timeout_s: float = 3600.0
    idle_s: float = 600.0
    max_tokens: int | None = None  # most that this turn may use; reserved before it starts
    asks_first: bool = False  # before every command, where the driver can have it so
    ask_s: float | None = None  # how long a question waits for a person; 0: nobody is there
    adviser: Adviser | None = None

    @property
    def most_tokens(self) -> int | None:
        """With its adviser, who may use as many again."""
        return self.max_tokens * 2 if self.max_tokens and self.adviser else self.max_tokens


class RunChecks(_Move, frozen=True, tag="run_checks"):
    checks: tuple[Check, ...]
    workspace: str
    commit: str = ""  # of a merge; "" is the workspace's last one
    keep_going: bool = False  # after a required check has failed
    protected: tuple[str, ...] = ()  # patterns of paths that the gate stands on
    protection: Protection = Protection.REPORT
    timeout_s: float | None = None  # for all of them together
    follows: str = ""  # a branch: MOVED, and nothing is run, where the work has not all of it

    @classmethod
    def by(cls, gate: Gate, workspace: str, **more: Any) -> Self:
        """Have work looked at by a gate."""
        return cls(
            checks=gate.checks,
            workspace=workspace,
            keep_going=gate.keep_going,
            protected=gate.protected,
            protection=gate.protection,
            **more,
        )


class OpenWorkspace(_Move, frozen=True, tag="open_workspace"):
    workspace: str
    target: str
    onto: str = ""  # a commit of the target to bring in; its conflicts are left in the files
    stash: bool = False  # what a stop left uncommitted is put aside
    given: str = ""  # a commit in which a person went on with the work, to bring in


class Deliver(_Move, frozen=True, tag="deliver"):
    """Bring the workspace's commits home, onto a branch of the user's repository."""

    workspace: str
    branch: str


class Integrate(_Move, frozen=True, tag="integrate"):
    """Merge the work with the tip of the target; no branch is moved and no tree touched."""

    workspace: str
    target: str
    message: str


class Revert(_Move, frozen=True, tag="revert"):
    """Take a merge out of the target again, in a new commit; no branch is moved."""

    commit: str
    target: str
    message: str


class Land(_Move, frozen=True, tag="land"):
    """Move the target to a commit made for it, if it is still where it was."""

    target: str
    tip: str  # where it was
    commit: str


class Survey(_Move, frozen=True, tag="survey"):
    """Look at what the work, or else the target, holds: names, and the fronts of a few files."""

    target: str
    workspace: str = ""


class Spawn(_Move, frozen=True, tag="spawn"):
    kind: str
    ref: str
    spec: dict[str, object]
    limits: Limits = Limits()


class Wait(_Move, frozen=True, tag="wait"):
    reason: str
    until: datetime | None = None
    for_person: bool = False
    question: str = ""  # what the agent wants to know from a person
    idle: bool = False  # nothing is under way, and nothing is waited for
    at_limit: bool = False  # a budget is used up: more of it would help
    failure: FailureKind | None = None  # what led to it


class Finish(_Move, frozen=True, tag="finish"):
    outcome: Outcome
    note: str = ""
    facts: dict[str, str] = {}  # for whoever started it
    failure: FailureKind | None = None  # what led to it


Work: TypeAlias = (
    TakeTurn | RunChecks | OpenWorkspace | Deliver | Integrate | Revert | Land | Survey | Spawn
)
Move: TypeAlias = Work | Wait | Finish


def on_record(move: Work) -> Work:
    """The move as the journal keeps it: without the prompt's text."""
    if isinstance(move, TakeTurn):
        return replace(move, prompt=replace(move.prompt, text="", talk=None, review=""))
    return move


class Item(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Something finished that an agent said or did within a turn."""

    kind: str
    text: str


class Usage(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What a turn used. Input includes what came from a cache."""

    input: int = 0
    cached: int = 0
    output: int = 0
    cost_microusd: int = 0
    model: str = ""  # the one that was mostly used, if anybody told

    @property
    def tokens(self) -> int:
        return self.input + self.output


class Change(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Where a workspace stands after a turn."""

    head: str
    commits: int = 0  # since the base
    files: int = 0
    tree: str = ""  # the same for commits that hold the same files
    loose: tuple[str, ...] = ()  # repositories in it with work that is nowhere else
    sketch: tuple[str, ...] = ()  # the first of the files, such as "M src/main.py"
    guarded: dict[str, str] = {}  # files that people are asked about, each with why


class CheckResult(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    name: str
    run: str
    passed: bool
    required: bool = True
    code: int | None = None
    timed_out: bool = False
    seconds: float = 0.0
    output: str = ""  # its end
    failed_before: bool = False  # on the target too, without the work


class _Result(
    Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, tag_field="result", tag=True
):
    pass


class TurnDone(_Result, frozen=True, tag="turn_done"):
    text: str
    thread: str | None = None
    usage: Usage = Usage()
    change: Change | None = None
    signals: tuple[Said, ...] = ()  # given by a tool; the text may end with one, too

    @property
    def said(self) -> Said:
        """What it claims: no more than that."""
        return agreed(self.text, self.signals)


class Finding(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Something about a change that a person should see."""

    kind: str  # protected, deleted_test, skipped_test
    path: str
    text: str = ""
    fatal: bool = False  # it fails the gate


class ChecksDone(_Result, frozen=True, tag="checks_done"):
    results: tuple[CheckResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    tree: str = ""  # what was checked, exactly
    error: str = ""  # how the gate ended, where it did not pass; see `gate_error`
    notes: tuple[str, ...] = ()  # what the clone lacked in which it was checked

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        return tuple(r for r in self.results if r.required and not r.passed)

    @property
    def warned(self) -> tuple[CheckResult, ...]:
        """What did not pass and need not have."""
        return tuple(r for r in self.results if not r.required and not r.passed)

    @property
    def passed(self) -> bool:
        return not self.failed and not any(finding.fatal for finding in self.findings)


VERIFICATION_FAILED = "VERIFICATION_FAILED"
VERIFICATION_TIMEOUT = "VERIFICATION_TIMEOUT"


def gate_error(gate: ChecksDone) -> str:
    """The code of a gate's end: of the first required check that failed; "" where it passed."""
    if gate.failed:
        return VERIFICATION_TIMEOUT if gate.failed[0].timed_out else VERIFICATION_FAILED
    return "" if gate.passed else VERIFICATION_FAILED


class WorkspaceOpen(_Result, frozen=True, tag="workspace_open"):
    base: str  # the commit it starts from
    conflicts: tuple[str, ...] = ()  # files with conflicts in them, of what was brought in
    stashed: bool = False  # something was put aside
    gate: Gate | None = None  # the target's, as it is now; None where whoever asked has to know
    notes: tuple[str, ...] = ()  # what people should know of it


class Integrated(_Result, frozen=True, tag="integrated"):
    tip: str  # of the target, that it was merged with
    commit: str  # the merge; the tip itself where there was nothing left to merge
    tree: str
    gate: Gate | None = None  # the target's, likewise


class Landed(_Result, frozen=True, tag="landed"):
    commit: str


class Delivered(_Result, frozen=True, tag="delivered"):
    branch: str
    commit: str


class Excerpt(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The front of a file."""

    path: str
    text: str


class Surveyed(_Result, frozen=True, tag="surveyed"):
    commit: str
    paths: tuple[str, ...] = ()
    more: int = 0  # paths that were left out
    files: tuple[Excerpt, ...] = ()
    subjects: tuple[str, ...] = ()  # of the last commits


class Spawned(_Result, frozen=True, tag="spawned"):
    run: RunId


class Failed(_Result, frozen=True, tag="failed"):
    kind: FailureKind
    message: str = ""
    retry_at: datetime | None = None
    guessed: bool = False  # its kind was told from words only
    usage: Usage = Usage()
    change: Change | None = None
    notes: tuple[str, ...] = ()  # what the clone lacked which could not be set up


Charged: TypeAlias = TurnDone | Failed
"""What may have used something."""

Result: TypeAlias = (
    TurnDone
    | ChecksDone
    | WorkspaceOpen
    | Delivered
    | Integrated
    | Landed
    | Surveyed
    | Spawned
    | Failed
)


def is_turn(result: Result) -> bool:
    """Whether it counts as one: also where it was ended because it came to its cap."""
    if isinstance(result, Failed):
        return result.kind is FailureKind.CAPPED
    return isinstance(result, TurnDone)
