"""B7: the task pilot, move by move."""

from datetime import timedelta

import msgspec
import pytest
from msgspec.structs import replace

from allstop.board.task_pilot import RETRIED, TaskPilot
from allstop.core import work_prompts
from allstop.core.board_specs import EDITION
from allstop.core.brakes import AtLimit, Limits
from allstop.core.commands import Answer, Resume, Retry, Say, Skip
from allstop.core.gate import Check
from allstop.core.moves import (
    BRAKED,
    LIMITED,
    RESUMABLE,
    Change,
    CheckResult,
    ChecksDone,
    Compaction,
    Deliver,
    Delivered,
    Failed,
    FailureKind,
    Finish,
    Item,
    OpenWorkspace,
    Outcome,
    RunChecks,
    TakeTurn,
    TurnDone,
    Usage,
    Wait,
    WorkspaceOpen,
)
from allstop.core.prompt import prompt
from allstop.core.review_comments import Remark
from allstop.core.signals import Signal, SignalClaim
from support.pilot_steps import PilotSteps
from support.strategies import NOW

COMPLETE = "<promise>COMPLETE</promise>"
WORK = Change(head="c1", commits=1, files=2)
NO_WORK = Change(head="c0")
TESTS = {"name": "Tests", "run": "pytest -q"}
DONE = Finish(outcome=Outcome.DONE)  # without a repository there are no facts
VERIFIED = Finish(outcome=Outcome.DONE, facts={"commit": "c1", "tree": "", "clean": "yes"})
UNVERIFIED = replace(VERIFIED, facts={**VERIFIED.facts, "unverified": "yes"})
FLAT = {"first_s": 2.0, "jitter": 0.0, "retries": 2}


def fly(**spec):
    given = {"task": "t", "goal": "Fix it", "agents": ["first"], "backoff": FLAT}
    limits = spec.pop("limits", Limits())
    return PilotSteps(TaskPilot(), {**given, "edition": EDITION, **spec}, limits=limits)


def fly_in_a_workspace(**spec):
    flight = fly(target="main", **spec)
    assert flight.back(WorkspaceOpen(base="c0")).workspace == "t"
    return flight


def said(text, change=None, thread=None):
    return TurnDone(text=text, change=change, thread=thread)


def failed(kind, **more):
    return Failed(kind=kind, **more)


def after(seconds):
    return NOW + timedelta(seconds=seconds)


# --- the moves of a task ---


def test_the_first_turn_has_the_goal_and_the_rules_for_signals():
    move = fly(max_tokens=70, turn_s=9.0, idle_s=8.0).next()

    assert move == TakeTurn(
        agent="first",
        prompt=prompt(work_prompts.first("Fix it")),
        timeout_s=9.0,
        idle_s=8.0,
        max_tokens=70,
    )


def test_a_task_of_a_repository_opens_its_workspace_first_and_works_there():
    flight = fly(target="main")

    assert flight.next() == OpenWorkspace(workspace="t", target="main")
    assert flight.back(WorkspaceOpen(base="c0")).workspace == "t"


def test_complete_with_work_is_checked_and_brought_home_and_done():
    flight = fly_in_a_workspace(checks=[TESTS], branch="allstop/t")

    assert flight.back(said(COMPLETE, WORK)) == RunChecks(
        checks=(Check(name="Tests", run="pytest -q"),), workspace="t", follows="main"
    )
    assert flight.back(ChecksDone()) == Deliver(workspace="t", branch="allstop/t")
    assert flight.back(Delivered(branch="allstop/t", commit="c1")) == VERIFIED


def test_complete_without_a_repository_is_done_at_once():
    assert fly().back(said(COMPLETE)) == DONE


def test_complete_without_checks_or_branch_is_done_once_it_was_looked_at():
    flight = fly_in_a_workspace()

    assert flight.back(said(COMPLETE, WORK)) == RunChecks(checks=(), workspace="t")
    assert flight.back(ChecksDone()) == UNVERIFIED


def test_a_turn_goes_on_in_the_same_conversation():
    flight = fly()

    assert flight.next().thread is None
    assert flight.back(said("more", thread="t-1")).thread == "t-1"
    assert flight.back(said("more")).thread == "t-1"


def test_a_conversation_that_was_opened_is_taken_up_again_after_a_crash():
    """P7: in the same conversation."""
    flight = fly()
    flight.start()
    flight.opens("t-7")

    assert flight.end(failed(FailureKind.INTERRUPTED)).thread == "t-7"


@pytest.mark.parametrize("text", ["working", "<promise>PROGRESS: 40% tests</promise>", ""])
def test_b7_without_a_final_signal_it_is_asked_to_go_on(text):
    move = fly().back(said(text))

    assert move.prompt == prompt(work_prompts.again("Fix it", work_prompts.NO_SIGNAL))


# --- COMPLETE that does not count ---


def test_b17_commits_that_would_be_lost_are_not_complete():
    """B17: in a submodule, or in a repository within the workspace."""
    flight = fly_in_a_workspace(branch="b")
    change = Change(head="c1", commits=1, files=2, loose=("lib", "sub"))

    move = flight.back(said(COMPLETE, change))

    assert move.prompt == prompt(work_prompts.again("Fix it", work_prompts.loose(("lib", "sub"))))
    assert "nowhere else: lib, sub." in move.prompt.text


def test_b6_complete_with_nothing_but_changes_within_a_submodule_is_told():
    flight = fly_in_a_workspace(branch="b")
    change = Change(head="c1", commits=0, files=0, loose=("lib (changed)",))

    move = flight.back(said(COMPLETE, change))

    assert move.prompt == prompt(
        work_prompts.again("Fix it", work_prompts.loose(("lib (changed)",)))
    )


@pytest.mark.parametrize("change", [None, NO_WORK])
def test_k20_complete_without_a_change_is_not_complete(change):
    flight = fly_in_a_workspace(checks=[TESTS], branch="b")

    move = flight.back(said(COMPLETE, change))
    assert move.prompt == prompt(work_prompts.again("Fix it", work_prompts.NO_CHANGE))


def test_work_of_an_earlier_turn_counts_for_a_later_complete():
    flight = fly_in_a_workspace()
    flight.back(said("half", WORK))
    flight.back(said(COMPLETE))

    assert flight.back(ChecksDone()) == UNVERIFIED


def test_b7_failed_checks_come_back_with_command_exit_code_and_end_of_output():
    flight = fly_in_a_workspace(checks=[TESTS], branch="b")
    flight.back(said(COMPLETE, WORK))
    output = "x" * 9000 + "\nE  assert 1 == 2"
    bad = CheckResult(name="Tests", run="pytest -q", passed=False, code=3, output=output)
    move = flight.back(ChecksDone(results=(bad,)))

    assert isinstance(move, TakeTurn)
    assert "$ pytest -q\n(exit code 3)" in move.prompt.text
    assert move.prompt.text.count("E  assert 1 == 2") == 1
    assert len(move.prompt.text) < 6000


def test_checks_are_run_again_after_a_further_turn_and_only_a_pass_delivers():
    flight = fly_in_a_workspace(checks=[TESTS], branch="b")
    bad = CheckResult(name="Tests", run="pytest -q", passed=False, code=1)
    flight.back(said(COMPLETE, WORK))
    flight.back(ChecksDone(results=(bad,)))

    assert isinstance(flight.back(said(COMPLETE, WORK)), RunChecks)
    assert isinstance(flight.back(ChecksDone()), Deliver)


QUICK = {"name": "Lint", "run": "lint {changed}", "each_turn": True}


def test_m4_checks_of_each_turn_run_after_a_commit_and_tell_the_agent_what_fails():
    flight = fly_in_a_workspace(checks=[TESTS, QUICK])
    move = flight.back(said("going on", WORK))
    lint = Check(name="Lint", run="lint {changed}", each_turn=True)
    assert move == RunChecks(checks=(lint,), workspace="t", keep_going=True, affected=True)

    bad = CheckResult(name="Lint", run=lint.run, passed=False, code=1, output="E501")
    turn = flight.back(ChecksDone(results=(bad,)))
    assert "E501" in turn.prompt.text
    assert isinstance(flight.back(said("nothing new", WORK)), TakeTurn), "no commit, no check"

    move = flight.back(said(COMPLETE, WORK))
    assert [check.name for check in move.checks] == ["Tests", "Lint"], "in the end all of them"


def test_m4_work_with_a_skipped_check_is_checked_as_a_whole_when_it_is_merged():
    flight = fly_in_a_workspace(checks=[TESTS, {**TESTS, "name": "Docs", "paths": ["docs/**"]}])
    assert flight.back(said(COMPLETE, WORK)).affected

    done = flight.back(ChecksDone(tree="tree 1", skipped=("Docs",)))

    assert done.facts["tree"] == "", "this tree has not passed everything"


def test_a_check_that_is_not_required_fails_nobody():
    flight = fly_in_a_workspace(checks=[TESTS])
    flight.back(said(COMPLETE, WORK))
    bad = CheckResult(name="Lint", run="lint", passed=False, required=False, code=1)

    assert flight.back(ChecksDone(results=(bad,))) == VERIFIED


def test_the_failure_is_told_once_and_not_in_the_turn_after_it():
    flight = fly_in_a_workspace(checks=[TESTS])
    flight.back(said(COMPLETE, WORK))
    bad = CheckResult(name="Tests", run="pytest -q", passed=False, code=1)
    flight.back(ChecksDone(results=(bad,)))

    assert "pytest" not in flight.back(said("hm", WORK)).prompt.text


# --- other signals and messages ---


def test_b7_blocked_ends_with_the_reason():
    move = fly().back(said("I tried.\n<promise>BLOCKED: no API key</promise>"))

    assert move == Finish(outcome=Outcome.BLOCKED, note="no API key")


def test_b7_a_signal_by_a_tool_counts_like_the_line():
    """B7: the gate still decides."""
    by_line, by_tool = fly(), fly()
    claim = TurnDone(text="It is done.", signals=(SignalClaim(signal=Signal.COMPLETE),))

    assert by_tool.back(claim) == by_line.back(said("It is done.\n<promise>COMPLETE</promise>"))


def test_b7_signals_that_differ_wait_for_a_person():
    """B7: a withdrawn claim does not count."""
    claim = TurnDone(
        text="It is done.\n<promise>COMPLETE</promise>",
        signals=(SignalClaim(signal=Signal.BLOCKED, text="no access"),),
    )

    move = fly().back(claim)

    assert isinstance(move, Wait)
    assert move.question.startswith("it said BLOCKED and COMPLETE; which one holds?")


def test_b7_how_far_it_is_can_be_told_by_a_tool():
    flight = fly()
    flight.start()
    flight.notes(Item(kind="progress", text="40% the parser reads"))

    assert flight.state.pilot.progress == "40% the parser reads"


def test_b7_pending_waits_for_a_person_and_the_answer_goes_into_the_next_turn():
    flight = fly()

    move = flight.back(said("<promise>PENDING: tabs or spaces?</promise>"))
    assert move == Wait(reason="asks: tabs or spaces?", for_person=True, question="tabs or spaces?")
    assert flight.wait(10**6).next() == move
    move = flight.told(Answer(text="tabs"))
    assert move.prompt == prompt(
        work_prompts.again("Fix it", work_prompts.answered("tabs or spaces?", "tabs"))
    )


def test_an_answer_that_nobody_waits_for_changes_nothing():
    flight = fly()
    before = flight.next()

    assert flight.told(Answer(text="42")) == before


def test_what_people_say_is_in_the_next_prompt_and_in_no_later_one():
    flight = fly()
    flight.told(Say(text="use tabs"))

    assert "A person says: use tabs" in flight.told(Say(text="and Python")).prompt.text
    assert "A person says: and Python" in flight.next().prompt.text
    assert "A person says" not in flight.back(said("ok")).prompt.text


def test_what_people_say_during_a_turn_is_kept_for_the_next():
    flight = fly()
    flight.told(Say(text="early"))
    flight.start()
    flight.told(Say(text="late"))
    move = flight.end(said("ok"))

    assert "late" in move.prompt.text
    assert "early" not in move.prompt.text


def test_b20_what_reached_the_agent_at_once_is_in_no_later_prompt():
    """B20: each message is delivered once, in order."""
    flight = fly()
    flight.told(Say(text="early"))
    flight.start()
    assert flight.undelivered == ()
    flight.told(Say(text="now"))
    flight.told(Say(text="later"))
    assert flight.undelivered == ("A person says: now", "A person says: later")
    flight.reaches()
    assert flight.undelivered == ("A person says: later",)
    text = flight.end(said("ok")).prompt.text

    assert [word in text for word in ("early", "now", "later")] == [False, False, True]


@pytest.mark.parametrize("signal", ["COMPLETE", "BLOCKED: no key"])
def test_b20_it_is_not_over_before_the_agent_has_heard_what_was_said(signal):
    """B20: a message that came too late for the turn is not lost."""
    flight = fly()
    flight.start()
    flight.told(Say(text="and the tests"))

    assert "and the tests" in flight.end(said(f"<promise>{signal}</promise>")).prompt.text
    assert isinstance(flight.back(said(f"<promise>{signal}</promise>")), Finish)


def test_b20_what_is_said_while_the_work_is_checked_goes_to_the_agent():
    flight = fly(target="main", checks=[{"name": "t", "run": "t"}])
    flight.back(WorkspaceOpen(base="c0"))
    flight.back(said(COMPLETE, change=WORK))
    flight.start()
    flight.told(Say(text="wait"))

    assert "wait" in flight.end(ChecksDone()).prompt.text


def test_b20_without_a_turn_left_what_is_complete_stays_so():
    flight = fly(iterations=1)
    flight.start()
    flight.told(Say(text="late"))

    assert flight.end(said(COMPLETE)) == Finish(outcome=Outcome.DONE)


def test_b20_an_agent_that_says_done_is_told_first_what_came_meanwhile():
    flight = fly()
    flight.start()
    flight.told(Say(text="use tabs", remarks=(Remark(id="1", file="a.py", line=2, text="Why?"),)))

    move = flight.end(said(COMPLETE))

    assert "A person says: use tabs\n\na.py:2\nWhy?" in move.prompt.text
    assert flight.back(said(COMPLETE)) == DONE


def test_what_people_said_is_told_again_when_the_turn_was_lost():
    flight = fly()
    flight.told(Say(text="use tabs"))

    assert "use tabs" in flight.back(failed(FailureKind.INTERRUPTED)).prompt.text


def test_commands_that_are_not_for_a_task_change_nothing():
    flight = fly()
    before = flight.next()

    assert flight.told(Skip()) == before


# --- iterations ---


def test_b7_when_the_iterations_are_used_up_it_has_timed_out():
    flight = fly(iterations=3)
    flight.back(said("1"))
    flight.back(said("2"))

    assert flight.back(said("3")) == Finish(
        outcome=Outcome.TIMED_OUT, note="not done after 3 turns"
    )


def test_the_last_iteration_may_still_complete():
    flight = fly_in_a_workspace(iterations=1, checks=[TESTS])

    assert isinstance(flight.back(said(COMPLETE, WORK)), RunChecks)
    assert flight.back(ChecksDone()) == VERIFIED


def test_failed_checks_after_the_last_iteration_are_the_end():
    flight = fly_in_a_workspace(iterations=1, checks=[TESTS])
    flight.back(said(COMPLETE, WORK))
    bad = CheckResult(name="Tests", run="pytest -q", passed=False, code=1)

    assert flight.back(ChecksDone(results=(bad,))).outcome is Outcome.TIMED_OUT


@pytest.mark.parametrize("kind", sorted(RESUMABLE | RETRIED | LIMITED))
def test_a_turn_that_did_not_come_about_is_no_iteration(kind):
    flight = fly(iterations=1)
    flight.back(failed(kind))

    assert isinstance(flight.wait(10**4).next(), TakeTurn)


# --- failures ---

ENDS = {
    FailureKind.AUTH: Outcome.FAILED,
    FailureKind.BAD_REQUEST: Outcome.FAILED,
    FailureKind.BILLING: Outcome.FAILED,
    FailureKind.BUSY: Outcome.FAILED,
    FailureKind.CONFLICT: Outcome.FAILED,
    FailureKind.CONTEXT: Outcome.FAILED,
    FailureKind.EXITED: Outcome.FAILED,
    FailureKind.MOVED: Outcome.FAILED,
    FailureKind.TIMED_OUT: Outcome.TIMED_OUT,
    FailureKind.UNSAFE: Outcome.FAILED,
}


def test_every_kind_of_failure_has_its_place():
    places = [set(ENDS), RESUMABLE, LIMITED, RETRIED, BRAKED, {FailureKind.CAPPED}]

    assert set().union(*places) == set(FailureKind)
    assert sum(map(len, places)) == len(FailureKind)


@pytest.mark.parametrize(("kind", "outcome"), sorted(ENDS.items()))
def test_a_failure_that_waiting_would_not_mend_ends_the_task_and_says_why(kind, outcome):
    move = fly().back(failed(kind, message="because\nof this"))

    assert move == Finish(outcome=outcome, note=f"{kind}: because of this", failure=kind)


@pytest.mark.parametrize("kind", sorted(RESUMABLE))
def test_a_turn_that_was_cut_off_by_us_is_taken_again_at_once(kind):
    flight = fly()
    first = flight.next()

    for _ in range(10):
        assert flight.back(failed(kind)) == first


@pytest.mark.parametrize("kind", sorted(RETRIED))
def test_a_turn_that_failed_by_chance_is_tried_again_twice_with_longer_waits(kind):
    flight = fly()

    assert flight.back(failed(kind)) == Wait(reason="tries again later", until=after(2))
    assert isinstance(flight.wait(2).next(), TakeTurn)
    assert flight.back(failed(kind)) == Wait(reason="tries again later", until=after(6))
    assert isinstance(flight.wait(4).next(), TakeTurn)
    assert flight.back(failed(kind, message="boom")) == Finish(
        outcome=Outcome.FAILED, note=f"{kind}: boom", failure=kind
    )


def test_a_turn_that_succeeds_forgets_the_failures_before_it():
    flight = fly()
    for _ in range(5):
        for _ in range(2):
            flight.back(failed(FailureKind.NETWORK))
            flight.wait(100)
        assert isinstance(flight.back(said("went well")), TakeTurn)


def test_retry_ends_the_wait_and_counts_from_the_start():
    flight = fly()
    flight.back(failed(FailureKind.NETWORK))

    assert isinstance(flight.told(Retry()), TakeTurn)
    assert flight.back(failed(FailureKind.NETWORK)) == Wait(
        reason="tries again later", until=after(2)
    )


def test_waits_are_jittered_by_the_task_so_that_many_do_not_come_back_at_once():
    waits = {
        fly(task=f"t{n}", backoff={}).back(failed(FailureKind.NETWORK)).until for n in range(20)
    }

    assert len(waits) > 15
    assert all(after(2) <= until <= after(2.2) for until in waits)


@pytest.mark.parametrize("kind", sorted(LIMITED))
def test_k13_a_limited_agent_is_left_alone_until_it_may_speak_again(kind):
    flight = fly()
    move = flight.back(failed(kind, retry_at=after(3600)))

    assert move == Wait(reason="first is at its limit", until=after(3600))
    assert isinstance(flight.wait(3600).next(), TakeTurn)


def test_k13_a_limited_agent_that_gives_no_time_is_left_alone_longer_and_longer():
    flight = fly()
    waits = []
    for _ in range(5):
        before = flight.now
        until = flight.back(failed(FailureKind.OVERLOADED)).until
        waits.append((until - before).total_seconds())
        flight.now = until

    for wait_s, least_s in zip(waits, [5, 15, 45, 135, 300], strict=True):
        assert least_s <= wait_s <= least_s * 1.1


def _limited_for(flight, hours, **how):
    """The next move after retries for this long."""
    move, end = None, flight.now + timedelta(hours=hours)
    while flight.now < end and not isinstance(move, Finish):
        move = flight.back(failed(FailureKind.USAGE_LIMITED, message="no more", **how))
        flight.now = move.until if isinstance(move, Wait) else flight.now
    return move


def test_b8_a_limit_that_names_no_time_is_not_waited_for_without_end():
    """B8, P5: it is retried for as long as configured, then it waits for a person."""
    flight = fly(limit_s=7200.0)

    assert isinstance(_limited_for(flight, 1.5), Wait)
    end = _limited_for(flight, 1)

    note = "usage_limited: no more; still so after 2 h"
    limited = FailureKind.USAGE_LIMITED
    assert end == Finish(outcome=Outcome.FAILED, note=note, failure=limited)
    assert after(7200) <= flight.now <= after(7200 + 330)


def test_k13_a_limit_that_names_a_time_is_waited_for_although_it_is_far():
    flight = fly(limit_s=60.0)

    for days in (5, 10):
        move = flight.back(failed(FailureKind.USAGE_LIMITED, retry_at=after(86_400 * days)))
        assert move.until == after(86_400 * days)
        flight.now = move.until


def test_b8_a_turn_between_two_limits_starts_the_count_again():
    flight = fly(limit_s=7200.0)
    _limited_for(flight, 1.5)
    flight.back(said("working"))

    assert isinstance(_limited_for(flight, 1.5), Wait)


def test_b8_the_attempts_of_old_records_wait_as_they_did():
    assert isinstance(_limited_for(fly(), 48), Wait)


@pytest.mark.parametrize("retry_at", [after(-3600), NOW])
def test_q19_a_limit_that_is_said_to_be_over_already_is_not_hammered_at(retry_at):
    """Clocks differ: a retry time in the past must not cause endless immediate retries."""
    flight = fly()
    move = flight.back(failed(FailureKind.RATE_LIMITED, retry_at=retry_at))

    assert isinstance(move, Wait)
    assert move.until > flight.now


def test_b8_what_only_seems_to_be_a_limit_is_tried_again_so_often_and_no_more():
    """B8, P5: each try is a whole turn."""
    flight = fly(limit_retries=2)
    guess = failed(FailureKind.RATE_LIMITED, guessed=True, message="429")
    waits = []
    for _ in range(2):
        waits.append(flight.back(guess))
        flight.now = waits[-1].until

    end = flight.back(guess)

    assert [type(wait) for wait in waits] == [Wait, Wait]
    limited = FailureKind.RATE_LIMITED
    assert end == Finish(outcome=Outcome.FAILED, note="rate_limited: 429", failure=limited)


def test_p5_a_limit_that_says_until_when_is_waited_for_however_often():
    flight = fly(limit_retries=0)

    for number in range(1, 5):
        move = flight.back(
            failed(FailureKind.RATE_LIMITED, guessed=True, retry_at=after(600 * number))
        )
        assert isinstance(move, Wait)
        flight.now = move.until


def test_k13_the_fallback_speaks_while_the_first_is_limited_and_then_the_first_again():
    flight = fly(agents=["first", "second"])
    limit = failed(FailureKind.USAGE_LIMITED, retry_at=after(60))

    assert flight.back(limit).agent == "second"
    assert flight.back(said("hm"), after_s=30).agent == "second"
    assert flight.back(said("hm"), after_s=31).agent == "first"


def test_p5_an_account_without_credit_is_not_tried_again():
    """P5: another account continues; with none left, the attempt ends."""
    flight = fly(agents=["first", "second"])
    unpaid = failed(FailureKind.BILLING, message="no credit")

    assert flight.back(unpaid).agent == "second"
    assert flight.back(said("hm"), after_s=10**5).agent == "second"
    assert flight.back(unpaid) == Finish(
        outcome=Outcome.FAILED, note="billing: no credit", failure=FailureKind.BILLING
    )


def test_another_agent_starts_a_conversation_of_its_own():
    flight = fly(agents=["first", "second"])
    flight.back(said("hm", thread="of-first"))
    move = flight.back(failed(FailureKind.USAGE_LIMITED, retry_at=after(60)))

    assert (move.agent, move.thread) == ("second", None)
    assert flight.back(said("hm", thread="of-second")).thread == "of-second"
    assert flight.wait(60).next().thread is None


def test_k13_when_all_are_limited_the_soonest_is_waited_for():
    flight = fly(agents=["first", "second"])
    flight.back(failed(FailureKind.RATE_LIMITED, retry_at=after(900)))

    assert flight.back(failed(FailureKind.RATE_LIMITED, retry_at=after(300))) == Wait(
        reason="every agent is at its limit", until=after(300)
    )
    assert flight.wait(300).next().agent == "second"
    assert flight.wait(600).next().agent == "first"


def test_a_workspace_that_can_not_be_opened_ends_the_task():
    move = fly(target="nowhere").back(failed(FailureKind.BAD_REQUEST, message="no branch nowhere"))

    note, kind = "bad_request: no branch nowhere", FailureKind.BAD_REQUEST
    assert move == Finish(outcome=Outcome.FAILED, note=note, failure=kind)


def test_a_workspace_that_failed_to_open_by_chance_is_tried_again_after_a_wait():
    flight = fly(target="main")

    assert flight.back(failed(FailureKind.CRASHED)) == Wait(
        reason="tries again later", until=after(2)
    )
    assert isinstance(flight.wait(2).next(), OpenWorkspace)


def test_a_delivery_that_was_cut_off_is_taken_up_again():
    flight = fly_in_a_workspace(branch="b")
    flight.back(said(COMPLETE, WORK))
    flight.back(ChecksDone())

    assert isinstance(flight.back(failed(FailureKind.INTERRUPTED)), OpenWorkspace)
    assert flight.back(WorkspaceOpen(base="base")) == Deliver(workspace="t", branch="b")


def test_a_delivery_that_conflicts_ends_the_task_with_the_reason():
    flight = fly_in_a_workspace(branch="b")
    flight.back(said(COMPLETE, WORK))
    move = flight.back(failed(FailureKind.CONFLICT, message="b has moved"))

    note, kind = "conflict: b has moved", FailureKind.CONFLICT
    assert move == Finish(outcome=Outcome.FAILED, note=note, failure=kind)


# --- done = "exit" ---


def test_done_by_exit_takes_the_end_of_a_turn_with_work_for_complete():
    flight = fly_in_a_workspace(done="exit", checks=[TESTS])

    assert isinstance(flight.back(said("bye", WORK)), RunChecks)


@pytest.mark.parametrize("change", [None, NO_WORK])
def test_done_by_exit_without_work_goes_on(change):
    assert isinstance(fly_in_a_workspace(done="exit").back(said("bye", change)), TakeTurn)


def test_done_by_exit_still_hears_a_signal():
    flight = fly_in_a_workspace(done="exit")

    assert flight.back(said("<promise>BLOCKED: no</promise>", WORK)).outcome is Outcome.BLOCKED


def test_k13_nobody_of_the_same_account_takes_over_from_one_that_is_limited():
    terms = {"first": {"account": "x"}, "second": {"account": "x"}}
    flight = fly(agents=["first", "second", "third"], terms=terms)

    assert flight.back(failed(FailureKind.RATE_LIMITED, retry_at=after(60))).agent == "third"
    move = flight.back(failed(FailureKind.RATE_LIMITED, retry_at=after(90)))
    assert move == Wait(reason="every agent is at its limit", until=after(60))


def test_p5_whoever_takes_over_works_on_its_own_terms():
    """P5: a fallback whose exit means done completes the task, within its own times."""
    terms = {"second": {"done": "exit", "turn_s": 7.0, "idle_s": 5.0, "max_tokens": 90}}
    flight = fly_in_a_workspace(agents=["first", "second"], turn_s=20.0, terms=terms)
    move = flight.back(failed(FailureKind.RATE_LIMITED, retry_at=after(60)))

    assert (move.agent, move.timeout_s, move.idle_s, move.max_tokens) == ("second", 7.0, 5.0, 90)
    flight.back(said("no signal", WORK))
    assert flight.back(ChecksDone()).outcome is Outcome.DONE


# --- the spec ---


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"task": "t", "goal": "g"},
        {"task": "t", "goal": "g", "agents": "cli"},
        {"task": "t", "goal": "g", "agents": ["a"], "done": "maybe"},
        {"task": "t", "goal": 3, "agents": ["a"]},
    ],
)
def test_a_spec_that_makes_no_sense_is_refused(spec):
    with pytest.raises(msgspec.ValidationError):
        TaskPilot().begin(spec)


def test_k5_a_turn_that_came_to_its_cap_counts_and_the_next_goes_on():
    """K5: its work is kept, and the prompt is not repeated."""
    flight = fly_in_a_workspace(iterations=2)
    flight.back(failed(FailureKind.CAPPED, change=WORK))

    assert flight.state.pilot.iteration == 1
    assert flight.state.pilot.change == WORK
    move = flight.back(failed(FailureKind.CAPPED, change=WORK))
    assert isinstance(move, Finish)
    assert move.outcome is Outcome.TIMED_OUT


def test_k5_after_a_cap_the_agent_is_told_why():
    move = fly().back(failed(FailureKind.CAPPED))

    assert move.prompt.text == work_prompts.again("Fix it", work_prompts.CAPPED)


def test_b8_k5_a_turn_cut_off_at_its_cap_after_the_gate_is_gone_on_with_and_checked_again():
    """B8: the earlier check doesn't count, and a person's message is sent again."""
    flight = fly_in_a_workspace(checks=[TESTS], branch="allstop/t")
    flight.back(said(COMPLETE, WORK))
    flight.start()
    flight.told(Say(text="also fix the docs"))
    assert isinstance(flight.end(ChecksDone()), TakeTurn)

    half = Change(head="c2", commits=2, files=3)
    move = flight.back(failed(FailureKind.CAPPED, change=half))
    assert move.prompt.text == work_prompts.again(
        "Fix it", f"{work_prompts.CAPPED}\n\n{work_prompts.from_person('also fix the docs')}"
    )
    assert isinstance(flight.back(said(COMPLETE, half)), RunChecks)
    assert isinstance(flight.back(ChecksDone()), Deliver)


def test_b8_a_turn_that_was_the_last_and_came_to_its_cap_delivers_nothing():
    flight = fly_in_a_workspace(checks=[TESTS], branch="allstop/t", iterations=2)
    flight.back(said(COMPLETE, WORK))
    flight.start()
    flight.told(Say(text="also fix the docs"))
    flight.end(ChecksDone())

    move = flight.back(failed(FailureKind.CAPPED, change=WORK))
    assert move == Finish(outcome=Outcome.TIMED_OUT, note="not done after 2 turns")


def test_k6_a_night_in_which_nobody_drove_it_is_no_time_at_work():
    """K6: counters survive a restart; time counts up to the last activity."""
    flight = fly(attempt_s=1800.0)
    flight.start()
    flight.wait(600)
    flight.notes(Item(kind="did", text="something"))
    flight.wait(8 * 3600)

    move = flight.end(failed(FailureKind.INTERRUPTED))

    assert isinstance(move, TakeTurn)
    assert move.timeout_s == 1200.0
    assert flight.state.tally.busy_s == 600.0


def test_k5_the_time_of_a_turn_counts_once_however_often_it_is_heard_of():
    flight = fly(attempt_s=1800.0)
    flight.start()
    for _ in range(3):
        flight.wait(100)
        flight.notes(Item(kind="did", text="something"))
    flight.wait(100)
    move = flight.end(said("more"))

    assert move.timeout_s == 1400.0
    assert flight.state.tally.busy_s == 400.0


# --- no progress ---


def spinning(text, turns, **spec):
    flight = fly_in_a_workspace(no_progress=3, iterations=50, **spec)
    for _ in range(turns):
        flight.wait(60)
        move = flight.back(said(text, NO_WORK))
    return flight, move


def test_b24_turns_that_change_nothing_wait_longer_and_then_for_a_person():
    flight, move = spinning("I go on.", 1)
    assert isinstance(move, TakeTurn)
    move = flight.back(said("I go on.", NO_WORK))
    assert (move.reason, move.for_person) == ("no progress; the next turn starts later", False)
    assert flight.now < move.until

    flight.wait(60)
    move = flight.back(said("Other words.", NO_WORK))
    assert move == Wait(reason="no progress: nothing changed in 3 turns", for_person=True)


@pytest.mark.parametrize("command", [Resume(), Retry(), Say(text="try this")])
def test_b24_a_person_lets_a_task_without_progress_go_on(command):
    flight, _ = spinning("I go on.", 3)

    assert isinstance(flight.told(command), TakeTurn)
    assert isinstance(flight.back(said("I go on.", NO_WORK)), TakeTurn)


def test_b24_a_change_starts_the_count_again():
    flight, _ = spinning("I go on.", 2)
    flight.wait(60)

    flight.back(said("I go on.", WORK))
    move = flight.back(said("I go on.", WORK))

    assert isinstance(move, TakeTurn)
    assert flight.state.pilot.unchanged_turns == 1


def gate_failed(output, *, before=False, code=1):
    result = CheckResult(
        name="Tests", run="pytest -q", passed=False, code=code, output=output, failed_before=before
    )
    return ChecksDone(results=(result,))


def complete(flight, number, gate):
    flight.wait(60)
    flight.back(said(COMPLETE, Change(head=f"c{number}", commits=number, files=1)))
    return flight.back(gate)


def test_b24_the_same_failure_of_a_check_is_no_progress_although_files_change():
    flight = fly_in_a_workspace(checks=[TESTS], no_progress=3)
    complete(flight, 1, gate_failed("1 failed in 0.12s"))
    complete(flight, 2, gate_failed("1 failed in 0.34s"))
    move = complete(flight, 3, gate_failed("1 failed in 0.56s"))

    reason = "no progress: this fails: Tests, 3 times in the same way"
    assert move == Wait(reason=reason, for_person=True)


def test_b24_another_failure_of_a_check_is_progress():
    flight = fly_in_a_workspace(checks=[TESTS], no_progress=3)
    moves = [complete(flight, n, gate_failed(f"{9 - n} failed")) for n in range(1, 6)]

    assert all(isinstance(move, TakeTurn) for move in moves)


def test_b24_a_failure_that_the_target_shares_blocks_after_two_equal_results():
    flight = fly_in_a_workspace(checks=[TESTS], no_progress=3)
    assert isinstance(complete(flight, 1, gate_failed("boom", before=True)), TakeTurn)
    move = complete(flight, 2, gate_failed("boom", before=True))

    assert move == Finish(
        outcome=Outcome.BLOCKED,
        note="Tests fails on main without this work, too: boom",
        facts={"target_fails": "Tests"},
    )


def red_on_target(output, **more):
    tests = ("a.py::test_x", "a.py::test_y")
    [result] = gate_failed(output, before=True).results
    return ChecksDone(results=(replace(result, **{"fails_on_target": tests, **more}),))


def test_v11_tests_that_are_red_on_the_target_block_whatever_else_the_output_says():
    flight = fly_in_a_workspace(checks=[TESTS], no_progress=3)
    move = complete(flight, 1, red_on_target("seed 12: boom"))
    assert "These tests fail in the same way without your work:\n  a.py::test_x" in move.prompt.text
    move = complete(flight, 2, red_on_target("seed 99: boom"))

    assert move == Finish(
        outcome=Outcome.BLOCKED,
        note="Tests fails on main without this work, too: a.py::test_x, a.py::test_y;"
        " mend them there, or quarantine them",
        facts={"target_fails": "Tests"},
    )


def test_v11_a_check_with_red_tests_of_its_own_as_well_goes_back_to_its_agent():
    flight = fly_in_a_workspace(checks=[TESTS], no_progress=9)

    for number in range(1, 5):
        output = f"{9 - number} failed"
        move = complete(flight, number, red_on_target(output, failed_before=False))
        assert isinstance(move, TakeTurn)
        assert "fail in the same way without your work" in move.prompt.text


def test_b24_attempts_of_old_records_go_on_without_progress():
    flight = fly_in_a_workspace(checks=[TESTS])
    for _ in range(6):
        assert isinstance(flight.back(said("I go on.", NO_WORK)), TakeTurn)
    for number in range(1, 6):
        assert isinstance(complete(flight, number, gate_failed("boom", before=True)), TakeTurn)


# --- a used-up budget ---


def test_k6_finished_work_is_verified_although_its_budget_is_used_up():
    flight = fly_in_a_workspace(checks=[TESTS], branch="allstop/t", limits=Limits(tokens=10))
    used = Usage(output=11)

    move = flight.back(replace(said(COMPLETE, WORK), usage=used))

    assert isinstance(move, RunChecks)
    assert flight.back(ChecksDone()) == Deliver(workspace="t", branch="allstop/t")
    assert flight.back(Delivered(branch="allstop/t", commit="c1")) == VERIFIED


def test_k6_after_a_failed_gate_a_used_up_budget_allows_no_turn():
    flight = fly_in_a_workspace(checks=[TESTS], limits=Limits(tokens=10))
    flight.back(replace(said(COMPLETE, WORK), usage=Usage(output=11)))

    assert flight.back(gate_failed("1 failed")) == Finish(
        outcome=Outcome.BRAKED, note="tokens: 11 of 10"
    )


def test_k6_a_message_that_needs_a_turn_waits_for_the_budget():
    limits = Limits(tokens=10, at_limit=AtLimit.PAUSE)
    flight = fly_in_a_workspace(checks=[TESTS], limits=limits)
    flight.back(replace(said(COMPLETE, WORK), usage=Usage(output=11)))

    assert flight.told(Say(text="one more thing")).at_limit


@pytest.mark.parametrize(
    ("edition", "limits"), [(2, {"tokens": 10}), (EDITION, {"tokens": 10, "busy_s": 5.0})]
)
def test_k6_older_attempts_and_a_time_limit_end_before_the_gate(edition, limits):
    flight = fly_in_a_workspace(checks=[TESTS], edition=edition, limits=Limits(**limits))

    move = flight.back(replace(said(COMPLETE, WORK), usage=Usage(output=11)), after_s=6)

    assert move.outcome is Outcome.BRAKED


# --- P10: compaction ---


def compacted_by_summary(text):
    size = Compaction(before=9_000, after=4, summary=True)
    return TurnDone(text=text, thread="t", context=9_500, compacted=size)


def test_p10_a_long_conversation_is_compacted_before_the_next_turn():
    """It is no iteration; what people said meanwhile is for the next turn."""
    flight = fly_in_a_workspace(compact_at=9_000)
    compacting = flight.back(TurnDone(text="Half.", change=WORK, thread="t", context=9_000))
    flight.start()
    flight.told(Say(text="Hurry."))
    undelivered = flight.undelivered
    turn = flight.end(compacted_by_summary(f"Half is done.\n{COMPLETE}"))

    assert (compacting.compacts, compacting.thread) == (9_000, "t")
    assert undelivered == ()
    assert (turn.compacts, turn.thread) == (0, None)
    assert "Your summary of it:\nHalf is done." in turn.prompt.text
    assert "A person says: Hurry." in turn.prompt.text
    assert flight.state.pilot.iteration == 1


def test_p10_a_failed_compaction_does_not_end_the_attempt():
    flight = fly_in_a_workspace(compact_at=9_000)
    flight.back(TurnDone(text="Half.", change=WORK, thread="t", context=9_000))
    turn = flight.back(failed(FailureKind.BAD_REQUEST, message="no"))

    assert (turn.compacts, turn.thread) == (0, "t")
    assert flight.state.pilot.failures == 0


def test_p10_complete_work_is_not_compacted():
    flight = fly_in_a_workspace(compact_at=9_000, checks=[TESTS])

    assert isinstance(
        flight.back(TurnDone(text=COMPLETE, change=WORK, thread="t", context=9_000)), RunChecks
    )


# --- in a sprint that pauses when a task is stuck ---


def test_s1_a_stuck_task_of_such_a_sprint_waits_for_a_person_who_lets_it_go_on():
    flight = fly_in_a_workspace(stuck_after=2, stuck_waits=True)
    same = Change(head="c0", files=1)

    assert isinstance(flight.back(said("I think.", same)), TakeTurn)
    reason = "no progress: no commit for 2 iterations"
    assert flight.back(said("I still think.", same)) == Wait(reason=reason, for_person=True)

    assert isinstance(flight.told(Resume()), TakeTurn)
    assert isinstance(flight.back(said("Hm.", same)), TakeTurn)
    assert flight.back(said("Hm!", same)) == Wait(reason=reason, for_person=True)


def test_b9_a_stuck_task_outside_of_one_only_warns():
    flight = fly_in_a_workspace(stuck_after=2)
    same = Change(head="c0", files=1)

    flight.back(said("I think.", same))
    assert isinstance(flight.back(said("I still think.", same)), TakeTurn)
