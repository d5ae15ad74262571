"""The intent of a task: which tests a person allows it to change, and whether it asks for a fix.

An entry is a path or a pattern of paths (`tests/test_prices.py`, `tests/golden/**`), the id of a test
(`tests/test_prices.py::test_rounding`, or only `test_rounding`), or "behaviour of NAME", which covers
each test that is named after NAME or whose text mentions it.
"""

import re
from collections.abc import Iterable, Sequence

from allstop.gate.path_kinds import matches

_BEHAVIOUR = re.compile(r"behaviou?r of\s+(?P<name>.+)", re.IGNORECASE)
_SEPARATORS = re.compile(r"::| > | \u203a ")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_PARAMETERS = re.compile(r"\[.*\]$|\(.*\)$", re.DOTALL)

_FIX = re.compile(
    r"\b(fix(es|ed)?|bug(s|fix)?|repair|regression|crash(es|ed)?|broken|wrong(ly)?|incorrect(ly)?"
    r"|fails?|failing|error when)\b",
    re.IGNORECASE,
)
_FIRST_CHARS = 500


def asks_for_fix(goal: str) -> bool:
    """Whether the task's text begins by asking for a fix."""
    return _FIX.search(goal[:_FIRST_CHARS]) is not None


def is_declared(
    may_change: Iterable[str], path: str = "", test: str = "", *, text: str = ""
) -> bool:
    """Whether a declaration covers a file, or a test of that file. `text` is the test's own text."""
    return any(_covers(entry.strip(), path, test, text) for entry in may_change if entry.strip())


def _covers(entry: str, path: str, test: str, text: str) -> bool:
    if behaviour := _BEHAVIOUR.fullmatch(entry):
        return _mentions(behaviour["name"], path, test, text)
    file, *names = _SEPARATORS.split(entry)
    if not names:
        return (bool(path) and matches(path, [entry])) or _is_named(test, [entry])
    return _is_named(test, names) and (not path or matches(path, [file]))


def _is_named(test: str, names: Sequence[str]) -> bool:
    """Whether the last parts of a test's id are these names, with any parameters."""
    if not test:
        return False
    parts = _SEPARATORS.split(test)
    parts[-1] = parts[-1] if _PARAMETERS.search(names[-1]) else _PARAMETERS.sub("", parts[-1])
    wanted = list(names)
    return parts[-len(wanted) :] == wanted or ".".join(parts).endswith("." + ".".join(wanted))


def _mentions(name: str, path: str, test: str, text: str) -> bool:
    wanted = _words(name)
    if not wanted:
        return False
    named = [_words(path), _words(test)]
    if any(_contains(words, wanted) for words in named):
        return True
    return re.search(rf"(?<!\w){re.escape(name.strip())}(?!\w)", text) is not None


def _words(name: str) -> list[str]:
    return [word.lower() for word in _PARTS.findall(name)]


def _contains(words: Sequence[str], wanted: Sequence[str]) -> bool:
    most = len(words) - len(wanted) + 1
    return any(list(words[at : at + len(wanted)]) == list(wanted) for at in range(most))
