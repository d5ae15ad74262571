"""M1 to M3: the merge pilot with a batch, move by move."""

import msgspec
from msgspec.structs import replace

from allstop.core.board_specs import MERGE_EDITION, BatchMember, RedTree
from allstop.core.gate import Check, Gate
from allstop.core.moves import (
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
    RunChecks,
)
from allstop.merges.pilot import MergePilot
from support.pilot_steps import PilotSteps

CHECKS = (Check(name="Lint", run="lint"), Check(name="Tests", run="pytest"))
GATE = Gate(checks=CHECKS)
BAD = CheckResult(name="Tests", run="pytest", passed=False, code=1)
FINE = CheckResult(name="Lint", run="lint", passed=True, code=0)
RED = ChecksDone(results=(FINE, BAD))
MERGES = {
    "a": Integrated(tip="t", commit="m1", tree="tree 1"),
    "b": Integrated(tip="m1", commit="m2", tree="tree 2"),
    "c": Integrated(tip="m2", commit="m3", tree="tree 3"),
}
CONFLICT = Failed(kind=FailureKind.CONFLICT, message="same.txt")


def begin(*others, **spec):
    given = {
        "task": "a",
        "target": "main",
        "message": "Merge a",
        "gate": GATE,
        "others": [BatchMember(task=name, message=f"Merge {name}") for name in others],
        "edition": MERGE_EDITION,
        **spec,
    }
    return PilotSteps(MergePilot(), msgspec.to_builtins(given))


def merged(*others, **spec):
    """All changes are merged with each other; the next move is the checks'."""
    steps = begin(*others, **spec)
    for name in ("a", *others):
        move = steps.back(MERGES[name])
    return steps, move


def run_checks(commit, *checks, base="t"):
    return RunChecks(checks=checks or CHECKS, workspace="a", commit=commit, base=base)


def test_m3_a_batch_is_merged_one_after_the_other_checked_once_and_landed_at_once():
    steps = begin("b", "c")

    move = steps.back(MERGES["a"])
    assert move == Integrate(workspace="b", target="main", message="Merge b", onto="m1")
    move = steps.back(MERGES["b"])
    assert move == Integrate(workspace="c", target="main", message="Merge c", onto="m2")
    assert steps.back(MERGES["c"]) == run_checks("m3"), "all changes since the tip are examined"
    assert steps.back(ChecksDone()) == Land(target="main", tip="t", commit="m3")
    assert steps.back(Landed(commit="m3")) == Finish(
        outcome=Outcome.DONE, facts={"commit": "m1", "landed": "b=m2 c=m3"}
    )


def test_m1_a_conflict_within_a_batch_costs_no_check_and_leaves_the_change_in_the_queue():
    steps = begin("b", "c")
    steps.back(MERGES["a"])

    assert steps.back(CONFLICT).onto == "m1", "the next one is merged with what there is"
    move = steps.back(Integrated(tip="m1", commit="m2", tree="tree 2"))
    assert move == run_checks("m2")
    steps.back(ChecksDone())
    assert steps.back(Landed(commit="m2")).facts == {"commit": "m1", "landed": "c=m2"}


def test_m1_a_change_that_conflicts_with_the_target_ends_without_a_check():
    steps = begin("b")

    assert steps.back(CONFLICT).outcome is Outcome.CONFLICT
    assert not any(isinstance(getattr(e, "move", None), RunChecks) for e in steps.events)


def test_m2_only_what_failed_is_run_again_and_then_the_tree_counts_as_green():
    steps, _ = merged("b")

    assert steps.back(RED) == run_checks("m2", CHECKS[1])
    assert steps.back(ChecksDone()) == Land(target="main", tip="t", commit="m2")
    assert steps.back(Landed(commit="m2")).note == "passed when run again: Tests"


def test_m2_a_check_whose_failing_tests_failed_again_alone_is_not_run_once_more():
    steps, _ = merged("b")
    certain = replace(BAD, confirmed=True)

    end = steps.back(ChecksDone(results=(certain,)))

    assert (end.outcome, end.facts["again"]) == (Outcome.CONFLICT, '["Lint","Tests"]')


def test_v11_a_check_that_is_red_on_the_target_as_well_is_no_change_s_fault():
    """B24: no merge can pass, so the change isn't sent back to its agent."""
    steps, _ = merged("b")
    shared = replace(BAD, confirmed=True, failed_before=True, fails_on_target=("a.py::test_x",))

    assert steps.back(ChecksDone(results=(FINE, shared))) == Finish(
        outcome=Outcome.BLOCKED,
        note="Tests fails on main without this work, too: a.py::test_x;"
        " mend them there, or quarantine them",
        facts={"news": "", "target_fails": "Tests"},
    )


def test_m2_checks_that_did_not_run_after_a_failure_run_with_it():
    steps, _ = merged("b")
    lint = CheckResult(name="Lint", run="lint", passed=False, code=1)

    assert steps.back(ChecksDone(results=(lint,))) == run_checks("m2", *CHECKS)


def test_m2_a_batch_that_fails_twice_ends_and_tells_what_has_failed():
    steps, _ = merged("b")
    steps.back(RED)

    assert steps.back(ChecksDone(results=(BAD,))) == Finish(
        outcome=Outcome.CONFLICT,
        note="2 changes together fail: Tests",
        facts={
            "news": "",
            "red": "tree 2",
            "gate": GATE.fingerprint,
            "again": '["Tests"]',
            "batch": "a b",
        },
    )


def test_m2_a_batch_whose_tree_has_failed_before_is_not_checked():
    red = RedTree(tree="tree 2", gate=GATE.fingerprint, checks=("Tests",))

    _, move = merged("b", red=[red])

    assert (move.outcome, move.facts["batch"]) == (Outcome.CONFLICT, "a b")


def test_m2_a_single_change_with_a_tree_that_failed_repeats_only_what_failed():
    red = RedTree(tree="tree 1", gate=GATE.fingerprint, checks=("Tests",))

    _, move = merged(red=[red])

    assert move == run_checks("m1", CHECKS[1], base="")


def test_m2_another_gate_makes_a_failed_tree_new():
    red = RedTree(tree="tree 1", gate="another", checks=("Tests",))

    assert merged(red=[red])[1] == run_checks("m1", base="")


def test_m2_a_fatal_finding_is_not_tried_again():
    steps, _ = merged("b")
    finding = Finding(kind="protected", path="tests/x.py", fatal=True)

    assert steps.back(ChecksDone(findings=(finding,))).note.endswith("fail: tests/x.py")


def test_m3_a_first_change_that_is_green_already_lands_without_a_run():
    gate = GATE.fingerprint
    steps = begin("b", verified="tree 1", verified_by=gate)
    made = msgspec.structs.replace(MERGES["a"], gate=GATE)

    assert steps.back(made) == Land(target="main", tip="t", commit="m1")


def test_m3_a_green_tree_of_the_first_change_says_nothing_about_the_batch():
    """Without a check there is nothing to pass, so the batch is as long as it can be."""
    steps, move = merged("b", gate=Gate(), verified="tree 1")

    assert move == Land(target="main", tip="t", commit="m2")
    assert steps.back(Landed(commit="m2")).facts["landed"] == "b=m2"


def test_m3_a_change_of_the_rules_is_merged_alone():
    rules = msgspec.structs.replace(MERGES["b"], sets_rules=True)
    steps = begin("b", "c")
    steps.back(MERGES["a"])

    assert steps.back(rules) == run_checks("m1", base=""), "and the rest waits"

    steps = begin("b", "c")
    assert steps.back(msgspec.structs.replace(MERGES["a"], sets_rules=True)) == run_checks(
        "m1", base=""
    )


def test_m3_a_batch_starts_again_when_the_target_has_moved():
    steps, _ = merged("b")
    steps.back(ChecksDone())

    move = steps.back(Failed(kind=FailureKind.MOVED))

    assert move == Integrate(workspace="a", target="main", message="Merge a")
    steps.back(Integrated(tip="t2", commit="m4", tree="tree 4"))
    move = steps.back(Integrated(tip="m4", commit="m5", tree="tree 5"))
    assert move == run_checks("m5", base="t2"), "what was green was another tree"


def test_m3_work_that_a_batch_has_landed_is_only_recorded():
    assert begin(landed="m2").next() == Finish(outcome=Outcome.DONE, facts={"commit": "m2"})
