"""B17, B18: the merge pilot, move by move."""

import msgspec
import pytest
from msgspec.structs import replace

from allstop.core import work_prompts
from allstop.core.commands import Resume, Retry
from allstop.core.gate import Check, Gate, Protection
from allstop.core.moves import (
    RESUMABLE,
    CheckResult,
    ChecksDone,
    Failed,
    FailureKind,
    Finding,
    Finish,
    Integrate,
    Integrated,
    Land,
    Landed,
    Outcome,
    Revert,
    RunChecks,
    Wait,
)
from allstop.merges.pilot import MergePilot
from support.pilot_steps import PilotSteps

TESTS = Check(name="Tests", run="pytest")
GATE = {"checks": [{"name": "Tests", "run": "pytest"}]}
MADE = Integrated(tip="tip1", commit="m1", tree="tree m1")
INTEGRATE = Integrate(workspace="t", target="main", message="Merge t")
CHECK = RunChecks(checks=(TESTS,), workspace="t", commit="m1")
LAND = Land(target="main", tip="tip1", commit="m1")
DONE = Finish(outcome=Outcome.DONE, facts={"commit": "m1"})
BAD = CheckResult(name="Tests", run="pytest", passed=False, code=1, output="E  1 == 2")
OPTIONAL = CheckResult(name="Lint", run="lint", passed=False, required=False, code=1)


def fly(**spec):
    given = {"task": "t", "target": "main", "message": "Merge t", "gate": GATE, **spec}
    return PilotSteps(MergePilot(), given)


def at_landing(**spec):
    flight = fly(**spec)
    flight.back(MADE)
    assert flight.back(ChecksDone()) == LAND
    return flight


def failed(kind, message=""):
    return Failed(kind=kind, message=message)


# --- the moves of a merge ---


def test_b17_merged_onto_the_tip_checked_as_merged_and_then_the_branch_moves():
    flight = fly()

    assert flight.next() == INTEGRATE
    assert flight.back(MADE) == CHECK
    assert flight.back(ChecksDone()) == LAND
    assert flight.back(Landed(commit="m1")) == DONE


def test_b17_the_gate_runs_as_the_board_has_it():
    flight = fly(gate={**GATE, "keep_going": True})

    assert flight.back(MADE).keep_going is True


def test_b17_without_a_gate_it_lands_at_once():
    assert fly(gate={}).back(MADE) == LAND


def test_b17_the_very_tree_that_passed_is_not_checked_twice():
    assert fly(verified="tree m1").back(MADE) == LAND


@pytest.mark.parametrize("verified", ["", "another tree"])
def test_b17_another_tree_is_checked(verified):
    assert fly(verified=verified).back(MADE) == CHECK


def test_b17_a_tree_without_a_name_is_checked():
    nameless = Integrated(tip="tip1", commit="m1", tree="")

    assert fly(verified="").back(nameless) == CHECK


def test_b17_work_that_the_target_already_has_needs_no_check():
    there = Integrated(tip="tip1", commit="tip1", tree="tree")
    flight = fly()

    assert flight.back(there) == Land(target="main", tip="tip1", commit="tip1")
    done = flight.back(Landed(commit="tip1"))
    assert done == Finish(outcome=Outcome.DONE, facts={"commit": ""}), (
        "rolling back takes no tip out"
    )


def test_b17_a_check_that_is_not_required_stops_no_merge():
    flight = fly()
    flight.back(MADE)

    assert flight.back(ChecksDone(results=(OPTIONAL,))) == LAND


# --- conflicts ---


def test_b17_a_conflict_ends_it_and_names_the_files():
    move = fly().back(failed(FailureKind.CONFLICT, "a.py\nb.py"))

    assert move == Finish(outcome=Outcome.CONFLICT, note="conflicts: a.py b.py", facts={"news": ""})


def test_b17_a_merge_that_fails_the_gate_is_a_conflict_with_what_failed_as_news():
    flight = fly()
    flight.back(MADE)
    move = flight.back(ChecksDone(results=(BAD, OPTIONAL)))

    assert move == Finish(
        outcome=Outcome.CONFLICT,
        note="merged with main, it fails: Tests",
        facts={"news": work_prompts.failed_merge(ChecksDone(results=(BAD,)), "main")},
    )
    assert "$ pytest\n(exit code 1)\nE  1 == 2" in move.facts["news"]


def test_b16_b17_a_fatal_finding_in_the_merge_is_a_conflict_too():
    flight = fly(gate={**GATE, "protected": ["ci/**"], "protection": "fail"})
    move = flight.back(MADE)
    assert (move.protected, move.protection) == (("ci/**",), "fail")
    finding = Finding(kind="protected", path="ci/run.sh", fatal=True)
    done = flight.back(ChecksDone(findings=(finding,)))

    assert (done.outcome, done.note) == (Outcome.CONFLICT, "merged with main, it fails: ci/run.sh")
    assert "  ci/run.sh" in done.facts["news"]


# --- obstacles ---


def test_b17_when_the_target_has_moved_all_is_done_again_on_the_new_tip():
    flight = at_landing()

    assert flight.back(failed(FailureKind.MOVED)) == INTEGRATE
    again = Integrated(tip="tip2", commit="m2", tree="tree m2")
    assert flight.back(again) == RunChecks(checks=(TESTS,), workspace="t", commit="m2")
    assert flight.back(ChecksDone()) == Land(target="main", tip="tip2", commit="m2")
    assert flight.back(Landed(commit="m2")) == Finish(outcome=Outcome.DONE, facts={"commit": "m2"})


def test_b17_it_follows_a_target_that_moves_as_often_as_it_moves():
    flight = at_landing()
    for number in range(20):
        assert flight.back(failed(FailureKind.MOVED)) == INTEGRATE
        flight.back(Integrated(tip=f"t{number}", commit=f"m{number}", tree=f"tree {number}"))
        assert flight.back(ChecksDone()).commit == f"m{number}"


def test_b17_a_dirty_tree_is_waited_for_and_said_with_growing_waits():
    flight = at_landing()
    waits = []
    for _ in range(9):
        before = flight.now
        move = flight.back(failed(FailureKind.BUSY, "main is checked out in /repo, with changes"))
        assert move == Wait(
            reason="main is checked out in /repo, with changes", until=move.until, for_person=True
        )
        waits.append((move.until - before).total_seconds())
        flight.now = move.until
        assert flight.next() == LAND, "nothing is merged or checked again"

    for wait_s, least_s in zip(waits, [5, 10, 20, 40, 60, 60, 60, 60, 60], strict=True):
        assert least_s <= wait_s <= min(60, least_s * 1.1)
    assert flight.back(Landed(commit="m1")) == DONE


@pytest.mark.parametrize("command", [Retry(), Resume()])
def test_b19_a_person_who_made_room_may_say_so(command):
    """B19: `resume` and `retry` both try it again at once."""
    flight = at_landing()
    flight.back(failed(FailureKind.BUSY, "changes"))

    assert flight.told(command) == LAND


@pytest.mark.parametrize("kind", [FailureKind.CRASHED, FailureKind.EXITED, FailureKind.NETWORK])
def test_b17_trouble_is_tried_again_a_few_times_and_then_a_person_must_look(kind):
    flight = fly()
    for least_s in (2, 6, 18):
        before = flight.now
        move = flight.back(failed(kind, "git broke"))
        assert (move.reason, move.for_person) == ("tries again later", False)
        assert least_s <= (move.until - before).total_seconds() <= least_s * 1.1
        flight.now = move.until
        assert flight.next() == INTEGRATE

    assert flight.back(failed(kind, "git broke")) == Finish(
        outcome=Outcome.FAILED, note=f"{kind}: git broke", facts={"news": ""}
    )


def test_b17_trouble_after_a_dirty_tree_does_not_call_for_a_person():
    flight = at_landing()
    flight.back(failed(FailureKind.BUSY, "changes"))
    flight.wait(100)

    assert flight.back(failed(FailureKind.CRASHED)).for_person is False


# --- interruptions ---


@pytest.mark.parametrize("kind", sorted(RESUMABLE))
def test_b17_what_was_cut_off_is_the_next_move_again_wherever_it_was(kind):
    flight = fly()
    for move, result in [(INTEGRATE, MADE), (CHECK, ChecksDone()), (LAND, Landed(commit="m1"))]:
        for _ in range(3):
            assert flight.back(failed(kind)) == move
        flight.back(result)

    assert flight.next() == DONE


# --- reverts ---


def test_b18_a_rollback_reverts_the_merge_checks_what_is_left_and_lands():
    flight = fly(revert="m0", message="Roll back t")
    made = Integrated(tip="tip1", commit="r1", tree="tree r1")

    assert flight.next() == Revert(commit="m0", target="main", message="Roll back t")
    assert flight.back(made) == RunChecks(checks=(TESTS,), workspace="t", commit="r1")
    assert flight.back(ChecksDone()) == Land(target="main", tip="tip1", commit="r1")
    assert flight.back(failed(FailureKind.MOVED)) == Revert(
        commit="m0", target="main", message="Roll back t"
    )


def test_a_spec_that_makes_no_sense_is_refused():
    with pytest.raises(msgspec.ValidationError):
        MergePilot().begin({"task": "t"})


# --- the gate of the commit that it is merged onto ---

STRICTER = Gate(checks=(Check(name="All", run="make all"),))


def test_k19_the_gate_is_that_of_the_tip_it_was_merged_with():
    flight = fly()

    move = flight.back(replace(MADE, gate=STRICTER))

    assert move == RunChecks(checks=STRICTER.checks, workspace="t", commit="m1")


def test_k19_a_gate_that_is_gone_from_the_tip_holds_nobody_up():
    assert fly().back(replace(MADE, gate=Gate())) == LAND


@pytest.mark.parametrize(
    ("passed", "then"),
    [
        (STRICTER, LAND),
        (Gate(), RunChecks(checks=STRICTER.checks, workspace="t", commit="m1")),
    ],
)
def test_k19_a_tree_counts_as_verified_only_by_the_gate_of_the_tip(passed, then):
    flight = fly(verified="tree m1", verified_by=passed.fingerprint)

    assert flight.back(replace(MADE, gate=STRICTER)) == then


def test_k19_paths_that_the_tip_protects_are_looked_at_without_any_check():
    protects = Gate(protected=("tests/**",), protection=Protection.FAIL)

    move = fly().back(replace(MADE, gate=protects))

    assert move == RunChecks(
        checks=(),
        workspace="t",
        commit="m1",
        protected=("tests/**",),
        protection=Protection.FAIL,
    )


def test_k21_checks_of_another_tree_never_let_a_merge_land():
    flight = fly()
    flight.back(MADE)
    end = flight.back(ChecksDone(tree="tree of something else"))
    assert isinstance(end, Finish)
    assert end.outcome is Outcome.FAILED

    flight = fly()
    flight.back(MADE)
    assert flight.back(ChecksDone(tree="tree m1")) == LAND
