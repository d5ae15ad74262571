"""Permission requests of agents: rules, decisions and answers."""

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from allstop.core.text import counted


class Option(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    label: str
    text: str = ""  # its description


class Question(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A question of a tool. Its options are suggestions; any text is a valid answer."""

    text: str
    options: tuple[Option, ...] = ()


class Ask(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """A request of an agent: to run a command, to edit files, or a question."""

    id: str
    kind: str = "command"
    """"command", "edit" or "question"."""
    argv: tuple[str, ...] = ()
    text: str = ""
    """Of a command: the line for the shell."""
    paths: tuple[str, ...] = ()
    """Of an edit: the files it changes."""
    verdict: str = ""
    """The policy's Decision; "" if the policy was not consulted."""
    rule: str = ""
    """The rule that decided."""
    questions: tuple[Question, ...] = ()
    """Questions to answer with text; empty if the request is only allowed or denied."""
    within: bool = False
    """The sandbox allows it without asking; only a rule can deny it."""


class Permission(StrEnum):
    ALLOW = "allow"
    SESSION = "session"  # also for identical requests later, if the driver supports it
    DENY = "deny"


class Answer(Struct, frozen=True, gc=False, kw_only=True, omit_defaults=True):
    """The answer to an agent's request."""

    leave: Permission
    answers: tuple[str, ...] = ()  # to its questions, one for each
    message: str = ""  # for the agent
    by: str = ""  # the person or the rule that answered

    @property
    def allows(self) -> bool:
        return self.leave is not Permission.DENY

    def answers_to(self, questions: int, otherwise: str) -> tuple[str, ...]:
        """One answer for each question; `otherwise` for those without one."""
        given = self.answers[:questions] if self.allows else ()
        missing = otherwise if self.allows else f"{self.message} {otherwise}".strip()
        return (*given, *[missing] * (questions - len(given)))


BOX = "its box"
"""Named as the rule that allowed a request if the sandbox allows everything rules don't deny."""
NOBODY = Answer(leave=Permission.DENY, by="nobody", message="Nobody is there who could answer.")
UNANSWERED = Answer(leave=Permission.DENY, by="nobody", message="Nobody answered in time.")


NOBODY_TO_ASK = "nobody to ask: "
NEVER = "approvals = never"
"""The reason given for denying everything when this is set."""


def describe_ask(ask: Ask) -> str:
    """The request as text for people."""
    return ask.text or " ".join(ask.argv or ask.paths)


def describe_with_options(ask: Ask) -> str:
    """The request with its numbered options."""
    options = [option.label for each in ask.questions[:1] for option in each.options]
    numbered = ", ".join(f"{number} {label}" for number, label in enumerate(options, 1))
    return f"{describe_ask(ask)} ({numbered})" if numbered else describe_ask(ask)


def answer_command(name: str, ask: Ask) -> str:
    """The command with which a person answers the request."""
    return f'allstop answer {name} "…"' if ask.questions else f"allstop allow {name}"


def unasked_note(ask: Ask) -> str:
    """The note on a request that was denied because no person could answer."""
    return f"{NOBODY_TO_ASK}{describe_ask(ask)}"


def match_answers(ask: Ask, given: tuple[str, ...]) -> tuple[str, ...] | str:
    """One answer for each question, or the reason why the given answers don't match."""
    asked = len(ask.questions)
    if len(given) != asked:
        return f"{counted(asked, 'question')} asked, {counted(len(given), 'answer')} given"
    if not all(each.strip() for each in given):
        return "an answer is empty"
    return tuple(map(_chosen_option, ask.questions, given))


def _chosen_option(question: Question, given: str) -> str:
    """The option with this number or name, else the text itself."""
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
    """The strictest of the decisions; ASK if there are none."""
    return max(decisions, key=strictness, default=Decision.ASK)


A_RULE = "a rule"
"""For rules without a name."""


def judge(rules: tuple[Rule, ...], ask: Ask) -> Decision:
    """The strictest decision of the policy and the matching rules; ASK if there is none."""
    return strictest([*(rule.decision for rule in _matching(rules, ask)), *_policy_decision(ask)])


def answer_by_rules(rules: tuple[Rule, ...], ask: Ask) -> Answer | None:
    """The answer of the rules; None if a person has to answer.

    The run's rules apply to requests of the agent, not to commands that only the policy sees.
    """
    rules = () if ask.within else rules
    decision = judge(rules, ask)
    by = _rule_name(rules, ask, decision)
    match decision:
        case Decision.ALLOW:
            return Answer(leave=Permission.ALLOW, by=by)
        case Decision.DENY:
            return Answer(leave=Permission.DENY, by=by, message=f"A rule denies this: {by}.")
        case Decision.ASK:
            return None


def _rule_name(rules: tuple[Rule, ...], ask: Ask, decision: Decision) -> str:
    """The name of the deciding rule: the policy's if it decided the same, else the run's."""
    if ask.rule and decision in _policy_decision(ask):
        return ask.rule
    deciding = [rule for rule in _matching(rules, ask) if rule.decision is decision]
    return next((rule.name or rule.why for rule in deciding), "") or A_RULE


def _matching(rules: tuple[Rule, ...], ask: Ask) -> list[Rule]:
    return [rule for rule in rules if ask.argv[: len(rule.prefix)] == rule.prefix]


def _policy_decision(ask: Ask) -> list[Decision]:
    """The policy's decision as a list of at most one; an unknown one means ASK."""
    if not ask.verdict:
        return []
    return [next((each for each in Decision if each.value == ask.verdict), Decision.ASK)]
