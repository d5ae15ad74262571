"""What a check's failing tests show when they are run again on the same tree.

A test that fails is run again alone, once. If it fails again in the same way, the check has failed.
If it passes alone, that proves nothing yet: the change may have made it depend on the tests that run
before it, a command may have more to say than its tests (a linter behind `&&`, a threshold of
coverage), and a runner may have stopped at the first failure. So the whole command is then run once
more, and has to pass. Nothing passes the gate without such a run of the exact tree, and product
code that only works when a test runs alone gains nothing. What failed and passed in runs of the
whole command is flaky; what fails there twice and passes alone depends on the order of tests.

Quarantined tests, which a person names, may fail: then the whole command is run without them, and
has to pass. Each test that passed at first has to pass there, too, because some runners can only
leave out tests by a name that others may share.

A flaky test is a note for the reviewer, with what the receipts of other trees say about it. If the
work added or edited it, or changed what tests share, nobody has history for it as it is now, so a
person is asked.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from allstop.core.gate import Verdict
from allstop.core.moves import Finding
from allstop.core.text import counted
from allstop.gate.change_sides import is_test_side, shared_changes
from allstop.gate.facts import (
    Case,
    CaseStatus,
    ChangedFile,
    CheckFacts,
    Facts,
    Report,
    Rerun,
    Run,
)
from allstop.gate.inline_tests import has_tests
from allstop.gate.test_text import bare_name, text_of_test

LONGEST_TEXT = 4000
_CHANGING = re.compile(r"0x[0-9a-fA-F]+|\d+")


class Failures(Struct, frozen=True, gc=False, kw_only=True):
    """The failing tests of a run."""

    doubtful: tuple[Case, ...]  # which may be flaky
    quarantined: tuple[Case, ...]

    @property
    def all(self) -> tuple[Case, ...]:
        return (*self.doubtful, *self.quarantined)


class Alone(StrEnum):
    """What it means that failing tests were run alone."""

    FAIL = "fail"  # one of them failed as before
    PASS = "pass"  # noqa: S105 - all of them passed
    UNKNOWN = "unknown"  # one was not run, or failed in another way


def failures(run: Run, quarantine: Collection[str]) -> Failures | None:
    """The failing tests that explain a failed run; None if none is known."""
    if run.passed or run.timed_out or run.report is None:
        return None
    red = [case for case in run.report.cases if case.is_red]
    if not red:
        return None
    return Failures(
        doubtful=tuple(case for case in red if case.id not in quarantine),
        quarantined=tuple(case for case in red if case.id in quarantine),
    )


def judge_alone(failed: Failures, alone: Run) -> Alone:
    now = alone.report.by_id if alone.report is not None else {}
    results = [(case, now.get(case.id)) for case in failed.doubtful]
    if any(again is not None and is_same_failure(case, again) for case, again in results):
        return Alone.FAIL
    passed = all(again is not None and again.status is CaseStatus.PASSED for _, again in results)
    return Alone.PASS if passed else Alone.UNKNOWN


def is_same_failure(one: Case, other: Case) -> bool:
    """Whether both failed for one reason, whatever numbers and addresses the messages contain."""
    if not (one.is_red and other.is_red):
        return False
    return _CHANGING.sub("", one.message) == _CHANGING.sub("", other.message)


def is_green(first: Run, failed: Failures, whole: Run) -> bool:
    """Whether a second run of the whole command, without quarantined failures, has passed."""
    if not whole.passed or whole.report is None or first.report is None:
        return False
    now = whole.report.by_id
    left_out = {case.id for case in failed.quarantined}
    needed = [
        case.id
        for case in first.report.cases
        if case.status is CaseStatus.PASSED or case.is_red
        if case.id not in left_out
    ]
    return all(test in now and now[test].status is CaseStatus.PASSED for test in needed)


def passed(first: Run, failed: Failures, alone: Run | None, whole: Run) -> Run:
    """The green run, with what was seen before it."""
    cases = whole.report.cases if whole.report is not None else ()
    known = {case.id for case in cases}
    left_out = [case for case in failed.quarantined if case.id not in known]
    return replace(
        whole,
        report=Report(cases=(*cases, *left_out)),
        others=_others({case.id for case in failed.all}, (first, False), (alone, True)),
        flaky=failed.doubtful,
        left_out=failed.quarantined,
    )


def still_failed(first: Run, failed: Failures, alone: Run | None, whole: Run | None = None) -> Run:
    """The run that decides, with the others: the second of the whole command if that failed."""
    ids = {case.id for case in failed.all}
    if whole is None or whole.passed:
        return replace(first, others=_others(ids, (alone, True), (whole, False)))
    if whole.report is not None:
        ids |= {case.id for case in whole.report.cases if case.is_red}
    others = _others(ids, (first, False), (alone, True))
    return replace(whole, others=others, left_out=failed.quarantined)


def _others(ids: Collection[str], *runs: tuple[Run | None, bool]) -> tuple[Rerun, ...]:
    return tuple(
        Rerun(
            tests={
                case.id: case.status.value
                for case in (run.report.cases if run.report is not None else ())
                if case.id in ids
            },
            alone=is_alone,
            passed=run.passed,
            code=run.code,
            seconds=run.seconds,
        )
        for run, is_alone in runs
        if run is not None
    )


def only_alone(failed: Failures, whole: Run) -> tuple[str, ...]:
    """The tests that passed alone and failed in both runs of the whole command."""
    now = whole.report.by_id if whole.report is not None else {}
    return tuple(case.id for case in failed.doubtful if case.id in now and now[case.id].is_red)


def excused(run: Run | None, quarantine: Collection[str]) -> Run | None:
    """The run as the judges see it: failures of quarantined tests show nothing."""
    if run is None or run.report is None or not quarantine:
        return run
    cases = tuple(
        replace(case, status=CaseStatus.PASSED) if case.is_red and case.id in quarantine else case
        for case in run.report.cases
    )
    return replace(run, report=Report(cases=cases))


def without_quarantined(facts: Facts, quarantine: Collection[str]) -> Facts:
    checks = (
        replace(
            check,
            own=excused(check.own, quarantine),
            target=excused(check.target, quarantine),
            base_tests=excused(check.base_tests, quarantine),
            witness=excused(check.witness, quarantine),
        )
        for check in facts.checks
    )
    return replace(facts, checks=tuple(checks)) if quarantine else facts


def on_target(own: Run, target: Run, quarantine: Collection[str]) -> tuple[str, ...]:
    """The failing tests that fail on the target in the same way, without the work."""
    failed = failures(own, quarantine)
    if failed is None or target.report is None:
        return ()
    there = target.report.by_id
    return tuple(
        case.id
        for case in failed.doubtful
        if case.id in there and is_same_failure(case, there[case.id])
    )


def left_alone(changes: Sequence[ChangedFile], target: Report, run: Run) -> tuple[Case, ...]:
    """The failing tests of the target's that pass there and that the work has not edited."""
    green = {case.id for case in target.cases if case.status is CaseStatus.PASSED}
    return tuple(
        case
        for case in (run.report.cases if run.report is not None else ())
        if case.is_red and case.id in green and edited(changes, case) is None
    )


# --- findings ---


def findings(facts: Facts) -> Iterator[Finding]:
    for check in facts.checks:
        for case in check.own.flaky:
            yield _flaky(facts, check, case)
        for case in check.own.left_out:
            yield Finding(
                kind="quarantined_test",
                path=case.file or check.name,
                test=case.id,
                text=f"{bare_name(case.id)} fails and is quarantined",
                verdict=Verdict.NOTE,
            )


def _flaky(facts: Facts, check: CheckFacts, case: Case) -> Finding:
    cases = check.own.report.cases if check.own.report is not None else ()
    files = {each.file for each in cases if each.file}
    texts = edited(facts.changes, case)
    shared = shared_changes(facts.changes, files)
    before = facts.flaky_elsewhere.get(case.id, 0)
    known = f"as on {counted(before, 'other tree')}" if before else "which is not known of it"
    text = f"{bare_name(case.id)} failed and passed when run again, {known}"
    if texts is not None:
        text = f"{text}; this work has {'edited' if texts[0] else 'added'} it"
    elif shared:
        text = f"{text}; this work has changed {shared[0].path}, which it may depend on"
    old, new = texts or ("", "")
    return Finding(
        kind="flaky_test",
        path=case.file or check.name,
        test=case.id,
        text=text,
        verdict=Verdict.ASK if texts is not None or shared else Verdict.NOTE,
        old=old,
        new=new,
        to_agent=f"{case.id} passes only sometimes: make it pass every time",
    )


def edited(changes: Sequence[ChangedFile], case: Case) -> tuple[str, str] | None:
    """The test's text before and after, if the work has added or edited it."""
    for change in _with_tests(changes, case):
        before = text_of_test(change.before or "", case.id)
        after = text_of_test(change.after or "", case.id)
        if before != after:
            return before, after
        if not after and case.file:  # its text can't be told from that of other tests
            return (change.before or "")[:LONGEST_TEXT], (change.after or "")[:LONGEST_TEXT]
    return None


def _with_tests(changes: Iterable[ChangedFile], case: Case) -> Iterator[ChangedFile]:
    """The changed files in which a test may be written."""
    for change in changes:
        if case.file:
            if case.file == change.path or case.file.endswith(f"/{change.path}"):
                yield change
        elif is_test_side(change.path) or has_tests(change):
            yield change
