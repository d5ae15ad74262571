"""Programs with exactly the options and arguments that are known to do no harm.

A shape is written as people read it: `-l` is a flag, `-n=num` takes a value, `--arg=name+text` takes
two, `--color[=text]` may take one, `-NUM` stands for -1, -20 and so on. Operands are kinds too; a
star after the last one means any number of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum, auto
from functools import cache

from msgspec import Struct

from allstop.policy.argument_kinds import unlike
from allstop.policy.paths import Where

NO_VALUE = "an option lacks its value"
NO_ARGUMENT = "it lacks an argument"


class Letters(Enum):
    """How a program reads a word of several letters after one dash."""

    BUNDLED = auto()
    """As flags, up to one that takes the rest of the word for its value."""
    DETACHED = auto()
    """As options all of them, like tree: a value is the next word, but for digits."""
    WHOLE = auto()
    """As the first of them, like xxd: `-ps` is `-p`, and its next word is not a value."""


class Shape(Struct, frozen=True, gc=False, kw_only=True):
    options: str = ""
    letters: Letters = Letters.BUNDLED
    operands: str = "path*"
    least: int = 0
    needs: tuple[str, ...] = ()
    """One of these options has to be given."""
    instead: tuple[str, ...] = ()
    """With one of these the first operand is not there."""
    operands_need: tuple[str, ...] = ()
    """Operands only together with one of these."""
    options_first: bool = False
    """Whether a word with a dash is an operand too once there was one."""


class Taken(Struct, frozen=True, kw_only=True):
    """Arguments as the program will take them."""

    options: tuple[tuple[str, str], ...]
    """Each with its value, or with none."""
    operands: tuple[str, ...]

    def has(self, *names: str) -> bool:
        return any(name in names for name, _ in self.options)

    def values(self, *names: str) -> list[str]:
        return [value for name, value in self.options if name in names]


class _Options(Struct, frozen=True, kw_only=True):
    flags: frozenset[str]
    valued: Mapping[str, str]
    optional: Mapping[str, str]
    has_number: bool


@cache
def _options(written: str) -> _Options:
    flags, valued, optional = set(), {}, {}
    for each in written.split():
        name, equals, kind = each.partition("=")
        if name.endswith("["):
            optional[name[:-1]] = kind.removesuffix("]")
        elif equals:
            valued[name] = kind
        else:
            flags.add(name)
    has_number = "-NUM" in flags
    return _Options(
        flags=frozenset(flags - {"-NUM"}), valued=valued, optional=optional, has_number=has_number
    )


class _Reading:
    def __init__(self, shape: Shape, where: Where) -> None:
        self._options = _options(shape.options)
        self._where = where
        self._shape = shape
        self._taken: list[tuple[str, str]] = []
        self._operands: list[str] = []
        self._awaited = ""
        """The kinds of values that are to come."""

    def taken(self) -> Taken:
        """After all words have been read."""
        return Taken(options=tuple(self._taken), operands=tuple(self._operands))

    def misfit(self, words: tuple[str, ...]) -> str:
        for place, word in enumerate(words):
            if self._awaited:
                why = self._value(word)
            elif word == "--" and not (self._shape.options_first and self._operands):
                self._operands += words[place + 1 :]
                break
            elif word.startswith("-") and word != "-":
                why = self._option(word)
            else:
                why = ""
                self._operands.append(word)
            if why:
                return why
        return NO_VALUE if self._awaited else self._end()

    def _option(self, word: str) -> str:
        if self._shape.options_first and self._operands:
            return f"{word} is one argument too many"
        return self._long(word) if word.startswith("--") else self._short(word)

    def _value(self, word: str) -> str:
        kind, _, self._awaited = self._awaited.partition("+")
        if word.startswith("-") and word != "-" and kind != "num":
            return f"{word} could be an option"
        self._taken[-1] = (self._taken[-1][0], word)
        return unlike(kind, word, self._where)

    def _long(self, word: str) -> str:
        options = self._options
        name, equals, value = word.partition("=")
        self._taken.append((name, value))
        if equals and (kind := options.valued.get(name) or options.optional.get(name)):
            return unlike(kind, value, self._where)
        if not equals and name in options.valued:
            self._awaited = options.valued[name]
            return ""
        known = not equals and (name in options.flags or name in options.optional)
        return "" if known else f"{name} is not on the list"

    def _short(self, word: str) -> str:
        options = self._options
        if options.has_number and word[1:].isascii() and word[1:].isdigit():
            return ""
        for place in range(1, len(word)):
            name, rest = f"-{word[place]}", word[place + 1 :]
            self._taken.append((name, ""))
            if name in options.flags and rest and self._shape.letters is Letters.WHOLE:
                return "" if word in options.flags else f"{word} is not on the list"
            if name in options.flags:
                continue
            if name in options.optional:
                self._taken[-1] = (name, rest)
                return unlike(options.optional[name], rest, self._where) if rest else ""
            if name not in options.valued:
                return f"{name} is not on the list"
            if rest:
                return self._attached(name, rest)
            self._awaited = options.valued[name]
            return ""
        return ""

    def _attached(self, name: str, value: str) -> str:
        kind = self._options.valued[name]
        if self._shape.letters is Letters.DETACHED and not re.fullmatch("[0-9]+", value):
            return f"{name} takes its value from the next word"
        self._taken[-1] = (name, value)
        return unlike(kind, value, self._where)

    def _end(self) -> str:
        shape, taken = self._shape, self.taken()
        if shape.needs and not taken.has(*shape.needs):
            return f"unasked only with {' or '.join(shape.needs)}"
        lacking = shape.operands_need and not taken.has(*shape.operands_need)
        if self._operands and lacking:
            return f"{self._operands[0]} only with {' or '.join(shape.operands_need)}"
        kinds = shape.operands.split()
        if taken.has(*shape.instead):
            kinds = kinds[1:]
        elif len(self._operands) < shape.least:
            return NO_ARGUMENT
        return self._of_operands(kinds)

    def _of_operands(self, kinds: list[str]) -> str:
        for place, operand in enumerate(self._operands):
            kind = kinds[min(place, len(kinds) - 1)] if kinds else ""
            if not kind or (place >= len(kinds) and not kind.endswith("*")):
                return f"{operand} is one argument too many"
            if why := unlike(kind.removesuffix("*"), operand, self._where):
                return why
        return ""


def misfit(shape: Shape, words: tuple[str, ...], where: Where) -> str:
    """What in these arguments is not on the list; nothing if all of it is."""
    return _Reading(shape, where).misfit(words)


def taken(shape: Shape, words: tuple[str, ...], where: Where) -> Taken:
    """Of words that fit the shape."""
    reading = _Reading(shape, where)
    reading.misfit(words)
    return reading.taken()
