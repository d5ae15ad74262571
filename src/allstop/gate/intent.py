"""A task's intent: which tests a person allows to change, and whether the task asks for a fix."""

import re
from collections.abc import Sequence

from allstop.gate.path_kinds import matches

_FIX = re.compile(
    r"\b(fix(es|ed)?|bug(s|fix)?|repair|regression|crash(es|ed)?|broken|wrong(ly)?|incorrect(ly)?"
    r"|fails?|failing|error when)\b",
    re.IGNORECASE,
)
_FIRST_CHARS = 500


def asks_for_fix(goal: str) -> bool:
    """Whether the task's text begins by asking for a fix."""
    return _FIX.search(goal[:_FIRST_CHARS]) is not None


def is_declared(may_change: Sequence[str], path: str, test: str = "") -> bool:
    """Whether a person allows this test, or all tests of this file, to change.

    An entry is a pattern of paths, the id of a test, or the name of a test.
    """
    name = _name(test)
    return any(
        matches(path, [entry.partition("::")[0]]) and _covers(entry, test)
        if "::" in entry
        else matches(path, [entry]) or entry in (test, name)
        for entry in may_change
        if entry.strip()
    )


def _covers(entry: str, test: str) -> bool:
    """`tests/test_a.py::TestX` covers all its tests, and `::test_x` all its parameters."""
    wanted = entry.partition("::")[2]
    inner = test.partition("::")[2] or test
    return inner == wanted or inner.startswith((f"{wanted}::", f"{wanted}["))


def _name(test: str) -> str:
    return test.rpartition("::")[2].partition("[")[0]
