"""Telling from the last words of a failed program that it was only at its limit.

This is for programs that have no typed way to say so, and only when they have failed: a reply
that merely talks about limits is not one.
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


def is_limited(last_words: str, more: Sequence[str] = ()) -> bool:
    return any(re.search(pattern, last_words, re.IGNORECASE) for pattern in (*PATTERNS, *more))
