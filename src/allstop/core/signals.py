"""Parses the signals in an agent's message: COMPLETE, BLOCKED, PENDING, PROGRESS."""

import re
from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from allstop.core.text import last_line


class Signal(StrEnum):
    NONE = "none"
    COMPLETE = "complete"
    BLOCKED = "blocked"
    PENDING = "pending"
    PROGRESS = "progress"


class SignalClaim(Struct, frozen=True, gc=False, kw_only=True):
    signal: Signal
    text: str = ""  # the reason, the question, or the progress


_PROMISE = re.compile(
    r"<promise>\s*(?:(COMPLETE)|(BLOCKED|PENDING|PROGRESS)\s*:\s*"
    r"((?!</?promise>)\S(?:(?!</?promise>).)*?))\s*</promise>"  # exactly one complete tag
)
_NEAR_MISS = re.compile(r"COMPLETE[.!]?|(BLOCKED|PENDING|PROGRESS)\s*:.*|<promise>.*</promise>")
NO_CLAIM = SignalClaim(signal=Signal.NONE)


def read_signal(message: str) -> SignalClaim:
    """The signal of a final message. Only its last nonempty line counts."""
    last = _last_line(message)
    found = _PROMISE.fullmatch(last)
    if found is None:
        return NO_CLAIM
    complete, kind, text = found.groups()
    if complete:
        return SignalClaim(signal=Signal.COMPLETE)
    return SignalClaim(signal=Signal(kind.lower()), text=text)


def without_signal_line(message: str) -> str:
    """The message without its last line if that is a signal."""
    is_written = read_signal(message).signal is not Signal.NONE
    return message.rstrip().rpartition("\n")[0] if is_written else message


def last_line_with_hint(message: str) -> str:
    """The last line of a message without a signal, with the right format if it is a near miss."""
    words = last_line(message)
    if (meant := _NEAR_MISS.fullmatch(_last_line(message))) is None:
        return words
    signal = f"{meant[1]}: …" if meant[1] else "COMPLETE"
    return f"{words} (not a signal; the format is <promise>{signal}</promise>)"


def combined_claim(message: str, signals: Sequence[SignalClaim]) -> SignalClaim:
    """The agent's claim, from its final message and the signals of a tool.

    If they contradict each other, the claim is a question for a person.
    """
    written = read_signal(message)
    if not signals:
        return written
    counts = written.signal not in (Signal.NONE, Signal.PROGRESS)
    claims = [*signals, *([written] if counts else [])]
    kinds = list(dict.fromkeys(claim.signal for claim in claims))
    if len(kinds) == 1:
        return claims[-1]
    names = " and ".join(kind.upper() for kind in kinds)
    texts = "; ".join(claim.text for claim in claims if claim.text)
    question = f"it said {names}; which one holds?" + (f" ({texts})" if texts else "")
    return SignalClaim(signal=Signal.PENDING, text=question)


def _last_line(message: str) -> str:
    stripped = message.rstrip()
    return stripped[stripped.rfind("\n") + 1 :].strip()
