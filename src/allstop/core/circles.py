"""Whether a talk goes in circles."""

from __future__ import annotations

import re

REMEMBERED = 8
"""How many of the latest messages are looked at."""

REPEATS = 3
COURTESIES = 4

_LOOKED_AT = 2000
_SHORT = 200  # characters; a message that only thanks is not long
_PUNCTUATION = str.maketrans(dict.fromkeys(".,;:!?()[]{}\"'’`*_-", " "))
_COURTESY = re.compile(
    r"thank|welcome|glad|pleasure|great (?:work|job)|well done|looks? (?:good|great)|perfect"
    r"|agreed|happy to|nothing (?:more|else|further)|all done|good ?bye|cheers|have a (?:great|nice)"
)


def fingerprint(message: str) -> str:
    """What two messages have in common that say the same; "+" where it is only politeness."""
    text = " ".join(message[:_LOOKED_AT].lower().translate(_PUNCTUATION).split())
    is_polite = len(message) <= _SHORT and _COURTESY.search(text) is not None
    return f"+{text}" if is_polite else text


def in_circles(prints: tuple[str, ...]) -> str:
    """Why it does, by the fingerprints of the latest messages, oldest first; "" if it does not."""
    last = prints[-COURTESIES:]
    if len(last) == COURTESIES and all(each.startswith("+") for each in last):
        return f"the last {COURTESIES} messages are only politeness"
    if prints and prints.count(prints[-1]) >= REPEATS:
        return f"the same was said {prints.count(prints[-1])} times"
    return ""
