"""Whether a talk goes in circles."""

from __future__ import annotations

import re
import zlib

REMEMBERED = 8
"""How many of the latest messages are looked at."""

REPEATS = 3
COURTESIES = 4

_LOOKED_AT = 2000
_SHORT = 200  # characters; a message that only thanks is not long
_PUNCTUATION = str.maketrans(dict.fromkeys(".,;:!?()[]{}\"'’`*_-+…", " "))
_COURTESY = re.compile(
    r"thank|welcome|glad|pleasure|great (?:work|job)|well done|looks? (?:good|great)|perfect"
    r"|agreed|happy to|nothing (?:more|else|further)|all done|good ?bye|cheers|have a (?:great|nice)"
)


def fingerprint(message: str) -> str:
    """What two messages have in common that say the same; "+" where it is only politeness."""
    if len(message) > _SHORT:
        front = message[:_LOOKED_AT].lower().encode(errors="replace")
        return f"{len(message)} {zlib.crc32(front)}"
    text = " ".join(message.lower().translate(_PUNCTUATION).split())
    return f"+{text}" if _COURTESY.search(text) is not None else text


def in_circles(prints: tuple[str, ...]) -> str:
    """Why it does, by the fingerprints of the latest messages, oldest first; "" if it does not."""
    if not prints:
        return ""
    last = prints[-1]
    recent = prints[-COURTESIES:] if last.startswith("+") else ()
    if len(recent) == COURTESIES and all(each.startswith("+") for each in recent):
        return f"the last {COURTESIES} messages are only politeness"
    times = prints.count(last)
    return f"the same was said {times} times" if times >= REPEATS else ""
