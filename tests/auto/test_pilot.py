"""The Full Auto pilot: decisions after a turn and the moves that follow."""

from datetime import timedelta

import msgspec
import pytest

from allstop.auto.state import Action, read_decision
from allstop.core import run
from allstop.core.asks import Ask
from allstop.core.brakes import Limits, Tally
from allstop.core.commands import Answer, Raise, Resume, Say
from allstop.core.events import Asked, ChildClosed, MoveEnded, Noted
from allstop.core.moves import (
    Change,
    CheckResult,
    ChecksDone,
    Compaction,
    Failed,
    FailureKind,
    Finish,
    Item,
    Outcome,
    RunChecks,
    Spawn,
    TakeTurn,
    TurnDone,
    Usage,
    Wait,
)
from allstop.views.auto import run_plan
from support.auto_runs import DONE, NOON, AutoSteps, advice

CHECK = {"name": "Tests", "run": "pytest"}


def test_f2_it_goes_on_until_the_agent_says_that_it_is_done():
    auto = AutoSteps()
    for number in range(5):
        auto.turn(f"Step {number} is done.")
        assert auto.decision.action is Action.CONTINUE
    auto.turn(DONE)

    assert auto.decision.action is Action.STOP
    assert auto.move() == Finish(outcome=Outcome.DONE, note="it says that it is done")
    assert auto.state.turns == 6


def test_f9_the_goal_is_restated_every_turn():
    """F9: a template, so that the goal can't drift."""
    auto = AutoSteps()
    auto.turn()
    auto.turn()

    assert auto.prompts[0].startswith("Write a parser.")
    assert auto.prompts[1].startswith("The goal is still:\nWrite a parser.")
    assert "<promise>COMPLETE</promise>" in auto.prompts[1]


def test_f6_a_moment_between_turns():
    auto = AutoSteps(cooldown_s=1.0)
    before = auto.turn()
    ended_at = auto.now
    auto.begin()

    assert before.thread is None
    assert auto.now - ended_at == timedelta(seconds=1)


def test_the_thread_goes_on():
    auto = AutoSteps()
    auto.turn()

    assert auto.begin().thread == "t"


def test_f4_no_progress_pauses():
    """F4: the same plan and the same work for three turns."""
    auto = AutoSteps(name="a", target="main")
    auto.turn(items=[("plan", "1. parse")])
    for _ in range(2):
        auto.turn(changes=False, items=[("plan", "1. parse")])

    assert auto.decision.action is Action.PAUSE
    assert auto.decision.overridden is Action.CONTINUE
    assert auto.decision.condition.startswith("soft stop: no progress")
    move = auto.move()
    assert isinstance(move, Wait)
    assert move.for_person


def test_f4_saying_the_same_again_and_again_is_no_progress():
    auto = AutoSteps()
    for _ in range(3):
        auto.turn("I will go on now.")

    assert "no progress" in auto.decision.condition


def test_f4_commits_that_change_nothing_are_no_progress():
    auto = AutoSteps(name="a", target="main")
    for number in range(3):
        auto.begin()
        change = Change(head=f"c{number}", commits=number + 1, files=1, tree="same")
        auto.ended(TurnDone(text=f"Step {number}.", change=change))

    assert "no progress" in auto.decision.condition


def test_f4_another_plan_is_progress():
    auto = AutoSteps(name="a", target="main")
    for number in range(6):
        auto.turn(changes=False, items=[("plan", f"step {number}")])

    assert auto.decision.action is Action.CONTINUE


def test_f4_the_same_error_three_times_pauses():
    auto = AutoSteps()
    for _ in range(3):
        auto.fail(FailureKind.NETWORK, "connection refused")

    assert auto.decision.condition.startswith("soft stop: the same error 3 times")


def test_f4_different_errors_do_not_pause():
    auto = AutoSteps()
    for what in ("refused", "reset", "no such host", "broken pipe", "no route"):
        auto.fail(FailureKind.NETWORK, what)

    assert auto.decision.action is Action.CONTINUE


def test_f4_errors_that_differ_in_the_id_of_a_request_are_the_same():
    auto = AutoSteps()
    for number in range(3):
        auto.fail(FailureKind.NETWORK, f"stream ended, request req_01a{number}, after {number} s")

    assert auto.decision.condition == (
        "soft stop: the same error 3 times: network: stream ended, request req_01a2, after 2 s"
    )


def test_f4_compaction_too_often_pauses():
    auto = AutoSteps()
    for _ in range(3):
        auto.turn(items=[("compaction", "")])

    assert "compacted 3 times" in auto.decision.condition


def test_f4_compaction_now_and_then_does_not():
    auto = AutoSteps(compaction_turns=4)
    for number in range(13):
        auto.turn(items=[("compaction", "")] if number % 3 == 0 else [("plan", str(number))])

    assert auto.decision.action is Action.CONTINUE


def test_p10_a_long_conversation_is_compacted_before_the_next_turn():
    """It is no turn of the work: no decision follows, and no guard counts it."""
    auto = AutoSteps(compact_at=9_000)
    auto.begin()
    auto.ended(TurnDone(text="Half.", thread="t", context=9_000))
    decisions = len(auto.state.decisions)
    compacting = auto.begin()
    auto.fold(
        Noted(at=auto.now, id=auto.run.open_move.id, items=(Item(kind="compaction", text=""),))
    )
    size = Compaction(before=9_000, after=4, summary=True)
    auto.ended(TurnDone(text=f"Half is done. {DONE}", thread="t", compacted=size))
    turn = auto.begin()

    assert (compacting.compacts, compacting.thread) == (9_000, "t")
    assert (auto.state.turns, len(auto.state.decisions)) == (1, decisions)
    assert auto.state.history.compactions == ()
    assert (turn.compacts, turn.thread) == (0, None)
    assert "Your summary of it:\nHalf is done." in turn.prompt.text


def test_p10_a_failed_compaction_is_no_failed_turn():
    auto = AutoSteps(compact_at=9_000)
    auto.begin()
    auto.ended(TurnDone(text="Half.", thread="t", context=9_000))
    auto.fail(FailureKind.BAD_REQUEST, "no")
    turn = auto.begin()

    assert (turn.compacts, turn.thread) == (0, "t")
    assert auto.state.failures == 0


@pytest.mark.parametrize("kind", [FailureKind.AUTH, FailureKind.BAD_REQUEST])
def test_f4_a_failure_that_cannot_be_recovered_is_a_hard_stop(kind):
    auto = AutoSteps()
    auto.fail(kind, "no key")

    assert auto.decision.action is Action.STOP
    assert auto.decision.condition.startswith("hard stop")
    assert auto.move().outcome is Outcome.FAILED


def test_f4_what_nobody_answered_is_a_hard_stop():
    auto = AutoSteps()
    auto.turn(DONE, items=[("unanswered", "rm -rf build")])

    assert auto.decision.condition == "hard stop: nobody answered in time: rm -rf build"
    assert auto.move().outcome is Outcome.FAILED


def test_k13_a_limit_is_waited_for():
    auto = AutoSteps()
    reset = auto.now + timedelta(hours=2)
    auto.begin()
    auto.ended(Failed(kind=FailureKind.USAGE_LIMITED, retry_at=reset))

    assert isinstance(auto.move(), TakeTurn)
    assert auto.now == reset
    assert auto.decision is None


def test_k13_a_thread_of_an_old_record_waits_ten_times_for_a_limit_that_names_no_time():
    """After half an hour the thread pauses for a person, with a receipt."""
    auto = AutoSteps()
    began_at = auto.now
    for _ in range(11):
        auto.fail(FailureKind.OVERLOADED, "HTTP 529")

    assert auto.now - began_at > timedelta(minutes=30)
    assert auto.decision.action is Action.PAUSE
    reason, overloaded = "codex is still overloaded: HTTP 529", FailureKind.OVERLOADED
    assert auto.move() == Wait(reason=reason, for_person=True, failure=overloaded)
    auto.say(Resume())
    auto.fail(FailureKind.OVERLOADED, "HTTP 529")
    assert isinstance(auto.move(), TakeTurn)


def limited_until_it_pauses(auto, message, **more):
    """How long the agent was retried."""
    began_at = auto.now
    while isinstance(auto.move(), TakeTurn):
        auto.fail(FailureKind.USAGE_LIMITED, message, **more)
    return auto.now - began_at


@pytest.mark.parametrize("told", [None, NOON])
def test_k13_a_limit_that_names_no_time_to_come_pauses_a_thread_after_a_while(told):
    """K13, P5: retries end after the configured time; a person resumes without loss."""
    auto = AutoSteps(endurance={"guesses": 3, "most_s": 7200.0})
    auto.turn("Half of it is there.")

    took = limited_until_it_pauses(auto, "no more", retry_at=told)

    assert timedelta(hours=2) <= took <= timedelta(hours=2, minutes=7)
    assert auto.decision.action is Action.PAUSE
    reason, limited = "codex is still usage limited: no more", FailureKind.USAGE_LIMITED
    assert auto.move() == Wait(reason=reason, for_person=True, failure=limited)
    auto.say(Resume())
    assert limited_until_it_pauses(auto, "no more") > timedelta(hours=2)
    auto.say(Say(text="try again"))
    assert auto.turn(DONE).thread == "t"


def test_p5_what_only_seems_to_be_a_limit_pauses_a_thread_after_some_tries():
    """P5: each attempt is a whole turn."""
    auto = AutoSteps(endurance={"guesses": 2, "most_s": 7200.0})

    took = limited_until_it_pauses(auto, "429", guessed=True)

    assert took < timedelta(minutes=2)
    assert auto.move().failure is FailureKind.USAGE_LIMITED


def test_k13_a_limit_that_names_a_time_is_waited_for_by_a_thread_however_far_it_is():
    auto = AutoSteps(endurance={"guesses": 0, "most_s": 60.0})
    for days in (5, 10):
        reset = NOON + timedelta(days=days)
        auto.fail(FailureKind.USAGE_LIMITED, retry_at=reset)

        assert isinstance(auto.move(), TakeTurn)
        assert auto.now == reset


def test_f4_what_nobody_answered_is_a_hard_stop_although_the_turn_met_a_limit():
    auto = AutoSteps()
    auto.begin()
    item = Item(kind="unanswered", text="rm -rf build")
    auto.fold(Noted(at=auto.now, id=auto.run.open_move.id, items=(item,)))
    auto.ended(Failed(kind=FailureKind.OVERLOADED))

    assert auto.decision.condition == "hard stop: nobody answered in time: rm -rf build"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("<promise>BLOCKED: no key</promise>", "it is blocked: no key"),
        ("<promise>PENDING: which one?</promise>", "it asks: which one?"),
    ],
)
def test_an_agent_that_needs_somebody_is_paused_and_told_the_answer(text, reason):
    auto = AutoSteps()
    auto.turn(text)
    assert auto.move() == Wait(reason=reason, for_person=True)
    auto.say(Answer(text="the second"))
    auto.turn()

    assert "A person says: the second" in auto.prompts[-1]


def test_a_person_may_go_on_after_a_pause():
    auto = AutoSteps()
    for _ in range(3):
        auto.fail(FailureKind.NETWORK, "no")
    auto.say(Resume())

    assert isinstance(auto.move(), TakeTurn)


def test_k6_a_turn_that_no_longer_fits_the_budget_is_taken_once_more_is_allowed():
    """K6: raising the limit resumes; it is no failure of the thread."""
    auto = AutoSteps()
    auto.turn()
    auto.fail(FailureKind.OUT_OF_BUDGET, "cost $0.90 + $0.20 of $1.00")
    assert auto.run.limit_reached
    assert auto.state.end is None
    auto.say(Raise(limits=Limits()))

    assert isinstance(auto.move(), TakeTurn)


def test_k6_so_is_a_question_to_the_model_that_decides():
    auto = modelled()
    auto.turn()
    auto.fail(FailureKind.OUT_OF_BUDGET, "cost $0.90 + $0.20 of $1.00")
    assert auto.decision is None
    auto.say(Raise(limits=Limits()))

    assert auto.move().agent == "judge"


def test_f4_words_of_a_person_free_a_paused_thread():
    """F4: counters that led to the pause are reset."""
    auto = AutoSteps()
    for _ in range(3):
        auto.turn(items=[("compaction", "")])
    assert auto.decision.action is Action.PAUSE
    auto.say(Say(text="Go on with the lexer."))
    auto.turn("The lexer is there.")

    assert auto.decision.action is Action.CONTINUE


# --- review ---


def test_f9_it_reviews_its_work_before_the_end_and_decides_again():
    auto = AutoSteps(name="a", target="main", review="end")
    auto.turn()
    auto.turn(DONE)
    assert auto.decision.action is Action.REVIEW
    auto.turn(DONE, changes=False)

    assert "as a strict reviewer would" in auto.prompts[-1]
    assert auto.decision.action is Action.STOP


def test_f9_a_review_that_changed_something_is_followed_by_another():
    auto = AutoSteps(name="a", target="main", review="end")
    auto.turn(DONE)
    auto.turn("I found a mistake.", changes=True)
    auto.turn(DONE, changes=True)

    assert auto.decision.action is Action.REVIEW


def test_f4_done_ends_it_although_the_last_turns_changed_nothing():
    """F4: "done" stops, with the review before it; it does not pause."""
    auto = AutoSteps(name="a", target="main", review="end")
    auto.turn()
    auto.turn(changes=False)
    auto.turn(DONE, changes=False)
    assert auto.decision.action is Action.REVIEW
    auto.turn(DONE, changes=False)

    assert auto.decision.action is Action.STOP


def test_f4_a_model_that_wants_one_review_after_the_other_is_paused():
    auto = modelled(name="a", target="main")
    for number in range(5):
        auto.turn(DONE, changes=number == 0)
        auto.turn(advice(action="review"), changes=False)

    assert auto.decision.action is Action.PAUSE
    assert "no progress" in auto.decision.condition


def test_f9_a_run_without_changes_is_not_reviewed():
    auto = AutoSteps(review="end")
    auto.turn(DONE)

    assert auto.decision.action is Action.STOP


# --- the gate and the merge ---


def test_f9_one_merge_at_the_end_through_the_gate():
    auto = AutoSteps(name="a", target="main", gate={"checks": [CHECK]})
    auto.turn(DONE)
    assert isinstance(auto.begin(), RunChecks)
    failed = CheckResult(name="Tests", run="pytest", passed=False, code=1, output="E assert")
    auto.ended(ChecksDone(results=(failed,)))
    auto.turn("Fixed.\n<promise>COMPLETE</promise>")
    assert "E assert" in auto.prompts[-1]
    assert isinstance(auto.begin(), RunChecks)
    auto.ended(ChecksDone(tree="tree"))
    merge = auto.begin()

    assert isinstance(merge, Spawn)
    assert merge.spec["verified"] == "tree"
    closed = ChildClosed(
        at=auto.now, ref="merge1", run="r/merge1", outcome=Outcome.DONE, tally=Tally()
    )
    auto.fold(closed)
    assert auto.move() == Finish(outcome=Outcome.DONE, note="merged")


def test_b16_work_is_looked_at_although_nothing_is_configured():
    auto = AutoSteps(name="a", target="main")
    auto.turn(DONE)

    assert auto.begin() == RunChecks(checks=(), workspace="a")


def test_q20_a_run_of_the_second_edition_has_no_gate_where_nothing_is_configured():
    auto = AutoSteps(name="a", target="main", edition=2)
    auto.turn(DONE)

    assert isinstance(auto.begin(), Spawn)


def refused():
    failed = CheckResult(name="Tests", run="pytest", passed=False, code=1, output="E assert")
    return ChecksDone(results=(failed,))


def test_f4_work_that_stays_as_it_is_pauses_although_it_says_done_each_time():
    """F4: the gate sends it back; three turns that change nothing are no progress."""
    auto = AutoSteps(name="a", target="main", gate={"checks": [CHECK]})
    for number in range(3):
        auto.turn(DONE, changes=number == 0)
        assert isinstance(auto.begin(), RunChecks)
        auto.ended(refused())

    assert auto.decision.by == "the gate"
    assert auto.decision.overridden is Action.CONTINUE
    assert auto.move() == Wait(
        reason="soft stop: no progress: the same plan and the same work for 3 turns",
        for_person=True,
    )


def test_f6_a_moment_between_turns_although_the_gate_was_quick():
    auto = AutoSteps(name="a", target="main", gate={"checks": [CHECK]}, cooldown_s=60.0)
    auto.turn(DONE)
    ended_at = auto.now
    auto.begin()
    auto.ended(refused())
    auto.begin()

    assert auto.decision.reason == "the gate disagrees: Tests"
    assert auto.now - ended_at == timedelta(seconds=60)


def test_q16_a_gate_that_disagrees_before_any_turn_folds_too():
    """Q16: no thread writes this, but any journal must be readable."""
    auto = AutoSteps(name="a", target="main", gate={"checks": [CHECK]})
    auto.fold(MoveEnded(at=auto.now, id="1", result=refused()))
    auto.turn("I begin.")

    assert "E assert" in auto.prompts[-1]


def test_a_merge_that_fails_waits_for_a_person():
    auto = AutoSteps(name="a", target="main")
    auto.turn(DONE)
    auto.begin()
    auto.fold(
        ChildClosed(
            at=auto.now,
            ref="merge1",
            run="r/merge1",
            outcome=Outcome.CONFLICT,
            tally=Tally(),
            note="same.txt",
        )
    )

    assert auto.move() == Wait(reason="it could not be merged: same.txt", for_person=True)


# --- a model that decides ---


def modelled(**more):
    return AutoSteps(policy="model", decision_agent="judge", **more)


def test_f3_a_model_decides_and_fills_the_next_step_only():
    auto = modelled()
    auto.turn()
    question = auto.turn(advice(next_input="Write the lexer first."))
    auto.turn()

    assert question.agent == "judge"
    assert "Going on." in auto.prompts[1]
    assert "The goal is still:\nWrite a parser." in auto.prompts[2]
    assert "Next step: Write the lexer first." in auto.prompts[2]
    assert auto.state.decisions[0].by == "judge"


@pytest.mark.parametrize(
    "answer",
    ["I think so.", "{}", advice(action="dance"), advice(confidence=2), advice(reason=""), "{" * 9],
)
def test_f3_the_rules_decide_where_a_model_answers_nonsense(answer):
    auto = modelled()
    auto.turn()
    auto.turn(answer)

    assert auto.decision.action is Action.CONTINUE
    assert auto.decision.by.startswith("rules (")


def test_f3_the_rules_decide_where_a_model_fails():
    auto = modelled()
    auto.turn(DONE)
    auto.fail(FailureKind.OVERLOADED)

    assert auto.decision.action is Action.STOP
    assert auto.decision.by == "rules (overloaded)"


@pytest.mark.parametrize(("confidence", "action"), [("0.62", "continue"), (0.59, "pause")])
def test_f3_low_confidence_pauses(confidence, action):
    """F3: "0.62" as a string is a number."""
    auto = modelled()
    auto.turn()
    auto.turn(advice(confidence=confidence))

    assert auto.decision.action == action


def test_f3_hard_stops_win_over_any_decision():
    auto = modelled()
    auto.turn(items=[("unanswered", "rm -rf /")])
    auto.turn(advice(action="continue", confidence=1))

    assert auto.decision.action is Action.STOP
    assert auto.decision.overridden is Action.CONTINUE
    assert auto.decision.condition.startswith("hard stop")


def test_f3_a_decision_in_prose_is_found():
    found = read_decision(f"Sure:\n```json\n{advice('stop')}\n```", 3, "judge")

    assert found.action is Action.STOP


def test_f9_work_is_reviewed_before_the_end_although_a_model_would_stop():
    auto = modelled(name="a", target="main", review="end")
    auto.turn(DONE)
    auto.turn(advice(action="stop"))

    assert auto.decision.action is Action.REVIEW
    assert auto.decision.overridden is Action.STOP
    auto.turn(DONE, changes=False)
    assert "as a strict reviewer would" in auto.prompts[-1]
    auto.turn(advice(action="stop"))
    assert auto.decision.action is Action.STOP


def test_a_word_of_a_person_is_told_once():
    auto = AutoSteps()
    auto.turn()
    auto.say(Say(text="Use tabs."))
    auto.turn()
    auto.turn()

    assert "Use tabs." in auto.prompts[1]
    assert "Use tabs." not in auto.prompts[2]


def test_f11_the_run_has_a_plan_of_its_own():
    """F11: goal, done condition, attempts and next step, from the journal alone."""
    auto = AutoSteps(name="a", target="main", gate={"checks": [CHECK]})
    auto.turn()
    auto.turn("<promise>PENDING: which one?</promise>")
    plan = run_plan(run.fold(auto.pilot, auto.events).pilot)

    assert plan.goal == "Write a parser."
    assert plan.done_when == (
        "codex says that it is done, Tests pass, the work is merged into main"
    )
    assert [each.split(",")[0] for each in plan.tried] == ["turn 1: continue", "turn 2: pause"]
    assert plan.next == "a person: it asks: which one?"
    auto.say(Answer(text="both"))
    assert run_plan(auto.state).next == "codex takes turn 3"


def test_f2_folding_the_record_again_gives_the_same_state():
    """F2: byte for byte."""
    auto = AutoSteps(name="a", target="main")
    auto.turn(items=[("plan", "1. parse"), ("compaction", "")])
    auto.fail(FailureKind.NETWORK)
    auto.turn(DONE)

    again = run.fold(auto.pilot, auto.events)
    assert msgspec.json.encode(again.pilot) == msgspec.json.encode(auto.state)


def reviewing():
    auto = AutoSteps(name="a", target="main", review="end")
    auto.turn("Made it.")
    auto.turn(DONE)
    return auto


def test_f9_a_review_goes_to_whoever_has_one_of_its_own():
    """F9, F1: the review prompt has the goal and the base commit, without the conversation."""
    auto = reviewing()

    move = auto.begin()

    assert "since the commit base" in move.prompt.review
    assert "Write a parser." in move.prompt.review
    assert "strict reviewer" in move.prompt.text


def test_f9_what_a_review_of_its_own_found_is_to_be_fixed():
    """F9: a review ends without a signal; then the agent works and another decision follows."""
    auto = reviewing()
    auto.turn("It never ends.", changes=False)

    assert auto.decision.action is Action.CONTINUE
    auto.turn("Mended. \n<promise>COMPLETE</promise>")
    assert "A review of your work says:\nIt never ends." in auto.prompts[-1]
    assert auto.decision.action is Action.REVIEW


def test_f9_a_review_without_consequences_is_the_last():
    auto = reviewing()
    auto.turn("All is well.", changes=False)
    auto.turn(DONE, changes=False)

    assert auto.decision.action is Action.STOP


def test_na11_f9_a_review_of_its_own_that_found_nothing_costs_no_further_turn():
    """F9: it is asked to say so by a signal, in runs that began with that prompt."""
    auto = reviewing()
    asked = auto.begin().prompt.review
    auto = reviewing()
    auto.turn("All is well.\n<promise>COMPLETE</promise>", changes=False)

    assert "<promise>COMPLETE</promise>" in asked
    assert auto.decision.action is Action.STOP
    old = AutoSteps(name="a", target="main", review="end", edition=4)
    old.turn(DONE)
    assert "<promise>COMPLETE</promise>" not in old.begin().prompt.review


def test_f9_what_a_person_says_is_heard_in_a_review():
    """The agent's own review command gets no messages, so the prompt is used instead."""
    auto = reviewing()
    auto.say(Say(text="Mind the dates."))

    move = auto.begin()

    assert move.prompt.review == ""
    assert "A person says: Mind the dates." in move.prompt.text


def test_k5_a_turn_that_came_to_its_cap_is_a_turn_and_it_goes_on():
    """K5: a capped turn is no error, but no progress is still detected."""
    auto = AutoSteps()
    for _ in range(2):
        auto.fail(FailureKind.CAPPED)
        assert auto.decision.action is Action.CONTINUE
    auto.fail(FailureKind.CAPPED)

    assert "Your last turn was cut off" in auto.prompts[1]
    assert auto.decision.condition.startswith("soft stop: no progress")


def test_f3_a_model_decides_from_all_that_is_known_of_the_turn():
    """F3: ids, status, plan, diff, usage, requests, earlier decisions and compactions."""
    auto = modelled(name="a", target="main")
    auto.say(Raise(limits=Limits(turns=9, tokens=5000, cost_microusd=2_000_000, time_s=3600)))
    auto.turn()
    auto.turn(advice())
    auto.begin()
    items = [
        ("plan", "[x] lexer"),
        ("command", "$ pytest\n1 failed\n[exit 1]"),
        ("denied", "sudo ls (takes over the machine)"),
        ("compaction", ""),
    ]
    noted = tuple(Item(kind=kind, text=text) for kind, text in items)
    auto.fold(Noted(at=auto.now, id=auto.run.open_move.id, items=noted))
    ask = Ask(id="a1", argv=("make", "install"), text="make install")
    auto.fold(Asked(at=auto.now, id=auto.run.open_move.id, ask=ask))
    sketch = ("M src/lexer.py", "A AGENTS.md")
    change = Change(
        head="c2", commits=2, files=5, sketch=sketch, guarded={"AGENTS.md": "steers agents"}
    )
    usage = Usage(input=900, cached=300, output=50, cost_microusd=70_000)
    auto.ended(TurnDone(text="Going on.", thread="t", usage=usage, change=change))
    auto.begin()

    assert auto.prompts[-1].endswith(
        """\
Turn 2 (move 4 of the record, thread t): completed

Plan:
[x] lexer

Changed so far: 5 files, 2 commits
M src/lexer.py
A AGENTS.md
and 3 more

Of these a person has to know:
- AGENTS.md steers agents

It asked, and nobody has answered:
- make install

It was denied:
- sudo ls (takes over the machine)

What it did last:
- command: $ pytest … [exit 1]

Tokens of this turn: 900 in (300 cached), 50 out

Used so far: 3 of 9 turns, 1,150 of 5,000 tokens, $0.07 of $2.00, 0 of 60 minutes

Compactions so far: 1 (in turn 2)

Decisions before:
turn 1: continue, it goes well (0.9)

What it said last:
Going on."""
    )


def test_q20_a_run_of_the_first_edition_asks_as_it_did():
    auto = modelled(edition=1)
    auto.turn(items=[("denied", "sudo ls"), ("command", "$ ls")])
    auto.begin()

    assert auto.prompts[-1].endswith(
        "Turn 1: completed\n\nPlan: none was told\n\nNo files\n\nTokens of this turn: 100\n\n"
        "Compactions so far: 0\n\nWhat it said last:\nGoing on."
    )


@pytest.mark.parametrize(
    ("kind", "edition", "reason"),
    [
        (FailureKind.TIMED_OUT, 2, "the turn failed (timed out); it is tried again"),
        (FailureKind.BAD_REQUEST, 2, "the turn failed (bad request)"),
        (FailureKind.BAD_REQUEST, 1, "the turn failed (bad_request); it is tried again"),
    ],
)
def test_f3_the_reason_after_a_failure_is_in_words(kind, edition, reason):
    """F3: the reason promises no retry if there is none; older editions keep their text."""
    auto = AutoSteps(edition=edition)
    auto.fail(kind)

    assert auto.decision.reason == reason


def fallback_auto(recover=True):
    return AutoSteps(
        fallbacks=["claude"],
        terms={"codex": {"account": "a"}, "claude": {"account": "b"}},
        endurance={"recover": recover},
    )


def test_p6_a_limited_agent_is_replaced_at_once_and_taken_back_after_its_limit():
    auto = fallback_auto()
    auto.turn()
    auto.fail(FailureKind.USAGE_LIMITED, retry_at=auto.now + timedelta(hours=5))
    other = auto.turn()
    auto.now += timedelta(hours=5)
    back = auto.turn()
    switches = [(each.before, each.after, each.reason) for each in auto.state.roster.switches]

    assert (other.agent, other.thread) == ("claude", None)
    assert "Another agent worked on this before you." in auto.prompts[2]
    assert (back.agent, back.thread) == ("codex", None)
    assert switches == [("codex", "claude", "usage_limited"), ("claude", "codex", "recovered")]


def test_p6_without_recover_primary_the_fallback_keeps_the_thread():
    auto = fallback_auto(recover=False)
    auto.fail(FailureKind.USAGE_LIMITED, retry_at=auto.now + timedelta(hours=5))
    auto.turn()
    auto.now += timedelta(hours=5)
    kept = auto.turn()

    assert (kept.agent, kept.thread) == ("claude", "t")


def test_p5_a_short_limit_is_waited_for_and_then_the_fallback_continues():
    auto = fallback_auto()
    agents, waits = [], []
    for _ in range(4):
        before = auto.now
        agents.append(auto.begin().agent)
        waits.append((auto.now - before).total_seconds())
        auto.ended(Failed(kind=FailureKind.RATE_LIMITED))

    assert agents == ["codex"] * 4
    assert [round(wait / 5) for wait in waits] in ([0, 1, 3, 9], [0, 1, 3, 10])
    assert auto.begin().agent == "claude"


def test_p6_without_credit_the_fallback_continues_and_without_one_it_is_decided():
    auto = fallback_auto()
    auto.fail(FailureKind.BILLING)
    assert auto.begin().agent == "claude"

    auto.ended(Failed(kind=FailureKind.BILLING, message="no credit"))
    assert auto.decision is not None


def test_p5_if_all_agents_are_limited_it_waits_for_the_first_one():
    auto = fallback_auto()
    at = auto.now + timedelta(hours=2)
    auto.fail(FailureKind.USAGE_LIMITED, retry_at=at + timedelta(hours=1))
    auto.fail(FailureKind.USAGE_LIMITED, retry_at=at)
    move = run.choose(auto.pilot, auto.run, auto.now)

    assert move == Wait(reason="every agent is at its limit", until=at)
    assert auto.begin().agent == "claude"


@pytest.mark.parametrize(("edition", "goes_on"), [(3, False), (4, True)])
def test_k6_finished_work_is_verified_and_merged_although_its_budget_is_used_up(edition, goes_on):
    auto = AutoSteps(name="a", target="main", gate={"checks": [CHECK]}, edition=edition)
    auto.say(Raise(limits=Limits(tokens=50)))
    auto.turn(DONE)

    assert isinstance(auto.move(), RunChecks) is goes_on
    if goes_on:
        auto.begin()
        auto.ended(ChecksDone(tree="t"))
        assert isinstance(auto.begin(), Spawn)
    else:
        assert auto.move().outcome is Outcome.BRAKED
