"""Findings in a change: protected files, deleted or skipped tests, and conflict markers."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Protocol

from allstop.board.runner_settings import MARK
from allstop.core.gate import Protection
from allstop.core.moves import Finding
from allstop.core.text import one_line

MAX_FINDINGS = 200

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
    changes: Iterable[ChangedFile], protected: Sequence[str], protection: Protection
) -> tuple[Finding, ...]:
    """The findings by kind; if there are too many, the fatal ones are kept."""
    changes = list(changes)
    found = [
        *_protected(changes, protected, protection),
        *_deleted_tests(changes, protected, protection),
        *_skipped_tests(changes, protected, protection),
        *_conflict_markers(changes),
    ]
    if len(found) > MAX_FINDINGS:
        found.sort(key=lambda finding: not finding.fatal)
    return tuple(found[:MAX_FINDINGS])


def _protected(
    changes: Sequence[ChangedFile], protected: Sequence[str], protection: Protection
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
                fatal=protection is Protection.FAIL,
            )


def is_test_material(path: str) -> bool:
    """Whether it belongs to tests, such as a fixture, and doesn't configure their runner."""
    if _RUNNER_FILE.fullmatch(path.rpartition("/")[2]):
        return False
    return is_test(path) or _TEST_FOLDER.search(path) is not None


def _deleted_tests(
    changes: Sequence[ChangedFile], protected: Sequence[str], protection: Protection
) -> Iterator[Finding]:
    for number, change in enumerate(changes):
        follower = changes[number + 1] if number + 1 < len(changes) else None
        is_moved = follower is not None and follower.status == "R" and is_test(follower.path)
        if change.status == "D" and is_test(change.path) and not is_moved:
            yield Finding(
                kind="deleted_test",
                path=change.path,
                fatal=protection is Protection.FAIL and matches(change.path, protected),
            )


def _skipped_tests(
    changes: Sequence[ChangedFile], protected: Sequence[str], protection: Protection
) -> Iterator[Finding]:
    for change in changes:
        for line in change.added:
            if is_skip(change.path, line):
                yield Finding(
                    kind="skipped_test",
                    path=change.path,
                    text=line.strip()[:LINE_CHARS],
                    fatal=protection is Protection.FAIL and matches(change.path, protected),
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
                fatal=is_ours,
            )


_OWN_CONFLICT_END = re.compile(r">>>>>>> [0-9a-f]{40}([0-9a-f]{24})?\s*$")
_STATUS_NAMES = {"A": "added", "D": "deleted", "R": "moved here"}

# --- paths ---


def matches(path: str, patterns: Sequence[str]) -> bool:
    """Whether a pattern matches this path or a folder that contains it.

    `*` and `?` match within a folder, `**` across folders; patterns are relative to the root.
    """
    return any(_compiled(pattern).fullmatch(path) for pattern in patterns)


def matches_change(path: str, patterns: Sequence[str], *, tests_differently: bool) -> bool:
    """Like `matches`, also for patterns that protect only the test settings of a file."""
    if matches(path, patterns):
        return True
    marked = [each.removesuffix(MARK) for each in patterns if each.endswith(MARK)]
    return tests_differently and matches(path, marked)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    body = pattern.removeprefix("./").strip("/")
    while body.endswith("/**"):
        body = body.removesuffix("/**")
    parts = [part for part in re.split(r"(\*\*/|\*\*|\*|\?|\[[^]/]+\])", body) if part]
    return re.compile("".join(map(_translated, parts)) + "(/.*)?", re.DOTALL)


def _translated(part: str) -> str:
    if part in _GLOB:
        return _GLOB[part]
    if part.startswith("[") and part.endswith("]") and len(part) > 2:
        inner = part[1:-1]
        negated = inner[0] in "!^" and len(inner) > 1
        chars = re.sub(r"([\\\[\]^&~|])", r"\\\1", inner[1:] if negated else inner)
        spelled = f"[{'^/' if negated else ''}{chars}]"
        return spelled if _is_pattern(spelled) else re.escape(part)
    return re.escape(part)


_GLOB = {"**/": "(.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


_TEST_FOLDER = re.compile(r"(^|/)(tests?|__tests__|specs?|testing|e2e|cypress)/", re.IGNORECASE)
_TEST_NAME = re.compile(
    r"(test_[^/]*\.py|[^/]*[_-](test|tests|spec)\.\w+|[^/]*\.(test|tests|spec|e2e|cy)\.\w+"
    r"|[^/]*(Test|Tests|Spec|TestCase|IT)\.(java|kt|kts|scala|groovy|cs|fs|vb|php|swift|m|mm)"
    r"|[^/]*\.(t|feature|bats)|[^/]*_test\.\w+|tests?\.\w+)"
)
_CODE = re.compile(
    r".*\.(py|pyi?|jsx?|tsx?|mjs|cjs|mts|cts|vue|go|rs|rb|java|kt|kts|scala|groovy|cs|fs|vb|php"
    r"|swift|m|mm|c|cc|cpp|cxx|h|hpp|ex|exs|erl|clj|cljs|hs|ml|lua|pl|t|r|jl|dart|nim|zig|sh|bats"
    r"|feature|sql)",
    re.IGNORECASE,
)
_NO_TESTS = frozenset({"__init__.py", "conftest.py"})
_RUNNER_FILE = re.compile(
    r"conftest\.py|\.?pytest\.ini|tox\.ini|setup\.cfg|pyproject\.toml|package\.json|noxfile\.py"
    r"|\.coveragerc|(site|user)customize\.py|pytest\.py|\.mocharc.*|\.rspec|phpunit\.xml.*|.*\.pth"
    r"|(jest|vitest|playwright|cypress|karma|babel)\.(config|conf|setup|workspace)\..*"
)


def is_test(path: str) -> bool:
    """Whether it is a test by its name, or source code in a folder of tests."""
    name = path.rpartition("/")[2]
    if name in _NO_TESTS:
        return False
    if _TEST_NAME.fullmatch(name):
        return _CODE.fullmatch(name) is not None
    return bool(_TEST_FOLDER.search(path)) and _CODE.fullmatch(name) is not None


def is_code(path: str) -> bool:
    return _CODE.fullmatch(path.rpartition("/")[2]) is not None


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
    if is_test(path) or path.rpartition("/")[2] in _NO_TESTS:
        return _SKIPS.search(line) is not None
    if path.endswith(".rs"):
        return _RUST_IGNORE.search(line) is not None
    return bool(_CONFIGURES.search(path)) and _DESELECTS.search(line) is not None


def describe_finding(finding: Finding) -> str:
    sign = "✗" if finding.fatal else "!"
    text = f": {finding.text}" if finding.text else ""
    return f"{sign} {finding.kind.replace('_', ' ')} {finding.path}{text}"


def serious_findings(found: Iterable[Finding]) -> str:
    """The findings that a person should confirm, in one line; "" if there are none."""
    return summarize_findings(filter(is_serious, found))


def is_serious(finding: Finding) -> bool:
    """Whether a person confirms it; a new file at a protected path, such as a test, needs none."""
    return finding.kind != "protected" or finding.text != _STATUS_NAMES["A"]


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
