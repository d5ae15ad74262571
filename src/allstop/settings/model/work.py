"""[project] [loop] [verification] [workspace] [merge] [review] [sprint]: how tasks are worked off."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar

from msgspec import Meta, field

from allstop.core import bounds
from allstop.settings.model.bases import (
    Branch,
    Count,
    Days,
    Entry,
    InsidePath,
    Minutes,
    Quantity,
    Seconds,
    Table,
    Text,
)


class Project(Table, frozen=True, kw_only=True):
    target: Annotated[
        Branch | None,
        Meta(
            description="The branch tasks start from and are merged into; else the checked-out one."
        ),
    ] = None


class LoopMode(StrEnum):
    AUTOPILOT = "autopilot"
    SEMI = "semi"


class Loop(Table, frozen=True, kw_only=True):
    max_parallel: Annotated[
        int, Meta(ge=1, le=bounds.SLOTS, description="How many agents work at the same time.")
    ] = 2
    mode: Annotated[
        LoopMode, Meta(description="autopilot: the loop picks tasks; semi: a person assigns each.")
    ] = LoopMode.AUTOPILOT
    auto_execute: Annotated[
        bool,
        Meta(
            description="Start at once; false queues every start for approval: not yet, nothing reads this."
        ),
    ] = True
    idle_seconds: Annotated[
        Seconds, Meta(description="Silence of an agent after which its turn has stalled.")
    ] = 600
    compact_at_tokens: Annotated[
        Count | None,
        Meta(
            description="Context size at which a conversation is compacted: not yet, nothing reads this."
        ),
    ] = None
    max_iterations: Annotated[Count, Meta(description="Most turns of one attempt at a task.")] = 50
    timeout_minutes: Annotated[
        Minutes, Meta(description="Wall clock of one attempt at a task, gate included.")
    ] = 30
    stuck_threshold: Annotated[
        Count, Meta(description="Turns without a commit after which a warning is given.")
    ] = 5
    max_consecutive_errors: Annotated[
        Count, Meta(description="Failed tasks in a row that pause the loop.")
    ] = 3
    agent: Annotated[
        Text | None, Meta(description="The agent that works on tasks which name none.")
    ] = None
    fallback: Annotated[
        Text | None, Meta(description="The agent used while the first one is limited.")
    ] = None
    order: Annotated[
        tuple[Text, ...],
        Meta(description="Agents in the order they are tried, where agent and fallback are unset."),
    ] = ()


class Check(Entry, frozen=True, kw_only=True):
    shorthand: ClassVar[str | None] = "run"

    run: Annotated[Text, Meta(description="The command, run by sh -c in a clean clone.")]
    name: Annotated[Text | None, Meta(description="What it is called; else the command.")] = None
    timeout: Annotated[
        Seconds | None, Meta(description="Seconds it may take; else verification.default_timeout.")
    ] = None
    required: Annotated[bool, Meta(description="Whether a failure fails the gate.")] = True
    report: Annotated[
        InsidePath | None,
        Meta(
            description="The JUnit XML it writes, by which it is judged: not yet, nothing reads this."
        ),
    ] = None


class Protection(StrEnum):
    """What happens when an agent changed a protected path."""

    REPORT = "report"
    FAIL = "fail"
    RESTORE = "restore"


PROTECTED = (
    "tests/**",
    "test/**",
    "spec/**",
    "**/__tests__/**",
    ".github/**",
    ".gitlab-ci.yml",
    ".circleci/**",
    "allstop.toml",
)


class Verification(Table, frozen=True, kw_only=True):
    commands: Annotated[
        tuple[Check, ...], Meta(description="What must pass before a task is done, in order.")
    ] = ()
    default_timeout: Annotated[
        Seconds, Meta(description="Seconds a command without a timeout of its own may take.")
    ] = 300
    required: Annotated[
        bool, Meta(description="Refuse to run where no verification command is configured.")
    ] = False
    keep_going: Annotated[
        bool, Meta(description="Run the remaining commands after a required one failed.")
    ] = False
    protected: Annotated[
        tuple[Text, ...], Meta(description="Paths whose change by an agent is pointed out.")
    ] = PROTECTED
    protection: Annotated[
        Protection,
        Meta(description="report it, fail the gate, or restore: check with the target's version."),
    ] = Protection.REPORT
    mutation: Annotated[
        bool,
        Meta(
            description="Break changed lines and expect a test to fail: not yet, nothing reads this."
        ),
    ] = False


class Workspace(Table, frozen=True, kw_only=True):
    copy: Annotated[
        tuple[InsidePath, ...], Meta(description="Untracked files copied into every workspace.")
    ] = (".env*",)
    link: Annotated[
        tuple[InsidePath, ...], Meta(description="Folders shown read-only in every workspace.")
    ] = (".venv", "node_modules")
    setup: Annotated[
        Text | None, Meta(description="A command run once in each workspace, in the sandbox.")
    ] = None
    setup_timeout: Annotated[Seconds, Meta(description="Seconds the setup command may take.")] = 600
    keep_days: Annotated[
        Days, Meta(description="How long workspaces and refs of finished tasks are kept.")
    ] = 7


class Merge(Table, frozen=True, kw_only=True):
    enabled: Annotated[bool, Meta(description="Merge verified tasks into the target branch.")] = (
        True
    )
    max_conflict_attempts: Annotated[
        Quantity,
        Meta(description="Times an agent may try to solve a conflict before a person does."),
    ] = 2


class ReviewMode(StrEnum):
    PER_TASK = "per-task"
    BATCH = "batch"
    AUTO = "auto"
    SKIP = "skip"


class Review(Table, frozen=True, kw_only=True):
    mode: Annotated[
        ReviewMode,
        Meta(description="When a person looks at finished tasks before they are merged."),
    ] = ReviewMode.BATCH
    rules: Annotated[
        Mapping[Text, ReviewMode],
        Meta(description="Other modes for tasks by tag; the strictest wins."),
    ] = field(default_factory=dict)


class TargetKind(StrEnum):
    COUNT = "count"
    DURATION = "duration"
    UNTIL_TIME = "until_time"
    NO_READY = "no_ready"


class Target(Entry, frozen=True, kw_only=True):
    shorthand: ClassVar[str | None] = "type"

    type: Annotated[TargetKind, Meta(description="What ends a sprint.")]
    value: Annotated[
        int | float | str | None, Meta(description='Tasks, hours, or a time such as "07:00".')
    ] = None


class Filters(Table, frozen=True, kw_only=True):
    include_operations: Annotated[
        tuple[Text, ...], Meta(description="Only tasks of these operations; empty means all.")
    ] = ()
    exclude_operations: Annotated[
        tuple[Text, ...], Meta(description="No tasks of these operations.")
    ] = ()
    include_tags: Annotated[
        tuple[Text, ...], Meta(description="Only tasks with one of these tags; empty means all.")
    ] = ()
    exclude_tags: Annotated[
        tuple[Text, ...], Meta(description="No tasks with one of these tags.")
    ] = ()


class Sprint(Table, frozen=True, kw_only=True):
    target: Annotated[Target, Meta(description="What ends a sprint.")] = Target(
        type=TargetKind.NO_READY
    )
    filters: Annotated[Filters, Meta(description="Which tasks a sprint takes.")] = Filters()
    checkpoint_before: Annotated[
        bool, Meta(description="Keep a tag and a copy of the state to return to.")
    ] = True
    pause_on_error: Annotated[bool, Meta(description="Pause when a task fails.")] = False
    pause_on_stuck: Annotated[bool, Meta(description="Pause when a task makes no commits.")] = False
    batch_review: Annotated[bool, Meta(description="Review everything at the end.")] = True
