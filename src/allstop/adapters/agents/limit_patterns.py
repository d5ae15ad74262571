"""Telling from the last words of a failed program that it was only at its limit.

This is for programs that have no typed way to say so, and only when they have failed: a reply
that merely talks about limits is not one. What is read is the end of what they say of errors,
and it must have the shape of an error: "I added a rate limit" has not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

PATTERNS = (
    r"rate[- ]limit",
    r"too many requests",
    r"(?:status|error|http|code)\D{0,12}\b(?:429|529)\b",
    r"\b(?:429|529)\b[ :]*(?:too many|overloaded|rate|error)",
    r"overloaded",
    r"quota[- ]?exceeded",
    r"(?:anthropic|openai)\b.*\brate\b",
    r"hit your (?:usage )?limit",
)
"""For the message of an error that was told as one."""

_FRONT = r"^(?:[\w ./-]{0,40}(?:error|exception|fatal|failed)\b\W{0,3}|[\w -]{0,20}: )?"
"""How a line begins that a program says of an error, not of its work."""

ERRORS = (
    _FRONT + r"\b(?:429|529)\b(?=\W*$|\W*\{|\W+(?:too many|rate|overloaded|error)\b)",
    r"\b(?:status|http|error)(?: code)?\W{0,4}(?:429|529)\b|\b429 too many requests\b|\(429\)",
    _FRONT + r"(?:\w+ ){0,2}rate[- ]limit(?:ed$|ed[:,.;(]| ?(?:was )?(?:exceeded|reached|hit))",
    r"\brate_limit_(?:error|exceeded)\b|\bRateLimitError\b",
    _FRONT + r"too many requests\b",
    r"\boverloaded_error\b",
    _FRONT
    + r"(?:the )?(?:server|service|model|api|engine)? ?(?:is )?(?:currently )?overloaded\W*$",
    _FRONT + r"(?:you(?:'ve| have)? )?exceeded your (?:current )?quota\b|\bquota[- ]?exceeded\b",
    _FRONT + r"(?:you(?:'ve| have)? )?(?:hit|reached) your (?:[\w-]+ ){0,3}limit\b",
    _FRONT
    + r"(?:claude (?:ai )?)?(?:(?:usage|rate|session|daily|weekly|monthly|\d+-hour) ){1,2}limit"
    + r" (?:was |has been )?(?:reached|exceeded)\b",
)
"""For lines of a program whose words and errors come by the same way."""

LAST_LINES = 3
LINE_CHARS = 500


def is_limited(message: str) -> bool:
    return any(re.search(pattern, message, re.IGNORECASE) for pattern in PATTERNS)


def limit_in(errors: str, words: str, more: Sequence[str] = ()) -> str:
    """The line that tells of a limit, of all that a failed program said; "" where none does.

    Its errors are looked at, and of its words only the last line, where it said nothing else.
    """
    lines = [line.strip()[:LINE_CHARS] for line in errors.splitlines() if line.strip()]
    if not lines:
        lines = [line.strip()[:LINE_CHARS] for line in words.splitlines() if line.strip()][-1:]
    for line in reversed(lines[-LAST_LINES:]):
        if any(re.search(pattern, line, re.IGNORECASE) for pattern in (*ERRORS, *more)):
            return line
    return ""
