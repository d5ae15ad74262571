"""P2, P3, P4, P8, P14: the pilot of a plan, stepped by hand."""

from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.core import run as runs
from allstop.core.brakes import Tally
from allstop.core.commands import Abort, Approve, Pause, Resume, Retry, Say, Skip
from allstop.core.events import ChildClosed, Closed
from allstop.core.helm import Helm, Hold
from allstop.core.moves import (
    Change,
    CheckResult,
    ChecksDone,
    Commit,
    Committed,
    Compaction,
    Failed,
    FailureKind,
    Finish,
    OpenWorkspace,
    Outcome,
    RunChecks,
    Spawn,
    Spawned,
    TakeTurn,
    TurnDone,
    Wait,
    WorkspaceOpen,
)
from allstop.core.replay import differences
from allstop.kinds import PILOTS
from allstop.plans.pilot import PlanPilot
from allstop.plans.plan_file import read_plan
from allstop.plans.plan_status import TRANSITIONS, Status, status_of
from support.pilot_steps import PilotSteps

PLAN = """\
# Tidy up

## First

- Sort it
- Count it
  - [ ] all are counted
  - check: make count

## Last

- Print it
"""
CHANGE = Change(head="c", commits=1, files=1, tree="t")
DONE = TurnDone(text="Done.", thread="t", change=CHANGE)
PASSED = ChecksDone(results=(CheckResult(name="x", run="x", passed=True),), tree="t")
WRONG = ChecksDone(results=(CheckResult(name="x", run="x", passed=False, output="no 7\n", code=1),))
BROKEN = Failed(kind=FailureKind.CRASHED, message="it died")


class PlanSteps(PilotSteps):
    """Steps a plan's pilot."""

    def __init__(self, text=PLAN, **spec):
        import msgspec

        plan = msgspec.to_builtins(read_plan("p.md", text.encode()).plan)
        given = {"plan": plan, "name": "plan1", "target": "main", "agents": ["cli"],
                 "backoff": {"jitter": 0.0}, "step_delay_s": 0.0, **spec}  # fmt: skip
        super().__init__(PlanPilot(), given)

    @property
    def plan(self):
        return self.state.pilot

    @property
    def status(self):
        return status_of(self.state, Helm(), self.now)

    def to_turn(self):
        """Open the workspace; the first turn is next."""
        assert isinstance(self.next(), OpenWorkspace)
        return self.back(WorkspaceOpen(base="b"))

    def prompt(self):
        move = self.next()
        assert isinstance(move, TakeTurn), move
        return move.prompt.text

    def merged(self, outcome=Outcome.DONE, note=""):
        self.back(Spawned(run="plan1/merge1"))
        self._write(
            ChildClosed(at=self.now, ref="merge1", run="plan1/merge1", outcome=outcome,
                        tally=Tally(), note=note)
        )  # fmt: skip
        return self.next()


def test_p1_the_steps_are_done_in_order_then_the_gate_then_one_merge():
    plan = PlanSteps(gate={"checks": [{"name": "Tests", "run": "pytest"}]})
    plan.to_turn()
    asked = [plan.prompt()]
    plan.back(DONE)
    asked.append(plan.prompt())
    check = plan.back(DONE)
    plan.back(PASSED)
    asked.append(plan.prompt())
    gate = plan.back(DONE)
    merge = plan.back(PASSED)

    assert [text.split("Step ")[1].split("\n")[0].partition(": ")[2] for text in asked] == [
        "Sort it",
        "Count it",
        "Print it",
    ]
    assert "Phase 1 of 2: First" in asked[1]
    assert "- all are counted" in asked[1]
    assert isinstance(check, RunChecks)
    assert [(each.run, each.trusted) for each in check.checks] == [("make count", False)]
    assert isinstance(gate, RunChecks)
    assert [each.name for each in gate.checks] == ["Tests"]
    assert isinstance(merge, Spawn)
    assert merge.spec["message"] == "Merge plan1: Tidy up"
    assert plan.merged() == Finish(outcome=Outcome.DONE, note="merged")
    assert plan.plan.completed == 3
    assert differences(PlanPilot(), plan.events) == []


def test_p14_a_check_decides_whatever_the_agent_says():
    plan = PlanSteps("# A\n- one\n  check: make\n")
    plan.to_turn()

    assert isinstance(
        plan.back(TurnDone(text="<promise>BLOCKED: no</promise>", change=CHANGE)), RunChecks
    )
    plan.back(WRONG)
    assert plan.plan.completed == 0
    plan.wait(2)
    assert "no 7" in plan.prompt()
    plan.back(DONE)
    plan.back(PASSED)
    assert plan.plan.completed == 1


def test_p14_a_step_without_a_check_ends_with_its_turn_unless_the_agent_is_blocked():
    plan = PlanSteps("# A\n- one\n")
    plan.to_turn()
    waits = plan.back(TurnDone(text="<promise>BLOCKED: no key</promise>", change=CHANGE))

    assert isinstance(waits, Wait)
    assert waits.for_person
    assert waits.reason == "step 1.1 failed: its agent can't do it: no key"


def test_p4_a_failing_step_is_retried_after_2_4_and_8_seconds_then_the_plan_pauses():
    plan = PlanSteps(backoff={"jitter": 0.0, "retries": 3})
    plan.to_turn()
    waits = []
    for _ in range(3):
        move = plan.back(BROKEN)
        waits.append((move.until - plan.now).total_seconds())
        assert plan.status.status is Status.RUNNING
        plan.wait(waits[-1])
    last = plan.back(BROKEN)

    assert waits == [2, 4, 8]
    assert last.for_person
    assert last.failure is FailureKind.CRASHED
    assert plan.status[:2] == ("paused", "failed")
    assert plan.plan.failed == ("1.1",)
    assert isinstance(plan.told(Resume()), TakeTurn)
    plan.back(DONE)
    assert (plan.plan.completed, plan.plan.failed) == (1, ())


def test_p4_jitter_comes_from_the_record():
    first, again = (PlanSteps(backoff={"jitter": 0.1}) for _ in range(2))
    for plan in (first, again):
        plan.to_turn()
    until = first.back(BROKEN).until

    assert until == again.back(BROKEN).until
    assert timedelta(seconds=2) <= until - first.now <= timedelta(seconds=2.2)


def test_p4_skip_records_the_step_and_the_reason_and_later_steps_say_so():
    plan = PlanSteps(on_error="skip")
    plan.to_turn()
    plan.back(BROKEN)

    assert [(each.step, each.reason) for each in plan.plan.skipped] == [("1.1", "crashed: it died")]
    assert "skipped and may be missing:\n- 1.1: crashed: it died" in plan.prompt()


def test_p4_abort_ends_the_run():
    plan = PlanSteps(on_error="abort")
    plan.to_turn()
    end = plan.back(BROKEN)

    assert isinstance(end, Finish)
    assert (end.outcome, end.note) == (Outcome.FAILED, "step 1.1 failed: crashed: it died")
    assert end.failure is FailureKind.CRASHED


@pytest.mark.parametrize("mode", ["manual", "step"])
@pytest.mark.parametrize("kind", [FailureKind.CRASHED, FailureKind.RATE_LIMITED])
@pytest.mark.parametrize("strategy", ["retry", "skip", "abort"])
def test_p2_manual_and_step_neither_retry_nor_fall_back(mode, kind, strategy):
    plan = PlanSteps(mode=mode, on_error=strategy, agents=["cli", "other"])
    plan.told(Approve(task=""))
    plan.to_turn()
    waits = plan.back(Failed(kind=kind, message="no"))

    assert isinstance(waits, Wait)
    assert (waits.for_person, waits.until) == (True, None)
    assert plan.status[:2] == ("paused", "failed")


def test_p2_in_step_mode_each_step_waits_for_approval():
    plan = PlanSteps(mode="step")

    assert plan.status[:2] == ("paused", "approval")
    assert isinstance(plan.told(Resume()), Wait), "resume is no approval"
    assert isinstance(plan.told(Say(text="Be quick.")), Wait)
    plan.told(Approve(task="plan1"))
    plan.to_turn()
    assert "Be quick." in plan.prompt()
    second = plan.back(DONE)
    assert second.reason.startswith("step 1.2 waits for your approval")
    plan.told(Approve(task="plan1"))
    assert "Be quick." not in plan.prompt()


def test_p3_a_limited_agent_is_replaced_and_used_again_after_the_limit():
    plan = PlanSteps(agents=["cli", "other"])
    plan.to_turn()
    limit = Failed(kind=FailureKind.RATE_LIMITED, retry_at=plan.now + timedelta(seconds=100))
    other = plan.back(limit)
    assert other.agent == "other"
    plan.wait(100)

    assert plan.back(DONE).agent == "cli"


def test_p3_with_every_agent_limited_it_pauses_and_goes_on_by_itself():
    plan = PlanSteps()
    plan.to_turn()
    at = plan.now + timedelta(seconds=100)
    waits = plan.back(Failed(kind=FailureKind.USAGE_LIMITED, retry_at=at))

    assert waits.until == at
    assert plan.status[:3] == ("paused", "limited", at)
    assert isinstance(plan.wait(100).next(), TakeTurn)


def test_p3_a_pause_takes_effect_at_the_end_of_the_step():
    plan = PlanSteps("# A\n- one\n  check: make\n- two\n")
    plan.to_turn()
    plan.start()
    plan.told(Pause())
    assert plan.status.status is Status.PAUSING
    check = plan.end(DONE)

    assert isinstance(check, RunChecks), "the check is part of the step"
    assert plan.status.status is Status.PAUSING
    assert plan.back(PASSED) == Wait(reason="paused")
    assert plan.status[:2] == ("paused", "user")
    assert isinstance(plan.told(Resume()), TakeTurn)


def test_p3_a_pause_of_everything_takes_effect_at_the_end_of_the_step_too():
    plan = PlanSteps("# A\n- one\n  check: make\n- two\n")
    plan.to_turn()
    plan.back(DONE)
    paused, stopped = Helm(hold=Hold.PAUSED), Helm(hold=Hold.STOPPED)

    assert isinstance(runs.choose(PlanPilot(), plan.state, plan.now, stopped), Wait)
    assert isinstance(runs.choose(PlanPilot(), plan.state, plan.now, paused), RunChecks)
    assert status_of(plan.state, paused, plan.now).status is Status.PAUSING
    plan.back(PASSED)
    assert runs.choose(PlanPilot(), plan.state, plan.now, paused) == Wait(reason="all paused")
    assert status_of(plan.state, paused, plan.now)[:2] == ("paused", "user")


def test_p3_abort_goes_through_stopping():
    plan = PlanSteps()
    plan.to_turn()
    plan.start()
    plan.told(Abort())

    assert plan.status.status is Status.STOPPING
    plan._write(Closed(at=plan.now, outcome=Outcome.ABORTED))
    assert plan.status.status is Status.IDLE


def test_p4_a_person_can_skip_and_retry():
    plan = PlanSteps(mode="manual")
    plan.to_turn()
    plan.back(BROKEN)
    assert isinstance(plan.told(Retry(text="Try the other way.")), TakeTurn)
    assert "Try the other way." in plan.prompt()
    plan.back(BROKEN)
    plan.told(Skip())
    assert "Step 1.2" in plan.prompt()
    plan.start()
    plan.told(Skip())
    plan.end(DONE)

    assert [each.step for each in plan.plan.skipped] == ["1.1", "1.2"]
    assert plan.plan.skipped[0].reason == "skipped by user"
    assert "Step 2.1" in plan.prompt()


def test_p8_a_moment_between_steps():
    plan = PlanSteps(step_delay_s=0.5)
    plan.to_turn()
    waits = plan.back(DONE)

    assert waits.until - plan.now == timedelta(seconds=0.5)
    assert plan.status.status is Status.RUNNING


COMMITTED = Committed(change=CHANGE)
THREE = "# A\n- one\n- two\n- three\n"


def test_p8_without_auto_commit_the_work_is_committed_once_before_the_gate():
    plan = PlanSteps(THREE, edition=2, on_error="skip", plan_id="tidy")
    assert plan.to_turn().uncommitted
    assert "leave your changes in the files" in plan.prompt()
    plan.back(BROKEN)
    assert plan.back(DONE).uncommitted
    last = plan.back(DONE)

    assert isinstance(last, Commit)
    assert last.message.splitlines() == [
        "plan1: tidy",
        "",
        "Skipped steps; their changes are included:",
        "- 1.1: crashed: it died",
    ]
    assert isinstance(plan.back(COMMITTED), RunChecks)
    assert isinstance(plan.back(PASSED), Spawn)
    assert differences(PlanPilot(), plan.events) == []


def test_p8_with_auto_commit_each_step_is_committed_when_it_is_over():
    plan = PlanSteps(THREE, edition=2, on_error="skip", auto_commit=True, step_delay_s=5.0)
    plan.to_turn()
    commits = [plan.back(DONE)]
    assert isinstance(plan.back(COMMITTED), Wait), "the delay follows the commit"
    plan.wait(5)
    commits.append(plan.back(BROKEN))
    plan.back(COMMITTED)
    plan.wait(5)
    commits.append(plan.back(DONE))

    assert [each.message for each in commits] == [
        "Step 1.1: one",
        "Step 1.2 (skipped): two\n\ncrashed: it died",
        "Step 1.3: three",
    ]
    assert isinstance(plan.back(COMMITTED), RunChecks), "nothing is left to commit"


def test_p8_a_check_decides_before_the_commit_and_a_retry_adds_to_it():
    plan = PlanSteps("# A\n- one\n  check: make\n", edition=2, auto_commit=True)
    plan.to_turn()
    assert isinstance(plan.back(DONE), RunChecks)
    assert isinstance(plan.back(WRONG), Wait)
    plan.wait(2)
    plan.back(DONE)

    assert isinstance(plan.back(PASSED), Commit)


def test_p8_a_pause_waits_for_the_commit_of_the_step():
    plan = PlanSteps(THREE, edition=2, auto_commit=True)
    plan.to_turn()
    plan.start()
    plan.told(Pause())
    plan.end(DONE)

    assert isinstance(plan.next(), Commit)
    assert plan.status.status is Status.PAUSING
    assert isinstance(plan.back(COMMITTED), Wait)
    assert plan.status.status is Status.PAUSED


def test_p8_an_interrupted_commit_is_repeated_and_no_later_step_takes_its_changes():
    plan = PlanSteps(THREE, edition=2, auto_commit=True)
    plan.to_turn()
    first = plan.back(DONE)
    plan.told(Skip())  # the second step, while the first is committed
    assert isinstance(plan.back(Failed(kind=FailureKind.INTERRUPTED)), OpenWorkspace)

    assert plan.back(WorkspaceOpen(base="b")) == first
    assert "three" in plan.back(COMMITTED).prompt.text


def test_p8_what_the_gate_found_is_a_commit_of_its_own():
    plan = PlanSteps("# A\n- one\n", edition=2, auto_commit=True, plan_id="tidy")
    plan.to_turn()
    plan.back(DONE)
    plan.back(COMMITTED)
    plan.back(WRONG)
    plan.wait(2)
    assert "correct this" in plan.prompt()

    assert plan.back(DONE) == Commit(workspace="plan1", message="Correct plan1: tidy")
    assert isinstance(plan.back(COMMITTED), RunChecks)


def test_plans_of_the_first_edition_commit_after_each_turn():
    plan = PlanSteps(THREE)
    move = plan.to_turn()
    assert not move.uncommitted
    assert "commit your work or leave it in the files" in move.prompt.text
    plan.back(DONE)
    plan.back(DONE)

    assert isinstance(plan.back(DONE), RunChecks)


def test_p13_ticked_steps_are_not_done_again():
    plan = PlanSteps("# A\n- [x] one\n- two\n- [x] three\n")
    plan.to_turn()

    assert "two" in plan.prompt()
    assert isinstance(plan.back(DONE), RunChecks)


def test_a_failing_gate_is_corrected_by_a_further_turn():
    plan = PlanSteps("# A\n- one\n", gate={"checks": [{"name": "Tests", "run": "pytest"}]})
    plan.to_turn()
    plan.back(DONE)
    plan.back(WRONG)
    plan.wait(2)
    assert "All steps of the plan are over" in plan.prompt()
    assert isinstance(plan.back(DONE), RunChecks)
    assert isinstance(plan.back(PASSED), Spawn)
    waits = plan.merged(Outcome.CONFLICT, "conflicts: a.txt")
    assert waits.reason == "it could not be merged: conflicts: a.txt"
    assert isinstance(plan.told(Resume()), Spawn)


def test_a_plan_that_changed_nothing_is_not_merged():
    plan = PlanSteps("# A\n- one\n")
    plan.to_turn()

    assert plan.back(TurnDone(text="ok")) == Finish(
        outcome=Outcome.DONE, note="nothing was changed"
    )


@pytest.mark.parametrize("kind", [FailureKind.INTERRUPTED, FailureKind.CANCELLED])
def test_p7_an_interrupted_step_is_repeated_and_costs_no_retry(kind):
    plan = PlanSteps(backoff={"retries": 0})
    plan.to_turn()
    before = plan.prompt()
    plan.back(Failed(kind=kind))

    assert isinstance(plan.to_turn(), TakeTurn)
    assert plan.prompt() == before


def test_p3_every_end_goes_through_stopping():
    plan = PlanSteps("# A\n- one\n", mode="manual")
    plan.told(Skip())
    plan.to_turn()

    assert isinstance(plan.next(), Finish)
    assert plan.status.status is Status.STOPPING


RESULTS = [DONE, BROKEN, Failed(kind=FailureKind.INTERRUPTED), Failed(kind=FailureKind.OVERLOADED),
           TurnDone(text="<promise>PENDING: which?</promise>", change=CHANGE)]  # fmt: skip
COMMANDS = [Pause(), Resume(), Approve(task=""), Skip(), Retry(), Say(text="x"), Abort()]


def result_of(move, choice):
    if isinstance(move, OpenWorkspace):
        return WorkspaceOpen(base="b")
    if isinstance(move, RunChecks):
        return PASSED if choice is True else WRONG
    return DONE if isinstance(choice, bool) else choice


@given(
    mode=st.sampled_from(["manual", "step", "autopilot"]),
    strategy=st.sampled_from(["retry", "skip", "abort"]),
    choices=st.lists(
        st.one_of(st.sampled_from(RESULTS), st.booleans(), st.sampled_from(COMMANDS)), max_size=40
    ),
)
def test_p3_the_status_changes_only_as_the_table_says(mode, strategy, choices):
    plan = PlanSteps(mode=mode, on_error=strategy)
    seen, places = [Status.IDLE, plan.status.status], [0]

    def look():
        seen.append(plan.status.status)
        places.append(plan.plan.position)
        assert plan.plan.completed + len(plan.plan.skipped) == plan.plan.position

    for choice in choices:
        if plan.state.closed is not None:
            break
        if choice in COMMANDS and not isinstance(choice, bool):
            plan.told(choice)
            look()
            continue
        if isinstance(move := plan.next(), Wait) and move.until is not None:
            plan.now = move.until
            look()
            move = plan.next()
        if isinstance(move, Finish):
            look()
            closed = Closed(at=plan.now, outcome=move.outcome, note=move.note, failure=move.failure)
            plan._write(closed)
        elif isinstance(move, Spawn):
            plan.merged(Outcome.DONE if choice is True else Outcome.CONFLICT)
        elif not isinstance(move, Wait):
            plan.start()
            look()
            plan.end(result_of(move, choice))
        look()

    for before, after in pairwise(seen):
        assert before is after or after in TRANSITIONS[before], (before, after)
    steps = [after - before for before, after in pairwise(places)]
    assert set(steps) <= {0, 1}, "a step was left out or done again"
    assert runs.fold(PILOTS["plan"], plan.events) == plan.state
    assert differences(PlanPilot(), plan.events) == []


TWO = {"agents": ["cli", "other"], "patience": {"recover": True}}


def _after_limit(plan, told_s=None, kind=FailureKind.RATE_LIMITED):
    retry_at = None if told_s is None else plan.now + timedelta(seconds=told_s)
    return plan.back(Failed(kind=kind, retry_at=retry_at))


def test_p5_a_plan_tries_the_same_agent_three_times_and_then_the_fallback():
    plan = PlanSteps(**TWO)
    move, waits = plan.to_turn(), 0
    while isinstance(move := _after_limit(plan), Wait):
        waits += 1
        assert move.reason == "cli is at its limit"
        plan.now = move.until
        assert plan.next().agent == "cli"

    assert (waits, move.agent) == (3, "other")
    assert differences(PlanPilot(), plan.events) == []


def test_p5_a_long_announced_wait_goes_to_the_fallback_at_once():
    plan = PlanSteps(**TWO)
    plan.to_turn()

    assert _after_limit(plan, told_s=61).agent == "other"


def test_p6_a_plan_takes_its_first_agent_back_between_steps_and_not_within_one():
    plan = PlanSteps(**TWO)
    plan.to_turn()
    plan.back(DONE)
    _after_limit(plan, told_s=61)
    plan.back(DONE)
    plan.now += timedelta(seconds=61)
    plan.back(WRONG)
    plan.now += timedelta(seconds=10)
    within = plan.next()
    plan.back(DONE)
    plan.back(PASSED)
    between = plan.next()
    plan.back(DONE)

    assert (within.agent, between.agent) == ("other", "cli")
    told = [(each.before, each.after, each.reason) for each in plan.plan.roster.switches]
    assert told == [("cli", "other", "rate_limited"), ("other", "cli", "recovered")]
    assert differences(PlanPilot(), plan.events) == []


def test_p6_without_recovery_a_plan_stays_with_the_fallback():
    plan = PlanSteps(agents=["cli", "other"], patience={"recover": False})
    plan.to_turn()
    _after_limit(plan, told_s=61)

    assert plan.back(DONE, after_s=100).agent == "other"


def test_k13_without_credit_a_plan_retries_nothing():
    alone = PlanSteps(patience={"recover": True})
    alone.to_turn()
    paused = _after_limit(alone, kind=FailureKind.BILLING)
    two = PlanSteps(**TWO)
    two.to_turn()

    assert (paused.for_person, paused.failure) == (True, FailureKind.BILLING)
    assert _after_limit(two, kind=FailureKind.BILLING).agent == "other"


# --- P10: compaction ---


def long(tokens):
    return TurnDone(text="Done.", thread="t", change=CHANGE, context=tokens)


def summed_up(text="Sorted all.", before=50_000):
    size = Compaction(before=before, after=4, summary=True)
    return TurnDone(text=text, thread="t", change=CHANGE, context=51_000, compacted=size)


def is_compaction(move):
    return isinstance(move, TakeTurn) and move.compacts > 0


def test_p10_a_long_conversation_is_compacted_before_the_next_phase():
    """A summary begins a new conversation; within a phase nothing is compacted."""
    plan = PlanSteps(phases_compact_at=20_000)
    plan.to_turn()
    plan.back(long(50_000))
    within = plan.next()
    plan.back(long(60_000))
    plan.back(PASSED)
    compacting = plan.next()
    prompt = plan.back(summed_up(before=60_000))

    assert not is_compaction(within)
    assert (compacting.compacts, compacting.thread) == (60_000, "t")
    assert "Write the summary" in compacting.prompt.text
    assert prompt.thread is None
    assert "Your summary of it:\nSorted all." in prompt.prompt.text
    assert "Step 2.1: Print it" in prompt.prompt.text
    assert plan.plan.turns == 2
    assert differences(PlanPilot(), plan.events) == []


def test_p10_an_agent_that_compacts_by_itself_keeps_its_conversation():
    plan = PlanSteps(compact_at=40_000)
    plan.to_turn()
    plan.back(long(40_000))
    assert is_compaction(plan.next())
    done = Compaction(before=40_000, after=7_000)
    turn = plan.back(TurnDone(text="", thread="t", context=7_000, compacted=done))

    assert (turn.compacts, turn.thread) == (0, "t")
    assert "Your summary" not in turn.prompt.text
    assert "Step 1.2: Count it" in turn.prompt.text


@pytest.mark.parametrize(
    ("spec", "size"), [({"compact_at": 40_000}, 39_999), ({}, 10**6), ({"compact_at": 5}, 0)]
)
def test_p10_a_short_conversation_or_one_of_unknown_size_goes_on(spec, size):
    plan = PlanSteps(**spec)
    plan.to_turn()
    plan.back(long(size))

    assert not is_compaction(plan.next())


def test_p10_instructions_above_the_limit_do_not_compact_at_each_turn():
    """The first turn after a compaction shows what can't be made shorter."""
    plan = PlanSteps("# A\n- a\n- b\n- c\n- d\n", compact_at=1_000)
    plan.to_turn()
    moves = []
    for size in (9_000, 9_500, 14_300):
        plan.back(long(size))
        moves.append(is_compaction(plan.next()))
        if moves[-1]:
            plan.back(summed_up())

    assert moves == [True, False, True]


@pytest.mark.parametrize("failed", [BROKEN, TurnDone(text=" ", compacted=summed_up().compacted)])
def test_p10_a_failed_compaction_fails_no_step(failed):
    """The conversation goes on as it was, and is tried again after the next turn."""
    plan = PlanSteps(compact_at=40_000)
    plan.to_turn()
    plan.back(long(50_000))
    turn = plan.back(failed)
    plan.back(long(52_000))

    assert (turn.compacts, turn.thread) == (0, "t")
    assert plan.plan.failures == 0
    assert isinstance(plan.back(PASSED), TakeTurn)
    assert is_compaction(plan.next())


def test_p10_a_conversation_that_no_longer_fits_is_left():
    plan = PlanSteps(compact_at=40_000)
    plan.to_turn()
    plan.back(long(50_000))
    turn = plan.back(Failed(kind=FailureKind.CONTEXT, message="too long"))

    assert (turn.compacts, turn.thread) == (0, None)


def test_p10_a_compaction_that_was_cut_off_is_repeated():
    plan = PlanSteps(compact_at=40_000)
    plan.to_turn()
    plan.back(long(50_000))
    opened = plan.back(Failed(kind=FailureKind.INTERRUPTED))
    again = plan.back(WorkspaceOpen(base="b"))

    assert isinstance(opened, OpenWorkspace)
    assert (again.compacts, again.thread) == (50_000, "t")


def test_p10_a_limit_during_a_compaction_waits_like_one_during_a_step():
    plan = PlanSteps(compact_at=40_000, patience={"recover": True}, agents=["cli", "other"])
    plan.to_turn()
    plan.back(long(50_000))
    soon = plan.now + timedelta(minutes=5)
    turn = plan.back(Failed(kind=FailureKind.RATE_LIMITED, retry_at=soon))

    assert (turn.agent, turn.thread, turn.compacts) == ("other", None, 0)


def test_p10_a_message_and_a_skip_during_a_compaction_are_for_the_step():
    plan = PlanSteps(compact_at=40_000)
    plan.to_turn()
    plan.back(long(50_000))
    plan.start()
    plan.told(Say(text="Hurry."))
    undelivered = plan.undelivered
    plan.told(Skip())
    turn = plan.end(summed_up())

    assert undelivered == ()
    assert [each.step for each in plan.plan.skipped] == ["1.2"]
    assert "Step 2.1: Print it" in turn.prompt.text
    assert "A person says: Hurry." in turn.prompt.text
    assert "Your summary of it:\nSorted all." in turn.prompt.text
