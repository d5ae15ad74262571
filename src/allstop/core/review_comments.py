"""A person's comments on lines of an agent's work, and the message made from them."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

LONGEST_QUOTE = 500
"""Characters; a line of generated code can be very long."""


class Remark(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A comment on one line."""

    id: str  # chosen by the client, to recognize a comment that was sent twice
    file: str
    line: int
    text: str
    removed: bool = False  # the line number is of the old version
    quoted: str = ""  # the line's text; its number changes with the next commit


class Review(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Comments that were sent together."""

    at: datetime
    text: str = ""  # on the work as a whole
    remarks: tuple[Remark, ...] = ()


def in_words(text: str, remarks: Sequence[Remark]) -> str:
    """The comments as one message for the agent."""
    return "\n\n".join(filter(None, [text, *map(_format, remarks)]))


def _format(remark: Remark) -> str:
    where = f"{remark.file}:{remark.line}" + (" (as it was before)" if remark.removed else "")
    quoted = " ".join(remark.quoted.splitlines())[:LONGEST_QUOTE]
    return "\n".join([where, *([f"> {quoted}"] if quoted else []), remark.text])
