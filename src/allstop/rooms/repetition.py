"""Repetition: detects that agents repeat themselves."""

import re
import zlib

REMEMBERED = 8
"""Number of latest messages that are compared."""

REPEATS = 3
COURTESIES = 4

_LOOKED_AT = 2000
_SHORT = 200  # characters; longer messages aren't mere courtesies
_PUNCTUATION = str.maketrans(dict.fromkeys(".,;:!?()[]{}\"'’`*_-+…", " "))
_COURTESY = re.compile(
    r"thank|welcome|glad|pleasure|great (?:work|job)|well done|looks? (?:good|great)|perfect"
    r"|agreed|happy to|nothing (?:more|else|further)|all done|good ?bye|cheers|have a (?:great|nice)"
)


def fingerprint(message: str) -> str:
    """A fingerprint that equal messages share; it starts with "+" for a mere courtesy."""
    if len(message) > _SHORT:
        front = message[:_LOOKED_AT].lower().encode(errors="replace")
        return f"{len(message)} {zlib.crc32(front)}"
    text = " ".join(message.lower().translate(_PUNCTUATION).split())
    return f"+{text}" if _COURTESY.search(text) is not None else text


def repetition_reason(prints: tuple[str, ...]) -> str:
    """Why the latest fingerprints (oldest first) show repetition; "" if they don't."""
    if not prints:
        return ""
    last = prints[-1]
    recent = prints[-COURTESIES:] if last.startswith("+") else ()
    if len(recent) == COURTESIES and all(each.startswith("+") for each in recent):
        return f"the last {COURTESIES} messages are only courtesies"
    times = prints.count(last)
    return f"the same message {times} times" if times >= REPEATS else ""
