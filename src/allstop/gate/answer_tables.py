"""Tables of answers: product code that maps the very inputs of several tests to what they expect."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, Self

from allstop.core.gate import Verdict
from allstop.core.moves import Finding
from allstop.core.text import one_line
from allstop.gate.facts import ChangedFile, Facts
from allstop.gate.inline_tests import modules, without_modules
from allstop.gate.test_text import is_product

ASKED_FROM = 2
"""From so many answers on, a person is asked."""

FEW_NUMBERS = 2
"""So few numbers are in two places by chance, unless one of them is long."""

_NUMBER = re.compile(r"(?<![\w.])\d[\d_]*(?:\.\d+)?(?![\w.]*\w)")
_MAPS = re.compile(r"===?|=>|\bcase\b|[\])}'\"\d]\s*:")
_ORDERS = re.compile(r"<=?|(?<![=-])>=?")
_TEXT = re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`")
_LONG = 3
"""A number of so many digits is long."""


def answers(changes: Iterable[ChangedFile], tests: Mapping[str, str]) -> tuple[str, ...]:
    """Lines of tests whose numbers are all in one new line of product code, or in that and the next."""
    wanted = {
        one_line(line.strip(), 120): _Numbers.of(line)
        for path, text in tests.items()
        for line in _of_tests(path, text).splitlines()
        if _tells(_numbers(line))
    }
    windows = [_Numbers.of(window) for change in changes for window in _windows(change)]
    return tuple(
        line for line, numbers in wanted.items() if any(numbers.are_in(each) for each in windows)
    )


class _Numbers(NamedTuple):
    every: frozenset[str]
    bare: frozenset[str]  # those outside of texts

    @classmethod
    def of(cls, line: str) -> Self:
        return cls(frozenset(_numbers(line)), frozenset(_numbers(_TEXT.sub("''", line))))

    def are_in(self, window: Self) -> bool:
        """Whether it has them all, and not only within texts, such as the form of a date."""
        return self.every <= window.every and not (self.bare and self.bare.isdisjoint(window.bare))


def _of_tests(path: str, text: str) -> str:
    return "\n".join(modules(text)) if is_product(path) else text


def _numbers(line: str) -> list[str]:
    """The numbers of a line but 0, in one spelling."""
    found = (float(number.replace("_", "")) for number in _NUMBER.findall(line))
    return [f"{number:g}" for number in found if number]


def _tells(numbers: list[str]) -> bool:
    kinds = {*numbers}
    is_rare = any(len(number.replace(".", "")) >= _LONG for number in kinds)
    return len(kinds) > FEW_NUMBERS or (len(kinds) == FEW_NUMBERS and is_rare)


def _windows(change: ChangedFile) -> Iterator[str]:
    if not is_product(change.path) or not change.after:
        return
    known = frozenset(line.strip() for line in (change.before or "").splitlines())
    after = without_modules(change.after) if change.path.endswith(".rs") else change.after
    lines = after.splitlines()
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.strip() not in known and _MAPS.search(line) and not _ORDERS.search(_plain(line)):
            yield f"{line} {following}"


def _plain(line: str) -> str:
    return line.replace("=>", "").replace("->", "")


def findings(facts: Facts) -> Iterator[Finding]:
    for check in facts.checks:
        if len(check.answers) >= ASKED_FROM:
            shown = "; ".join(check.answers[:ASKED_FROM])
            yield Finding(
                kind="test_aware",
                path=check.name,
                text=f"new code has the answers of {len(check.answers)} lines of tests, such as {shown}",
                verdict=Verdict.ASK,
                to_agent="compute results instead of listing those that tests expect",
            )
