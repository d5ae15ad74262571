"""Tests of the target that the work no longer runs, by the reports of both."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from allstop.core.gate import Verdict
from allstop.core.moves import Finding
from allstop.core.text import counted, one_line
from allstop.gate.facts import Case, CaseStatus, ChangedFile, CheckFacts, Facts
from allstop.gate.intent import is_declared
from allstop.gate.path_kinds import is_test
from allstop.gate.red_witness import says_missing_name
from allstop.gate.test_text import (
    bare_name,
    is_product,
    lost_word,
    mentions,
    removed_names,
    text_of_test,
    without_parameters,
)

SHOWN = 3
_IMPORT = re.compile(r"^.*\b(?:import|require|use)\b.*$", re.MULTILINE)
_ASSERTION = re.compile(r"\bassert|\bexpect\(|\.(Error|Fatal)f?\(|\braises\(")


def findings(facts: Facts) -> Iterator[Finding]:
    for check in facts.checks:
        yield from _of_check(facts, check)


def _of_check(facts: Facts, check: CheckFacts) -> Iterator[Finding]:
    own, target = check.own, check.target
    if own.rewritten:
        yield _rewritten(check)
    if target is None or target.report is None:
        return
    if own.report is None:
        if own.passed:
            yield _no_report(check)
        return
    if own.passed and not any(case.is_red for case in target.report.cases):
        yield from _passed_in_spite(check, own.report.cases)
    gone = [case for case in _gone(facts, check) if not excuse(facts, check, case)]
    yield from _by_file(facts, check, gone, "deleted_test")
    yield from _by_file(facts, check, _newly_skipped(check), "skipped_test")


def _rewritten(check: CheckFacts) -> Finding:
    names = one_line(", ".join(check.own.rewritten[:SHOWN]), 200)
    return Finding(
        kind="rewritten_test",
        path=check.own.rewritten[0],
        text=f"{check.name}: the run itself changes files of tests: {names}",
        verdict=Verdict.ASK,
        to_agent="don't let product code or commands change tests while they run",
    )


def _no_report(check: CheckFacts) -> Finding:
    text = f"{check.name}: passes, but reports no tests any more; on the target it does"
    told = "let the test command run the tests and report them as before"
    return Finding(
        kind="no_report", path=check.name, text=text, verdict=Verdict.FAIL, to_agent=told
    )


def _passed_in_spite(check: CheckFacts, cases: Sequence[Case]) -> Iterator[Finding]:
    red = [case for case in cases if case.is_red]
    if red:
        text = f"{check.name}: passes although {counted(len(red), 'test')} failed: {_names(red)}"
        told = "don't let the test command succeed when tests fail"
        yield Finding(
            kind="forced_pass", path=check.name, text=text, verdict=Verdict.FAIL, to_agent=told
        )


def _gone(facts: Facts, check: CheckFacts) -> Iterator[Case]:
    own = check.own.report.by_id if check.own.report else {}
    moved = _moved_files(facts)
    for case in check.target.report.cases if check.target and check.target.report else ():
        if case.status is CaseStatus.SKIPPED or case.id in own or case.id == case.file:
            continue
        if renamed(case, moved) not in own:
            yield case


def _moved_files(facts: Facts) -> dict[str, str]:
    return {each.old_path: each.path for each in facts.changes if each.old_path}


def renamed(case: Case, moved: dict[str, str]) -> str:
    """The test's id if its file was moved."""
    if case.file in moved and case.id.startswith(case.file):
        return moved[case.file] + case.id[len(case.file) :]
    return case.id


def excuse(facts: Facts, check: CheckFacts, case: Case) -> str:
    """Why a test that is gone needs no question; "" if it needs one."""
    own = check.own.report.cases if check.own.report else ()
    before = check.target.report.cases if check.target and check.target.report else ()
    known = {each.id for each in before}
    added = [each for each in own if each.id not in known]
    if any(bare_name(each.id) == bare_name(case.id) for each in added if not _has_rows(case)):
        return "a test of its name is elsewhere"
    if _has_rows(case) and _rows(own, case) >= _rows(before, case):
        return "its table has as many rows"
    generated = _generated(facts, before, case)
    if generated and len(_generated(facts, own, case)) >= len(generated):
        return "its file has as many tests with generated names"
    if _symbol_gone(facts, case):
        return "what it tests is gone"
    if len(own) >= len(before) and _assertions_elsewhere(facts, case):
        return "its assertions are elsewhere"
    if len(own) >= len(before) and _values_elsewhere(facts, case):
        return "its values are in a table"
    return ""


def _has_rows(case: Case) -> bool:
    return _table(case) != case.id


def _rows(cases: Sequence[Case], case: Case) -> int:
    name = _table(case)
    return sum(_table(each) == name != each.id for each in cases)


def _table(case: Case) -> str:
    """The test whose row a case is; itself if it is none. Reports of Go, which name no files, use "/"."""
    if case.file:
        return without_parameters(case.id)
    package, _, name = case.id.rpartition("::")
    return f"{package}::{name.partition('/')[0]}" if package else without_parameters(case.id)


def is_row_of_edited(facts: Facts, check: CheckFacts, case: Case) -> bool:
    """Whether other rows of its table still run: the table was edited, and no test deleted."""
    own = check.own.report.cases if check.own.report else ()
    if _has_rows(case) and _rows(own, case) > 0:
        return True
    return bool(_generated(facts, (case,), case) and _generated(facts, own, case))


def _generated(facts: Facts, cases: Sequence[Case], case: Case) -> list[Case]:
    """The tests of its edited file whose names the file doesn't have: tables make them. [] without it."""
    change = next((c for c in facts.changes if case.file and c.path == case.file), None)
    if change is None or not change.before or not change.after:
        return []
    text = f"{change.before}\n{change.after}"
    if _title(case) in text:
        return []
    return [each for each in cases if each.file == case.file and _title(each) not in text]


def _title(case: Case) -> str:
    return re.split(r"::| > ", without_parameters(case.id) if "::" in case.id else case.id)[-1]


def _symbol_gone(facts: Facts, case: Case) -> bool:
    removed = removed_names(facts.changes)
    return bool(removed) and next(mentions(_old_text(facts, case), removed), "") != ""


def _old_text(facts: Facts, case: Case) -> str:
    """The test's text on the target, if its file has changed."""
    return next((text for _, text in _old_places(facts, case)), "")


def _old_path(facts: Facts, case: Case) -> str:
    """The changed file in which the target has the test, where the report names none."""
    return next((path for path, _ in _old_places(facts, case)), "")


def _old_places(facts: Facts, case: Case) -> Iterator[tuple[str, str]]:
    for change in facts.changes:
        path = change.old_path or change.path
        is_here = path == case.file or (not case.file and is_test(path))
        if is_here and (text := text_of_test(change.before or "", case.id)):
            yield path, text


def _assertions_elsewhere(facts: Facts, case: Case) -> bool:
    wanted = _assertions(_old_text(facts, case))
    if not wanted:
        return False
    there = Counter[str]()
    for change in facts.changes:
        if is_test(change.path):
            there.update(_assertions(change.after or ""))
            there.subtract(_assertions(change.before or ""))
    for line in wanted:  # those that were in the test itself don't count as gone
        there[line] += wanted[line]
    return all(there[line] >= count for line, count in wanted.items())


_VALUE = re.compile(r"(['\"])(?:\\.|(?!\1).)*\1|(?<![\w.])-?\d[\d_]*(?:\.\d+)?")
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\(")


def _values_elsewhere(facts: Facts, case: Case) -> bool:
    """Whether the values of each of its assertions are in one new line of its file, such as a row."""
    text = _old_text(facts, case)
    change = next((c for c in facts.changes if case.file in (c.path, c.old_path)), None)
    if change is None or not change.after:
        return False
    known = frozenset((change.before or "").splitlines())
    added = [line for line in change.after.splitlines() if line not in known]
    rows = [Counter(found[0] for found in _VALUE.finditer(line)) for line in added]
    called = frozenset(_CALLED.findall("\n".join(added)))
    wanted = [line for line in text.splitlines() if _ASSERTION.search(line)]
    values = [Counter(found[0] for found in _VALUE.finditer(line)) for line in wanted]
    product = frozenset(_CALLED.findall("\n".join(wanted)))
    return (
        bool(values)
        and all(each.total() > 1 and any(each <= row for row in rows) for each in values)
        and bool(product & called)
    )


def _assertions(text: str) -> Counter[str]:
    lines = (" ".join(line.split()) for line in text.splitlines())
    return Counter(line for line in lines if _ASSERTION.search(line))


def _newly_skipped(check: CheckFacts) -> Iterator[Case]:
    own = check.own.report.by_id if check.own.report else {}
    for case in check.target.report.cases if check.target and check.target.report else ():
        now = own.get(case.id)
        if now and now.status is CaseStatus.SKIPPED and case.status is not CaseStatus.SKIPPED:
            yield case


def _by_file(
    facts: Facts, check: CheckFacts, cases: Iterator[Case] | Sequence[Case], kind: str
) -> Iterator[Finding]:
    groups: dict[tuple[str, Verdict, bool], list[Case]] = {}
    for case in cases:
        text, home = _old_text(facts, case), _deleted_home(facts, case)
        may_change, path = facts.intent.may_change, case.file or _old_path(facts, case)
        declared = is_declared(may_change, path, case.id, text=text) or (
            home is not None and is_declared(may_change, home.path, case.id)
        )
        verdict = Verdict.NOTE if declared else _verdict(facts, check, case)
        groups.setdefault((case.file or check.name, verdict, declared), []).append(case)
    for (path, verdict, declared), group in groups.items():
        runs = "no longer runs" if len(group) == 1 else "no longer run"
        what = runs if kind == "deleted_test" else "now skipped"
        yield Finding(
            kind=kind,
            path=path,
            text=f"{counted(len(group), 'test')} {what}: {_names(group)}",
            test=group[0].id if len(group) == 1 else "",
            old=_old_text(facts, group[0])[:2000] if len(group) == 1 else "",
            verdict=verdict,
            declared=declared,
            to_agent=f"let these tests run again as before: {_names(group)}",
        )


def _verdict(facts: Facts, check: CheckFacts, case: Case) -> Verdict:
    """A question if the new code would pass it or lacks its subject, it failed before, or is a row."""
    if _file_lost_its_subject(facts, case) or is_row_of_edited(facts, check, case):
        return Verdict.ASK
    base = check.base_tests.report.by_id.get(case.id) if _has_base(check) else None  # type: ignore[union-attr]
    if case.is_red or (base is not None and (not base.is_red or _lacks_subject(facts, base))):
        return Verdict.ASK
    return Verdict.FAIL


def _lacks_subject(facts: Facts, base: Case) -> bool:
    return says_missing_name(base.message) and lost_word(facts.changes, base.message) != ""


def _file_lost_its_subject(facts: Facts, case: Case) -> bool:
    """Whether its file was deleted, and used a name or imported a file that the product lost."""
    home = _deleted_home(facts, case)
    if home is None or home.before is None:
        return False
    imports = "\n".join(_IMPORT.findall(home.before))
    lost = [_stem(each.path) for each in facts.changes if _is_lost(each)]
    return any(mentions(home.before, removed_names(facts.changes))) or any(mentions(imports, lost))


def _deleted_home(facts: Facts, case: Case) -> ChangedFile | None:
    """The deleted file that a test ran in. Another one may define it: pytest names both then."""
    for change in facts.changes:
        is_here = change.path == case.file or f"{_module(change.path)}." in case.id
        if is_here and change.before is not None and change.after is None:
            return change
    return None


def _is_lost(change: ChangedFile) -> bool:
    return change.after is None and is_product(change.path)


def _module(path: str) -> str:
    """How pytest names a file whose tests another file defines."""
    return path.removesuffix(".py").replace("/", ".")


def _stem(path: str) -> str:
    return path.rpartition("/")[2].partition(".")[0]


def _has_base(check: CheckFacts) -> bool:
    return check.base_tests is not None and check.base_tests.report is not None


def _names(cases: Sequence[Case]) -> str:
    shown = ", ".join(
        dict.fromkeys(case.id.partition("::")[2] or case.id for case in cases[:SHOWN])
    )
    more = f" and {len(cases) - SHOWN} more" if len(cases) > SHOWN else ""
    return one_line(shown, 200) + more
