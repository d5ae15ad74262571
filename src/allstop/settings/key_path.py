"""Key paths: the location of a value in a document, and its dotted notation."""

import re

from msgspec import DecodeError, json

KeyPath = tuple[str | int, ...]
"""Names of tables and keys; numbers are indexes of lists."""

Document = dict[str, object]
"""A parsed TOML file, or the values of another source in the same shape."""

_ABSENT = object()
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
    """The names of a dotted key; None if the text isn't a dotted key."""
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


def is_set(document: object, path: KeyPath) -> bool:
    return value_at(document, path, _ABSENT) is not _ABSENT


def table_at(document: object, path: KeyPath) -> Document:
    found = value_at(document, path)
    return found if isinstance(found, dict) else {}


def put(document: Document, path: tuple[str, ...], value: object) -> None:
    """Set a value in place and create missing tables."""
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
