"""The lines of a Markdown file: headings, list items with their boxes, code and text."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_HEADING = re.compile(r" {0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_ITEM = re.compile(r"( *)(?:[-*+]|\d{1,9}[.)])\s+(?:\[(.)\](\*?)(?:\s+|$))?(.*)$")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_RULE = re.compile(r" {0,3}(?:[-*_] *){3,}$")


class MarkdownLine(NamedTuple):
    number: int
    text: str  # of a heading or an item without its marks
    raw: str
    level: int = 0  # of a heading
    indent: int = 0
    is_item: bool = False
    box: str = ""  # the character in the box of an item
    is_starred: bool = False  # a star follows the box
    is_code: bool = False  # within a code block, or one of its marks

    @property
    def is_ticked(self) -> bool:
        return self.box in ("x", "X")


def markdown_lines(text: str) -> Iterator[MarkdownLine]:
    """The lines with a meaning; not the front matter, comments and rules."""
    fence, is_comment, lines = "", False, text.split("\n")
    for number, raw in enumerate(lines[_front_matter(lines) :], _front_matter(lines) + 1):
        line = raw.expandtabs(4).rstrip()
        indent = len(line) - len(line.lstrip())
        mark = _FENCE.match(line)
        if fence or mark:
            yield MarkdownLine(number, line.strip(), line, indent=indent, is_code=True)
            is_end = mark is not None and mark[1].startswith(fence)
            fence = "" if fence and is_end else fence or (mark[1] if mark else "")
        elif is_comment or line.lstrip().startswith("<!--"):
            is_comment = "-->" not in line
        elif heading := _HEADING.match(line):
            yield MarkdownLine(number, heading[2], line, level=len(heading[1]))
        elif _RULE.match(line):
            continue
        elif item := _ITEM.match(line):
            yield MarkdownLine(
                number, item[4].strip(), line, indent=len(item[1]), is_item=True,
                box=item[2] or "", is_starred=bool(item[3]),
            )  # fmt: skip
        else:
            yield MarkdownLine(number, line.strip(), line, indent=indent)


def _front_matter(lines: list[str]) -> int:
    """The number of lines of the front matter, if the file begins with one."""
    if lines[0].strip() != "---" or "---" not in (line.strip() for line in lines[1:]):
        return 0
    return next(n for n, line in enumerate(lines[1:], 2) if line.strip() == "---")
