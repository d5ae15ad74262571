"""Twisted tests: each expected value is replaced by one that nothing equals. Such a test must fail.

One that still passes checks nothing, or the runner of the tests was bent.
"""

import ast
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from allstop.core.gate import Verdict
from allstop.core.moves import Finding
from allstop.gate import canary
from allstop.gate.facts import Case, ChangedFile, CheckFacts, Facts
from allstop.gate.syntax import family_of
from allstop.gate.test_text import bare_name, definitions, is_product, text_of_test

FEW = 2
"""From so many twisted tests on, none that fails means that the runner was bent."""


class Twisted(Struct, frozen=True, gc=False, kw_only=True):
    text: str
    tests: tuple[str, ...]  # the names of the tests with a twisted value


def twisted(path: str, text: str) -> Twisted | None:
    """The file with other expected values; None if there is nothing to twist in it."""
    match family_of(path):
        case "python":
            made = _python(text)
        case "js":
            made = _javascript(text)
        case "go":
            made = _by_lines(text, _GO)
        case "rust":
            made = _by_lines(text, _RUST)
        case _:
            return None
    return made if made is not None and made.tests else None


def twisted_data(text: str) -> str | None:
    """A file of expected values with another last letter or digit; None if it has none."""
    at = next(
        (at for at in range(len(text) - 1, -1, -1) if text[at].isascii() and text[at].isalnum()), -1
    )
    if at < 0:
        return None
    old = text[at]
    new = str((int(old) + 1) % 10) if old.isdigit() else ("b" if old in "aA" else "a")
    return text[:at] + (new.upper() if old.isupper() else new) + text[at + 1 :]


class _Edit(Struct, frozen=True, gc=False):
    begin: int
    end: int
    new: str
    test: str


def _applied(text: bytes, edits: Sequence[_Edit]) -> Twisted:
    done: list[str] = []
    last = len(text)
    for edit in sorted(edits, key=lambda each: each.begin, reverse=True):
        if edit.end > last:
            continue  # inside of another one
        text = text[: edit.begin] + edit.new.encode() + text[edit.end :]
        last = edit.begin
        done.append(edit.test)
    return Twisted(text=text.decode("utf-8", "replace"), tests=tuple(dict.fromkeys(reversed(done))))


# --- Python ---

_NOTHING = "object()"
_HELPER = re.compile(
    r"assert|check|expect|same|equal|verify|compare|match|must|should|golden", re.IGNORECASE
)
"""Names of functions that compare a result with their last argument."""

_NO_VALUE = re.compile(r"[/.]|^$")
"""Texts that are no expected values, such as paths."""


def _python(text: str) -> Twisted | None:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return None
    lines = [0]
    source = text.encode()
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    edits: list[_Edit] = []
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if function.name.startswith("test"):
            for node in ast.walk(function):
                for place, new in _twists(node, source, lines):
                    begin = lines[place.lineno - 1] + place.col_offset
                    end = lines[(place.end_lineno or 1) - 1] + (place.end_col_offset or 0)
                    edits.append(_Edit(begin, end, new, function.name))
    return _applied(source, edits)


def _twists(node: ast.AST, source: bytes, lines: Sequence[int]) -> Iterator[tuple[ast.expr, str]]:
    if isinstance(node, ast.Assert):
        yield from _of_condition(node.test, source, lines)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name in _EQUALITIES and len(node.args) > 1:
            is_first = _near(node.args[1]) is None and _near(node.args[0]) is not None
            expected = node.args[0 if is_first else 1]
            yield expected, _near(expected) or _NOTHING
        elif name in ("assertTrue", "assertFalse") and node.args:
            yield node.args[0], "0" if name == "assertTrue" else "1"
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield from _of_helper(node.value)


def _of_helper(call: ast.Call) -> Iterator[tuple[ast.expr, str]]:
    """A call that compares a result with its last argument, by its name."""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else name
    if name in _EQUALITIES or not _HELPER.search(name) or len(call.args) < 2:
        return
    last = call.args[-1]
    is_path = isinstance(last, ast.Constant) and _NO_VALUE.search(str(last.value)) is not None
    if (near := _near(last)) and not (is_path and not _is_number(last)):
        yield last, near


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int | float)


def _near(node: ast.expr) -> str | None:
    """The literal of another value of the same type; None if it is none.

    It differs only a little, so that a comparison with a large tolerance notices nothing.
    """
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"-{near}" if (near := _near(node.operand)) else None
    if isinstance(node, ast.Call) and node.args and not node.keywords:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        near = _near(node.args[0]) if name == "approx" else None
        return f"{ast.unparse(node.func)}({near})" if near else None
    match node.value if isinstance(node, ast.Constant) else None:
        case bool() | None:
            return None
        case int() | float() as number:
            return repr(number + 1)
        case str() as text:
            return repr(f"{text}~")
        case bytes() as data:
            return repr(data + b"~")
        case _:
            return None


_EQUALITIES = frozenset({
    "assertEqual", "assertEquals", "assertIs", "assertListEqual", "assertDictEqual",
    "assertTupleEqual", "assertSetEqual", "assertSequenceEqual", "assertMultiLineEqual",
    "assertCountEqual", "assertIn", "assertAlmostEqual",
})  # fmt: skip


def _of_condition(
    test: ast.expr, source: bytes, lines: Sequence[int]
) -> Iterator[tuple[ast.expr, str]]:
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        operator, right = test.ops[0], test.comparators[0]
        if isinstance(operator, ast.Eq | ast.Is):
            is_left = _near(right) is None and _near(test.left) is not None
            expected = test.left if is_left else right
            yield expected, _near(expected) or _NOTHING
            return
        if isinstance(operator, ast.In):
            yield test.left, _NOTHING
            return
    begin = lines[test.lineno - 1] + test.col_offset
    end = lines[(test.end_lineno or 1) - 1] + (test.end_col_offset or 0)
    yield test, f"(not ({source[begin:end].decode()}))"


# --- JavaScript and TypeScript ---

_MATCHER = re.compile(r"(?<!not)\.(?:toBe|toEqual|toStrictEqual|toMatchObject)\(")
_EQUAL = re.compile(r"\b(?:assert|t\.assert)\.(?:strictEqual|deepStrictEqual|equal|deepEqual)\(|(?<![\w.])(?:strictEqual|deepStrictEqual|deepEqual)\(")  # fmt: skip
_JS_TEST = re.compile(
    r"\b(?:it|test|specify)(?:\.\w+)*(?:\([^'\"`]*\))?\(\s*(['\"`])(?P<name>.*?)\1"
)
_OTHER = "Symbol('other')"
_JS_HELPER = re.compile(r"^[ \t]*(?:await\s+)?(?:[\w$]+\.)?(?!(?:it|test|describe|expect|assert)\b)(?=[\w$]*(?:assert|check|same|equal|verify|compare|match))[\w$]+\(", re.MULTILINE | re.IGNORECASE)  # fmt: skip
_JS_LITERAL = re.compile(
    r"\s*(?:(?P<number>-?\d[\d_]*(?:\.\d+)?)|(['\"])(?P<text>[^'\"\\\n]*)\2)\s*"
)


def _javascript(text: str) -> Twisted:
    tests = [(found.start(), found["name"]) for found in _JS_TEST.finditer(text)]
    edits: list[_Edit] = []
    for found in _MATCHER.finditer(text):
        end = _closing(text, found.end())
        if end > found.end():
            edits.append(_js_edit(text, found.end(), end, tests))
    for found in _JS_HELPER.finditer(text):
        parts = _arguments(text, found.end())
        if len(parts) > 1 and _JS_LITERAL.fullmatch(text, *parts[-1]):
            edits.append(_js_edit(text, *parts[-1], tests))
    for found in _EQUAL.finditer(text):
        parts = _arguments(text, found.end())
        if len(parts) > 1:
            edits.append(_js_edit(text, *parts[1], tests))
    return _applied(text.encode(), [edit for edit in edits if edit.test])


def _js_edit(text: str, begin: int, end: int, tests: Sequence[tuple[int, str]]) -> _Edit:
    test = next((name for at, name in reversed(tests) if at < begin), "")
    literal = _JS_LITERAL.fullmatch(text, begin, end)
    new = _OTHER
    if literal is not None and literal["number"]:
        new = f"({literal['number']} + 1)"
    elif literal is not None:
        new = f"'{literal['text']}~'"
    return _Edit(len(text[:begin].encode()), len(text[:end].encode()), new, test)


_JS_TOKEN = re.compile(r"'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|`(?:\\.|[^`\\])*`|//[^\n]*|/\*.*?\*/|[()\[\]{},]", re.DOTALL)  # fmt: skip


def _arguments(text: str, at: int) -> list[tuple[int, int]]:
    """The places of the arguments of a call that begins at `at`, behind its parenthesis."""
    depth, begin = 0, at
    found: list[tuple[int, int]] = []
    for token in _JS_TOKEN.finditer(text, at):
        if token[0] in "([{":
            depth += 1
        elif token[0] in ")]}":
            if depth == 0:
                return (
                    [*found, (begin, token.start())]
                    if text[begin : token.start()].strip()
                    else found
                )
            depth -= 1
        elif token[0] == "," and depth == 0:
            found.append((begin, token.start()))
            begin = token.end()
    return []


def _closing(text: str, at: int) -> int:
    parts = _arguments(text, at)
    return parts[-1][1] if parts else at


# --- Go and Rust: their types leave no room for another value, so the comparison is reversed ---

_GO = (
    re.compile(r"^func (?P<test>Test\w+)\("),
    re.compile(r"^(?P<before>\s*(?:\} else )?if .*?)!=(?P<after>.*\{\s*)$"),
    "==",
)
_RUST = (
    re.compile(r"^\s*(?:pub )?(?:async )?fn (?P<test>\w+)\("),
    re.compile(r"^(?P<before>.*\bassert)_eq(?P<after>!\(.*)$"),
    "_ne",
)


_TYPED_HELPER = re.compile(
    r"^(?P<before>\s*(?!//|func\b|fn\b|if\b|for\b)(?:[\w:.]+[.:])?(?i:(?:check|same|equal|verify|compare|match|must|assert)\w*)"
    r"\(.*,\s*)(?P<number>\d{1,9})(?P<after>\s*\);?\s*)$"
)
"""A call of a function that compares a result with a number."""


def _by_lines(text: str, forms: tuple[re.Pattern[str], re.Pattern[str], str]) -> Twisted:
    header, comparison, other = forms
    test, tests, lines = "", dict[str, None](), text.split("\n")
    for number, line in enumerate(lines):
        if found := header.match(line):
            test = found["test"]
        if test and (found := comparison.match(line)) and "nil" not in line:
            lines[number] = f"{found['before']}{other}{found['after']}"
            tests[test] = None
        elif test and (found := _TYPED_HELPER.match(line)):
            lines[number] = f"{found['before']}{int(found['number']) + 1}{found['after']}"
            tests[test] = None
    return Twisted(text="\n".join(lines), tests=tuple(tests))


# --- judging ---


def findings(facts: Facts) -> Iterator[Finding]:
    for check in facts.checks:
        if check.canary is not None and check.canary.report is not None:
            yield from _of_check(facts, check)


def is_doubtful(check: CheckFacts, changes: Sequence[ChangedFile]) -> bool:
    """Whether only the same files on the target's code tell what their results mean."""
    report = check.canary.report if check.canary else None
    if report is None:
        return False
    planted = any(part in case.id for case in report.cases for part in check.canary_ids)
    edited = {each.path for each in changes}
    known = [case for case in _twisted_cases(check) if case.file not in edited]
    green = any(not case.is_red for case in known if _was_green(check, case))
    is_changed = canary.changes_tools(check)
    return not planted or green or is_changed or any(map(_compares, changes))


_COMPARES = re.compile(
    r"^\s*(assert\b|raise AssertionError)|\*testing\.(T|TB)\b|\btesting\.TB\b|\bexpect\(|node:assert|['\"]assert['\"]"
    r"|\b(assert(_eq|_ne)?|panic)!\(",
    re.MULTILINE,
)


def _compares(change: ChangedFile) -> bool:
    """Whether product code has a helper of tests: a function with its name and assertions."""
    text = change.before or ""
    if not is_product(change.path) or not _COMPARES.search(text):
        return False
    return any(_HELPER.search(name) for name in definitions(text))


def _against_target(check: CheckFacts) -> Iterator[Finding]:
    """What the very same files of tests say of the target's code, and not of the work."""
    if check.canary is None or check.canary.report is None:
        return
    if check.canary_target is None or check.canary_target.report is None:
        return
    ran = check.canary.report.by_id
    for case in check.canary_target.report.cases:
        now = ran.get(case.id)
        if not case.is_red or (now is not None and now.is_red):
            continue
        is_planted = any(part in case.id for part in check.canary_ids)
        if is_planted and now is None:
            text = f"{check.name}: a planted test that must fail doesn't run"
        elif not is_planted and now is not None and _was_green(check, case):
            text = (
                f"{bare_name(case.id)} passes whatever it expects; on the target's code it doesn't"
            )
        else:
            continue
        yield Finding(
            kind="checks_nothing",
            path=case.file or check.name,
            test="" if is_planted else case.id,
            text=text,
            verdict=Verdict.FAIL,
            to_agent="don't change how tests run or how they compare results",
        )
        return


def _of_check(facts: Facts, check: CheckFacts) -> Iterator[Finding]:
    found = tuple(_against_target(check))
    if found:
        yield from found
        return
    tested = [case for case in _twisted_cases(check) if _was_green(check, case)]
    green = [case for case in tested if not case.is_red]
    if not green:
        return
    if len(green) == len(tested):
        text = f"{check.name}: tests pass whatever they expect, such as {bare_name(green[0].id)}"
        yield Finding(
            kind="checks_nothing",
            path=green[0].file or check.name,
            test=green[0].id,
            text=text,
            verdict=Verdict.FAIL if len(tested) >= FEW else Verdict.ASK,
            to_agent="let tests compare real results with real expectations",
        )
        return
    for case in green:
        if _is_changed(facts, case):
            yield Finding(
                kind="checks_nothing",
                path=case.file,
                test=case.id,
                text=f"{bare_name(case.id)} passes whatever it expects",
                verdict=Verdict.NOTE,
            )


def _twisted_cases(check: CheckFacts) -> Iterator[Case]:
    """The results of tests with a twisted value; `twisted` names them as `path::name`."""
    report = check.canary.report if check.canary else None
    for case in report.cases if report else ():
        if any(part in case.id for part in check.canary_ids):
            continue
        name = bare_name(case.id).split("/")[0]
        if f"{case.file}::{name}" in check.twisted or (not case.file and _is_named(check, name)):
            yield case


def _is_named(check: CheckFacts, name: str) -> bool:
    return any(each.endswith(f"::{name}") for each in check.twisted)


def _was_green(check: CheckFacts, case: Case) -> bool:
    own = check.own.report.by_id.get(case.id) if check.own.report else None
    return own is not None and own.status == "passed"


def _is_changed(facts: Facts, case: Case) -> bool:
    """Whether the work added or edited this test."""
    for change in facts.changes:
        if change.path == case.file and change.after is not None:
            return text_of_test(change.after, case.id) != text_of_test(change.before or "", case.id)
    return False
