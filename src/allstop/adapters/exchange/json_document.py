"""JSON values that know where they are: each mistake is told with its line and its path."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from msgspec import Struct

from allstop.adapters.exchange.file_errors import ImportFileError
from allstop.adapters.exchange.json_lines import Where, dotted, find_no_number, find_twice, line_of
from allstop.adapters.exchange.task_items import clean
from allstop.core.text import one_line

MOST = 1_000_000_000
"""Larger numbers than this are a mistake, for any number that a task has."""

_NOTHING = object()


class Document(Struct, frozen=True, kw_only=True):
    """One JSON value of a file: the whole of it, or one of its lines."""

    path: Path
    text: str
    value: object
    first_line: int = 1

    def wrong(self, where: Where, problem: str) -> ImportFileError:
        line = self.first_line - 1 + line_of(self.text, where)
        shown = dotted(where)
        return ImportFileError(self.path, line, f"{shown}: {problem}" if shown else problem)

    def entry(self, where: Where, value: object) -> Entry:
        if not isinstance(value, dict):
            raise self.wrong(where, f"expected an object, found {kind(value)}")
        return Entry(document=self, where=where, fields=value)

    def entries(self, where: Where, value: object) -> list[Entry]:
        """A list that can't be empty: no tasks are never a success."""
        if not isinstance(value, list):
            raise self.wrong(where, f"expected a list, found {kind(value)}")
        if not value:
            raise self.wrong(where, "expected at least one task, found an empty list")
        return [self.entry((*where, at), one) for at, one in enumerate(value)]


class Entry(Struct, frozen=True, kw_only=True):
    """An object with its fields. `null` counts as a field that isn't there."""

    document: Document
    where: Where
    fields: dict[str, object]

    def wrong(self, key: str, expected: str) -> ImportFileError:
        return self._wrong((key,), expected, self.fields.get(key, _NOTHING))

    def text(self, key: str) -> str:
        """A text that must be there."""
        value = self.fields.get(key)
        if not isinstance(value, str) or not clean(value).strip():
            raise self.wrong(key, "a text")
        return self._whole_characters((key,), value)

    def words(self, key: str) -> str:
        """A text, empty where there is none."""
        value = self.fields.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise self.wrong(key, "a text")
        return self._whole_characters((key,), value)

    def name(self, key: str) -> str:
        """A text or a whole number that must be there, as text."""
        return self._name((key,), self.fields.get(key, _NOTHING))

    def names(self, key: str) -> tuple[str, ...]:
        """A list of texts or whole numbers, empty where there is none."""
        values = self._list(key)
        return tuple(self._name((key, at), value) for at, value in enumerate(values))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, empty where there is none."""
        found = []
        for at, value in enumerate(self._list(key)):
            if not isinstance(value, str):
                raise self._wrong((key, at), "a text", value)
            found.append(self._whole_characters((key, at), value))
        return tuple(found)

    def whole(self, key: str, least: int = -MOST) -> int | None:
        """A whole number, None where there is none."""
        value = self.fields.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
            raise self.wrong(key, "a whole number")
        if not least <= value <= MOST:
            raise self.wrong(key, f"a whole number from {least} to {MOST}")
        return int(value)

    def number(self, key: str) -> float | None:
        """A number that isn't negative, None where there is none."""
        value = self.fields.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.wrong(key, "a number")
        if not 0 <= value <= MOST:
            raise self.wrong(key, f"a number from 0 to {MOST}")
        return value

    def flag(self, key: str) -> bool:
        """True or false, false where there is none."""
        value = self.fields.get(key)
        if value is not None and not isinstance(value, bool):
            raise self.wrong(key, "true or false")
        return value is True

    def entry(self, key: str) -> Entry | None:
        value = self.fields.get(key)
        return None if value is None else self.document.entry((*self.where, key), value)

    def entries(self, key: str) -> list[Entry]:
        """A list of objects, empty where there is none."""
        where = (*self.where, key)
        return [self.document.entry((*where, at), one) for at, one in enumerate(self._list(key))]

    def has(self, *keys: str) -> bool:
        return all(self.fields.get(key) is not None for key in keys)

    def _list(self, key: str) -> list[object]:
        value = self.fields.get(key)
        if value is None:
            return []
        if not isinstance(value, list):
            raise self.wrong(key, "a list")
        return value

    def _name(self, where: Where, value: object) -> str:
        if isinstance(value, str) and value.strip():
            return self._whole_characters(where, value.strip())
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST:
            return str(value)
        raise self._wrong(where, "a text or a whole number", value)

    def _whole_characters(self, where: Where, value: str) -> str:
        try:
            value.encode()
        except UnicodeEncodeError:
            raise self._wrong(
                where, "a text", "half of a character", "half of a character"
            ) from None
        return value

    def _wrong(
        self, where: Where, expected: str, value: object, found: str = ""
    ) -> ImportFileError:
        problem = f"expected {expected}, found {found or kind(value)}"
        return self.document.wrong((*self.where, *where), problem)


def kind(value: object) -> str:
    """What a value is, in the words of a message."""
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
    """The text as one JSON value; keys given twice are refused, for one of them would be lost."""
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        problem = f"not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}, column {error.colno}"
        raise ImportFileError(path, first_line - 1 + error.lineno, problem) from None
    except RecursionError:
        raise ImportFileError(path, first_line, "not valid JSON: nested too deeply") from None
    except _TwiceError:
        key, line = find_twice(text) or ("", 1)
        problem = f"expected each key once, found {json.dumps(one_line(key))} twice"
        raise ImportFileError(path, first_line - 1 + line, problem) from None
    except ValueError:
        word, line = find_no_number(text)
        problem = f"not valid JSON: {one_line(word, 20)} is no number"
        raise ImportFileError(path, first_line - 1 + line, problem) from None
    return Document(path=path, text=text, value=value, first_line=first_line)


def describe(value: object) -> str:
    """What a JSON value is, with enough to recognise it by."""
    if isinstance(value, dict) and value:
        keys = ", ".join(json.dumps(one_line(key, 30)) for key in list(value)[:5])
        return f"an object with {keys}" + (", …" if len(value) > 5 else "")
    if isinstance(value, list | dict) and not value:
        return "an empty list" if isinstance(value, list) else "an empty object"
    return kind(value)


def sections(*parts: tuple[str, str | Sequence[str]]) -> str:
    """A body from texts and lists, each under its name; the nameless ones stand by themselves."""
    shown = []
    for name, part in parts:
        text = part if isinstance(part, str) else "\n".join(f"- {one}" for one in part)
        text = text.strip("\n")
        if text.strip():
            shown.append(f"{name}:\n{text}" if name else text)
    return "\n\n".join(shown)


class _TwiceError(Exception):
    """An object has a key twice."""


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _TwiceError
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _number(value: float) -> str:
    small = abs(value) <= MOST and (isinstance(value, int) or math.isfinite(value))
    return "a number" if small and value >= 0 else f"the number {one_line(str(value), 20)}"
