"""Which labels are frozen: the last word that covers a label counts."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, TypeAlias


class Say(Enum):
    FREEZE = "freeze"
    THAW = "thaw"


class Said(NamedTuple):
    label: str
    say: Say


Words: TypeAlias = tuple[Said, ...]


def covers(label: str, other: str) -> bool:
    """A label covers itself and everything below it; the empty one covers all."""
    return not label or other == label or other.startswith(f"{label}/")


def with_word(words: Words, said: Said) -> Words:
    kept = tuple(word for word in words if not covers(said.label, word.label))
    if is_frozen(kept, said.label) is (said.say is Say.FREEZE):
        return kept
    return (*kept, said)


def is_frozen(words: Words, label: str) -> bool:
    return next(
        (word.say is Say.FREEZE for word in reversed(words) if covers(word.label, label)), False
    )
