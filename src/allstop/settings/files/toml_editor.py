"""TOML editor: changes one setting in a file's text and keeps every other byte."""

import copy
import math
import re
import tomllib
from collections.abc import Sequence

from msgspec import json

from allstop.core.errors import AllstopError
from allstop.settings.files.toml_lines import Statement, has_comment, statements
from allstop.settings.key_path import Document, KeyPath, dotted, is_set, put, table_at, value_at

Names = tuple[str, ...]

_BLANKS = re.compile(r"[ \t]*")


class NotEditableError(AllstopError):
    """The editor can't change this setting safely; a person has to edit the file."""

    default_code = "setting_not_editable"


def with_value(text: str, path: Names, value: object) -> str:
    """The text with the value set. Raises NotEditableError if other content would be lost."""
    wanted = copy.deepcopy(tomllib.loads(text))
    try:
        put(wanted, path, value)
    except AssertionError:
        raise _not_editable(path, "a part of the key isn't a table in the file") from None
    return _checked(_put(text, path, wanted), path, wanted)


def without(text: str, path: Names) -> str:
    """The text without the key. Raises NotEditableError if other content would be lost."""
    wanted = copy.deepcopy(tomllib.loads(text))
    if not is_set(wanted, path):
        return text
    table_at(wanted, path[:-1]).pop(path[-1])
    return _checked(_removed(text, path, wanted), path, wanted)


def _checked(text: str, path: Names, wanted: Document) -> str:
    """Parse the edited text again and refuse it if it differs from the wanted document."""
    try:
        if _filled(tomllib.loads(text)) == _filled(wanted):
            return text
    except ValueError:
        pass
    raise _not_editable(path, "the editor can't change this notation")


def _filled(document: Document) -> Document:
    """The document without empty tables: removing a dotted key leaves none."""
    found: Document = {}
    for name, value in document.items():
        inner = _filled(value) if isinstance(value, dict) else value
        if inner != {}:
            found[name] = inner
    return found


def _not_editable(path: Names, why: str) -> NotEditableError:
    return NotEditableError(f"{dotted(path)}: {why}", "edit the file yourself")


# --- the edits ---


def _put(text: str, path: Names, wanted: Document) -> str:
    found = list(statements(text))
    if around := _around(found, path):
        return _replaced(text, around, path, toml(value_at(wanted, around.path)))
    if is_set(tomllib.loads(text), path):
        raise _not_editable(path, "it is written as separate tables")
    return _inserted(text, found, path, toml(value_at(wanted, path)))


def _removed(text: str, path: Names, wanted: Document) -> str:
    around = _around(list(statements(text)), path)
    if around is None:
        raise _not_editable(path, "it is written as separate tables")
    if around.path != path:
        return _replaced(text, around, path, toml(value_at(wanted, around.path)))
    _refuse_comments(text, around, path)
    start = text.rfind("\n", 0, around.start) + 1
    return text[:start] + text[_line_end(text, around.end) :]


def _around(found: Sequence[Statement], path: Names) -> Statement | None:
    """The statement of the key, or of the inline table that contains it."""
    return next(
        (
            each
            for each in found
            if each.value is not None and each.path and each.path == path[: len(each.path)]
        ),
        None,
    )


def _replaced(text: str, statement: Statement, path: Names, value: str) -> str:
    _refuse_comments(text, statement, path)
    start, end = _span(text, statement)
    return text[:start] + value + text[end:]


def _refuse_comments(text: str, statement: Statement, path: Names) -> None:
    start, end = _span(text, statement)
    if has_comment(text[start:end]):
        raise _not_editable(path, "its value contains comments")


def _span(text: str, statement: Statement) -> tuple[int, int]:
    """Start and end of the value without surrounding blanks."""
    assert statement.value is not None, "a table header has no value"
    blanks = _BLANKS.match(text, statement.value)
    start = blanks.end() if blanks else statement.value
    return start, start + len(text[start : statement.end].rstrip())


def _inserted(text: str, found: Sequence[Statement], path: Names, value: str) -> str:
    """Insert after the last key of the table, below its header, or in a new table at the end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    beside = [each for each in found if each.value is not None and each.path[:-1] == path[:-1]]
    heads = [each for each in found if each.value is None and each.path == path[:-1]]
    if not (beside or heads):
        key = f"[{dotted(path[:-1])}]{newline}{dotted(path[-1:])} = {value}{newline}"
        return _ended(text, newline) + (newline if text.strip() else "") + key
    after = beside[-1] if beside else heads[-1]
    end = _line_end(text, after.end)
    line = f"{_indent(text, after)}{dotted(path[len(after.table) :])} = {value}{newline}"
    return _ended(text[:end], newline) + line + text[end:]


def _indent(text: str, statement: Statement) -> str:
    before = text[text.rfind("\n", 0, statement.start) + 1 : statement.start]
    return before if not before.strip() else ""


def _line_end(text: str, position: int) -> int:
    """The position after the next newline."""
    found = text.find("\n", position)
    return len(text) if found == -1 else found + 1


def _ended(text: str, newline: str) -> str:
    return text if not text or text.endswith("\n") else text + newline


# --- values ---


def toml(value: object) -> str:
    """A value as TOML, on one line."""
    match value:
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case float() if math.isfinite(value):
            return repr(value)
        case str():
            return _escaped(json.encode(value).decode())
        case list() | tuple():
            return "[" + ", ".join(map(toml, value)) + "]"
        case dict():
            inner = ", ".join(f"{_name(name)} = {toml(each)}" for name, each in value.items())
            return f"{{ {inner} }}" if inner else "{}"
        case _:
            raise NotEditableError(
                "TOML can't express this value",
                "use a string, a number, a list or a table",
                code="setting_value_not_toml",
            )


def _name(name: object) -> str:
    path: KeyPath = (str(name),)
    return _escaped(dotted(path))


def _escaped(text: str) -> str:
    """TOML's basic strings equal JSON's except for DEL."""
    return text.replace("\x7f", "\\u007f")
