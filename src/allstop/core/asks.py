"""Whether an agent may do what it asks to do."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct


class Option(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    label: str
    text: str = ""  # what it means


class Question(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """Something a tool wants to know; its options are proposals, any words will do."""

    text: str
    options: tuple[Option, ...] = ()


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
    questions: tuple[Question, ...] = ()
    """Of a question that is answered with words; what is only allowed or denied has none."""
    within: bool = False
    """Only rules can have something against it: its box would let it be done unasked."""


class Leave(StrEnum):
    ALLOW = "allow"
    SESSION = "session"  # also the very same again, where the driver knows how to
    DENY = "deny"


class Answer(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """What an agent is told that asked."""

    leave: Leave
    answers: tuple[str, ...] = ()  # to its questions, one for each
    message: str = ""  # for the agent, in anybody's words
    by: str = ""  # who answered, or which rule

    @property
    def allows(self) -> bool:
        return self.leave is not Leave.DENY

    def to(self, questions: int, otherwise: str) -> tuple[str, ...]:
        """One answer for each question, also where nobody gave one."""
        given = self.answers[:questions] if self.allows else ()
        missing = otherwise if self.allows else f"{self.message} {otherwise}".strip()
        return (*given, *[missing] * (questions - len(given)))


BOX = "its box"
"""Who allows what no rule is against, where an agent is free within its box."""
NOBODY = Answer(leave=Leave.DENY, by="nobody", message="Nobody is there who could answer.")
UNANSWERED = Answer(leave=Leave.DENY, by="nobody", message="Nobody answered in time.")


NOBODY_TO_ASK = "nobody to ask: "
NEVER = "approvals = never"
"""Why everything is denied where that is set."""


def words(ask: Ask) -> str:
    """What is asked, for people."""
    return ask.text or " ".join(ask.argv or ask.paths)


def in_full(ask: Ask) -> str:
    """The same with what can be chosen, by the numbers that answer it."""
    options = [option.label for each in ask.questions[:1] for option in each.options]
    numbered = ", ".join(f"{number} {label}" for number, label in enumerate(options, 1))
    return f"{words(ask)} ({numbered})" if numbered else words(ask)


def reply(name: str, ask: Ask) -> str:
    """The command with which a person answers what the run of this name asks."""
    return f'allstop answer {name} "…"' if ask.questions else f"allstop allow {name}"


def unasked(ask: Ask) -> str:
    """What was denied because nobody was there."""
    return f"{NOBODY_TO_ASK}{words(ask)}"


def answered(ask: Ask, given: tuple[str, ...]) -> tuple[str, ...] | str:
    """An answer for each question; or why these are none."""
    asked = len(ask.questions)
    if len(given) != asked:
        return f"questions that were asked: {asked}, answers: {len(given)}"
    if not all(each.strip() for each in given):
        return "an answer is empty"
    return tuple(map(_meant, ask.questions, given))


def _meant(question: Question, given: str) -> str:
    """An option by its number or its name, else the words themselves."""
    said = given.strip()
    labels = [option.label for option in question.options]
    if said.isdecimal() and 0 < int(said) <= len(labels):
        return labels[int(said) - 1]
    return next((label for label in labels if label.casefold() == said.casefold()), said)


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


A_RULE = "a rule"
"""That has no name."""


def judge(rules: tuple[Rule, ...], ask: Ask) -> Decision:
    """The strictest of what the policy said and of the rules that match; else ask a person."""
    return strictest([*(rule.decision for rule in _matching(rules, ask)), *_said(ask)])


def ruling(rules: tuple[Rule, ...], ask: Ask) -> Answer | None:
    """What the rules answer; None where it is for a person.

    Those of a run are for what an agent asks of itself, not for what is only shown to the policy.
    """
    rules = () if ask.within else rules
    decision = judge(rules, ask)
    by = _named(rules, ask, decision)
    match decision:
        case Decision.ALLOW:
            return Answer(leave=Leave.ALLOW, by=by)
        case Decision.DENY:
            return Answer(leave=Leave.DENY, by=by, message=f"A rule denies this: {by}.")
        case Decision.ASK:
            return None


def _named(rules: tuple[Rule, ...], ask: Ask, decision: Decision) -> str:
    """The rule that says so: of the policy where it said the same, else of the run."""
    if ask.rule and decision in _said(ask):
        return ask.rule
    deciding = [rule for rule in _matching(rules, ask) if rule.decision is decision]
    return next((rule.name or rule.why for rule in deciding), "") or A_RULE


def _matching(rules: tuple[Rule, ...], ask: Ask) -> list[Rule]:
    return [rule for rule in rules if ask.argv[: len(rule.prefix)] == rule.prefix]


def _said(ask: Ask) -> list[Decision]:
    """What nobody understands is for a person."""
    if not ask.verdict:
        return []
    return [next((each for each in Decision if each.value == ask.verdict), Decision.ASK)]
