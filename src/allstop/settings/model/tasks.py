"""Settings of tasks: [project] [loop] [verification] [workspace] [merge] [review] [sprint]."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, ClassVar

from msgspec import field

from allstop.core import number_bounds
from allstop.core.board_specs import Mode, ReviewMode, TargetKind
from allstop.core.gate import BY_PROTECTION, Integrity, Protection
from allstop.settings.model.bases import (
    Branch,
    Count,
    Days,
    Entry,
    HostRule,
    InsidePath,
    Minutes,
    OwnPath,
    Quantity,
    Seconds,
    Table,
    Text,
    doc,
)


class Project(Table, frozen=True, kw_only=True):
    target: Annotated[
        Branch | None,
        doc("The branch that tasks start from and are merged into. Default: the checked-out one."),
    ] = None


class Loop(Table, frozen=True, kw_only=True):
    max_parallel: Annotated[
        int, doc("Maximum number of agents working at the same time.", ge=1, le=number_bounds.SLOTS)
    ] = 2
    mode: Annotated[Mode, doc("autopilot: the loop picks tasks; semi: a person assigns each.")] = (
        Mode.AUTOPILOT
    )
    auto_execute: Annotated[
        bool, doc("Start runs without approval. false: each start waits for `allstop approve`.")
    ] = True
    idle_seconds: Annotated[
        Seconds, doc("Seconds without output after which a turn counts as stalled.")
    ] = 600
    compact_at_tokens: Annotated[
        Quantity | None,
        doc(
            "Tokens at which a conversation is compacted; 0: never. Default: between a plan's phases."
        ),
    ] = None
    max_iterations: Annotated[Count, doc("Maximum turns of one attempt at a task.")] = 50
    timeout_minutes: Annotated[
        Minutes, doc("Wall-clock minutes of one attempt at a task, including its gate.")
    ] = 30
    stuck_threshold: Annotated[
        Count, doc("Turns without a commit after which a warning is shown.")
    ] = 5
    no_progress_turns: Annotated[
        int,
        doc(
            "Turns without progress after which a task waits for a person; 0: never.",
            ge=0,
            le=number_bounds.COUNT,
        ),
    ] = 3
    max_consecutive_errors: Annotated[Count, doc("Failed tasks in a row that pause the loop.")] = 3
    agent: Annotated[Text | None, doc("The agent for tasks that name no agent.")] = None
    fallback: Annotated[Text | None, doc("The agent used while the first one is rate limited.")] = (
        None
    )
    order: Annotated[
        tuple[Text, ...], doc("Agents in the order to try, if agent and fallback are unset.")
    ] = ()


class Check(Entry, frozen=True, kw_only=True):
    shorthand: ClassVar[str | None] = "run"

    run: Annotated[
        Text,
        doc(
            "The command, run by sh -c in a clean clone. {changed} becomes -- and the changed files."
        ),
    ]
    name: Annotated[Text | None, doc("The name shown. Default: the command.")] = None
    timeout: Annotated[
        Seconds | None, doc("Maximum seconds. Default: verification.default_timeout.")
    ] = None
    required: Annotated[bool, doc("A failure fails the gate.")] = True
    paths: Annotated[
        tuple[Text, ...],
        doc("Attempts skip the command if no file matches that changed; a merge never does."),
    ] = ()
    each_turn: Annotated[
        bool, doc("Run it after each turn with a commit, too; the agent is told of failures.")
    ] = False
    report: Annotated[
        InsidePath | None,
        doc("The JUnit report that the command writes, if Allstop doesn't know its test runner."),
    ] = None


PROTECTED = (
    "tests/**", "test/**", "spec/**", "**/__tests__/**", ".github/**", ".gitlab-ci.yml",
    ".circleci/**", "allstop.toml", "**/conftest.py", "**/pytest.ini", "**/.pytest.ini",
    "**/tox.ini", "**/noxfile.py", "**/.coveragerc", "pytest.py", "sitecustomize.py",
    "**/jest.config.*", "**/vitest.config.*", "**/vitest.workspace.*", "**/.mocharc*",
    "**/karma.conf.*", "**/playwright.config.*", "**/cypress.config.*", "**/.rspec",
    "**/phpunit.xml*", "**/pyproject.toml#tests", "**/setup.cfg#tests", "**/package.json#tests",
    "**/Makefile#tests",
)  # fmt: skip


class HeldOut(Entry, frozen=True, kw_only=True):
    shorthand: ClassVar[str | None] = "run"

    run: Annotated[
        Text | None,
        doc("The command, run by sh -c in a clean clone; or a folder, as `folder`."),
    ] = None
    folder: Annotated[
        OwnPath | None,
        doc(
            "A folder with tests or a program `check`. Only the held-out run sees it, as $HELD_OUT."
        ),
    ] = None
    repository: Annotated[
        OwnPath | None, doc("The repository that it is for. Default: every one of yours.")
    ] = None
    timeout: Annotated[
        Seconds | None, doc("Maximum seconds. Default: verification.default_timeout.")
    ] = None


class WorkNetwork(StrEnum):
    """What checks and the setup command can reach, from nothing to everything."""

    NONE = "none"
    ALLOW = "allow"
    FULL = "full"


class Verification(Table, frozen=True, kw_only=True):
    commands: Annotated[
        tuple[Check, ...], doc("Commands that must pass before a task is done, in order.")
    ] = ()
    env: Annotated[
        tuple[Text, ...],
        doc("Names of this machine's environment variables that checks get and agents never do."),
    ] = ()
    default_timeout: Annotated[
        Seconds, doc("Maximum seconds of a command without its own timeout.")
    ] = 300
    required: Annotated[bool, doc("Refuse to run if no verification command is configured.")] = (
        False
    )
    keep_going: Annotated[
        bool, doc("Run the remaining commands after a required one has failed.")
    ] = False
    protected: Annotated[
        tuple[Text, ...],
        doc("Paths that agents shouldn't change; FILE#tests means only the test settings in it."),
    ] = PROTECTED
    integrity: Annotated[
        Integrity,
        doc(
            "report: no finding fails work. ask: questions fail it if nobody reviews. fail: all do."
        ),
    ] = Integrity.ASK
    protection: Annotated[
        Protection | None, doc("The earlier name of integrity, with restore for ask.")
    ] = None
    network: Annotated[
        WorkNetwork | None,
        doc(
            "What checks can reach. allow: the registries of the target's lock files, and `hosts`."
        ),
    ] = None
    hosts: Annotated[
        tuple[HostRule, ...],
        doc("More hosts that checks reach by HTTPS: name, *.name or name:port."),
    ] = ()
    mutation: Annotated[
        bool, doc("Break changed lines, at most 25, and note where no test fails. Not for merges.")
    ] = False
    quarantine: Annotated[
        tuple[Text, ...],
        doc("Ids of flaky tests whose failures don't count; `allstop flaky` prints them."),
    ] = ()
    held_out: Annotated[
        tuple[HeldOut, ...],
        doc("Checks that agents never see. Only your own settings file can have them."),
    ] = ()

    @property
    def strictness(self) -> Integrity:
        return BY_PROTECTION[self.protection] if self.protection else self.integrity


class History(StrEnum):
    FULL = "full"
    BRANCH = "branch"


class Workspace(Table, frozen=True, kw_only=True):
    copy: Annotated[tuple[InsidePath, ...], doc("Untracked files copied into every workspace.")] = (
        ".env*",
    )
    link: Annotated[
        tuple[InsidePath, ...], doc("Folders mounted read-only in every workspace.")
    ] = (".venv", "node_modules")
    history: Annotated[
        History,
        doc("Whether agents can read all git objects, or only what the target branch reaches."),
    ] = History.FULL
    setup: Annotated[Text | None, doc("A command run once in each workspace, in the sandbox.")] = (
        None
    )
    setup_timeout: Annotated[Seconds, doc("Seconds the setup command may take.")] = 600
    network: Annotated[
        WorkNetwork | None, doc("What the setup command can reach, as [verification] network says.")
    ] = None
    hosts: Annotated[
        tuple[HostRule, ...], doc("More hosts that the setup command reaches by HTTPS.")
    ] = ()
    keep_days: Annotated[Days, doc("Days to keep workspaces and refs of finished tasks.")] = 7


class Merge(Table, frozen=True, kw_only=True):
    enabled: Annotated[bool, doc("Merge verified tasks into the target branch.")] = True
    max_batch: Annotated[
        int,
        doc("Maximum number of changes that are merged and checked together.", ge=1, le=8),
    ] = 8
    max_conflict_attempts: Annotated[
        Quantity, doc("Attempts of an agent to resolve a conflict before a person is asked.")
    ] = 2


class Review(Table, frozen=True, kw_only=True):
    mode: Annotated[
        ReviewMode, doc("When a person reviews finished tasks before they are merged.")
    ] = ReviewMode.BATCH
    rules: Annotated[
        Mapping[Text, ReviewMode], doc("Modes for tasks with a tag; the strictest one wins.")
    ] = field(default_factory=dict)
    second: Annotated[
        Text | None,
        doc("An agent that reviews verified work before you do. Default: none does."),
    ] = None
    second_rounds: Annotated[
        Count, doc("Reviews of that agent at most; what it then still finds goes to you.")
    ] = 2


class Target(Entry, frozen=True, kw_only=True):
    shorthand: ClassVar[str | None] = "type"

    type: Annotated[TargetKind, doc("The end of a sprint.")]
    value: Annotated[int | float | str | None, doc('Tasks, hours, or a time such as "07:00".')] = (
        None
    )


class Filters(Table, frozen=True, kw_only=True):
    include_operations: Annotated[
        tuple[Text, ...], doc("Take only tasks of these operations; empty means all.")
    ] = ()
    exclude_operations: Annotated[tuple[Text, ...], doc("Skip tasks of these operations.")] = ()
    include_tags: Annotated[
        tuple[Text, ...], doc("Take only tasks with one of these tags; empty means all.")
    ] = ()
    exclude_tags: Annotated[tuple[Text, ...], doc("Skip tasks with one of these tags.")] = ()


class Sprint(Table, frozen=True, kw_only=True):
    target: Annotated[Target, doc("The end of a sprint.")] = Target(type=TargetKind.NO_READY)
    filters: Annotated[Filters, doc("The tasks of a sprint.")] = Filters()
    checkpoint_before: Annotated[
        bool, doc("Keep the target's commit under a ref, to return to it.")
    ] = True
    pause_on_error: Annotated[bool, doc("Pause when a task fails.")] = False
    pause_on_stuck: Annotated[
        bool, doc("Pause when a task makes no commits; it waits for you.")
    ] = False
    batch_review: Annotated[
        bool | None,
        doc(
            "true: review all work at the end. false: merge clean work. Default: as [review] mode."
        ),
    ] = None
