"""What a person says of lines of an agent's work, and how the agent reads it."""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

LONGEST_QUOTE = 500
"""A line of generated code may be longer than all that is said of it."""


class Remark(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Said of one line."""

    id: str  # made up by whoever wrote it: what was sent twice is known by it
    file: str
    line: int
    text: str
    removed: bool = False  # of the lines as they were before
    quoted: str = ""  # the line itself; numbers change with the next commit


class Review(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Remarks that were sent together."""

    at: datetime
    text: str = ""  # said of the whole
    remarks: tuple[Remark, ...] = ()


def in_words(text: str, remarks: Sequence[Remark]) -> str:
    """The message that an agent reads."""
    return "\n\n".join(filter(None, [text, *map(_one, remarks)]))


def _one(remark: Remark) -> str:
    where = f"{remark.file}:{remark.line}" + (" (as it was before)" if remark.removed else "")
    quoted = " ".join(remark.quoted.splitlines())[:LONGEST_QUOTE]
    return "\n".join([where, *([f"> {quoted}"] if quoted else []), remark.text])
