"""Two versions of a text, line by line beside each other."""

from difflib import SequenceMatcher
from itertools import zip_longest

from msgspec import Struct

MOST_LINES = 60
LINE_CHARS = 300


class LinePair(Struct, frozen=True, gc=False, kw_only=True):
    """A line of the old text and the one beside it; null where a text has none there."""

    old: str | None
    new: str | None


def line_pairs(old: str, new: str) -> tuple[LinePair, ...]:
    """The lines of both texts; long texts are cut, and their lines, too."""
    before, after = _lines(old), _lines(new)
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    found: list[LinePair] = []
    for _, old_from, old_to, new_from, new_to in matcher.get_opcodes():
        pairs = zip_longest(before[old_from:old_to], after[new_from:new_to])
        found += [LinePair(old=left, new=right) for left, right in pairs]
    return tuple(found)


def _lines(text: str) -> list[str]:
    lines = text.strip("\n").splitlines() if text.strip() else []
    cut = [line[:LINE_CHARS] for line in lines[:MOST_LINES]]
    return [*cut, f"… {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else cut
