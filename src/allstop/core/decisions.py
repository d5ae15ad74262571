"""The decision after a turn of Full Auto, as the journal keeps it."""

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
    overridden: Action | None = None  # the action before a stop condition replaced it
    condition: str = ""  # the stop condition that was hit


class Decided(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A decision with the version of the rules and a digest of its inputs."""

    decision: Decision
    edition: int = 1  # of the rules
    inputs: str = ""  # a digest


class DecisionPolicy(StrEnum):
    RULES = "rules"
    MODEL = "model"


class ReviewWhen(StrEnum):
    NEVER = "never"
    END = "end"
    ERROR = "error"
    BOTH = "both"
