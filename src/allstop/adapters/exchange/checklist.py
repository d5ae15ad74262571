"""Finds the checklist items of a Markdown text, with their marks, bodies and parents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import dedent

from allstop.adapters.exchange.checklist_item import MarkError, Marks, read_line, unescape
from allstop.adapters.exchange.file_errors import ImportFileError
from allstop.adapters.exchange.task_items import MAX_LEVELS, clean

_BULLET = r"(?:[-*+]|\d{1,9}[.)])[ \t]+"
_ITEM = re.compile(rf"[ \t]*{_BULLET}\[(?P<box>.?)\](?:[ \t]+(?P<text>.*))?")
_ANY_ITEM = re.compile(rf"^[ \t]*{_BULLET}\[[ xX/~-]?\](?:[ \t]|$)", re.MULTILINE)
_LIKE_ITEM = re.compile(rf"([ \t]*)(\\*{_BULLET}\[.?\](?:[ \t]|$))")
_HEADING = re.compile(r" {0,3}(?P<level>#{1,6})(?:[ \t](?P<text>.*))?")
_UNDERLINE = re.compile(r" {0,3}(?:(?P<first>=+)|-{2,})[ \t]*")
_RULE = re.compile(r" {0,3}(?:-[ \t]*){3,}")
_FENCE = re.compile(r"[ \t]*(?P<sign>`{3,}(?=[^`]*$)|~{3,})")
_OPEN, _DONE, _CANCELLED = frozenset({"", " ", "/", "~"}), frozenset({"x", "X"}), "-"


def has_items(text: str) -> bool:
    return _ANY_ITEM.search(_unix_newlines(text)) is not None


def read_items(path: Path, text: str) -> list[Node]:
    return _Reader(path).read(_unix_newlines(text).split("\n"))


def escape_item(line: str) -> str:
    """Escape a body line that looks like an item."""
    found = _LIKE_ITEM.match(line)
    return f"{found[1]}\\{line[found.end(1) :]}" if found else line


def _unescape_item(line: str) -> str:
    found = _LIKE_ITEM.match(line)
    return f"{found[1]}{line[found.end(1) + 1 :]}" if found and found[2][0] == "\\" else line


def _unix_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _width(line: str) -> int:
    start = line[: len(line) - len(line.lstrip(" \t"))]
    return len(start.expandtabs(4))


class Node:
    def __init__(self, line: int, indent: int, box: str, marks: Marks) -> None:
        self.line = line
        self.indent = indent
        self.box = box
        self.marks = marks
        self.parent: Node | None = None
        self.headings: tuple[str, ...] = ()
        self.body: list[str] = []

    @property
    def is_cancelled(self) -> bool:
        return self.box == _CANCELLED

    @property
    def is_done(self) -> bool:
        return self.box in _DONE or self.is_cancelled

    @property
    def text(self) -> str:
        return dedent("\n".join(self.body)).strip("\n")

    def lineage(self) -> Iterator[Node]:
        """The item, its parent, and so on upwards."""
        node: Node | None = self
        while node:
            yield node
            node = node.parent

    def path(self) -> tuple[str, ...]:
        titles = [node.marks.title for node in self.lineage()]
        return (*self.headings, *reversed(titles))


class _Block:
    """A code block or a comment, in which lines are not items."""

    def __init__(self, end: str, owner: Node | None, line: int) -> None:
        self.end = end
        self.owner = owner
        self.line = line

    def holds(self, line: str) -> bool:
        return self.owner is None or not line.strip() or _width(line) > self.owner.indent

    def ends_with(self, line: str) -> bool:
        if self.end == "-->":
            return "-->" in line
        text = line.strip()
        return len(text) >= len(self.end) and set(text) == {self.end[0]}


class _Reader:
    """Reads a file line by line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: list[Node] = []
        self._open: list[Node] = []  # the innermost last; a line belongs to it
        self._headings: list[tuple[int, str]] = []
        self._block: _Block | None = None
        self._last_text = ""  # becomes a heading if an underline follows

    def read(self, lines: Sequence[str]) -> list[Node]:
        start = _front_matter(lines)
        for number, line in enumerate(lines[start:], start + 1):
            self._read_line(number, line)
        block = self._block
        if block and block.owner is None:
            what = "comment" if block.end == "-->" else "code block"
            problem = f"expected an end of this {what}, found the end of the file"
            raise ImportFileError(self._path, block.line, problem)
        return self._found

    def _read_line(self, number: int, line: str) -> None:
        if self._block and self._block.holds(line):
            self._keep(line)
            if self._block.ends_with(line):
                self._block = None
            return
        self._block = None
        item = _ITEM.fullmatch(line)
        if item:
            self._item(number, line, item)
        elif not line.strip():
            self._keep("")
            self._last_text = ""
        else:
            self._close_items(_width(line))
            self._start_block(number, line)
            self._keep(line)
            if not self._open and not self._block:
                self._plain(line)

    def _keep(self, line: str) -> None:
        if self._open:
            self._open[-1].body.append(_unescape_item(line))

    def _close_items(self, indent: int) -> None:
        while self._open and self._open[-1].indent >= indent:
            self._open.pop()

    def _start_block(self, number: int, line: str) -> None:
        owner = self._open[-1] if self._open else None
        fence = _FENCE.match(line)
        if fence:
            self._block = _Block(fence["sign"], owner, number)
        elif line.lstrip().startswith("<!--") and "-->" not in line:
            self._block = _Block("-->", owner, number)

    def _item(self, number: int, line: str, found: re.Match[str]) -> None:
        try:
            node = Node(number, _width(line), _box(found), _marks(found))
        except MarkError as error:
            raise ImportFileError(self._path, number, str(error)) from None
        self._close_items(node.indent)
        if len(self._open) > MAX_LEVELS:
            problem = f"expected at most {MAX_LEVELS} levels of items, found more"
            raise ImportFileError(self._path, number, problem)
        node.parent = self._open[-1] if self._open else None
        node.headings = tuple(text for _, text in self._headings)
        self._found.append(node)
        self._open.append(node)
        self._last_text = ""

    def _plain(self, line: str) -> None:
        heading, underline = _HEADING.fullmatch(line), _UNDERLINE.fullmatch(line)
        if heading:
            self._add_heading(len(heading["level"]), _strip_closing(heading["text"] or ""))
        elif underline and self._last_text:
            self._add_heading(1 if underline["first"] else 2, self._last_text)
        elif _RULE.fullmatch(line):
            self._headings.clear()
            self._last_text = ""
        else:
            self._last_text = line.strip()

    def _add_heading(self, level: int, text: str) -> None:
        self._headings = [one for one in self._headings if one[0] < level]
        self._headings.append((level, " ".join(unescape(clean(text)).split())))
        self._last_text = ""


def _box(found: re.Match[str]) -> str:
    box = found["box"]
    if box not in _OPEN | _DONE | {_CANCELLED}:
        raise MarkError(f'expected "[ ]" or "[x]", found "[{clean(box)}]"')
    return box


def _marks(found: re.Match[str]) -> Marks:
    text = clean(found["text"] or "")
    if not text.strip():
        raise MarkError("expected a title, found nothing")
    return read_line(text)


def _strip_closing(text: str) -> str:
    """A heading's text without the closing # signs."""
    text = text.strip()
    rest = text.rstrip("#")
    return rest.rstrip() if not rest or rest[-1] in " \t" else text


def _front_matter(lines: Sequence[str]) -> int:
    """The number of lines of front matter."""
    if lines[0].rstrip() != "---":
        return 0
    return next((at for at, line in enumerate(lines[1:], 2) if line.rstrip() == "---"), 0)
