"""Whether an agent may do what it asks to do."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct


class Ask(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A command an agent wants to run, a file it wants to change, or a question it has."""

    id: str
    kind: str = "command"
    argv: tuple[str, ...] = ()
    text: str = ""


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


_STRICTEST_FIRST = (Decision.DENY, Decision.ASK, Decision.ALLOW)


class Rule(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    prefix: tuple[str, ...]
    decision: Decision
    why: str = ""


def judge(rules: tuple[Rule, ...], ask: Ask) -> Decision:
    """The strictest decision of the rules that match; none matching means ask a person."""
    matching = {rule.decision for rule in rules if ask.argv[: len(rule.prefix)] == rule.prefix}
    return next((d for d in _STRICTEST_FIRST if d in matching), Decision.ASK)
