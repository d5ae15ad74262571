"""The rules of [approvals] as they are applied, and whether their own examples agree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import convert

from allstop.core.asks import Decision, Rule
from allstop.settings.key_path import Document, KeyPath, dotted, value_at
from allstop.settings.model import ApprovalRule
from allstop.settings.problems import Fault

RULES: KeyPath = ("approvals", "rules")
_DECISIONS = tuple(decision.value for decision in Decision)


def rules_of(said: Iterable[ApprovalRule]) -> tuple[Rule, ...]:
    """Of settings that were checked; each is named after its place."""
    return tuple(
        rule for place, each in enumerate(said) if (rule := _rule(each, place)) is not None
    )


def is_ruled(said: Iterable[ApprovalRule]) -> bool:
    """Whether some command is denied, or is for a person."""
    return any(rule.decision is not Decision.ALLOW for rule in rules_of(said))


def _rule(said: ApprovalRule, place: int) -> Rule | None:
    for decision, words in (
        (Decision.ALLOW, said.allow),
        (Decision.ASK, said.ask),
        (Decision.DENY, said.deny),
    ):
        if words is not None and (prefix := _prefix(words)):
            name = dotted((*RULES, place))
            return Rule(prefix=prefix, decision=decision, why=said.why or "", name=name)
    return None


def _prefix(words: str | tuple[str, ...]) -> tuple[str, ...]:
    """A text is read as a shell reads it; a list is the words themselves."""
    if not isinstance(words, str):
        return words
    from allstop.adapters.shell import parse

    line = parse(words)
    is_one = not line.why and not line.redirects and len(line.commands) == 1
    return line.commands[0].words if is_one else ()


def rule_faults(document: Document) -> Iterator[Fault]:
    """Of rules whose values are all right."""
    rules = value_at(document, RULES)
    for place, said in enumerate(rules if isinstance(rules, list) else []):
        if sum(key in said for key in _DECISIONS) != 1:
            message = "needs exactly one of allow, ask, deny"
            yield Fault(path=(*RULES, place), message=message)
        else:
            yield from _faults(convert(said, ApprovalRule), said, place)


def _faults(said: ApprovalRule, written: Mapping[str, object], place: int) -> Iterator[Fault]:
    key = next(key for key in _DECISIONS if key in written)
    path: KeyPath = (*RULES, place)
    words = written[key]
    if isinstance(words, list) and any(" " in str(word) for word in words):
        hint = "a list is the words of one command; write a rule for each command"
        yield Fault(path=(*path, key), message="has a word with a blank in it", hint=hint)
        return
    rule = _rule(said, place)
    if rule is None:
        yield Fault(path=(*path, key), message="is not one command of literal words")
        return
    if not said.match and (why := _in_vain(rule)):
        yield Fault(path=(*path, key), message=f"can't be allowed by a rule: {why}")
    for message in _disagreements(rule, said):
        yield Fault(path=path, message=message)


def _in_vain(rule: Rule) -> str:
    """Why it would allow nothing, whatever follows."""
    from allstop.policy.policy import not_coverable_reason

    harmless = (*rule.prefix, "list")
    return not_coverable_reason(harmless) if rule.decision is Decision.ALLOW else ""


def _disagreements(rule: Rule, said: ApprovalRule) -> Iterator[str]:
    shown = f"{rule.decision} {' '.join(rule.prefix)!r}"
    for example in said.match:
        if not _covers(rule, example):
            yield f"{shown} doesn't match its example {example!r}{_because(rule, example)}"
    for example in said.not_match:
        if _covers(rule, example):
            yield f"{shown} matches {example!r}, which it says it must not"


def _covers(rule: Rule, example: str) -> bool:
    from allstop.adapters.shell import parse
    from allstop.policy.policy import matches

    line = parse(example)
    if rule.decision is Decision.ALLOW and line.why:
        return False
    return any(matches(rule, command) for command in line.commands)


def _because(rule: Rule, example: str) -> str:
    from allstop.adapters.shell import parse
    from allstop.policy.policy import not_coverable_reason

    line = parse(example)
    if rule.decision is not Decision.ALLOW:
        return ""
    reasons = (not_coverable_reason(command.words) for command in line.commands)
    why = line.why or next((reason for reason in reasons if reason), "")
    return f": {why}" if why else ""


def rules_in(path: Path) -> tuple[Rule, ...]:
    """Of a file of their own: [approvals] as in allstop.toml, or only `rules`."""
    from allstop.settings.section_file import settings_apart

    return rules_of(settings_apart(path, "approvals", faults=rule_faults).approvals.rules)
