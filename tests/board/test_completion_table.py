"""B7, B8, B9, B10, B13: each row of the tables on how turns and attempts end."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from allstop.board.task_pilot import TaskPilot
from allstop.core import work_prompts
from allstop.core.board_specs import EDITION
from allstop.core.commands import Answer, Say
from allstop.core.gate import Check, Gate
from allstop.core.moves import (
    RESUMABLE,
    Change,
    CheckResult,
    ChecksDone,
    Deliver,
    Failed,
    FailureKind,
    Finding,
    Finish,
    Integrate,
    Integrated,
    Item,
    OpenWorkspace,
    Outcome,
    RunChecks,
    TakeTurn,
    TurnDone,
    Wait,
    WorkspaceOpen,
)
from allstop.core.prompt import prompt
from support.pilot_steps import PilotSteps

COMPLETE = "<promise>COMPLETE</promise>"
CHECKS = [{"name": "Tests", "run": "pytest"}]
BAD = CheckResult(name="Tests", run="pytest", passed=False, code=1, output="E  1 == 2")
GOOD = CheckResult(name="Tests", run="pytest", passed=True, code=0)
PASSED = ChecksDone(results=(GOOD,), tree="tree 1")
FAILED = ChecksDone(results=(BAD,), tree="tree 1")
MINUTES = 60.0
OPENED = WorkspaceOpen(base="c0")


def fly(opened=OPENED, **spec):
    """A board's task, in its workspace."""
    given = {"task": "t", "goal": "Fix it", "agents": ["cli"], "target": "main", "checks": CHECKS}
    flight = PilotSteps(TaskPilot(), {**given, "edition": EDITION, "crash_ends": True, **spec})
    flight.back(opened)
    return flight


def said(text, head="c1"):
    return TurnDone(text=text, thread="t", change=Change(head=head, commits=1, files=1))


def failed(kind, **more):
    return Failed(kind=kind, **more)


def verified(clean="yes", **more):
    facts = {"commit": "c1", "tree": "tree 1", "clean": clean, **more}
    return Finish(outcome=Outcome.DONE, facts=facts)


def asks_for(news):
    return prompt(work_prompts.again("Fix it", news))


# --- Completion Check ---


def test_b8_row_complete_all_pass_is_done_and_can_be_merged():
    flight = fly()

    assert isinstance(flight.back(said(COMPLETE)), RunChecks)
    assert flight.back(PASSED) == verified()


def test_b8_b10_row_complete_any_fail_goes_on_and_says_what_failed():
    flight = fly()
    flight.back(said(COMPLETE))

    assert flight.back(FAILED).prompt == asks_for(work_prompts.failed_gate(FAILED))


def test_b8_row_blocked_ends_whatever_the_checks_would_say():
    assert fly().back(said("<promise>BLOCKED: no key</promise>")) == Finish(
        outcome=Outcome.BLOCKED, note="no key"
    )


def test_b8_b11_row_pending_waits_for_the_person_and_the_answer_is_the_next_prompt():
    flight = fly()

    assert flight.back(said("<promise>PENDING: a or b?</promise>")) == Wait(
        reason="asks: a or b?", for_person=True, question="a or b?"
    )
    assert flight.told(Answer(text="b")).prompt == asks_for(work_prompts.answered("a or b?", "b"))


def test_b8_row_no_signal_goes_on_and_no_check_is_run():
    """B8: all would pass, or any would fail: the agent must signal."""
    move = fly().back(said("I think it is done."))

    assert isinstance(move, TakeTurn)
    assert move.prompt == asks_for(work_prompts.NO_SIGNAL)


def test_b8_b9_row_max_iterations_is_a_timeout():
    flight = fly(iterations=2)
    flight.back(said("1"))

    assert flight.back(said("2", "c2")) == Finish(
        outcome=Outcome.TIMED_OUT, note="not done after 2 turns"
    )


def test_b8_b9_row_timeout_is_a_timeout():
    flight = fly(attempt_s=30 * MINUTES)

    assert flight.back(said("1"), after_s=30 * MINUTES) == Finish(
        outcome=Outcome.TIMED_OUT, note="not done after 30 minutes"
    )


# --- Agent Exit Handling ---


def test_b8_exit_0_no_signal_is_a_further_iteration():
    flight = fly()
    flight.back(said("hm"))

    assert flight.state.pilot.iteration == 1
    assert isinstance(flight.next(), TakeTurn)


def test_b8_exit_other_than_0_fails_at_once():
    """B8: even if it said COMPLETE before it exited."""
    assert fly().back(failed(FailureKind.EXITED, message="exit code 1")) == Finish(
        outcome=Outcome.FAILED, note="exited: exit code 1", failure=FailureKind.EXITED
    )


@pytest.mark.parametrize("kind", [FailureKind.CANCELLED, FailureKind.DISCARDED])
def test_b8_b13_ended_by_the_person_what_was_not_committed_is_stashed_when_it_is_taken_up(kind):
    flight = fly()

    assert flight.back(failed(kind)) == OpenWorkspace(workspace="t", target="main", stash=True)
    move = flight.back(WorkspaceOpen(base="c0", stashed=True))
    assert move.prompt == asks_for(work_prompts.STASHED)
    assert flight.back(said("hm")).prompt == asks_for(work_prompts.NO_SIGNAL)


def test_b13_where_there_was_nothing_to_stash_nothing_is_said_of_it():
    flight = fly()
    flight.back(failed(FailureKind.CANCELLED))

    assert flight.back(WorkspaceOpen(base="c0")).prompt == prompt(work_prompts.first("Fix it"))


def test_b13_a_stop_is_not_forgotten_when_the_workspace_is_interrupted_too():
    flight = fly()
    flight.back(failed(FailureKind.CANCELLED))

    assert flight.back(failed(FailureKind.INTERRUPTED)).stash is True
    flight.back(WorkspaceOpen(base="c0", stashed=True))
    assert flight.back(failed(FailureKind.INTERRUPTED)).stash is False


def test_b8_crash_of_the_agent_ends_the_attempt_for_the_board_to_put_it_back():
    assert fly().back(failed(FailureKind.CRASHED, message="signal 9")) == Finish(
        outcome=Outcome.CRASHED, note="crashed: signal 9", failure=FailureKind.CRASHED
    )


def test_p4_crash_of_an_agent_that_nobody_starts_again_is_tried_again():
    flight = fly(crash_ends=False)

    assert flight.back(failed(FailureKind.CRASHED)).reason == "tries again later"


def test_b8_crash_of_allstop_goes_on_in_the_kept_workspace_and_is_the_same_attempt():
    flight = fly()
    flight.back(said("hm"))

    assert flight.back(failed(FailureKind.INTERRUPTED)) == OpenWorkspace(
        workspace="t", target="main"
    )
    move = flight.back(WorkspaceOpen(base="c0"))
    assert (move.thread, flight.state.pilot.iteration) == ("t", 1)


def test_b8_crash_of_allstop_while_the_checks_ran_runs_them_again():
    flight = fly()
    flight.back(said(COMPLETE))
    flight.back(failed(FailureKind.INTERRUPTED))

    assert isinstance(flight.back(WorkspaceOpen(base="c0")), RunChecks)
    assert flight.back(PASSED) == verified()


# --- signals ---

NO_SIGNALS = {
    "in the middle": f"{COMPLETE}\nOr is it?",
    "in a code fence": f"```\n{COMPLETE}\n```",
    "indented in a fence": f"Say:\n```text\n  {COMPLETE}\n```\n",
    "echoed from the prompt": work_prompts.first("Fix it"),
    "the prompt's own line": "<promise>COMPLETE</promise>            the work is done",
    "two in a line": f"{COMPLETE}{COMPLETE}",
    "two kinds in a line": "<promise>BLOCKED: x</promise><promise>COMPLETE</promise>",
    "quoted": f"> {COMPLETE}",
    "bare": "COMPLETE",
    "lower case": "<promise>complete</promise>",
    "in words": "I would say <promise>COMPLETE</promise>",
    "half": "<promise>COMPLETE",
    "blocked without a reason": "<promise>BLOCKED:</promise>",
    "something else": "<promise>DONE</promise>",
}


@pytest.mark.parametrize("text", NO_SIGNALS.values(), ids=NO_SIGNALS)
def test_b7_anywhere_but_alone_on_the_last_line_it_is_no_signal(text):
    assert fly().back(said(text)).prompt == asks_for(work_prompts.NO_SIGNAL)


@pytest.mark.parametrize(
    "text", [f"<promise>BLOCKED: x</promise>\n{COMPLETE}", f"hm\n\n{COMPLETE} \n\n"]
)
def test_b7_of_two_signals_the_last_line_counts(text):
    assert isinstance(fly().back(said(text)), RunChecks)


@pytest.mark.parametrize("change", [None, Change(head="c0"), Change(head="c9", commits=1, files=0)])
def test_b8_k20_complete_without_a_change_is_not_complete(change):
    move = fly(checks=[]).back(TurnDone(text=COMPLETE, change=change))

    assert move.prompt == asks_for(work_prompts.NO_CHANGE)


def test_b7_how_far_it_is_is_known_from_its_own_words_only():
    flight = fly()
    flight.start()
    signal = "<promise>PROGRESS: 40% tests</promise>"
    flight.notes(Item(kind="output", text=signal), Item(kind="command", text=signal))
    assert flight.state.pilot.progress == ""
    flight.notes(Item(kind="message", text=f"so far\n{signal}"))
    assert flight.state.pilot.progress == "40% tests"

    move = flight.end(said("<promise>PROGRESS: 60% docs</promise>"))
    assert flight.state.pilot.progress == "60% docs"
    assert move.prompt == asks_for(work_prompts.NO_SIGNAL)


def test_b7_words_on_the_way_are_no_signal_but_of_progress():
    flight = fly()
    flight.start()
    flight.notes(Item(kind="message", text=COMPLETE))

    assert isinstance(flight.end(said("hm")), TakeTurn)


# --- time ---


def test_b9_only_the_time_in_moves_counts():
    flight = fly(attempt_s=100.0)
    flight.back(said("<promise>PENDING: well?</promise>"), after_s=30)
    flight.wait(10**6)
    move = flight.told(Answer(text="yes"))
    assert move.timeout_s == 70

    limited = failed(FailureKind.RATE_LIMITED, retry_at=flight.now)
    flight.back(limited, after_s=10)
    flight.wait(10**6)
    assert flight.next().timeout_s == 60


def test_b9_the_gate_is_included_and_has_only_what_is_left():
    flight = fly(attempt_s=100.0)
    move = flight.back(said(COMPLETE), after_s=40)
    assert move.timeout_s == 60

    move = flight.back(FAILED, after_s=50)
    assert move.timeout_s == 10
    assert flight.back(said(COMPLETE), after_s=10).outcome is Outcome.TIMED_OUT


def test_b9_opening_the_workspace_is_included():
    flight = PilotSteps(
        TaskPilot(),
        {"task": "t", "goal": "g", "agents": ["cli"], "target": "main", "attempt_s": 100.0},
    )

    assert flight.back(WorkspaceOpen(base="c0"), after_s=25).timeout_s == 75


def test_b9_a_turn_has_its_own_limit_where_the_attempt_has_none():
    assert fly(attempt_s=None, turn_s=20.0).next().timeout_s == 20


OWN = {"first": {"attempt_s": 50.0}, "slow": {"attempt_s": 300.0}}


def test_b9_an_agents_own_time_is_that_of_the_attempt_and_not_of_a_turn():
    flight = fly(agents=["first"], terms=OWN, attempt_s=100.0)
    assert flight.next().timeout_s == 50

    flight.back(said("more"), after_s=20)
    assert flight.next().timeout_s == 30
    assert flight.back(said(COMPLETE), after_s=20).timeout_s == 10
    end = flight.back(FAILED, after_s=10)
    assert end.outcome is Outcome.TIMED_OUT
    assert end.note.startswith("not done after 0.833333 minutes; it said COMPLETE")


def test_b9_an_agent_may_have_more_time_than_others():
    flight = fly(agents=["slow"], terms=OWN, attempt_s=100.0, turn_s=20.0)

    assert flight.next().timeout_s == 300
    assert flight.back(said("more"), after_s=150).timeout_s == 150


def test_b9_whoever_takes_over_has_what_its_own_time_leaves_of_the_attempt():
    agents = ["slow", "first", "third"]
    flight = fly(agents=agents, terms=OWN, attempt_s=100.0)
    limited = failed(FailureKind.RATE_LIMITED, retry_at=flight.now + timedelta(days=1))

    assert flight.next().timeout_s == 300
    assert flight.back(limited, after_s=30).timeout_s == 20
    assert flight.back(limited, after_s=10).timeout_s == 60
    over = fly(agents=agents, terms=OWN, attempt_s=100.0)
    assert over.back(limited, after_s=60).note == "not done after 0.833333 minutes"


def test_q20_a_turn_of_the_first_edition_has_its_own_limit():
    assert fly(attempt_s=100.0, turn_s=20.0, edition=1).next().timeout_s == 20


def test_b9_what_has_passed_the_gate_is_done_though_the_time_is_up():
    flight = fly(attempt_s=100.0, branch="allstop/t")
    flight.back(said(COMPLETE), after_s=40)

    assert flight.back(PASSED, after_s=60) == Deliver(workspace="t", branch="allstop/t")


def test_b9_a_gate_that_ran_out_of_the_attempts_time_is_a_timeout():
    flight = fly(attempt_s=100.0)
    flight.back(said(COMPLETE), after_s=40)

    move = flight.back(failed(FailureKind.TIMED_OUT, message="the run's time was up"), after_s=60)
    assert move.outcome is Outcome.TIMED_OUT


def test_b9_time_before_a_kill_counts_after_it():
    flight = fly(attempt_s=100.0)
    flight.start()
    flight.wait(30)
    flight.notes(Item(kind="interrupted", text="the process ended"))
    flight.wait(3600)
    flight.end(failed(FailureKind.INTERRUPTED))

    assert flight.back(WorkspaceOpen(base="c0")).timeout_s == 70


def test_b9_without_a_limit_there_is_none():
    flight = fly()
    move = flight.back(said(COMPLETE), after_s=10**6)

    assert isinstance(move, RunChecks)
    assert move.timeout_s is None


# --- a target that has moved ---

STRICTER = Gate(checks=(Check(name="All", run="make all"),))
JOINED = Integrated(tip="f" * 40, commit="m1", tree="tree m1", gate=STRICTER)
ITS_CHECKS = (Check(name="Tests", run="pytest"),)


def fly_behind():
    """It said COMPLETE, and the target has moved."""
    flight = fly(edition=EDITION)
    assert flight.back(said(COMPLETE)).follows == "main"
    return flight, flight.back(failed(FailureKind.MOVED))


def test_k19_where_the_target_has_moved_the_work_is_checked_merged_with_its_tip():
    """K19: by the gate of that tip; the recorded commit stays the agent's."""
    flight, move = fly_behind()

    assert (type(move), move.workspace, move.target) == (Integrate, "t", "main")
    checks = flight.back(JOINED)
    assert checks == RunChecks(checks=STRICTER.checks, workspace="t", commit="m1")
    end = flight.back(ChecksDone(tree="tree m1"))
    facts = {"commit": "c1", "tree": "tree m1", "gate": STRICTER.fingerprint, "clean": "yes"}
    assert end == Finish(outcome=Outcome.DONE, facts=facts)


def test_k19_b10_what_fails_with_the_targets_news_comes_back_with_them_in_the_workspace():
    flight, _ = fly_behind()
    flight.back(JOINED)

    move = flight.back(FAILED)
    assert move == OpenWorkspace(workspace="t", target="main", onto="f" * 40)
    move = flight.back(WorkspaceOpen(base="f" * 40))
    assert move.prompt == asks_for(work_prompts.failed_joined(FAILED, "main", "f" * 40))
    assert "main has moved since your work began" in move.prompt.text
    assert "up to ffffffffff, has been merged into your clone" in move.prompt.text
    assert "$ pytest\n(exit code 1)\nE  1 == 2" in move.prompt.text
    assert flight.back(said(COMPLETE)).follows == "main"


@pytest.mark.parametrize("kind", [FailureKind.CONFLICT, FailureKind.BAD_REQUEST])
def test_k19_b17_what_can_not_be_merged_is_checked_as_it_is(kind):
    """B17: the merge queue sends the conflict to the agent."""
    flight, _ = fly_behind()

    move = flight.back(failed(kind, message="same.txt"))
    assert move == RunChecks(checks=ITS_CHECKS, workspace="t")
    assert flight.back(PASSED) == verified()


def test_k19_work_that_the_target_has_already_is_checked_as_it_is():
    flight, _ = fly_behind()

    move = flight.back(replace(JOINED, commit=JOINED.tip))
    assert (move.commit, move.follows, move.checks) == ("", "", STRICTER.checks)


@pytest.mark.parametrize("kind", sorted(RESUMABLE))
def test_k19_what_was_cut_off_while_it_was_merged_or_checked_is_looked_at_anew(kind):
    for before in ([], [JOINED]):
        flight, _ = fly_behind()
        for result in before:
            flight.back(result)

        assert isinstance(flight.back(failed(kind)), OpenWorkspace)
        move = flight.back(OPENED)
        assert (move.follows, move.commit) == ("main", "")


def test_k19_a_person_who_says_something_meanwhile_is_heard_and_the_target_looked_at_anew():
    flight, _ = fly_behind()
    flight.told(Say(text="wait"))

    assert isinstance(flight.next(), TakeTurn)
    assert flight.back(said(COMPLETE)).follows == "main"


# --- stuck ---


def test_b9_five_iterations_without_a_commit_are_a_warning_and_it_goes_on():
    flight = fly(stuck_after=5)
    flight.back(said("first", "c1"))
    for number in range(5):
        assert not flight.state.pilot.is_stuck, number
        assert isinstance(flight.back(said("hm", "c1")), TakeTurn)
    assert flight.state.pilot.is_stuck

    flight.back(said("found it", "c2"))
    assert not flight.state.pilot.is_stuck


def test_b9_turns_that_came_to_their_cap_without_a_commit_count_as_stuck():
    flight = fly(stuck_after=2)
    flight.back(failed(FailureKind.CAPPED, change=Change(head="c0")))
    flight.back(failed(FailureKind.CAPPED, change=Change(head="c0")))
    assert flight.state.pilot.is_stuck

    flight.back(failed(FailureKind.CAPPED, change=Change(head="c1", commits=1, files=1)))
    assert not flight.state.pilot.is_stuck


def test_b9_who_never_commits_is_stuck_too():
    flight = fly(stuck_after=2)
    flight.back(said("hm", "c0"))
    flight.back(said("hm", "c0"))

    assert flight.state.pilot.is_stuck


def test_b9_the_same_no_to_its_complete_again_and_again_is_a_warning_though_it_commits():
    flight = fly(stuck_after=3)
    for number in range(1, 4):
        assert not flight.state.pilot.is_stuck, number
        flight.back(said(COMPLETE, f"c{number}"))
        assert isinstance(flight.back(FAILED), TakeTurn)
    assert flight.state.pilot.warning == "it said COMPLETE 3 times, but this fails: Tests"

    flight.back(said(COMPLETE, "c3"))
    flight.back(ChecksDone(results=(replace(BAD, name="Types"),)))
    assert not flight.state.pilot.is_stuck


def test_b9_an_attempt_that_runs_out_says_why_its_last_complete_did_not_count():
    flight = fly(iterations=2)
    flight.back(said(COMPLETE, "c1"))
    flight.back(FAILED)
    flight.back(said("hm", "c1"))

    note = "not done after 2 turns; it said COMPLETE, but this fails: Tests"
    assert flight.next() == Finish(outcome=Outcome.TIMED_OUT, note=note)


# --- the next prompt ---


def test_b17_a_conflict_is_told_with_its_files():
    flight = fly(WorkspaceOpen(base="c0", conflicts=("a.py", "b.py")), onto="refs/heads/main")

    assert flight.next().prompt == asks_for(work_prompts.conflicts(("a.py", "b.py")))
    assert "  a.py\n  b.py" in flight.next().prompt.text


def test_b17_the_workspace_is_opened_onto_what_it_must_fit():
    flight = PilotSteps(
        TaskPilot(),
        {"task": "t", "goal": "g", "agents": ["a"], "target": "main", "onto": "refs/heads/main"},
    )

    assert flight.next() == OpenWorkspace(workspace="t", target="main", onto="refs/heads/main")


def test_b17_what_failed_in_the_merge_is_told_besides_the_conflict():
    opened = WorkspaceOpen(base="c0", conflicts=("a.py",))
    flight = fly(opened, onto="refs/heads/main", news="these checks failed")

    assert flight.next().prompt == asks_for(
        f"these checks failed\n\n{work_prompts.conflicts(('a.py',))}"
    )


def test_b17_a_conflict_is_told_once_however_often_the_turn_is_cut_off():
    opened = WorkspaceOpen(base="c0", conflicts=("a.py",), stashed=True)
    flight = fly(opened, onto="refs/heads/main")
    told = flight.next().prompt
    for _ in range(3):
        flight.back(failed(FailureKind.CANCELLED))
        flight.back(opened)

    assert flight.next().prompt == told


def test_b10_the_news_of_an_attempt_are_in_its_first_prompt_only():
    flight = fly(news="A person looked at your work and says: shorter")

    assert "says: shorter" in flight.next().prompt.text
    assert "says: shorter" not in flight.back(said("hm")).prompt.text


def test_b10_a_check_that_fails_without_the_work_too_is_said_to():
    flight = fly()
    flight.back(said(COMPLETE))
    before = CheckResult(
        name="Tests", run="pytest", passed=False, code=2, output="old", failed_before=True
    )
    move = flight.back(ChecksDone(results=(before,)))

    assert "$ pytest\n(exit code 2; it fails without your work too)\nold" in move.prompt.text


def test_b10_a_check_that_timed_out_is_said_to():
    flight = fly()
    flight.back(said(COMPLETE))
    late = CheckResult(name="Tests", run="pytest", passed=False, timed_out=True, output="...")

    assert "$ pytest\n(timed out)\n..." in flight.back(ChecksDone(results=(late,))).prompt.text


# --- protected files and findings ---


def test_b16_a_fatal_finding_fails_the_gate_and_is_told():
    flight = fly(protected=["tests/**"], protection="fail")
    flight.back(said(COMPLETE))
    finding = Finding(kind="protected", path="tests/test_a.py", fatal=True)
    move = flight.back(ChecksDone(results=(GOOD,), findings=(finding,)))

    assert "put them back as they were:\n  tests/test_a.py" in move.prompt.text


def test_b16_protected_paths_are_looked_at_without_any_check():
    flight = fly(checks=[], protected=["tests/**"], protection="restore")
    move = flight.back(said(COMPLETE))

    assert (move.checks, move.protected, move.protection) == ((), ("tests/**",), "restore")


def test_b15_b16_work_is_looked_at_although_nothing_is_configured():
    """B15, B16: a claim alone never passes the gate, with or without checks."""
    flight = fly(checks=[])
    move = flight.back(said(COMPLETE))

    assert move == RunChecks(checks=(), workspace="t")
    assert flight.back(ChecksDone(tree="tree 1")) == verified(unverified="yes")


def test_q20_an_attempt_of_the_first_edition_has_no_gate_where_nothing_is_configured():
    end = fly(checks=[], edition=1).back(said(COMPLETE))

    assert end == Finish(
        outcome=Outcome.DONE,
        facts={"commit": "c1", "tree": "", "clean": "yes", "unverified": "yes"},
    )


def test_b15_talk_without_a_branch_has_nothing_to_be_looked_at():
    flight = PilotSteps(
        TaskPilot(), {"task": "t", "goal": "Fix it", "agents": ["cli"], "edition": EDITION}
    )

    assert flight.back(TurnDone(text=COMPLETE)) == Finish(outcome=Outcome.DONE)


def test_k19_the_gate_is_the_targets_at_the_time_the_workspace_is_opened():
    strict = Gate(checks=(Check(name="All", run="make all"),), keep_going=True)
    flight = fly(opened=WorkspaceOpen(base="c0", gate=strict), checks=[])

    assert flight.back(said(COMPLETE)).checks == strict.checks
    end = flight.back(ChecksDone(results=(GOOD,), tree="t1"))
    assert (end.facts["tree"], end.facts["gate"]) == ("t1", strict.fingerprint)


@pytest.mark.parametrize(
    ("turns", "clean"),
    [([COMPLETE], "yes"), (["1", "2", COMPLETE], "yes"), ([*"123", COMPLETE], "")],
)
def test_b21_at_most_three_iterations_are_clean(turns, clean):
    flight = fly()
    for turn in turns:
        flight.back(said(turn))

    assert flight.back(PASSED) == verified(clean)


def test_b21_who_once_asked_is_not_clean():
    flight = fly()
    flight.back(said("<promise>PENDING: well?</promise>"))
    flight.told(Answer(text="yes"))
    flight.back(said(COMPLETE))

    assert flight.back(PASSED) == verified(clean="")


def test_b21_a_finding_is_not_clean_but_passes():
    flight = fly()
    flight.back(said(COMPLETE))
    finding = Finding(kind="deleted_test", path="tests/test_a.py")

    done = flight.back(ChecksDone(results=(GOOD,), findings=(finding,), tree="tree 1"))
    assert done == verified(clean="", findings="deleted test: tests/test_a.py")


def test_b21_a_finding_that_was_put_right_is_forgotten():
    flight = fly()
    flight.back(said(COMPLETE))
    finding = Finding(kind="protected", path="x", fatal=True)
    flight.back(ChecksDone(results=(GOOD,), findings=(finding,)))
    flight.back(said(COMPLETE))

    assert flight.back(PASSED) == verified()


MISSING = CheckResult(
    name="Tests",
    run="pytest",
    passed=False,
    code=127,
    output="sh: 1: pytest: not found\n",
    failed_before=True,
)


def test_b9_a_check_that_cannot_be_run_at_all_is_told_once_and_then_left_to_a_person():
    flight = fly()
    flight.back(said(COMPLETE))
    told = flight.back(ChecksDone(results=(MISSING,)))
    flight.back(said(COMPLETE))

    assert "pytest: not found" in told.prompt.text
    assert flight.back(ChecksDone(results=(MISSING,))) == Finish(
        outcome=Outcome.BLOCKED,
        note="Tests can't be run, on the target branch neither: sh: 1: pytest: not found;"
        " `allstop doctor` tries it",
    )


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(MISSING, code=1), id="it runs and fails"),
        pytest.param(replace(MISSING, failed_before=False), id="the work took it away"),
    ],
)
def test_b9_a_check_that_an_agent_can_mend_goes_back_to_it_again_and_again(other):
    flight = fly()
    for _ in range(4):
        flight.back(said(COMPLETE))
        move = flight.back(ChecksDone(results=(other,)))

        assert isinstance(move, TakeTurn)


def test_b9_another_failure_between_them_begins_the_count_anew():
    flight = fly()
    for gate in (MISSING, BAD, MISSING):
        flight.back(said(COMPLETE))
        move = flight.back(ChecksDone(results=(gate,)))

        assert isinstance(move, TakeTurn)
