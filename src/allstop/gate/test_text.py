"""The text of one test in a test file, and the names that product code defines."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from allstop.gate.facts import ChangedFile
from allstop.gate.path_kinds import is_code, is_test_material

_PARAMETERS = re.compile(r"\[.*\]$", re.DOTALL)
_DEFINITION = re.compile(
    r"^\s*(?:export\s+(?:default\s+)?)?(?:pub(?:\([a-z]+\))?\s+)?(?:async\s+|unsafe\s+|const\s+)*"
    r"(?:def|class|fn|struct|enum|trait|function\*?|interface|type|func(?:\s*\([^)]*\))?|let|var|const|static)"
    r"\s+(?P<name>[A-Za-z_$][\w$]*)|^(?P<constant>[A-Za-z_]\w*)\s*(?::[^=]+)?=(?!=)"
    r"|^\s*(?:module\.)?exports\.(?P<export>\w+)\s*="
    r"|^\s+(?:static\s+|async\s+|get\s+|set\s+)*(?!(?:if|for|while|switch|catch|with|function)\b)"
    r"(?P<method>[A-Za-z_$][\w$]*)\s*\([^()]*\)\s*\{",
    re.MULTILINE,
)
_TOKEN = re.compile(r"[A-Za-z_$][\w$]*|\S")
_WORD = re.compile(r"[A-Za-z_$][\w$]*")


def bare_name(test: str) -> str:
    """The last part of a test's id, without its parameters: `test_rounding`, `rounds down`."""
    return _PARAMETERS.sub("", re.split(r"::| > ", test)[-1])


def without_parameters(test: str) -> str:
    return _PARAMETERS.sub("", test)


@lru_cache(maxsize=4096)
def text_of_test(text: str, test: str) -> str:
    """The test's lines in a file, with decorators and comments right above; "" if it isn't found."""
    lines = text.splitlines()
    begin = _header(lines, test)
    if begin is None:
        return ""
    end = _end(lines, begin)
    while begin > 0 and re.match(r"\s*(@|#\[|//|#)", lines[begin - 1]):
        begin -= 1
    return "\n".join(lines[begin:end])


def _header(lines: list[str], test: str) -> int | None:
    parts = re.split(r"::| > ", without_parameters(test))
    name = parts[-1].split("/")[0]  # a row of a table in Go has the name of its test
    forms = re.compile(
        rf"^\s*(?:async\s+)?(?:pub\s+)?(?:def|func|fn)\s+{re.escape(name)}\b"
        rf"|\b(?:it|test|specify)(?:\.\w+)*(?:\([^'\"`]*\))?\(\s*(['\"`]){re.escape(name)}\1"
    )
    start = 0
    for group in parts[1:-1]:  # the class around it, or the group
        named = re.compile(
            rf"^\s*class\s+{re.escape(group)}\b|\b(?:describe|suite)\b.*{re.escape(group)}"
        )
        start = next((n for n in range(start, len(lines)) if named.search(lines[n])), start)
    found = [n for n, line in enumerate(lines) if forms.search(line)]
    return next((n for n in found if n >= start), found[0] if found else None)


def _end(lines: list[str], begin: int) -> int:
    """The line behind a block: by its indentation, with the line that closes it."""
    indent = _indent(lines[begin])
    for number in range(begin + 1, len(lines)):
        line = lines[number]
        if line.strip() and _indent(line) <= indent:
            closes = line.strip()[0] in ")]}"
            if closes and line.rstrip().endswith((":", "{")):
                continue  # the end of arguments that go over several lines
            return number + closes
    return len(lines)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def definitions(text: str) -> frozenset[str]:
    return frozenset(
        name for found in _DEFINITION.finditer(text) for name in found.groups() if name is not None
    )


def removed_names(changes: Iterable[ChangedFile]) -> frozenset[str]:
    """The names that product code defined before the change, and nowhere after it."""
    before, after = _product_names(changes)
    return frozenset(name for name in before - after if len(name) > 2)


def lost_word(changes: Iterable[ChangedFile], message: str) -> str:
    """A word of a message that changed product code had, and has nowhere any more; "" if none."""
    before, after = set[str](), set[str]()
    for each in changes:
        if is_product(each.path):
            before |= names_in(each.before or "")
            after |= names_in(each.after or "")
    return next(mentions(message, sorted(before - after)), "")


def adds_names(changes: Iterable[ChangedFile]) -> bool:
    """Whether product code defines names that it did not define before the change."""
    before, after = _product_names(changes)
    return bool(after - before)


def is_only_renamed(change: ChangedFile | None, changes: Iterable[ChangedFile]) -> bool:
    """Whether a file differs only by new names for names that the product no longer has."""
    if change is None or not change.before or not change.after:
        return False
    before, after = _product_names(changes)
    old, new = (_TOKEN.findall(text) for text in (change.before, change.after))
    pairs = {(a, b) for a, b in zip(old, new, strict=False) if a != b}
    names = dict(pairs)
    return (
        len(old) == len(new)
        and len(names) == len(pairs) == len(set(names.values()))
        and all(a in before - after and b in after - before for a, b in pairs)
    )


def _product_names(changes: Iterable[ChangedFile]) -> tuple[set[str], set[str]]:
    """The names of definitions and modules, before and after."""
    before, after = set[str](), set[str]()
    for each in changes:
        if is_product(each.path):
            for text, path, names in (
                (each.before, each.old_path or each.path, before),
                (each.after, each.path, after),
            ):
                if text is not None:
                    names |= {*definitions(text), path.rpartition("/")[2].partition(".")[0]}
    return before, after


def is_product(path: str) -> bool:
    return is_code(path) and not is_test_material(path) and not path.endswith("conftest.py")


def names_in(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))


def mentions(text: str, names: Iterable[str]) -> Iterator[str]:
    """Those names that the text mentions as words of their own."""
    words = names_in(text)
    return (name for name in names if name in words)
