"""Whether an agent may do what it asks to do."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct


class Ask(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A command an agent wants to run, a file it wants to change, or a question it has."""

    id: str
    kind: str = "command"
    """"command", "edit" or "question"."""
    argv: tuple[str, ...] = ()
    text: str = ""
    """Of a command: the line as a shell would get it."""
    paths: tuple[str, ...] = ()
    """Of an edit: the files it changes."""
    verdict: str = ""
    """What the policy says of it: a Decision, or nothing where it was not asked."""
    rule: str = ""
    """Which rule said so."""


class Decision(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


_STRICTEST_FIRST = (Decision.DENY, Decision.ASK, Decision.ALLOW)


class Rule(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    prefix: tuple[str, ...]
    decision: Decision
    why: str = ""
    name: str = ""


def strictness(decision: Decision) -> int:
    return len(_STRICTEST_FIRST) - _STRICTEST_FIRST.index(decision)


def strictest(decisions: Iterable[Decision]) -> Decision:
    """Of none at all: ask a person."""
    return max(decisions, key=strictness, default=Decision.ASK)


def judge(rules: tuple[Rule, ...], ask: Ask) -> Decision:
    """The strictest of what the policy said and of the rules that match; else ask a person."""
    matching = [rule.decision for rule in rules if ask.argv[: len(rule.prefix)] == rule.prefix]
    return strictest([*matching, *_said(ask)])


def _said(ask: Ask) -> list[Decision]:
    """What nobody understands is for a person."""
    if not ask.verdict:
        return []
    return [next((each for each in Decision if each.value == ask.verdict), Decision.ASK)]
