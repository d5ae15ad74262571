"""S9: a second agent reviews verified work before a person does, for a bounded number of rounds."""

import json

import pytest

from allstop.board.second_review import read_review
from allstop.board.task_pilot import TaskPilot
from allstop.core.board_specs import EDITION
from allstop.core.brakes import Limits
from allstop.core.commands import Say
from allstop.core.moves import (
    Change,
    ChecksDone,
    Failed,
    FailureKind,
    Finish,
    Item,
    Outcome,
    RunChecks,
    TakeTurn,
    TurnDone,
    Usage,
    WorkspaceOpen,
)
from allstop.core.replay import differences
from allstop.core.review_comments import ReviewFinding, Severity
from support.pilot_steps import BoardSteps, PilotSteps

COMPLETE = "<promise>COMPLETE</promise>"
WORK = Change(head="c1", commits=1, files=2)
PASSED = ChecksDone(tree="t1")
SERIOUS = {
    "severity": "serious",
    "file": "a.py",
    "line": 3,
    "claim": "An empty list crashes it",
    "check": "call it with []",
}
NOTE = {"severity": "note", "claim": "The name is long"}


def answer(*findings, summary="It is small."):
    return TurnDone(text=json.dumps({"findings": findings, "summary": summary}))


def verified(**spec):
    """An attempt whose work has just passed the gate."""
    given = {
        "task": "t",
        "goal": "Fix it",
        "agents": ["worker"],
        "target": "main",
        "second": ["judge"],
        "edition": EDITION,
        "backoff": {"retries": 0},
    }
    limits = spec.pop("limits", Limits())
    steps = PilotSteps(TaskPilot(), {**given, **spec}, limits=limits)
    steps.back(WorkspaceOpen(base="c0"))
    steps.back(said("Done."))
    steps.back(PASSED)
    return steps


def said(text, head="c1"):
    return TurnDone(text=f"{text}\n{COMPLETE}", change=Change(head=head, commits=1, files=2))


def facts(move):
    assert isinstance(move, Finish)
    return move.outcome, move.facts.get("findings", ""), move.facts["clean"]


def assert_replays(steps):
    assert differences(TaskPilot(), steps.events) == []


def test_s9_without_the_setting_nobody_else_looks():
    move = verified(second=[]).next()

    assert facts(move) == (Outcome.DONE, "", "yes")


def test_s9_another_agent_looks_at_a_copy_of_the_verified_work_in_its_own_conversation():
    steps = verified()

    move = steps.next()
    assert (move.agent, move.workspace, move.in_copy, move.thread) == ("judge", "t", True, None)
    assert "git diff c0 HEAD" in move.prompt.text
    assert "Fix it" in move.prompt.text
    assert facts(steps.back(answer())) == (Outcome.DONE, "", "yes")
    assert_replays(steps)


def test_s9_findings_go_to_the_agent_and_what_is_solved_is_dropped():
    steps = verified()

    fixes = steps.back(answer(SERIOUS))
    assert (fixes.agent, fixes.in_copy) == ("worker", False)
    assert "[serious] a.py:3: An empty list crashes it (to check: call it with [])" in (
        fixes.prompt.text
    )
    gate = steps.back(said("I guard against it now.", head="c2"))
    assert isinstance(gate, RunChecks)
    again = steps.back(PASSED)
    assert again.agent == "judge"
    assert "An empty list crashes it" in again.prompt.text
    assert "I guard against it now." in again.prompt.text
    assert COMPLETE not in again.prompt.text
    assert facts(steps.back(answer())) == (Outcome.DONE, "", "yes")
    assert_replays(steps)


def test_s9_a_stalemate_goes_to_the_person_with_both_views_and_passes_the_gate():
    steps = verified()
    steps.back(answer(SERIOUS))
    steps.back(said("That cannot happen: the caller checks it."))
    steps.back(PASSED)

    end = steps.back(answer(SERIOUS, NOTE))
    assert facts(end) == (Outcome.DONE, "second review: An empty list crashes it", "")
    first, last = steps.state.pilot.second
    assert first.reply == "That cannot happen: the caller checks it."
    assert [finding.severity for finding in last.findings] == ["serious", "note"]
    assert_replays(steps)


@pytest.mark.parametrize(("rounds", "reviews"), [(1, 1), (2, 2), (3, 3)])
def test_s9_there_are_at_most_so_many_rounds(rounds, reviews):
    steps = verified(second_rounds=rounds)
    judged = 0
    while not isinstance(move := steps.next(), Finish):
        if isinstance(move, TakeTurn) and move.in_copy:
            judged += 1
            steps.back(answer(SERIOUS))
        else:
            steps.back(PASSED if isinstance(move, RunChecks) else said("No."))
        assert judged < 10

    assert judged == reviews
    assert_replays(steps)


def test_s9_findings_fail_no_attempt_that_has_no_turn_left():
    end = verified(iterations=1).back(answer(SERIOUS))

    assert facts(end) == (Outcome.DONE, "second review: An empty list crashes it", "")


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (Failed(kind=FailureKind.RATE_LIMITED, message="at 5"), "rate limited: at 5"),
        (Failed(kind=FailureKind.TIMED_OUT, message="not done"), "timed out: not done"),
        (TurnDone(text="Looks good to me."), "its answer could not be read"),
    ],
)
def test_s9_a_review_that_fails_holds_nothing_up(result, why):
    steps = verified()

    assert facts(steps.back(result)) == (Outcome.DONE, "", "yes")
    assert steps.state.pilot.second[-1].error.startswith(why)
    assert_replays(steps)


def test_s9_a_round_that_was_interrupted_is_repeated():
    steps = verified()

    again = steps.back(Failed(kind=FailureKind.INTERRUPTED))
    assert (again.agent, again.in_copy) == ("judge", True)
    assert facts(steps.back(answer())) == (Outcome.DONE, "", "yes")
    assert_replays(steps)


def test_s9_its_turns_count_for_the_budget_and_a_used_up_budget_skips_them():
    counted = verified()
    counted.back(TurnDone(text=answer().text, usage=Usage(input=70, output=3)))
    assert counted.state.tally.tokens == 73

    spent = verified(limits=Limits(turns=1))
    assert facts(spent.next()) == (Outcome.DONE, "", "yes")


def test_s9_words_of_a_person_are_for_the_agent_of_the_work():
    steps = verified()
    steps.start()
    steps.opens("thread of the judge")
    steps.notes(Item(kind="progress", text="half of it"))
    steps.told(Say(text="Use tabs."))

    assert steps.undelivered == ()
    then = steps.end(answer())
    assert (then.agent, then.in_copy, then.thread) == ("worker", False, None)
    assert "Use tabs." in then.prompt.text
    assert steps.state.pilot.progress == ""


def test_s9_an_agent_with_another_account_reviews_where_there_is_one():
    def judge(**spec):
        return verified(**spec).next().agent

    assert judge(second=["worker", "other"]) == "other"
    assert judge(second=["worker"]) == "worker"
    terms = {"worker": {"account": "one"}, "twin": {"account": "one"}}
    assert judge(second=["twin", "other"], terms=terms) == "other"


def test_s9_the_board_passes_the_setting_on_and_old_boards_stay_as_they_were():
    board = BoardSteps(agents=["cli", "more"], second="judge", second_rounds=3)
    board.add("a")
    plain = BoardSteps()
    plain.add("a")

    spec = board.spec_of("a.1")
    assert (spec["second"], spec["second_rounds"]) == (["judge", "cli", "more"], 3)
    assert "second" not in plain.spec_of("a.1")


def test_s9_findings_are_typed_and_the_worst_come_first():
    found = read_review(f"Here it is:\n{answer(NOTE, SERIOUS).text}", "judge")

    assert found.error == ""
    assert found.summary == "It is small."
    assert found.findings == (
        ReviewFinding(
            severity=Severity.SERIOUS,
            file="a.py",
            line=3,
            claim="An empty list crashes it",
            check="call it with []",
        ),
        ReviewFinding(severity=Severity.NOTE, claim="The name is long"),
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"findings": 3}',
        '{"findings": [{"severity": "huge", "claim": "x"}]}',
        '{"findings": [{"severity": "note"}]}',
        "{" * 5000,
    ],
)
def test_s9_an_answer_of_another_form_is_an_error_not_a_pass(text):
    found = read_review(text, "judge")

    assert found.error
    assert found.findings == ()
