"""Moves that a pilot can choose, and their results."""

from datetime import datetime
from enum import StrEnum
from typing import Any, Self, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.brakes import Limits
from allstop.core.gate import BY_PROTECTION, Check, Gate, Integrity, Protection, Verdict
from allstop.core.ids import AgentName, RunId
from allstop.core.prompt import Prompt
from allstop.core.signals import SignalClaim, combined_claim


class Outcome(StrEnum):
    """How a run ended."""

    DONE = "done"
    BLOCKED = "blocked"
    FAILED = "failed"
    TIMED_OUT = "timed_out"  # its own limit of turns or time
    BRAKED = "braked"  # a budget was used up
    ABORTED = "aborted"
    CRASHED = "crashed"  # its agent died; another try may succeed
    CONFLICT = "conflict"  # it conflicts with work merged meanwhile


class FailureKind(StrEnum):
    """Why a move did not succeed."""

    RATE_LIMITED = "rate_limited"
    USAGE_LIMITED = "usage_limited"
    BILLING = "billing"  # credits, a plan or a spending limit: waiting doesn't help
    OVERLOADED = "overloaded"
    AUTH = "auth"
    CONTEXT = "context"  # the conversation no longer fits the model
    NETWORK = "network"
    BAD_REQUEST = "bad_request"
    UNAVAILABLE = "unavailable"  # the agent can't be started
    EXITED = "exited"  # the program ended with a nonzero code
    TIMED_OUT = "timed_out"
    STALLED = "stalled"  # no output for too long
    CRASHED = "crashed"
    CANCELLED = "cancelled"  # cut off by a brake
    DISCARDED = "discarded"  # the result arrived after a stop
    INTERRUPTED = "interrupted"  # the process died while the move was open
    OUT_OF_BUDGET = "out_of_budget"
    OUT_OF_ROOM = "out_of_room"  # its workspace, or the disk, is full
    OUT_OF_MEMORY = "out_of_memory"  # its programs exceeded their memory limit
    CAPPED = "capped"  # the turn reached its token limit and was ended
    UNSAFE = "unsafe"  # there is no sandbox, and running without one was not allowed
    CONFLICT = "conflict"
    MOVED = "moved"  # the target branch has moved since
    BUSY = "busy"  # uncommitted changes in a checkout are in the way


LIMITED = frozenset({FailureKind.RATE_LIMITED, FailureKind.USAGE_LIMITED, FailureKind.OVERLOADED})
"""The agent works, but its provider limits it for a while."""

CUT_BY_STOP = frozenset({FailureKind.CANCELLED, FailureKind.DISCARDED})
"""A stop ended the move, or the result arrived after the stop."""

OVER_MACHINE_LIMIT = frozenset({FailureKind.OUT_OF_ROOM, FailureKind.OUT_OF_MEMORY})
"""A turn exceeded its disk or memory limit and was ended."""

BRAKED = OVER_MACHINE_LIMIT | {FailureKind.OUT_OF_BUDGET}
"""A limit was reached; a person decides whether the run continues."""

RESUMABLE = CUT_BY_STOP | {FailureKind.INTERRUPTED}
"""The agent did not cause the failure; the pilot repeats the move."""


UNFINISHED = RESUMABLE | BRAKED | LIMITED | {FailureKind.BILLING}
"""The turn is repeated later, by this agent or another one."""


class _Move(
    Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, tag_field="move", tag=True
):
    pass


class Adviser(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A model that answers questions of an agent's tools if it is confident enough."""

    agent: AgentName
    min_confidence: float


class TakeTurn(_Move, frozen=True, tag="take_turn"):
    agent: AgentName
    prompt: Prompt
    thread: str | None = None
    workspace: str | None = None
    timeout_s: float = 3600.0
    idle_s: float = 600.0
    max_tokens: int | None = None  # the most this turn may use; reserved before it starts
    asks_first: bool = False  # before each command, if the driver supports it
    ask_s: float | None = None  # how long a question waits for a person; 0: not at all
    adviser: Adviser | None = None
    uncommitted: bool = False  # its changes stay uncommitted in the workspace
    discards: bool = False  # nothing that it changes in the workspace is fetched or kept
    compacts: int = 0  # it compacts its conversation of so many tokens; 0: an ordinary turn
    in_copy: bool = False  # in a clean clone of the work, which is removed; the work stays as it is

    @property
    def most_tokens(self) -> int | None:
        """Its tokens and those of its adviser, which may use as many again."""
        return self.max_tokens * 2 if self.max_tokens and self.adviser else self.max_tokens


class RunChecks(_Move, frozen=True, tag="run_checks"):
    checks: tuple[Check, ...]
    workspace: str
    commit: str = ""  # of a merge; "" is the workspace's last one
    keep_going: bool = False  # after a required check has failed
    protected: tuple[str, ...] = ()  # patterns of paths that the gate depends on
    protection: Protection = Protection.REPORT  # counts if `integrity` is None
    timeout_s: float | None = None  # for all checks together
    base: str = ""  # what the changes are compared with; "" is the commit's first parent
    affected: bool = False  # skip checks whose paths have no change
    follows: str = ""  # a branch; if the work lacks its tip, the move fails with MOVED
    integrity: Integrity | None = None
    unreviewed: bool = False  # no person reviews the work before it is merged
    may_change: tuple[str, ...] = ()  # tests that a person allows to change: paths or ids
    fixes: bool = False  # the task asks for a fix
    held_out: str = ""  # a digest of the held-out checks that run at the end; "" if none
    mutation: bool = False  # try mutants of the changed lines once everything has passed
    quarantine: tuple[str, ...] = ()  # tests whose failures don't count, by a person's settings

    @property
    def strictness(self) -> Integrity:
        return self.integrity or BY_PROTECTION[self.protection]

    @classmethod
    def for_gate(cls, gate: Gate, workspace: str, **more: Any) -> Self:
        """Run the checks of a gate."""
        return cls(
            checks=gate.checks,
            workspace=workspace,
            keep_going=gate.keep_going,
            protected=gate.protected,
            protection=gate.protection,
            integrity=gate.integrity,
            held_out=gate.held_out,
            mutation=gate.mutation,
            quarantine=gate.quarantine,
            **more,
        )


class OpenWorkspace(_Move, frozen=True, tag="open_workspace"):
    workspace: str
    target: str
    onto: str = ""  # a commit of the target to merge in; conflicts are left in the files
    stash: bool = False  # stash changes that a stop left uncommitted
    given: str = ""  # a person's commit to merge in


class Commit(_Move, frozen=True, tag="commit"):
    """Commit the uncommitted changes of the workspace, if there are any."""

    workspace: str
    message: str


class Deliver(_Move, frozen=True, tag="deliver"):
    """Copy the workspace's commits to a branch of the user's repository."""

    workspace: str
    branch: str


class Integrate(_Move, frozen=True, tag="integrate"):
    """Merge the work with the target's tip in a new commit; no branch or checkout changes."""

    workspace: str
    target: str
    message: str
    onto: str = ""  # a merge commit of the same batch, instead of the tip


class Revert(_Move, frozen=True, tag="revert"):
    """Revert a merge in a new commit on the target's tip; no branch changes."""

    commit: str
    target: str
    message: str


class Land(_Move, frozen=True, tag="land"):
    """Move the target branch to a merge commit if the branch still points to `tip`."""

    target: str
    tip: str
    commit: str


class Survey(_Move, frozen=True, tag="survey"):
    """List the files of the workspace, or else of the target, and read the start of a few."""

    target: str
    workspace: str = ""


class Discard(_Move, frozen=True, tag="discard"):
    """Remove a workspace with everything in it."""

    workspace: str


class MakeCheckpoint(_Move, frozen=True, tag="make_checkpoint"):
    """Keep the target's tip under a ref, so that a person can return to it."""

    checkpoint: str  # its name
    target: str


class EndSprint(_Move, frozen=True, tag="end_sprint"):
    """End a board's sprint. Only a record: the drive writes start and result at once."""

    sprint: str
    reason: str


class Spawn(_Move, frozen=True, tag="spawn"):
    kind: str
    ref: str
    spec: dict[str, object]
    limits: Limits = Limits()


class Wait(_Move, frozen=True, tag="wait"):
    reason: str
    until: datetime | None = None
    for_person: bool = False
    question: str = ""  # the agent's question for a person
    idle: bool = False  # nothing is running, and the run waits for nothing
    at_limit: bool = False  # a budget is used up; raising it lets the run continue
    failure: FailureKind | None = None  # the cause


class Finish(_Move, frozen=True, tag="finish"):
    outcome: Outcome
    note: str = ""
    facts: dict[str, str] = {}  # for the run that started it
    failure: FailureKind | None = None  # the cause


Work: TypeAlias = (
    TakeTurn
    | RunChecks
    | OpenWorkspace
    | Commit
    | Deliver
    | Integrate
    | Revert
    | Land
    | Survey
    | Discard
    | MakeCheckpoint
    | EndSprint
    | Spawn
)
Move: TypeAlias = Work | Wait | Finish


def without_prompt_text(move: Work) -> Work:
    """The move as it is written to the journal."""
    if isinstance(move, TakeTurn):
        return replace(move, prompt=replace(move.prompt, text="", talk=None, review=""))
    return move


CUT_TEXT = "cut"
"""The kind of an item with the text of a turn in a room that a stop has cut off."""


class ModelCall(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The numbers of one model call, as the gateway measured them."""

    model: str
    status: int  # of HTTP
    input: int = 0  # including cached tokens
    cached: int = 0
    output: int = 0  # including reasoning
    reasoning: int = 0
    cost_microusd: int | None = None  # None: the price is not known
    first_ms: int = 0  # until the first piece of the reply
    total_ms: int = 0
    request_id: str = ""
    cut: bool = False  # by the turn's budget
    estimated: bool = False  # the provider reported no usable numbers
    number: int = 0  # of its reservation in this turn; 0: it had none
    provider: str = ""  # its name, or the host of a compatible server


class Item(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A finished message or action of an agent within a turn."""

    kind: str
    text: str
    call: ModelCall | None = None


class Usage(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Tokens and cost of a turn. `input` includes cached input."""

    input: int = 0
    cached: int = 0
    output: int = 0
    cost_microusd: int = 0
    model: str = ""  # the one used most, if reported
    partial: bool = False  # more was used, or spent, than the agent reports

    @property
    def tokens(self) -> int:
        return self.input + self.output

    def plus(self, other: "Usage") -> "Usage":
        return Usage(
            input=self.input + other.input,
            cached=self.cached + other.cached,
            output=self.output + other.output,
            cost_microusd=self.cost_microusd + other.cost_microusd,
            model=self.model or other.model,
            partial=self.partial or other.partial,
        )


MAX_TURN_TOKENS = 10**9
MAX_TURN_MICROUSD = 10**10
"""The most that one turn can plausibly use; agents may report anything."""


def checked_usage(usage: Usage) -> Usage:
    """The usage within plausible bounds: the same object if it is plausible."""
    most = MAX_TURN_TOKENS
    if (
        0 <= usage.cached <= usage.input <= most
        and 0 <= usage.output <= most
        and 0 <= usage.cost_microusd <= MAX_TURN_MICROUSD
    ):
        return usage
    total = _within(usage.input, most)
    return Usage(
        input=total,
        cached=_within(usage.cached, total),
        output=_within(usage.output, most),
        cost_microusd=_within(usage.cost_microusd, MAX_TURN_MICROUSD),
        model=usage.model,
    )


def _within(value: int, most: int) -> int:
    return max(0, min(value, most))


def reported_microusd(dollars: float) -> int:
    """A cost that an agent reports; a number that is none is negative, so that it is noticed."""
    if dollars != dollars:  # only NaN
        return -1
    return round(max(-1.0, min(dollars * 1_000_000, 2.0 * MAX_TURN_MICROUSD)))


class Change(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The state of a workspace after a turn."""

    head: str
    commits: int = 0  # since the base
    files: int = 0
    tree: str = ""
    loose: tuple[str, ...] = ()  # nested repositories with commits that exist nowhere else
    sketch: tuple[str, ...] = ()  # the first of the files, such as "M src/main.py"
    guarded: dict[str, str] = {}  # changed files that need a person's consent, each with the reason


class CheckResult(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    name: str
    run: str
    passed: bool
    required: bool = True
    code: int | None = None
    timed_out: bool = False
    seconds: float = 0.0
    output: str = ""  # the end of it
    failed_before: bool = False  # it also fails on the target, without the work
    log_digest: str = ""  # SHA-256 of all its output
    unreached: tuple[str, ...] = ()  # hosts that were refused, each with what to add
    held_out: bool = False  # agents are only told that it failed
    confirmed: bool = False  # its failing tests were run again, and the result was the same
    fails_on_target: tuple[str, ...] = ()  # those of its tests that do, in the same way


class _Result(
    Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, tag_field="result", tag=True
):
    pass


class Compaction(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A conversation that was made shorter, in tokens."""

    before: int
    after: int = 0  # 0: unknown
    summary: bool = False  # the turn's text begins a new conversation; else the agent did it itself


class TurnDone(_Result, frozen=True, tag="turn_done"):
    text: str
    thread: str | None = None
    usage: Usage = Usage()
    change: Change | None = None
    signals: tuple[SignalClaim, ...] = ()  # sent by a tool; the text may end with one, too
    context: int = 0  # tokens of the conversation afterwards; 0: the agent doesn't report them
    compacted: Compaction | None = None
    call: ModelCall | None = None  # of an agent that makes one call in each turn

    @property
    def claim(self) -> SignalClaim:
        """The state of the work according to the agent; nothing has checked it."""
        return combined_claim(self.text, self.signals)


class Finding(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Something in a change that a person should see."""

    kind: str  # protected, deleted_test, skipped_test
    path: str
    line: int = 0  # of the new version; 0: unknown
    text: str = ""  # one line for people
    fatal: bool = False  # it fails the gate
    verdict: Verdict | None = None  # None: the record is older than verdicts
    to_agent: str = ""  # what its agent may know, if it fails the gate
    test: str = ""  # the id of the test
    old: str = ""  # the test's text on the target, where a person compares the two
    new: str = ""
    declared: bool = False  # the task says that this may change

    @property
    def is_note(self) -> bool:
        return self.verdict is Verdict.NOTE and not self.fatal


class ChecksDone(_Result, frozen=True, tag="checks_done"):
    results: tuple[CheckResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    tree: str = ""  # the tree that was checked
    error: str = ""  # the code of a failed gate; see `gate_error`
    receipt: str = ""  # the digest of its receipt; "" if none was kept
    notes: tuple[str, ...] = ()  # what the checked clone lacked
    skipped: tuple[str, ...] = ()  # checks that no change affects; they run when it is merged

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        return tuple(r for r in self.results if r.required and not r.passed)

    @property
    def warned(self) -> tuple[CheckResult, ...]:
        """The optional checks that failed."""
        return tuple(r for r in self.results if not r.required and not r.passed)

    @property
    def passed(self) -> bool:
        return not self.failed and not any(finding.fatal for finding in self.findings)


VERIFICATION_FAILED = "VERIFICATION_FAILED"
VERIFICATION_TIMEOUT = "VERIFICATION_TIMEOUT"


def gate_error(gate: ChecksDone) -> str:
    """The code of the first required check that failed; "" if the gate passed."""
    if gate.failed:
        return VERIFICATION_TIMEOUT if gate.failed[0].timed_out else VERIFICATION_FAILED
    return "" if gate.passed else VERIFICATION_FAILED


class WorkspaceOpen(_Result, frozen=True, tag="workspace_open"):
    base: str  # the commit it starts from
    conflicts: tuple[str, ...] = ()  # files with conflicts from the merged commits
    stashed: bool = False
    gate: Gate | None = None  # the target's current one; None: use the gate of the spec
    notes: tuple[str, ...] = ()  # for people


class Committed(_Result, frozen=True, tag="committed"):
    change: Change


class Integrated(_Result, frozen=True, tag="integrated"):
    tip: str  # the commit of the target that the work was merged with
    commit: str  # the merge; the tip itself if there was nothing to merge
    tree: str
    gate: Gate | None = None  # the target's current one; None: use the gate of the spec
    sets_rules: bool = False  # it changes allstop.toml, which may define another gate


class Landed(_Result, frozen=True, tag="landed"):
    commit: str


class Delivered(_Result, frozen=True, tag="delivered"):
    branch: str
    commit: str


class Excerpt(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The start of a file."""

    path: str
    text: str


class Surveyed(_Result, frozen=True, tag="surveyed"):
    commit: str
    paths: tuple[str, ...] = ()
    more: int = 0  # paths that were left out
    files: tuple[Excerpt, ...] = ()
    subjects: tuple[str, ...] = ()  # of the last commits


class Discarded(_Result, frozen=True, tag="discarded"):
    pass


class CheckpointMade(_Result, frozen=True, tag="checkpoint_made"):
    checkpoint: str
    commit: str


class SprintEnded(_Result, frozen=True, tag="sprint_ended"):
    sprint: str


class Spawned(_Result, frozen=True, tag="spawned"):
    run: RunId


class Failed(_Result, frozen=True, tag="failed"):
    kind: FailureKind
    message: str = ""
    retry_at: datetime | None = None
    guessed: bool = False  # the kind was guessed from the message's text
    usage: Usage = Usage()
    change: Change | None = None
    notes: tuple[str, ...] = ()  # what the clone lacked that could not be set up
    call: ModelCall | None = None  # of an agent that makes one call in each turn


Billable: TypeAlias = TurnDone | Failed
"""Results that carry usage."""

Result: TypeAlias = (
    TurnDone
    | ChecksDone
    | WorkspaceOpen
    | Committed
    | Delivered
    | Integrated
    | Landed
    | Surveyed
    | Discarded
    | CheckpointMade
    | SprintEnded
    | Spawned
    | Failed
)


def is_failed_turn(move: "Work | None", result: Result) -> bool:
    """Whether an agent's turn failed by itself; one that a person or a crash ended did not."""
    if not isinstance(move, TakeTurn) or not isinstance(result, Failed):
        return False
    return result.kind not in RESUMABLE | {FailureKind.CAPPED}


def is_turn(result: Result) -> bool:
    """Whether it counts as a turn. A turn that reached its token limit does."""
    if isinstance(result, Failed):
        return result.kind is FailureKind.CAPPED
    return isinstance(result, TurnDone)
