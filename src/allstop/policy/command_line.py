"""A command line as words: what a shell would run, where that can be told without running it."""

from __future__ import annotations

import re
import unicodedata

from msgspec import Struct

LONGEST_BYTES = 4096
MOST_COMMANDS = 20
MOST_WORDS = 400


class Simple(Struct, frozen=True, gc=False, kw_only=True):
    """One program with its arguments."""

    words: tuple[str, ...]
    after: str = ""
    """What joins it to the command before it: "|", "&&", "||" or ";"."""
    is_cut: bool = False
    """Further words are not literal, so nobody knows them."""


class Redirect(Struct, frozen=True, gc=False, kw_only=True):
    operator: str
    target: str
    descriptor: str = ""


class Line(Struct, frozen=True, gc=False, kw_only=True):
    commands: tuple[Simple, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    why: str = ""
    """Why it is not literal through and through; what was understood of it is there all the same."""


def set_of(words: str) -> frozenset[str]:
    """Written as one text, as people read it."""
    return frozenset(words.split())


def of_words(words: tuple[str, ...]) -> Line:
    """A program that is started without a shell."""
    if not words:
        return Line(why="there is no command")
    why = unfit("\n".join(words)) or too_many(len(words))
    is_cut = len(words) > MOST_WORDS
    return Line(commands=(Simple(words=words[:MOST_WORDS], is_cut=is_cut),), why=why)


def too_many(words: int) -> str:
    return f"more than {MOST_WORDS} words" if words > MOST_WORDS else ""


_LONG_BLANK = re.compile(r"[ \n]{64}")
_SHOWN = ("L", "M", "N", "P", "S", "Zs")


def unfit(text: str) -> str:
    """Why this text is not even looked at: too long, or it can look like something else."""
    if not text.strip():
        return "there is no command"
    if len(text) > LONGEST_BYTES or len(text.encode("utf-8", "replace")) > LONGEST_BYTES:
        return f"longer than {LONGEST_BYTES} bytes"
    if _LONG_BLANK.search(text):
        return "a long blank that hides what follows"
    for character in text:
        if character != "\n" and not " " <= character <= "~" and not _is_shown(character):
            return f"a character that isn't seen: U+{ord(character):04X}"
    return ""


def _is_shown(character: str) -> bool:
    """Control, format, private and unassigned characters, and blanks that aren't blanks, are not."""
    category = unicodedata.category(character)
    return category.startswith(_SHOWN) and category != "Zs" and not _is_filler(character)


def _is_filler(character: str) -> bool:
    return character in "\u115f\u1160\u3164\uffa0\u2800\u034f" or (
        "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    )
