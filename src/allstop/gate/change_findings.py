"""Findings in a change: protected files, deleted or skipped tests, and conflict markers."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from allstop.core.gate import Integrity, Verdict
from allstop.core.moves import Finding
from allstop.core.text import one_line
from allstop.gate.path_kinds import NO_TESTS, is_test, is_test_material, matches_change

LINE_CHARS = 200

SHOWN_PATHS = 3
"""Files of one kind that a line about findings names."""


class ChangedFile(Protocol):
    """A changed file. A rename is a D of the old name followed by an R of the new one."""

    @property
    def path(self) -> str: ...

    @property
    def status(self) -> str: ...

    @property
    def added(self) -> Sequence[str]: ...

    @property
    def tests_differently(self) -> bool: ...


def findings(
    changes: Iterable[ChangedFile],
    protected: Sequence[str],
    strictness: Integrity,
    *,
    knows_ids: bool = False,
) -> tuple[Finding, ...]:
    """The findings by kind.

    With `knows_ids` reports of test ids tell whether tests are missing or skipped, and the lines
    that tell it here are only notes.
    """
    changes = list(changes)
    of_tests = Verdict.NOTE if knows_ids else Verdict.ASK
    return (
        *_protected(changes, protected, strictness),
        *_deleted_tests(changes, of_tests),
        *_skipped_tests(changes, of_tests),
        *_conflict_markers(changes),
    )


def _protected(
    changes: Sequence[ChangedFile], protected: Sequence[str], strictness: Integrity
) -> Iterator[Finding]:
    """An added test or fixture isn't one; an added file that configures the runner is."""
    for change in changes:
        if change.status == "A" and is_test_material(change.path):
            continue
        differently = change.tests_differently
        if matches_change(change.path, protected, tests_differently=differently):
            yield Finding(
                kind="protected",
                path=change.path,
                text=_STATUS_NAMES.get(change.status, "changed"),
                verdict=Verdict.FAIL if strictness is Integrity.FAIL else Verdict.NOTE,
            )


def _deleted_tests(changes: Sequence[ChangedFile], verdict: Verdict) -> Iterator[Finding]:
    for number, change in enumerate(changes):
        follower = changes[number + 1] if number + 1 < len(changes) else None
        is_moved = follower is not None and follower.status == "R" and is_test(follower.path)
        if change.status == "D" and is_test(change.path) and not is_moved:
            yield Finding(
                kind="deleted_test",
                path=change.path,
                verdict=verdict,
                to_agent=f"put the deleted test {change.path} back",
            )


def _skipped_tests(changes: Sequence[ChangedFile], verdict: Verdict) -> Iterator[Finding]:
    for change in changes:
        for line in change.added:
            if is_skip(change.path, line):
                yield Finding(
                    kind="skipped_test",
                    path=change.path,
                    text=line.strip()[:LINE_CHARS],
                    verdict=verdict,
                    to_agent=f"don't skip tests in {change.path}",
                )


def _conflict_markers(changes: Sequence[ChangedFile]) -> Iterator[Finding]:
    """Fatal if they come from our own merge, whose markers end with a commit id."""
    for change in changes:
        begins = [line for line in change.added if line.startswith("<<<<<<< ")]
        ends = [line for line in change.added if line.startswith(">>>>>>> ")]
        if begins and ends:
            is_ours = any(_OWN_CONFLICT_END.match(line) for line in ends)
            yield Finding(
                kind="conflict_markers",
                path=change.path,
                text=f"{begins[0][:40]} … {ends[0][:50]}",
                verdict=Verdict.FAIL if is_ours else Verdict.ASK,
            )


_OWN_CONFLICT_END = re.compile(r">>>>>>> [0-9a-f]{40}([0-9a-f]{24})?\s*$")
_STATUS_NAMES = {"A": "added", "D": "deleted", "R": "moved here"}

# --- lines ---

_SKIPS = re.compile(
    "|".join(
        (
            r"\bmark\.(skip|skipif|xfail)\b",
            r"\bpytest\.(skip|xfail|importorskip)\s*\(",
            r"@(unittest\.)?(skip|skipIf|skipUnless|expectedFailure)\b",
            r"\.skipTest\(|\bSkipTest\b|\b__test__\s*=\s*False|\bcollect_ignore",
            r"\b(it|test|describe|context|suite|specify)(\.\w+)*\.(skip|skipIf|runIf)\b",
            r"\b(it|test|describe|context|suite|specify)(\.\w+)*\.(only|todo|fixme|fail\w*)\b",
            r"\b(xit|xtest|xdescribe|xcontext|xspecify|fit|fdescribe|fcontext)\s*[(\s'\"]",
            r"\bskip:\s*(true|['\"])",
            r"@(Ignore|Disabled\w*)\b|\[Ignore\b|\[(Fact|Theory|Test)\([^)]*\b(Skip|Ignore)\s*=",
            r"\b[a-z]\w*\.Skip(f|Now)?\(",
            r"#\[ignore\b|#\[cfg_attr\([^)]*\bignore\b",
            r"^\s*(skip|pending)(\s*$|\s+['\"(])|,\s*(skip|pending):",
            r"\bmarkTest(Skipped|Incomplete)\b|\bXCTSkip|\bGTEST_SKIP\b|\bDISABLED_\w",
            r"@(module|describe)?tag\s+:?skip|@test_(skip|broken)\b",
        )
    )
)
_DESELECTS = re.compile(r"--(deselect|ignore)\b|-k\s*[\"']?\s*not\b|testPathIgnorePatterns")
_CONFIGURES = re.compile(
    r"(^|/)(pyproject\.toml|pytest\.ini|\.?tox\.ini|setup\.cfg|noxfile\.py|package\.json|Makefile"
    r"|jest\.config\.\w+|vitest\.config\.\w+)$"
)
_RUST_IGNORE = re.compile(r"#\[(ignore\b|cfg_attr\([^)]*\bignore\b)")


def is_skip(path: str, line: str) -> bool:
    """Whether a line makes a test not run, or not count."""
    line = line[:2000]
    if is_test(path) or path.rpartition("/")[2] in NO_TESTS:
        return _SKIPS.search(line) is not None
    if path.endswith(".rs"):
        return _RUST_IGNORE.search(line) is not None
    return bool(_CONFIGURES.search(path)) and _DESELECTS.search(line) is not None


def describe_finding(finding: Finding) -> str:
    """A finding in one line, with its old and new text if these are short."""
    sign = "✗" if finding.fatal else "!" if is_serious(finding) else "·"
    texts = filter(None, [finding.text, _old_and_new(finding)])
    return ": ".join([f"{sign} {finding.kind.replace('_', ' ')} {finding.path}", *texts])


def _old_and_new(finding: Finding) -> str:
    if "\n" in finding.old.strip() or "\n" in finding.new.strip():
        return ""
    return " → ".join(
        one_line(each, LINE_CHARS) for each in (finding.old, finding.new) if each.strip()
    )


def serious_findings(found: Iterable[Finding]) -> str:
    """The findings that a person should confirm, in one line; "" if there are none."""
    return summarize_findings(filter(is_serious, found))


def is_serious(finding: Finding) -> bool:
    """Whether a person confirms it before the work is merged: all but notes and added files."""
    if finding.kind == "protected":
        return finding.fatal or finding.text != _STATUS_NAMES["A"]
    return not finding.is_note


def summarize_findings(found: Iterable[Finding]) -> str:
    """Findings in one line, by kind, each with the first of its files."""
    by_kind: dict[str, dict[str, None]] = {}
    for each in found:
        how = f" ({each.text})" if each.kind == "protected" and each.text else ""
        by_kind.setdefault(f"{each.kind.replace('_', ' ')}{how}", {})[each.path] = None
    return "; ".join(f"{kind}: {_names(list(paths))}" for kind, paths in by_kind.items())


def _names(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - SHOWN_PATHS} more" if len(paths) > SHOWN_PATHS else ""
    return one_line(", ".join(paths[:SHOWN_PATHS]), 200) + more
