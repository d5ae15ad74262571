"""The items of a Markdown text, each with its marks, its text, and what it is below."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import dedent

from allstop.adapters.exchange.checklist_item import MarkError, Marks, read_line, unescape
from allstop.adapters.exchange.file_errors import ImportFileError
from allstop.adapters.exchange.task_items import DEEPEST, clean

_BULLET = r"(?:[-*+]|\d{1,9}[.)])[ \t]+"
_ITEM = re.compile(rf"[ \t]*{_BULLET}\[(?P<box>.?)\](?:[ \t]+(?P<text>.*))?")
_SEEN = re.compile(rf"^[ \t]*{_BULLET}\[[ xX/~-]?\](?:[ \t]|$)", re.MULTILINE)
_LIKE_ITEM = re.compile(rf"([ \t]*)(\\*{_BULLET}\[.?\](?:[ \t]|$))")
_HEADING = re.compile(r" {0,3}(?P<level>#{1,6})(?:[ \t](?P<text>.*))?")
_UNDERLINE = re.compile(r" {0,3}(?:(?P<first>=+)|-{2,})[ \t]*")
_RULE = re.compile(r" {0,3}(?:-[ \t]*){3,}")
_FENCE = re.compile(r"[ \t]*(?P<sign>`{3,}(?=[^`]*$)|~{3,})")
_OPEN, _DONE, _CANCELLED = frozenset({"", " ", "/", "~"}), frozenset({"x", "X"}), "-"


def has_items(text: str) -> bool:
    return _SEEN.search(_plain_ends(text)) is not None


def read_items(path: Path, text: str) -> list[Node]:
    return _Reader(path).read(_plain_ends(text).split("\n"))


def hide(line: str) -> str:
    """A line of a text that would be taken for an item, so that it isn't."""
    found = _LIKE_ITEM.match(line)
    return f"{found[1]}\\{line[found.end(1) :]}" if found else line


def _show(line: str) -> str:
    found = _LIKE_ITEM.match(line)
    return f"{found[1]}{line[found.end(1) + 1 :]}" if found and found[2][0] == "\\" else line


def _plain_ends(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _width(line: str) -> int:
    """How far a line is indented."""
    start = line[: len(line) - len(line.lstrip(" \t"))]
    return len(start.expandtabs(4))


class Node:
    """An item while its file is read."""

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
        """Itself first, then what it is below."""
        node: Node | None = self
        while node:
            yield node
            node = node.parent

    def path(self) -> tuple[str, ...]:
        titles = [node.marks.title for node in self.lineage()]
        return (*self.headings, *reversed(titles))


class _Block:
    """A code block or a comment: nothing in it is an item."""

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
    """Takes the lines of a file one after the other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._found: list[Node] = []
        self._open: list[Node] = []  # the item a line belongs to is the last one
        self._headings: list[tuple[int, str]] = []
        self._block: _Block | None = None
        self._before = ""  # a line of plain text, which may turn out to be a heading

    def read(self, lines: Sequence[str]) -> list[Node]:
        start = _front_matter(lines)
        for number, line in enumerate(lines[start:], start + 1):
            self._take(number, line)
        block = self._block
        if block and block.owner is None:
            what = "comment" if block.end == "-->" else "code block"
            problem = f"expected an end of this {what}, found the end of the file"
            raise ImportFileError(self._path, block.line, problem)
        return self._found

    def _take(self, number: int, line: str) -> None:
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
            self._before = ""
        else:
            self._leave(_width(line))
            self._begin_block(number, line)
            self._keep(line)
            if not self._open and not self._block:
                self._plain(line)

    def _keep(self, line: str) -> None:
        if self._open:
            self._open[-1].body.append(_show(line))

    def _leave(self, indent: int) -> None:
        while self._open and self._open[-1].indent >= indent:
            self._open.pop()

    def _begin_block(self, number: int, line: str) -> None:
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
        self._leave(node.indent)
        if len(self._open) > DEEPEST:
            problem = f"expected at most {DEEPEST} levels of items, found more"
            raise ImportFileError(self._path, number, problem)
        node.parent = self._open[-1] if self._open else None
        node.headings = tuple(text for _, text in self._headings)
        self._found.append(node)
        self._open.append(node)
        self._before = ""

    def _plain(self, line: str) -> None:
        heading, underline = _HEADING.fullmatch(line), _UNDERLINE.fullmatch(line)
        if heading:
            self._head(len(heading["level"]), _without_end(heading["text"] or ""))
        elif underline and self._before:
            self._head(1 if underline["first"] else 2, self._before)
        elif _RULE.fullmatch(line):
            self._headings.clear()
            self._before = ""
        else:
            self._before = line.strip()

    def _head(self, level: int, text: str) -> None:
        self._headings = [one for one in self._headings if one[0] < level]
        self._headings.append((level, " ".join(unescape(clean(text)).split())))
        self._before = ""


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


def _without_end(text: str) -> str:
    """A heading's text without the signs that may stand behind it."""
    text = text.strip()
    rest = text.rstrip("#")
    return rest.rstrip() if not rest or rest[-1] in " \t" else text


def _front_matter(lines: Sequence[str]) -> int:
    """How many lines at the top are settings between two rules."""
    if lines[0].rstrip() != "---":
        return 0
    return next((at for at, line in enumerate(lines[1:], 2) if line.rstrip() == "---"), 0)
