"""Tests in files of the product: examples in docs, tests in a vitest source, test modules of Rust."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import zip_longest

from allstop.gate.facts import ChangedFile, Report
from allstop.gate.path_kinds import is_test_material
from allstop.gate.syntax import closing

_IN_SOURCE = re.compile(r"^if \(import\.meta\.vitest\) \{", re.MULTILINE)
_RUST_DOC = re.compile(r"^[ \t]*//[/!].*\n", re.MULTILINE)
_FENCE = "```"


def with_docs_of_before(changes: Iterable[ChangedFile], target: Report) -> dict[str, str]:
    """The new files with the old tests, where those changed and the target runs them."""
    files = {case.file for case in target.cases}
    has_rust = any(case.id.startswith("doc-tests ") for case in target.cases)
    found: dict[str, str] = {}
    for each in changes:
        path = each.old_path or each.path
        if each.before is None or each.after is None or is_test_material(path):
            continue
        if path in files or (has_rust and path.endswith(".rs")):
            text = _with_tests(path, each.before, each.after)
            if text != each.after:
                found[each.path] = text
    return found


def _with_tests(path: str, before: str, after: str) -> str:
    if path.endswith(".py"):
        return _python(before, after)
    return _rust(before, after) if path.endswith(".rs") else _in_source(before, after)


# --- Python ---


def _python(before: str, after: str) -> str:
    """The new text with the old docstrings that have examples, by the name of what they are in."""
    old, new = _docstrings(before), _docstrings(after)
    source = after.encode()
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    both = [
        (old[name], new[name]) for name in old.keys() & new.keys() if old[name][1] != new[name][1]
    ]
    for (_, was), (node, _) in sorted(both, key=lambda pair: -pair[1][0].lineno):
        begin = lines[node.lineno - 1] + node.col_offset
        end = lines[(node.end_lineno or 1) - 1] + (node.end_col_offset or 0)
        if ">>>" in was:
            source = source[:begin] + was.encode() + source[end:]
    return source.decode()


def _docstrings(text: str) -> Mapping[str, tuple[ast.Expr, str]]:
    """By name, each docstring and its text in the source."""
    try:
        return dict(_inner(ast.parse(text), "", text))
    except (SyntaxError, ValueError, RecursionError):
        return {}


def _inner(node: ast.AST, name: str, text: str) -> Iterator[tuple[str, tuple[ast.Expr, str]]]:
    body = getattr(node, "body", None)
    if not isinstance(body, list):
        return
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        yield name, (first, ast.get_source_segment(text, first) or "")
    for each in body:
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _inner(each, f"{name}.{each.name}", text)


# --- Rust ---


def _rust(before: str, after: str) -> str:
    """The new text with the old docs that have examples, by the item below them."""
    old = {item: docs for item, docs, _, _ in _docs(before) if _FENCE in docs}
    for item, docs, begin, end in reversed(list(_docs(after))):
        was = old.get(item)
        if was is not None and was != docs:
            after = after[:begin] + was + after[end:]
    return after


def _docs(text: str) -> Iterator[tuple[str, str, int, int]]:
    """Each block of docs: the item below it, its text, and where it begins and ends."""
    begin = end = -1
    for line, after in zip_longest(_RUST_DOC.finditer(text), [*_RUST_DOC.finditer(text)][1:]):
        begin = line.start() if begin < 0 else begin
        end = line.end()
        if after is not None and after.start() == end:
            continue
        below = re.match(r"(?:\s*#\[.*\]\s*)*([^\n({]*)", text[end:])
        yield (below[1].strip() if below else ""), text[begin:end], begin, end
        begin = -1


# --- vitest ---


def _in_source(before: str, after: str) -> str:
    old, new = _block(before), _block(after)
    if old is None or new is None:
        return after
    return after[: new[0]] + before[old[0] : old[1]] + after[new[1] :]


def _block(text: str) -> tuple[int, int] | None:
    found = _IN_SOURCE.search(text)
    return (found.start(), closing(text, found.end())) if found else None


# --- test modules of Rust ---

_MODULE = re.compile(r"^[ \t]*#\[cfg\((?:test|all\(test[^]]*\))\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?mod\s+\w+\s*\{", re.MULTILINE)  # fmt: skip


def modules(text: str) -> tuple[str, ...]:
    """The test modules of a file, each whole."""
    return tuple(text[begin:end] for begin, end in _spans(text))


def without_modules(text: str) -> str:
    for begin, end in reversed(_spans(text)):
        text = text[:begin] + text[end:]
    return text


def spliced(product: str, tests: str) -> str:
    """One version of a file with the test modules of another one."""
    return "\n".join((without_modules(product).rstrip(), "", *modules(tests), ""))


def with_modules_of_before(changes: Iterable[ChangedFile]) -> dict[str, str]:
    """The new files with the old test modules, where those changed."""
    return {
        each.path: spliced(each.after, each.before)
        for each in changes
        if each.before is not None and each.after is not None and _differ(each)
    }


def with_tests_of_after(changes: Iterable[ChangedFile]) -> dict[str, str]:
    """The old files with the new test modules, where those changed."""
    return {
        each.old_path or each.path: spliced(each.before, each.after)
        for each in changes
        if each.before is not None and each.after is not None and _differ(each)
    }


def has_tests(change: ChangedFile) -> bool:
    return change.path.endswith(".rs") and bool(modules(change.after or ""))


def _differ(change: ChangedFile) -> bool:
    if not change.path.endswith(".rs") or is_test_material(change.path) or not change.is_readable:
        return False
    return modules(change.before or "") != modules(change.after or "")


def _spans(text: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for module in _MODULE.finditer(text):
        if not found or module.start() >= found[-1][1]:
            found.append((module.start(), closing(text, module.end())))
    return found
