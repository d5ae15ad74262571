"""Parses a program's arguments by a spec of allowed options and operands, and finds mismatches.

In a spec `-l` is a flag, `-n=num` takes a value, `--arg=name+text` takes two, `--color[=text]` may
take one, and `-NUM` stands for -1, -20 and so on. Operands are kinds, too; a star after the last
one allows any number of them.
"""

import re
from collections.abc import Mapping
from enum import Enum, auto
from functools import cache

from msgspec import Struct

from allstop.policy.argument_kinds import kind_mismatch
from allstop.policy.paths import PathScope

MISSING_VALUE = "an option lacks its value"
MISSING_ARGUMENT = "it lacks an argument"


class ShortOptions(Enum):
    """How a program reads several letters after one dash."""

    BUNDLED = auto()
    """As flags, up to an option that takes the rest of the word as its value."""
    DETACHED = auto()
    """All as options, like tree: a value is the next word, unless it consists of digits."""
    WHOLE = auto()
    """As the first letter, like xxd: `-ps` is `-p`, and the next word is not a value."""


class ArgumentSpec(Struct, frozen=True, gc=False):
    options: str = ""
    letters: ShortOptions = ShortOptions.BUNDLED
    operands: str = "path*"
    least: int = 0
    needs: tuple[str, ...] = ()
    """One of these options is required."""
    instead: tuple[str, ...] = ()
    """One of these options replaces the first operand."""
    operands_need: tuple[str, ...] = ()
    """Operands are allowed only with one of these options."""
    options_first: bool = False
    """Whether a word with a dash after the first operand is an operand, too."""


class ParsedArguments(Struct, frozen=True, kw_only=True):
    """Arguments as the program reads them."""

    options: tuple[tuple[str, str], ...]
    """Each with its value, or ""."""
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


class _ArgumentParser:
    def __init__(self, spec: ArgumentSpec, where: PathScope) -> None:
        self._options = _options(spec.options)
        self._where = where
        self._spec = spec
        self._found: list[tuple[str, str]] = []
        self._operands: list[str] = []
        self._expected = ""
        """The kinds of the next values."""

    def parsed(self) -> ParsedArguments:
        """The result after `find_mismatch`."""
        return ParsedArguments(options=tuple(self._found), operands=tuple(self._operands))

    def find_mismatch(self, words: tuple[str, ...]) -> str:
        for place, word in enumerate(words):
            if self._expected:
                why = self._value(word)
            elif word == "--" and not (self._spec.options_first and self._operands):
                self._operands += words[place + 1 :]
                break
            elif word.startswith("-") and word != "-":
                why = self._option(word)
            else:
                why = ""
                self._operands.append(word)
            if why:
                return why
        return MISSING_VALUE if self._expected else self._end()

    def _option(self, word: str) -> str:
        if self._spec.options_first and self._operands:
            return f"{word} is one argument too many"
        return self._long(word) if word.startswith("--") else self._short(word)

    def _value(self, word: str) -> str:
        kind, _, self._expected = self._expected.partition("+")
        if word.startswith("-") and word != "-" and kind != "num":
            return f"{word} could be an option"
        self._found[-1] = (self._found[-1][0], word)
        return kind_mismatch(kind, word, self._where)

    def _long(self, word: str) -> str:
        options = self._options
        name, equals, value = word.partition("=")
        self._found.append((name, value))
        if equals and (kind := options.valued.get(name) or options.optional.get(name)):
            return kind_mismatch(kind, value, self._where)
        if not equals and name in options.valued:
            self._expected = options.valued[name]
            return ""
        known = not equals and (name in options.flags or name in options.optional)
        return "" if known else f"{name} is not on the list"

    def _short(self, word: str) -> str:
        options = self._options
        if options.has_number and word[1:].isascii() and word[1:].isdigit():
            return ""
        for place in range(1, len(word)):
            name, rest = f"-{word[place]}", word[place + 1 :]
            self._found.append((name, ""))
            if name in options.flags and rest and self._spec.letters is ShortOptions.WHOLE:
                return "" if word in options.flags else f"{word} is not on the list"
            if name in options.flags:
                continue
            if name in options.optional:
                self._found[-1] = (name, rest)
                return kind_mismatch(options.optional[name], rest, self._where) if rest else ""
            if name not in options.valued:
                return f"{name} is not on the list"
            if rest:
                return self._attached(name, rest)
            self._expected = options.valued[name]
            return ""
        return ""

    def _attached(self, name: str, value: str) -> str:
        kind = self._options.valued[name]
        if self._spec.letters is ShortOptions.DETACHED and not re.fullmatch("[0-9]+", value):
            return f"{name} takes its value from the next word"
        self._found[-1] = (name, value)
        return kind_mismatch(kind, value, self._where)

    def _end(self) -> str:
        spec, parsed = self._spec, self.parsed()
        if spec.needs and not parsed.has(*spec.needs):
            return f"allowed unasked only with {' or '.join(spec.needs)}"
        lacking = spec.operands_need and not parsed.has(*spec.operands_need)
        if self._operands and lacking:
            return f"{self._operands[0]} only with {' or '.join(spec.operands_need)}"
        kinds = spec.operands.split()
        if parsed.has(*spec.instead):
            kinds = kinds[1:]
        elif len(self._operands) < spec.least:
            return MISSING_ARGUMENT
        return self._of_operands(kinds)

    def _of_operands(self, kinds: list[str]) -> str:
        for place, operand in enumerate(self._operands):
            kind = kinds[min(place, len(kinds) - 1)] if kinds else ""
            if not kind or (place >= len(kinds) and not kind.endswith("*")):
                return f"{operand} is one argument too many"
            if why := kind_mismatch(kind.removesuffix("*"), operand, self._where):
                return why
        return ""


def mismatch(spec: ArgumentSpec, words: tuple[str, ...], where: PathScope) -> str:
    """Why the arguments don't fit the spec; "" if they do."""
    return _ArgumentParser(spec, where).find_mismatch(words)


def parse_arguments(
    spec: ArgumentSpec, words: tuple[str, ...], where: PathScope
) -> ParsedArguments:
    parser = _ArgumentParser(spec, where)
    parser.find_mismatch(words)
    return parser.parsed()
