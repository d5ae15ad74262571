"""What was decided after a turn of Full Auto, and what is written down of it."""

from enum import StrEnum

from msgspec import Struct


class Action(StrEnum):
    CONTINUE = "continue"
    PAUSE = "pause"
    STOP = "stop"
    REVIEW = "review"


class Decision(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    turn: int
    action: Action
    reason: str
    confidence: float = 1.0
    next_input: str = ""
    by: str = "rules"  # or the agent whose model decided
    overridden: Action | None = None  # what was decided before a stop condition won
    condition: str = ""  # the stop condition that was hit


class Decided(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A decision as it was made, beside the record that it can be made from again."""

    decision: Decision
    edition: int = 1  # of the rules
    inputs: str = ""  # a digest of what it was made from


class DecisionPolicy(StrEnum):
    RULES = "rules"
    MODEL = "model"


class ReviewWhen(StrEnum):
    NEVER = "never"
    END = "end"
    ERROR = "error"
    BOTH = "both"
