"""The test modules that Rust keeps in the files of the product: taking them from another version."""

import re
from collections.abc import Iterable

from allstop.gate.braces import closing
from allstop.gate.facts import ChangedFile
from allstop.gate.path_kinds import is_test_material

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


def with_tests_of_before(changes: Iterable[ChangedFile]) -> dict[str, str]:
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
