"""What a person can tell a run."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from allstop.core.brakes import Limits


class _Command(
    Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True, tag_field="command", tag=True
):
    pass


class Say(_Command, frozen=True, tag="say"):
    text: str


class Pause(_Command, frozen=True, tag="pause"):
    """No new move; the current one ends in peace."""


class Resume(_Command, frozen=True, tag="resume"):
    """Lifts a pause, a freeze and an Allstop."""


class Freeze(_Command, frozen=True, tag="freeze"):
    """Processes stop where they are."""


class Thaw(_Command, frozen=True, tag="thaw"):
    pass


class Allstop(_Command, frozen=True, tag="allstop"):
    """Everything ends now."""


class Abort(_Command, frozen=True, tag="abort"):
    """Ends the run for good; what it made is kept."""


class Retry(_Command, frozen=True, tag="retry"):
    pass


class Skip(_Command, frozen=True, tag="skip"):
    pass


class Answer(_Command, frozen=True, tag="answer"):
    """What an agent wanted to know."""

    text: str


class Permit(_Command, frozen=True, tag="permit"):
    """Whether an agent may do what it asked to do."""

    ask: str
    allow: bool


class Raise(_Command, frozen=True, tag="raise"):
    """New limits, in place of the ones the run was opened with."""

    limits: Limits


Command: TypeAlias = (
    Say | Pause | Resume | Freeze | Thaw | Allstop | Abort | Retry | Skip | Answer | Permit | Raise
)


def is_allstop(text: str) -> bool:
    """Whether typed text is the word itself, and not a sentence that merely contains it."""
    return "".join(letter for letter in text.lower() if letter.isalpha()) == "allstop"
