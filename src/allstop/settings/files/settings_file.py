"""Reads a settings file: from bytes to a document with line numbers."""

import os.path
import re
import stat
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from allstop.settings.files.toml_lines import find_lines, first_duplicate
from allstop.settings.key_path import Document, KeyPath, dotted

LARGEST_BYTES = 1_000_000
DEEPEST = 32

_POSITION = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_REPEATED = re.compile(r"overwrite a value|twice|[Dd]uplicate|immutable namespace")


class Text(Struct, frozen=True, kw_only=True):
    document: Document
    lines: Mapping[KeyPath, int]


class Unreadable(Struct, frozen=True, kw_only=True):
    """A file that can't be read or parsed."""

    line: int
    message: str
    key: str | None = None
    hint: str | None = None


class Missing(Struct, frozen=True, kw_only=True):
    """The file doesn't exist, which is no error."""


def read_file(path: Path) -> Text | Unreadable | Missing:
    """Read a regular file; refuse pipes and devices, which could block."""
    if not os.path.lexists(path):
        return Missing()
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return Unreadable(line=1, message="can't be read: not a regular file")
        with path.open("rb") as file:
            return parse(file.read(LARGEST_BYTES + 1))
    except OSError as error:
        return Unreadable(line=1, message=f"can't be read: {error.strerror}")


def parse(data: bytes) -> Text | Unreadable:
    if len(data) > LARGEST_BYTES:
        return Unreadable(line=1, message=f"larger than {LARGEST_BYTES:,} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return Unreadable(line=line, message="not UTF-8 text", hint="save the file as UTF-8")
    return _parse_text(text.removeprefix("\ufeff"))


def _parse_text(text: str) -> Text | Unreadable:
    import tomllib

    try:
        document = tomllib.loads(text)
    except RecursionError:
        return Unreadable(line=1, message="nested too deeply")
    except ValueError as error:
        return _syntax(text, str(error))
    if _is_deeper(document, DEEPEST):
        return Unreadable(line=1, message="nested too deeply")
    return Text(document=document, lines=find_lines(text))


def _syntax(text: str, message: str) -> Unreadable:
    found = _POSITION.search(message)
    line = int(found[1]) if found and found[1] else text.rstrip("\n").count("\n") + 1
    what = _POSITION.sub("", message)
    upto = "\n".join(text.split("\n")[:line])
    if _REPEATED.search(what) and (pair := first_duplicate(upto)):
        first, again = pair
        return Unreadable(
            line=again.line,
            key=dotted(again.path),
            message=f"duplicate; first set in line {first.line}",
        )
    return Unreadable(line=line, message=f"not valid TOML: {what[:1].lower()}{what[1:]}")


def _is_deeper(document: Document, depth: int) -> bool:
    """Iterative, because a deep document would exceed the recursion limit."""
    level: list[object] = [document]
    while level and depth:
        depth -= 1
        level = [inner for value in level for inner in _contents(value)]
    return bool(level)


def _contents(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
