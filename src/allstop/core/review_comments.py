"""Reviews of an agent's work: a person's comments on lines, and findings of a second agent."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from allstop.core.ids import AgentName

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


class Severity(StrEnum):
    """How much a finding matters, the worst first."""

    SERIOUS = "serious"  # a person confirms it before the work is merged
    LOOK = "look"
    NOTE = "note"


class ReviewFinding(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A claim of the second agent about the work; nothing has checked it."""

    severity: Severity
    claim: str
    file: str = ""
    line: int = 0  # 0: the file as a whole
    check: str = ""  # how to check the claim


class SecondReview(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """One round of the second agent, and what the first one said to it."""

    agent: AgentName
    findings: tuple[ReviewFinding, ...] = ()
    summary: str = ""
    error: str = ""  # why there was no review
    reply: str = ""  # the final message of the work's agent after it got the findings


def open_findings(reviews: Sequence[SecondReview]) -> tuple[ReviewFinding, ...]:
    """The findings that stand: those of the last round that gave an answer."""
    answered = [review for review in reviews if not review.error]
    return answered[-1].findings if answered else ()


class ReviewDecision(StrEnum):
    """What a person decided about verified work."""

    APPROVED = "approved"
    REDO = "redo"
    REJECTED = "rejected"


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
