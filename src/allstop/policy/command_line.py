"""A parsed command line: its commands and redirects, as far as they are literal."""

from __future__ import annotations

import re
import unicodedata

from msgspec import Struct

MAX_BYTES = 4096
MAX_COMMANDS = 20
MAX_WORDS = 400


class SimpleCommand(Struct, frozen=True, gc=False, kw_only=True):
    """One program with its arguments."""

    words: tuple[str, ...]
    after: str = ""
    """The operator between the previous command and this one: "|", "&&", "||" or ";"."""
    is_cut: bool = False
    """Further words are missing, because they are not literal."""
    script: CommandLine | None = None
    """What a shell is given to run, as in `bash -c SCRIPT`."""


class Redirect(Struct, frozen=True, gc=False, kw_only=True):
    operator: str
    target: str
    descriptor: str = ""


class CommandLine(Struct, frozen=True, gc=False, kw_only=True):
    commands: tuple[SimpleCommand, ...] = ()
    redirects: tuple[Redirect, ...] = ()
    why: str = ""
    """Why the line is not completely literal; `commands` has the part that is."""


def word_set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def line_from_words(words: tuple[str, ...]) -> CommandLine:
    """A program that is started without a shell."""
    if not words:
        return CommandLine(why="there is no command")
    why = unsafe_text_reason("\n".join(words)) or too_many_words(len(words))
    is_cut = len(words) > MAX_WORDS
    return CommandLine(commands=(SimpleCommand(words=words[:MAX_WORDS], is_cut=is_cut),), why=why)


def too_many_words(words: int) -> str:
    return f"more than {MAX_WORDS} words" if words > MAX_WORDS else ""


_LONG_SPACE = re.compile(r"[ \n]{64}")
_VISIBLE = ("L", "M", "N", "P", "S", "Zs")


def unsafe_text_reason(text: str) -> str:
    """Why a text is rejected unparsed: it is empty, too long, or could mislead a reader."""
    if not text.strip():
        return "there is no command"
    if len(text) > MAX_BYTES or len(text.encode("utf-8", "replace")) > MAX_BYTES:
        return f"longer than {MAX_BYTES} bytes"
    if _LONG_SPACE.search(text):
        return "long white space that hides the rest"
    for character in text:
        if character != "\n" and not " " <= character <= "~" and not _is_visible(character):
            return f"an invisible character: U+{ord(character):04X}"
    return ""


def _is_visible(character: str) -> bool:
    """Not for control, format, private and unassigned characters, and unusual spaces."""
    category = unicodedata.category(character)
    return category.startswith(_VISIBLE) and category != "Zs" and not _is_filler(character)


def _is_filler(character: str) -> bool:
    return character in "\u115f\u1160\u3164\uffa0\u2800\u034f" or (
        "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"
    )
