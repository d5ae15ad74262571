"""Reading what an agent said: the signals of a task."""

from __future__ import annotations

import re
from enum import StrEnum

from msgspec import Struct


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


def _last_line(message: str) -> str:
    stripped = message.rstrip()
    return stripped[stripped.rfind("\n") + 1 :].strip()
