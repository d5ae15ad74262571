"""Approval rules: conversion of [approvals] into core's rules, and a check of their examples."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import convert

from allstop.core.asks import Decision, Rule
from allstop.settings.key_path import Document, KeyPath, dotted, value_at
from allstop.settings.model import ApprovalRule
from allstop.settings.problems import Fault

RULES: KeyPath = ("approvals", "rules")
_DECISIONS = tuple(decision.value for decision in Decision)


def rules_of(setting: Iterable[ApprovalRule]) -> tuple[Rule, ...]:
    """Core's rules for validated settings; each rule is named after its key."""
    return tuple(
        rule for index, each in enumerate(setting) if (rule := _rule(each, index)) is not None
    )


def restricts_commands(setting: Iterable[ApprovalRule]) -> bool:
    """Whether a rule denies a command or asks a person about one."""
    return any(rule.decision is not Decision.ALLOW for rule in rules_of(setting))


def _rule(setting: ApprovalRule, index: int) -> Rule | None:
    for decision, words in (
        (Decision.ALLOW, setting.allow),
        (Decision.ASK, setting.ask),
        (Decision.DENY, setting.deny),
    ):
        if words is not None and (prefix := _prefix(words)):
            name = dotted((*RULES, index))
            return Rule(prefix=prefix, decision=decision, why=setting.why or "", name=name)
    return None


def _prefix(words: str | tuple[str, ...]) -> tuple[str, ...]:
    """Split a string as a shell does; a list already is the words."""
    if not isinstance(words, str):
        return words
    from allstop.adapters.shell import parse

    line = parse(words)
    is_one = not line.why and not line.redirects and len(line.commands) == 1
    return line.commands[0].words if is_one else ()


def rule_faults(document: Document) -> Iterator[Fault]:
    """Faults of rules whose single values are valid."""
    rules = value_at(document, RULES)
    for index, setting in enumerate(rules if isinstance(rules, list) else []):
        if sum(key in setting for key in _DECISIONS) != 1:
            message = "set exactly one of allow, ask and deny"
            yield Fault((*RULES, index), message)
        else:
            yield from _faults(convert(setting, ApprovalRule), setting, index)


def _faults(setting: ApprovalRule, written: Mapping[str, object], index: int) -> Iterator[Fault]:
    key = next(key for key in _DECISIONS if key in written)
    path: KeyPath = (*RULES, index)
    words = written[key]
    if isinstance(words, list) and any(" " in str(word) for word in words):
        hint = "a list holds the words of one command; write one rule per command"
        yield Fault((*path, key), "a word contains a space", hint)
        return
    rule = _rule(setting, index)
    if rule is None:
        yield Fault((*path, key), "must be a single command without shell syntax")
        return
    if not setting.match and (why := _ineffective_reason(rule)):
        yield Fault((*path, key), f"a rule can't allow this command: {why}")
    for message in _example_faults(rule, setting):
        yield Fault(path, message)


def _ineffective_reason(rule: Rule) -> str:
    """Why an allow rule would have no effect; "" if it has one."""
    from allstop.policy.policy import not_coverable_reason

    harmless = (*rule.prefix, "list")
    return not_coverable_reason(harmless) if rule.decision is Decision.ALLOW else ""


def _example_faults(rule: Rule, setting: ApprovalRule) -> Iterator[str]:
    shown = f"{rule.decision} {' '.join(rule.prefix)!r}"
    for example in setting.match:
        if not _covers(rule, example):
            yield f"{shown} doesn't match its example {example!r}{_mismatch_reason(rule, example)}"
    for example in setting.not_match:
        if _covers(rule, example):
            yield f"{shown} matches {example!r}, which is in its not_match"


def _covers(rule: Rule, example: str) -> bool:
    from allstop.adapters.shell import parse
    from allstop.policy.policy import matches

    line = parse(example)
    if rule.decision is Decision.ALLOW and line.why:
        return False
    return any(matches(rule, command) for command in line.commands)


def _mismatch_reason(rule: Rule, example: str) -> str:
    from allstop.adapters.shell import parse
    from allstop.policy.policy import not_coverable_reason

    line = parse(example)
    if rule.decision is not Decision.ALLOW:
        return ""
    reasons = (not_coverable_reason(command.words) for command in line.commands)
    why = line.why or next((reason for reason in reasons if reason), "")
    return f": {why}" if why else ""


def read_rules_file(path: Path) -> tuple[Rule, ...]:
    """Rules from a separate file that has [approvals], or only `rules`."""
    from allstop.settings.section_file import read_section

    section = read_section(path, "approvals", faults=rule_faults)
    return rules_of(section.settings.approvals.rules)
