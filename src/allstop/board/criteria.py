"""Acceptance criteria in a task's text, and what an agent names in its message to show each."""

import re
from typing import NamedTuple

from msgspec import Struct

MAX_CRITERIA = 100
MAX_SHOWN = 20
"""How many files and tests an agent can name for one criterion."""

_HEADING = re.compile(r"#{1,6}\s|[^\W\d_][^\n]{0,60}:\s*$")
_CRITERIA = re.compile(
    r"(#{1,6}\s+)?\**acceptance( criteria| criterion)?\**\s*:?\**\s*", re.IGNORECASE
)
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?(\S.*)")
_BOX = re.compile(r"\s*[-*+]\s+\[[ xX]\]\s+(\S.*)")
_CLAIM = re.compile(
    r"[\s>*+-]*\**criterion\s+#?(\d{1,3})\**\s*[:=\u2013-]\**\s*(\S.*)", re.IGNORECASE
)
_NAME = re.compile(r"[^\s,;`'\"()]+")


class Named(Struct, frozen=True, gc=False, kw_only=True):
    """A file that shows a criterion, and a test in it."""

    file: str
    test: str = ""  # "": the file as a whole

    def __str__(self) -> str:
        return f"{self.file}::{self.test}" if self.test else self.file


class TaskText(NamedTuple):
    """A task's text, split into its acceptance criteria and the rest."""

    rest: str
    criteria: tuple[str, ...]


def split_criteria(text: str) -> TaskText:
    """The criteria are the items below a line "Acceptance criteria"; else all items with a box."""
    lines = text.splitlines()
    head = next((at for at, line in enumerate(lines) if _CRITERIA.fullmatch(line.strip())), None)
    if head is None:
        boxes = [box[1].strip() for line in lines if (box := _BOX.fullmatch(line))]
        rest = "\n".join(line for line in lines if not _BOX.fullmatch(line))
        return TaskText(rest.strip(), tuple(boxes[:MAX_CRITERIA]))
    found: list[str] = []
    end = head + 1
    for end, line in enumerate(lines[head + 1 :], start=head + 1):  # noqa: B007
        if item := _ITEM.fullmatch(line):
            found.append(item[1].strip())
        elif found and line.startswith((" ", "\t")) and line.strip():
            found[-1] = f"{found[-1]} {line.strip()}"
        elif line.strip() and (found or _HEADING.match(line)):
            break
        elif line.strip():
            found.append(line.strip())  # a criterion as a sentence
    else:
        end = len(lines)
    rest = "\n".join([*lines[:head], *lines[end:]])
    return TaskText(rest.strip(), tuple(found[:MAX_CRITERIA]))


def criteria_in(text: str) -> tuple[str, ...]:
    return split_criteria(text).criteria


def named_for(message: str) -> dict[int, tuple[Named, ...]]:
    """The files and tests that lines such as "Criterion 1: tests/test_a.py::test_b" name."""
    found: dict[int, tuple[Named, ...]] = {}
    for line in message.splitlines():
        if claim := _CLAIM.fullmatch(line):
            names = [_named(name) for name in _NAME.findall(claim[2]) if _is_file_like(name)]
            before = found.get(int(claim[1]), ())
            found[int(claim[1])] = tuple(dict.fromkeys([*before, *names]))[:MAX_SHOWN]
    return found


def files_in(criterion: str) -> tuple[str, ...]:
    """The words of a criterion that look like names of files."""
    return tuple(dict.fromkeys(_path(n) for n in _NAME.findall(criterion) if _is_file_like(n)))


def _named(name: str) -> Named:
    file, _, test = name.partition("::")
    return Named(file=_path(file), test=test.rpartition("::")[2].rstrip("."))


def _path(name: str) -> str:
    return name.removeprefix("./").rstrip(".:")


def _is_file_like(name: str) -> bool:
    file = _path(name.partition("::")[0])
    return (
        re.fullmatch(r"[\w@+./-]*[\w@+-]\.[A-Za-z]\w{0,9}|[\w@+.-]+(/[\w@+.-]+)+", file) is not None
    )
