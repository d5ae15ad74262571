"""K18: permission requests, rules and answers."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.core.asks import Answer, Ask, Decision, Permission, Rule, answer_by_rules, judge

WORDS = st.sampled_from(["git", "status", "push", "rm", "-rf", "/"])
LINES = st.lists(WORDS, max_size=4).map(tuple)
RULES = st.lists(st.builds(Rule, prefix=LINES, decision=st.sampled_from(Decision)), max_size=6)
STRICTNESS = (Decision.ALLOW, Decision.ASK, Decision.DENY)


def ask(line):
    return Ask(id="1", argv=tuple(line))


@given(RULES, LINES)
def test_k18_the_strictest_of_the_rules_that_match_wins(rules, line):
    matching = [rule.decision for rule in rules if line[: len(rule.prefix)] == rule.prefix]

    expected = max(matching, key=STRICTNESS.index, default=Decision.ASK)
    assert judge(tuple(rules), ask(line)) is expected


@given(RULES, RULES, LINES)
def test_k18_another_rule_never_makes_a_denied_command_allowed(rules, more, line):
    if judge(tuple(rules), ask(line)) is Decision.DENY:
        assert judge((*rules, *more), ask(line)) is Decision.DENY


@given(RULES, LINES, st.randoms(use_true_random=False))
def test_the_order_of_the_rules_does_not_matter(rules, line, chance):
    shuffled = list(rules)
    chance.shuffle(shuffled)

    assert judge(tuple(shuffled), ask(line)) is judge(tuple(rules), ask(line))


@pytest.mark.parametrize(
    ("line", "decision"),
    [
        ("git status", Decision.ALLOW),
        ("git status --short", Decision.ALLOW),
        ("git", Decision.ASK),
        ("git push", Decision.DENY),
        ("gitk", Decision.ASK),
        ("curl x", Decision.ASK),
        ("", Decision.ASK),
    ],
)
def test_k18_what_no_rule_names_is_asked(line, decision):
    rules = (
        Rule(prefix=("git", "status"), decision=Decision.ALLOW),
        Rule(prefix=("git", "push"), decision=Decision.ALLOW),
        Rule(prefix=("git", "push"), decision=Decision.DENY),
    )

    assert judge(rules, ask(line.split())) is decision


def test_k18_without_rules_everything_is_asked():
    assert judge((), ask(["true"])) is Decision.ASK


@pytest.mark.parametrize("verdict", Decision)
@given(rules=RULES, line=LINES)
def test_f5_the_strictest_of_the_policy_and_the_rules_wins(verdict, rules, line):
    appraised = Ask(id="1", argv=line, verdict=verdict.value)
    matching = [rule.decision for rule in rules if line[: len(rule.prefix)] == rule.prefix]

    expected = max([*matching, verdict], key=STRICTNESS.index)
    assert judge(tuple(rules), appraised) is expected


def test_f5_a_verdict_nobody_understands_is_for_a_person():
    allow = Rule(prefix=("ls",), decision=Decision.ALLOW)

    assert judge((allow,), Ask(id="1", argv=("ls",), verdict="perhaps")) is Decision.ASK


def test_what_was_written_before_there_were_verdicts_is_still_understood():
    old = b'{"id":"a1","argv":["pip","install","x"],"text":"pip install x"}'

    ask = msgspec.json.decode(old, type=Ask)
    assert ask == Ask(id="a1", argv=("pip", "install", "x"), text="pip install x")
    assert msgspec.json.encode(ask) == old


def test_f5_what_is_denied_names_the_rule_that_denies_it():
    """F5: with approvals = never, no rule is named that would have allowed it."""
    never = Rule(prefix=(), decision=Decision.DENY, why="approvals = never")
    harmless = Ask(
        id="1",
        kind="command",
        argv=("git", "status"),
        verdict="allow",
        rule="built-in: git status",
    )

    assert answer_by_rules((never,), harmless) == Answer(
        leave=Permission.DENY,
        by="approvals = never",
        message="A rule denies this: approvals = never.",
    )
    assert answer_by_rules((), harmless) == Answer(
        leave=Permission.ALLOW, by="built-in: git status"
    )
