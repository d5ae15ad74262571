"""The target's tests on the new code: a test that fails there was bent, or its subject changed."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from allstop.core.gate import Verdict
from allstop.core.moves import Finding
from allstop.core.text import one_line
from allstop.gate import inline_tests
from allstop.gate.change_sides import changes_settings, is_expectation, is_test_side, touches_tests
from allstop.gate.facts import Case, CaseStatus, ChangedFile, CheckFacts, Facts, Report
from allstop.gate.inline_tests import has_tests
from allstop.gate.intent import is_declared
from allstop.gate.missing_tests import excuse, is_row_of_edited, renamed
from allstop.gate.path_kinds import is_code
from allstop.gate.red_witness import says_missing_name
from allstop.gate.test_text import (
    adds_names,
    bare_name,
    is_only_renamed,
    lost_word,
    mentions,
    removed_names,
    text_of_test,
)

MOST = 20
_NAME = re.compile(
    r"('(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"|\b(?:assert|expect|in|not|or|and|is|if|else|any|all"
    r"|None|True|False|null|undefined|true|false)\b)|[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*"
)
LONGEST_TEXT = 4000


def findings(facts: Facts) -> Iterator[Finding]:
    for check in facts.checks:
        yield from _of_check(facts, check)


def _of_check(facts: Facts, check: CheckFacts) -> Iterator[Finding]:
    base, target = check.base_tests, check.target
    if base is None or target is None:
        return
    if target.report is None:
        if target.passed and not base.passed and check.own.passed:
            yield _unrunnable(facts, check.name, "the check fails with the target's tests")
    elif base.report is None:
        why = "in time" if base.timed_out else "with the new code"
        yield _unrunnable(facts, check.name, f"the target's tests can't be run {why}")
    else:
        yield from _compared(facts, check, target.report, base.report.by_id)
        is_green = not any(case.is_red for case in base.report.cases)
        if is_green and target.passed and not base.passed and base.is_whole:
            yield _unrunnable(facts, check.name, "the check fails with the target's test settings")


def _compared(
    facts: Facts, check: CheckFacts, target: Report, now: dict[str, Case]
) -> Iterator[Finding]:
    broken: dict[str, Case] = {}
    found: list[Finding] = []
    for case in target.cases:
        if case.status is not CaseStatus.PASSED:
            continue
        red = now.get(case.id)
        if red is not None and red.is_red:
            found += filter(None, [_of_test(facts, check, case, red)])
        elif red is None and (whole := _broken_whole(now, case)):
            broken.setdefault(whole.id, whole)
    yield from _shown(check, found)
    for whole in broken.values():
        yield _of_file(facts, check, whole)


def _shown(check: CheckFacts, found: Sequence[Finding]) -> Iterator[Finding]:
    """The first ones of each verdict, and how many more of it there are."""
    for verdict in Verdict:
        alike = [each for each in found if each.verdict is verdict]
        yield from alike[:MOST]
        if len(alike) > MOST:
            text = f"{len(alike) - MOST} more tests of the target fail with the new code"
            yield Finding(kind="base_test", path=check.name, text=text, verdict=verdict)


def _broken_whole(now: dict[str, Case], case: Case) -> Case | None:
    """The file, package or build of a test, if that failed as a whole."""
    for name in (case.file, case.id.partition("::")[0], "build"):
        if name and (found := now.get(name)) is not None and found.is_red:
            return found
    return None


def _of_test(facts: Facts, check: CheckFacts, case: Case, red: Case) -> Finding | None:
    change = _file_of(facts, case)
    before = text_of_test(change.before or "", case.id) if change else ""
    after = text_of_test(change.after or "", case.id) if change else ""
    path = case.file or (change.path if change else "")  # reports of Go name no files
    if is_declared(facts.intent.may_change, path, case.id, text=before):
        return _finding(case, red, "changed as declared", Verdict.NOTE, before, after)
    moved = {each.old_path: each.path for each in facts.changes if each.old_path}
    own = check.own.report.by_id.get(renamed(case, moved)) if check.own.report else None
    if own is None:
        if why := excuse(facts, check, case):
            return _finding(
                case,
                red,
                f"no longer runs and fails with the new code, but {why}",
                _excused(facts, why),
                before,
                after,
            )
        if says_missing_name(red.message) and (name := lost_word(facts.changes, red.message)):
            return _finding(case, red, f"deleted with {name}", Verdict.ASK, before)
        if is_row_of_edited(facts, check, case):
            text = "is no row of its table any more, and it fails with the new code"
            return _finding(case, red, text, Verdict.ASK, before)
        return _finding(case, red, "deleted, and it fails with the new code", Verdict.FAIL, before)
    if own.status is CaseStatus.SKIPPED:
        text = "skipped, and it fails with the new code"
        return _finding(case, red, text, Verdict.FAIL, before, after)
    if (
        change is not None
        and red.status is CaseStatus.ERROR
        and is_only_renamed(change, facts.changes)
    ):
        text = "only uses another name for what it tests"
        return _finding(case, red, text, Verdict.NOTE, before, after)
    if change is not None and before != after:
        if name := _gone_name(facts, red, before, after):
            return _finding(case, red, f"used {name}, which is gone", Verdict.NOTE, before, after)
        text = "expects something else than on the target"
        return _finding(case, red, text, Verdict.ASK, before, after)
    return _left_alone(facts, case, red, change)


def _gone_name(facts: Facts, red: Case, before: str, after: str) -> str:
    """The name whose removal from the product is why a test fails; "" if it expects less, too."""
    if not says_missing_name(red.message) or _expectations(before) - _expectations(after):
        return ""
    names = mentions(red.message, removed_names(facts.changes))
    return next((name for name in names if _uses(before, name) and not _uses(after, name)), "")


def _expectations(text: str) -> Counter[str]:
    """The lines that state or check a value, without the names in them."""
    lines = (_NAME.sub(lambda found: found[1] or "x", line.strip()) for line in text.splitlines())
    return Counter(line for line in lines if re.search(r"['\"`]|(?<!\w)\d|\bassert|\bexpect", line))


def _uses(text: str, name: str) -> bool:
    return next(mentions(text, [name]), "") != ""


def _excused(facts: Facts, why: str) -> Verdict:
    """Where names are new, what a test is about may only have another one."""
    is_gone = why == "what it tests is gone" and not adds_names(facts.changes)
    return Verdict.NOTE if is_gone else Verdict.ASK


def _left_alone(facts: Facts, case: Case, red: Case, change: ChangedFile | None) -> Finding:
    """The test itself wasn't edited, so something around it was."""
    declared = [each for each in _around(facts) if is_declared(facts.intent.may_change, each.path)]
    data = [each for each in _around(facts) if is_expectation(each)]
    if declared:
        return _finding(case, red, f"fails without {declared[0].path}, as declared", Verdict.NOTE)
    if data:
        text = f"passes only with the new {data[0].path}"
        old, new = _first_difference(data[0])
        return _finding(case, red, text, Verdict.ASK, old, new)
    if change is not None:
        old, new = _first_difference(change)
        return _finding(case, red, "passes only with changes around it", Verdict.ASK, old, new)
    documented = inline_tests.with_docs_of_before(facts.changes, Report(cases=(case,)))
    if documented:
        old, new = _first_difference(
            next(each for each in facts.changes if each.path in documented)
        )
        return _finding(
            case, red, "expects something else than on the target", Verdict.ASK, old, new
        )
    helpers = [each for each in _around(facts) if is_code(each.path)]
    if helpers and red.status is CaseStatus.ERROR:
        old, new = _first_difference(helpers[0])
        text = f"needs the new {helpers[0].path}"
        return _finding(case, red, text, Verdict.ASK, old, new)
    names = ", ".join(each.path for each in _around(facts)[:3]) or "other files"
    return _finding(case, red, f"fails with the new code; changes in {names} hide it", Verdict.FAIL)


def _around(facts: Facts) -> list[ChangedFile]:
    """Changed files that a test may depend on, besides its own."""
    return [each for each in facts.changes if touches_tests(each) or changes_settings(each)]


def _file_of(facts: Facts, case: Case) -> ChangedFile | None:
    for change in facts.changes:
        path = change.old_path or change.path
        if case.file and (path == case.file or case.file.endswith(f"/{path}")):
            return change
        has_test = is_test_side(path) or has_tests(change) or path.endswith(".rs")
        if not case.file and has_test and text_of_test(change.before or "", case.id):
            return change
    return None


def _finding(
    case: Case, red: Case, text: str, verdict: Verdict, old: str = "", new: str = ""
) -> Finding:
    why = f" ({one_line(red.message, 160)})" if red.message else ""
    return Finding(
        kind="base_test",
        path=case.file or case.id.partition("::")[0],
        test=case.id,
        text=f"{bare_name(case.id)} {text}{why}",
        verdict=verdict,
        declared=verdict is Verdict.NOTE and "declared" in text,
        old=old[:LONGEST_TEXT],
        new=new[:LONGEST_TEXT],
        to_agent=f"{case.id} as it is on the target branch must pass: mend the code, not the test",
    )


def _of_file(facts: Facts, check: CheckFacts, whole: Case) -> Finding:
    """A file of tests that can't be loaded: usually one name is gone."""
    change = next((c for c in facts.changes if whole.id in (c.path, c.old_path)), None)
    gone = removed_names(facts.changes)
    named = [*mentions(whole.message, gone)]  # reports of node name no cause
    removed = named or [*mentions((change.before or "") if change else "", gone)]
    paths = [each.path for each in _around(facts)]
    declared = any(is_declared(facts.intent.may_change, path) for path in paths)
    is_gone = change is not None and change.after is None
    if is_gone and not removed and not declared:
        verdict, what = Verdict.FAIL, "were deleted, and can't be run with the new code"
    elif is_only_renamed(change, facts.changes):
        verdict, what = Verdict.NOTE, "only use another name for what they test"
    elif is_gone and named and not adds_names(facts.changes):
        verdict, what = Verdict.NOTE, "were deleted with what they test"
    else:
        verdict, what = Verdict.ASK, "can't be run with the new code"
    why = f": {one_line(whole.message, 160)}" if whole.message else ""
    old, new = _first_difference(change) if change else ("", "")
    return Finding(
        kind="base_test",
        path=whole.file or whole.id,
        text=f"the target's tests of {whole.id} {what}{why}",
        verdict=Verdict.NOTE if declared else verdict,
        declared=declared,
        old=old,
        new=new,
        to_agent=f"the tests of {whole.id} as they are on the target branch must pass",
    )


def _unrunnable(facts: Facts, name: str, text: str) -> Finding:
    declared = any(
        is_declared(facts.intent.may_change, each.path)
        for each in facts.changes
        if touches_tests(each) or changes_settings(each)
    )
    return Finding(
        kind="base_test",
        path=name,
        text=text,
        verdict=Verdict.NOTE if declared else Verdict.ASK,
        declared=declared,
        to_agent="the tests of the target branch must run with your code",
    )


def _first_difference(change: ChangedFile) -> tuple[str, str]:
    """Both versions from the first line that differs."""
    old, new = (change.before or "").splitlines(), (change.after or "").splitlines()
    at = _same(old, new)
    return "\n".join(old[at : at + 12])[:LONGEST_TEXT], "\n".join(new[at : at + 12])[:LONGEST_TEXT]


def _same(old: Sequence[str], new: Sequence[str]) -> int:
    return next(
        (n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b),
        min(len(old), len(new)),
    )
