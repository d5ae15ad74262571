"""Checks JSON values of a file; each error names the value's line and path."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from msgspec import Struct

from allstop.adapters.exchange import json_lines
from allstop.adapters.exchange.file_errors import ImportFileError
from allstop.adapters.exchange.task_items import clean
from allstop.core.text import one_line

MAX_NUMBER = 1_000_000_000
"""The largest number that any field of a task may have."""

_MISSING = object()


class Document(Struct, frozen=True, kw_only=True):
    """One JSON value of a file: the whole file, or one of its lines."""

    path: Path
    text: str
    value: object
    first_line: int = 1

    def error(self, value_path: json_lines.JsonPath, problem: str) -> ImportFileError:
        line = self.first_line - 1 + json_lines.line_of(self.text, value_path)
        shown = json_lines.format_path(value_path)
        return ImportFileError(self.path, line, f"{shown}: {problem}" if shown else problem)

    def entry(self, value_path: json_lines.JsonPath, value: object) -> Entry:
        if not isinstance(value, dict):
            raise self.error(value_path, f"expected an object, found {kind(value)}")
        return Entry(document=self, value_path=value_path, fields=value)

    def entries(self, value_path: json_lines.JsonPath, value: object) -> list[Entry]:
        """The entries of a list that must not be empty."""
        if not isinstance(value, list):
            raise self.error(value_path, f"expected a list, found {kind(value)}")
        if not value:
            raise self.error(value_path, "expected at least one task, found an empty list")
        return [self.entry((*value_path, at), one) for at, one in enumerate(value)]


class Entry(Struct, frozen=True, kw_only=True):
    """A JSON object; a field that is `null` counts as missing."""

    document: Document
    value_path: json_lines.JsonPath
    fields: dict[str, object]

    def error(self, key: str, expected: str) -> ImportFileError:
        return self._error((key,), expected, self.fields.get(key, _MISSING))

    def text(self, key: str) -> str:
        value = self.fields.get(key)
        if not isinstance(value, str) or not clean(value).strip():
            raise self.error(key, "a text")
        return self._reject_surrogates((key,), value)

    def optional_text(self, key: str) -> str:
        value = self.fields.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.error(key, "a text")
        return self._reject_surrogates((key,), value)

    def name(self, key: str) -> str:
        """A required text or whole number, as text."""
        return self._name((key,), self.fields.get(key, _MISSING))

    def names(self, key: str) -> tuple[str, ...]:
        """A list of texts or whole numbers, empty if missing."""
        values = self._list(key)
        return tuple(self._name((key, at), value) for at, value in enumerate(values))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, empty if missing."""
        found = []
        for at, value in enumerate(self._list(key)):
            if not isinstance(value, str):
                raise self._error((key, at), "a text", value)
            found.append(self._reject_surrogates((key, at), value))
        return tuple(found)

    def whole_number(self, key: str, least: int = -MAX_NUMBER) -> int | None:
        """A whole number, None if missing."""
        value = self.fields.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
            raise self.error(key, "a whole number")
        if not least <= value <= MAX_NUMBER:
            raise self.error(key, f"a whole number from {least} to {MAX_NUMBER}")
        return int(value)

    def number(self, key: str) -> float | None:
        """A number from 0, None if missing."""
        value = self.fields.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(key, "a number")
        if not 0 <= value <= MAX_NUMBER:
            raise self.error(key, f"a number from 0 to {MAX_NUMBER}")
        return value

    def flag(self, key: str) -> bool:
        """A boolean, False if missing."""
        value = self.fields.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.error(key, "true or false")
        return value is True

    def entry(self, key: str) -> Entry | None:
        value = self.fields.get(key)
        return None if value is None else self.document.entry((*self.value_path, key), value)

    def entries(self, key: str) -> list[Entry]:
        """A list of objects, empty if missing."""
        value_path = (*self.value_path, key)
        return [
            self.document.entry((*value_path, at), one) for at, one in enumerate(self._list(key))
        ]

    def has(self, *keys: str) -> bool:
        return all(self.fields.get(key) is not None for key in keys)

    def _list(self, key: str) -> list[object]:
        value = self.fields.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.error(key, "a list")
        return value

    def _name(self, value_path: json_lines.JsonPath, value: object) -> str:
        if isinstance(value, str) and value.strip():
            return self._reject_surrogates(value_path, value.strip())
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_NUMBER:
            return str(value)
        raise self._error(value_path, "a text or a whole number", value)

    def _reject_surrogates(self, value_path: json_lines.JsonPath, value: str) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            raise self._error(
                value_path, "a text", "half of a character", "half of a character"
            ) from None
        return value

    def _error(
        self, value_path: json_lines.JsonPath, expected: str, value: object, found: str = ""
    ) -> ImportFileError:
        problem = f"expected {expected}, found {found or kind(value)}"
        return self.document.error((*self.value_path, *value_path), problem)


def kind(value: object) -> str:
    """What a value is, for error messages."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return _number(value)
        case str():
            return "a text" if value.strip() else "an empty text"
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return "nothing"


def parse(path: Path, text: str, first_line: int = 1) -> Document:
    """Parse a text as one JSON value. Rejects duplicate keys, which would lose a value."""
    try:
        value = json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        problem = f"not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}, column {error.colno}"
        raise ImportFileError(path, first_line - 1 + error.lineno, problem) from None
    except RecursionError:
        raise ImportFileError(path, first_line, "not valid JSON: nested too deeply") from None
    except _DuplicateKeyError:
        key, line = json_lines.find_duplicate_key(text) or ("", 1)
        problem = f"expected each key once, found {json.dumps(one_line(key))} twice"
        raise ImportFileError(path, first_line - 1 + line, problem) from None
    except ValueError:
        word, line = json_lines.find_invalid_number(text)
        problem = f"not valid JSON: {one_line(word, 20)} is no number"
        raise ImportFileError(path, first_line - 1 + line, problem) from None
    return Document(path=path, text=text, value=value, first_line=first_line)


def describe(value: object) -> str:
    """What a JSON value is, with its first keys."""
    if isinstance(value, dict) and value:
        keys = ", ".join(json.dumps(one_line(key, 30)) for key in list(value)[:5])
        return f"an object with {keys}" + (", …" if len(value) > 5 else "")
    if isinstance(value, list | dict) and not value:
        return "an empty list" if isinstance(value, list) else "an empty object"
    return kind(value)


def sections(*parts: tuple[str, str | Sequence[str]]) -> str:
    """A body from texts and lists, each under its heading, if it has one."""
    shown = []
    for name, part in parts:
        text = part if isinstance(part, str) else "\n".join(f"- {one}" for one in part)
        text = text.strip("\n")
        if text.strip():
            shown.append(f"{name}:\n{text}" if name else text)
    return "\n\n".join(shown)


class _DuplicateKeyError(Exception):
    """An object has a duplicate key."""


def _unique_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _DuplicateKeyError
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _number(value: float) -> str:
    small = abs(value) <= MAX_NUMBER and (isinstance(value, int) or math.isfinite(value))
    return "a number" if small and value >= 0 else f"the number {one_line(str(value), 20)}"
