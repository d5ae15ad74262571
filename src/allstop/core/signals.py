"""Reading what an agent said: the signals of a task."""

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


class Said(Struct, frozen=True, gc=False, kw_only=True):
    signal: Signal
    text: str = ""  # the reason, the question, or how far it is


_PROMISE = re.compile(
    r"<promise>\s*(?:(COMPLETE)|(BLOCKED|PENDING|PROGRESS)\s*:\s*"
    r"((?!</?promise>)\S(?:(?!</?promise>).)*?))\s*</promise>"  # one tag a line, and whole
)
_MEANT = re.compile(r"COMPLETE[.!]?|(BLOCKED|PENDING|PROGRESS)\s*:.*|<promise>.*</promise>")
NOTHING_SAID = Said(signal=Signal.NONE)


def read_signal(message: str) -> Said:
    """The signal of an agent's final message: its last line that isn't empty, and nothing else."""
    last = _last_line(message)
    found = _PROMISE.fullmatch(last)
    if found is None:
        return NOTHING_SAID
    complete, kind, text = found.groups()
    if complete:
        return Said(signal=Signal.COMPLETE)
    return Said(signal=Signal(kind.lower()), text=text)


def before_signal(message: str) -> str:
    """All of it, or what comes before the line that is the signal."""
    is_written = read_signal(message).signal is not Signal.NONE
    return message.rstrip().rpartition("\n")[0] if is_written else message


def last_words(message: str) -> str:
    """Of a message without a signal, with why it has none where somebody meant one."""
    words = last_line(message)
    if (meant := _MEANT.fullmatch(_last_line(message))) is None:
        return words
    signal = f"{meant[1]}: …" if meant[1] else "COMPLETE"
    return f"{words} (no signal: that is <promise>{signal}</promise>)"


def agreed(message: str, signals: Sequence[Said]) -> Said:
    """What an agent claims, by its final message and by signals of a tool.

    Claims that don't agree are a question for a person.
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
    return Said(signal=Signal.PENDING, text=question)


def _last_line(message: str) -> str:
    stripped = message.rstrip()
    return stripped[stripped.rfind("\n") + 1 :].strip()
