"""Line numbers of the keys in a TOML text, which tomllib doesn't report."""

import re
from bisect import bisect_left
from collections.abc import Generator, Iterator, Mapping

from msgspec import Struct

from allstop.settings.key_path import KeyPath

_BASIC = r'"(?:\\.|[^"\\\n])*"'
_LITERAL = r"'[^'\n]*'"
_NAME = rf"(?:[A-Za-z0-9_-]+|{_BASIC}|{_LITERAL})"
_DOTTED = rf"{_NAME}(?:[ \t]*\.[ \t]*{_NAME})*"
_LONG_BASIC = r'"""(?:\\[\s\S]|[^\\])*?"{3,5}'
_LONG_LITERAL = r"'''[\s\S]*?'{3,5}"

_HEADER = re.compile(rf"(\[\[?)[ \t]*({_DOTTED})[ \t]*\][^\n]*")
_KEY = re.compile(rf"({_DOTTED})[ \t]*=")
_BETWEEN = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BLANKS = re.compile(r"[ \t\r]*")
_REST_OF_LINE = re.compile(r"[^\n]*")
_TOKEN = re.compile(
    rf"{_LONG_BASIC}|{_LONG_LITERAL}|{_BASIC}|{_LITERAL}|[^\[\]{{}},\n#\"']+|[\s\S]"
)


class KeyLine(Struct, frozen=True, kw_only=True):
    path: KeyPath
    line: int


def line_of(lines: Mapping[KeyPath, int], path: KeyPath) -> int:
    """The line of the key, or of the nearest table around it."""
    for length in range(len(path), 0, -1):
        if path[:length] in lines:
            return lines[path[:length]]
    return 1


def find_lines(text: str) -> dict[KeyPath, int]:
    """The first line of every table, key and list item."""
    lines: dict[KeyPath, int] = {}
    for key_line in key_lines(text):
        for length in range(1, len(key_line.path) + 1):
            lines.setdefault(key_line.path[:length], key_line.line)
    return lines


def first_duplicate(text: str) -> tuple[KeyLine, KeyLine] | None:
    """The first and second line of the first key or table that occurs twice."""
    first: dict[KeyPath, KeyLine] = {}
    for key_line in key_lines(text):
        if key_line.path in first:
            return first[key_line.path], key_line
        first[key_line.path] = key_line
    return None


def key_lines(text: str) -> Iterator[KeyLine]:
    """Tables, keys and list items in order; invalid lines are skipped."""
    newlines = [found.start() for found in re.finditer("\n", text)]
    for statement in statements(text):
        for path, position in ((statement.path, statement.start), *statement.inner):
            yield KeyLine(path=path, line=bisect_left(newlines, position) + 1)


PathPosition = tuple[KeyPath, int]


class Statement(Struct, frozen=True, kw_only=True):
    """A table header, or a key with its value."""

    path: KeyPath
    table: KeyPath
    """The table that the statement is in."""
    start: int
    value: int | None = None
    """Start of the value's text; None for a table header."""
    end: int
    """End of the statement; only a comment may follow on its line."""
    inner: tuple[PathPosition, ...] = ()


def statements(text: str) -> Iterator[Statement]:
    table: KeyPath = ()
    last_items: dict[KeyPath, int] = {}
    position = _end_of(_BETWEEN, text, 0)
    while position < len(text):
        if header := _HEADER.match(text, position):
            table = _table(header, last_items)
            yield Statement(path=table, table=table, start=position, end=header.end())
            position = header.end()
        elif key := _KEY.match(text, position):
            statement = _statement(text, key, table)
            yield statement
            position = statement.end
        else:
            position = _end_of(_REST_OF_LINE, text, position)
        position = _end_of(_BETWEEN, text, position)


def _statement(text: str, key: re.Match[str], table: KeyPath) -> Statement:
    path = table + _names(key[1])
    inner: list[PathPosition] = []
    values = _value(text, key.end(), path)
    while True:
        try:
            inner.append(next(values))
        except StopIteration as ended:
            return Statement(
                path=path,
                table=table,
                start=key.start(),
                value=key.end(),
                end=ended.value,
                inner=tuple(inner),
            )


def has_comment(value: str) -> bool:
    """Whether a value's text contains a comment."""
    return any(token[0] == "#" for token in _TOKEN.finditer(value))


class _Level(Struct, kw_only=True):
    """An array or inline table that is still open."""

    path: KeyPath
    is_array: bool
    item: int = 0
    expects_item: bool = True
    """Whether an item or key comes next."""


def _value(text: str, position: int, path: KeyPath) -> Generator[PathPosition, None, int]:
    """Yield the keys and items inside a value; return the end of its last line."""
    levels: list[_Level] = []
    while True:
        position = _end_of(_BETWEEN if levels else _BLANKS, text, position)
        if position >= len(text) or (not levels and text[position] in "\n#"):
            return position
        if levels and levels[-1].expects_item and text[position] not in ",]}":
            path, after = _begin(levels[-1], text, position)
            yield path, position
            position = after
        else:
            _step(levels, text[position], path)
            position = _end_of(_TOKEN, text, position)


def _begin(level: _Level, text: str, position: int) -> PathPosition:
    """The path of the item or key at this position, and the start of its value."""
    level.expects_item = False
    key = None if level.is_array else _KEY.match(text, position)
    if key is None:
        return (*level.path, level.item), position
    return level.path + _names(key[1]), key.end()


def _step(levels: list[_Level], character: str, path: KeyPath) -> None:
    if character in "[{":
        levels.append(_Level(path=path, is_array=character == "["))
    elif character in "]}" and levels:
        levels.pop()
    elif character == "," and levels:
        levels[-1].item += 1
        levels[-1].expects_item = True


def _table(header: re.Match[str], last_items: dict[KeyPath, int]) -> KeyPath:
    """The path of a table; arrays of tables on it are resolved to their last item."""
    names = _names(header[2])
    path: KeyPath = ()
    for name in names[:-1]:
        path = (*path, name)
        if path in last_items:
            path = (*path, last_items[path])
    path = (*path, names[-1])
    if header[1] == "[[":
        last_items[path] = last_items.get(path, -1) + 1
        return (*path, last_items[path])
    return path


def _names(dotted: str) -> tuple[str, ...]:
    if '"' not in dotted and "'" not in dotted:
        return tuple(name.strip() for name in dotted.split("."))
    return tuple(_unquoted(found[0]) for found in re.finditer(_NAME, dotted))


def _unquoted(name: str) -> str:
    if not name.startswith('"'):
        return name.strip("'")
    import tomllib

    try:
        return str(tomllib.loads(f"name = {name}")["name"])
    except ValueError:
        return name


def _end_of(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    return position if found is None else found.end()
