"""The facts that the judges of a gate get: changed files, test reports, and runs of variants."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class Runner(StrEnum):
    """A runner of tests that can be asked for a report."""

    PYTEST = "pytest"
    UNITTEST = "unittest"
    NODE = "node"
    JEST = "jest"
    VITEST = "vitest"
    GO = "go"
    CARGO = "cargo"
    OWN = "own"  # unknown: the command writes a JUnit report by itself
    PLAIN = "plain"  # unknown: only the exit code tells how its tests ended


class TestCommand(Struct, frozen=True, gc=False, kw_only=True):
    """A check command that starts one runner."""

    __test__ = False  # pytest collects classes by this name

    runner: Runner
    run: str
    script: str = ""  # of package.json or a Makefile: the command starts the runner by it


class CaseStatus(StrEnum):
    PASSED = "passed"
    FAILED = "failed"  # by an assertion
    ERROR = "error"  # by anything else, such as a missing name
    SKIPPED = "skipped"


class Case(Struct, frozen=True, gc=False, kw_only=True):
    """The result of one test."""

    id: str  # as the runner names it
    status: CaseStatus
    file: str = ""  # relative to the root; "" if the report doesn't tell
    message: str = ""  # of a failure, its first line

    @property
    def is_red(self) -> bool:
        return self.status in (CaseStatus.FAILED, CaseStatus.ERROR)


class Report(Struct, frozen=True, gc=False, kw_only=True):
    """All tests that a run reports, each id once."""

    cases: tuple[Case, ...] = ()

    @property
    def by_id(self) -> dict[str, Case]:
        return {case.id: case for case in self.cases}


class Rerun(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Another run of a check on the same tree, made because tests had failed."""

    tests: dict[str, str]  # the results of the tests that failed in any of the runs
    alone: bool = False  # only of tests that had failed; else of all, as the command says
    passed: bool = False
    code: int | None = None
    seconds: float = 0.0


class Run(Struct, frozen=True, gc=False, kw_only=True):
    """One run of a check command on one tree."""

    passed: bool  # by its exit code
    code: int | None = None
    timed_out: bool = False
    report: Report | None = None  # None: it made none, so test ids are unknown
    seconds: float = 0.0
    rewritten: tuple[str, ...] = ()  # files of tests that the run itself has changed
    is_whole: bool = True  # False: only of some test files
    others: tuple[Rerun, ...] = ()  # the runs that this result is not from
    flaky: tuple[Case, ...] = ()  # failures that were none when run again
    left_out: tuple[Case, ...] = ()  # failures of quarantined tests, which don't count


class ChangedFile(Struct, frozen=True, gc=False, kw_only=True):
    """A changed file with both versions; a rename is one of these."""

    path: str
    before: str | None = None  # None: it didn't exist
    after: str | None = None  # None: it was deleted
    old_path: str = ""  # of a renamed file
    is_readable: bool = True  # False: not text, or too large; both versions are then empty


class CheckFacts(Struct, frozen=True, gc=False, kw_only=True):
    """What is known about one check command. None: that run was not needed or not possible."""

    name: str
    run: str  # the command
    runner: str = ""  # pytest, unittest, node, jest, vitest, go, cargo; "": unknown
    own: Run  # the candidate
    target: Run | None = None  # the target's commit, as it is
    base_tests: Run | None = None  # the target's tests on the candidate's product code
    witness: Run | None = None  # the candidate's tests on the target's product code
    canary: Run | None = None  # the candidate with a test that must fail and with twisted tests
    canary_ids: tuple[str, ...] = ()  # parts of the ids of the planted tests
    twisted: tuple[str, ...] = ()  # twisted tests in the run with the canary, as path::name
    canary_target: Run | None = None  # the same files on the target's product code, if in doubt
    answers: tuple[str, ...] = ()  # lines of tests whose inputs and results new code lists
    changed_results: Run | None = (
        None  # the new tests, with new functions that return something else
    )


class Intent(Struct, frozen=True, gc=False, kw_only=True):
    """What the task allows and asks for, in words of the person."""

    may_change: tuple[str, ...] = ()  # paths, test ids, or other words
    fixes: bool = False  # it asks for a fix, so that a test must have failed before


class Facts(Struct, frozen=True, gc=False, kw_only=True):
    """Everything that the judges get."""

    changes: tuple[ChangedFile, ...] = ()
    checks: tuple[CheckFacts, ...] = ()
    files: frozenset[str] = frozenset()  # paths of the candidate
    intent: Intent = Intent()
    flaky_elsewhere: Mapping[str, int] = {}  # flaky tests, by the number of other trees

    @property
    def knows_ids(self) -> bool:
        return any(check.own.report is not None for check in self.checks)


class Variant(Struct, frozen=True, gc=False, kw_only=True):
    """The tree of a commit with some files as in another commit, and some with other content."""

    swapped: tuple[str, ...] = ()  # paths as in the other commit; removed if it lacks them
    files: Mapping[str, str] = {}
    tests: tuple[str, ...] | None = None  # the test files that suffice; None: all tests
