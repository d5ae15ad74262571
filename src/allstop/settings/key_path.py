"""Where a value stands in a document: the way to it, and how people write that."""

from __future__ import annotations

import re

from msgspec import DecodeError, json

KeyPath = tuple[str | int, ...]
"""Names of tables and keys; numbers are places in a list."""

Document = dict[str, object]
"""A parsed TOML file, or what another source says in the same shape."""

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_PART = re.compile(r"""\s*(?:([A-Za-z0-9_-]+)|("(?:[^"\\]|\\.)*")|'([^']*)')\s*(\.|$)""")


def dotted(path: KeyPath) -> str:
    """agents.claude.model, approvals.rules[0].allow, prices."gpt-4.1".input_mtok"""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += ("." if text else "") + _quoted(part)
    return text


def split_dotted(text: str) -> tuple[str, ...] | None:
    """The names of a dotted key; None where it isn't one."""
    parts: list[str] = []
    position = 0
    while position < len(text):
        found = _PART.match(text, position)
        if found is None:
            return None
        bare, double, single, end = found.groups()
        parts.append(bare or single or _unquoted(double))
        position = found.end()
        if not end:
            return tuple(parts)
    return None


def value_at(document: object, path: KeyPath, missing: object = None) -> object:
    for part in path:
        match document, part:
            case dict(), _ if part in document:
                document = document[part]
            case list() | tuple(), int(place) if place < len(document):
                document = document[place]
            case _:
                return missing
    return document


def table_at(document: object, path: KeyPath) -> Document:
    """The table there; an empty one where there is none."""
    found = value_at(document, path)
    return found if isinstance(found, dict) else {}


def put(document: Document, path: tuple[str, ...], value: object) -> None:
    """Set a value in place, making the tables on the way to it."""
    for part in path[:-1]:
        inner = document.setdefault(part, {})
        assert isinstance(inner, dict)
        document = inner
    document[path[-1]] = value


def _unquoted(name: str | None) -> str:
    try:
        return json.decode(name or '""', type=str)
    except DecodeError:
        return name or ""


def _quoted(name: str) -> str:
    return name if _BARE.fullmatch(name) else json.encode(name).decode()
