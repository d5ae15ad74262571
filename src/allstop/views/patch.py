"""Git patches: a parser into files and numbered lines."""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

_FILE = "diff --git "
_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)")


class LineKind(StrEnum):
    SAME = " "
    ADDED = "+"
    REMOVED = "-"
    HUNK = "@"


class PatchLine(NamedTuple):
    kind: LineKind
    text: str
    before: int = 0  # its number before the change; 0: it was not there
    after: int = 0


class PatchFile(NamedTuple):
    path: str
    text: str  # its part of the patch
    lines: tuple[PatchLine, ...]


def patch_files(patch: str) -> list[PatchFile]:
    parts = ("\n" + patch.rstrip("\n")).split("\n" + _FILE)[1:]
    return [PatchFile(_path(part), _FILE + part, tuple(_lines(part))) for part in parts]


def _path(part: str) -> str:
    head, *rest = part.split("\n")
    for line in rest:
        if line.startswith("@@ "):
            break
        for front in ("+++ b/", "rename to "):
            if line.startswith(front):
                return line.removeprefix(front).rstrip("\t")
        if line.startswith("--- a/") and "+++ /dev/null" in rest:
            return line.removeprefix("--- a/").rstrip("\t")
    return head[len(head) // 2 + 1 :].removeprefix("b/")


def _lines(part: str) -> Iterator[PatchLine]:
    before = after = 0
    is_within = False
    for line in part.split("\n"):
        if hunk := _HUNK.match(line):
            before, after, is_within = int(hunk[1]), int(hunk[2]), True
            yield PatchLine(LineKind.HUNK, hunk[3])
        elif not is_within:
            continue
        elif line.startswith("+"):
            yield PatchLine(LineKind.ADDED, line[1:], 0, after)
            after += 1
        elif line.startswith("-"):
            yield PatchLine(LineKind.REMOVED, line[1:], before, 0)
            before += 1
        elif line.startswith(" "):
            yield PatchLine(LineKind.SAME, line[1:], before, after)
            before, after = before + 1, after + 1


def side_by_side(
    lines: tuple[PatchLine, ...],
) -> Iterator[tuple[PatchLine | None, PatchLine | None]]:
    """Pairs of lines: removed ones on the left of those that replace them."""
    removed: list[PatchLine] = []
    added: list[PatchLine] = []
    for line in (*lines, PatchLine(LineKind.HUNK, "")):
        if line.kind is LineKind.REMOVED and not added:
            removed.append(line)
            continue
        if line.kind is LineKind.ADDED:
            added.append(line)
            continue
        for at in range(max(len(removed), len(added))):
            yield (
                removed[at] if at < len(removed) else None,
                added[at] if at < len(added) else None,
            )
        removed, added = [], []
        if line.kind is LineKind.REMOVED:
            removed.append(line)
        elif line.kind is LineKind.SAME or line.text:
            yield line, line
