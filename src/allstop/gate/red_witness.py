"""A red witness: a new test fails on the target's code, so that it shows what the work changed."""

import re
from collections.abc import Iterator, Sequence

from allstop.core.gate import Verdict
from allstop.core.moves import Finding
from allstop.core.text import one_line
from allstop.gate.facts import Case, CaseStatus, CheckFacts, Facts
from allstop.gate.test_text import bare_name, text_of_test, without_parameters

SHOWN = 3
MOST_NOTES = 10
_MISSING_NAME = re.compile(
    r"\b(ImportError|ModuleNotFoundError|NameError|AttributeError|ReferenceError|SyntaxError)\b"
    r"|\bTypeError: .*(\bis not a (function|constructor)|unexpected keyword|positional argument"
    r"|missing \d+ required|not a module|is not iterable)|\bfixture '.*' not found|Cannot find (module|name)"
    r"|\bundefined: |does not provide an export|is not defined|cannot find|unresolved|not found in|could not compile"
)


def new_tests(check: CheckFacts, moved: dict[str, str] | None = None) -> tuple[Case, ...]:
    """The tests that pass with the work and that the target doesn't have, also not elsewhere."""
    if check.own.report is None or check.target is None or check.target.report is None:
        return ()
    known = {case.id for case in check.target.report.cases}
    own = {case.id for case in check.own.report.cases}
    gone = {bare_name(case.id) for case in check.target.report.cases if case.id not in own}
    return tuple(
        case
        for case in check.own.report.cases
        if case.id not in known
        and case.status is CaseStatus.PASSED
        and bare_name(case.id) not in gone
    )


def findings(facts: Facts) -> Iterator[Finding]:
    for check in facts.checks:
        if check.witness is not None and check.witness.report is not None:
            yield from _of_check(facts, check)


def _of_check(facts: Facts, check: CheckFacts) -> Iterator[Finding]:
    ran = check.witness.report.by_id if check.witness and check.witness.report else {}
    new = new_tests(check)
    asked = [*new, *_edited(facts, check)]
    green = [case for case in new if _is_green(ran.get(case.id))]
    if facts.intent.fixes and asked and not any(is_witness(ran.get(case.id)) for case in asked):
        yield _no_witness(new or asked, green)
        return
    for case in green[:MOST_NOTES]:
        yield Finding(
            kind="no_witness",
            path=case.file or check.name,
            test=case.id,
            text=f"{bare_name(case.id)} passes on the target's code, too",
            verdict=Verdict.NOTE,
        )


def has_witness(check: CheckFacts) -> bool:
    ran = check.witness.report.by_id if check.witness and check.witness.report else {}
    return any(is_witness(ran.get(case.id)) for case in new_tests(check))


def _no_witness(asked: Sequence[Case], green: Sequence[Case]) -> Finding:
    names = one_line(", ".join(dict.fromkeys(bare_name(case.id) for case in asked[:SHOWN])), 160)
    if green:
        text = f"no new test shows the fix: {names} pass without it"
    else:
        text = f"no new test shows the fix: without it {names} only lack a name"
    return Finding(
        kind="no_witness",
        path=asked[0].file or asked[0].id,
        test=asked[0].id,
        text=text,
        verdict=Verdict.ASK,
        to_agent="add a test whose assertion fails without your fix",
    )


def _edited(facts: Facts, check: CheckFacts) -> Iterator[Case]:
    """Tests of the target whose text changed: these can be witnesses, too."""
    for case in check.own.report.cases if check.own.report else ():
        for change in facts.changes:
            if change.path == case.file and change.before and change.after:
                name = without_parameters(case.id)
                if text_of_test(change.before, name) != text_of_test(change.after, name):
                    yield case


def is_witness(case: Case | None) -> bool:
    """Whether it failed by an assertion, or the product crashed; a missing name shows nothing."""
    if case is None or not case.is_red:
        return False
    return case.status is CaseStatus.FAILED or not says_missing_name(case.message)


def says_missing_name(message: str) -> bool:
    """Whether a test failed because the code lacks a name, or takes other arguments."""
    return _MISSING_NAME.search(message) is not None


def _is_green(case: Case | None) -> bool:
    return case is not None and case.status is CaseStatus.PASSED
