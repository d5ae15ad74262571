"""V11: which tests are flaky, by their history of results on each tree."""

from datetime import UTC, datetime, timedelta

from allstop.gate.facts import Rerun
from allstop.gate.flaky_tests import FlakyTest, flaky_tests, unknown_tests
from allstop.gate.receipt import CommandReceipt, GateReceipt, sealed

NOW = datetime(2026, 11, 19, tzinfo=UTC)


def receipt(tree, minute=0, check="Tests", **tests):
    command = CommandReceipt(name=check, run="t", passed=True, tests=tests or None)
    at = NOW + timedelta(minutes=minute)
    return sealed(GateReceipt(commit="c", tree=tree, passed=True, commands=(command,), at=at))


def names(*receipts):
    return [each.id for each in flaky_tests(receipts)]


def test_v11_a_test_that_failed_and_passed_on_one_tree_is_flaky():
    [found] = flaky_tests(
        [
            receipt("a", 0, test_x="failed", test_y="passed"),
            receipt("a", 1, test_x="passed", test_y="passed"),
            receipt("b", 2, test_x="passed"),
        ]
    )

    assert found == FlakyTest(
        id="test_x", check="Tests", trees=1, failed=1, passed=2, last_at=NOW + timedelta(minutes=2)
    )


def test_v11_other_results_on_other_trees_are_the_change_s_doing():
    assert names(receipt("a", test_x="failed"), receipt("b", test_x="passed")) == []


def test_v11_what_always_fails_or_is_skipped_is_not_flaky():
    assert names(receipt("a", 0, test_x="failed"), receipt("a", 1, test_x="error")) == []
    assert names(receipt("a", 0, test_x="failed"), receipt("a", 1, test_x="skipped")) == []


def test_v11_the_least_reliable_comes_first():
    found = names(
        receipt("a", 0, test_x="failed", test_y="error"),
        receipt("a", 1, test_x="passed", test_y="passed"),
        receipt("b", 2, test_y="failed"),
        receipt("b", 3, test_y="passed"),
    )

    assert found == ["test_y", "test_x"]


def test_v11_checks_are_told_apart_and_a_receipt_counts_once():
    first = receipt("a", 0, test_x="failed")
    assert names(first, receipt("a", 1, check="More", test_x="passed")) == []

    [found] = flaky_tests([first, first, receipt("a", 1, test_x="passed")])
    assert (found.failed, found.passed) == (1, 1)


def test_v11_checks_without_reports_say_nothing():
    assert names(receipt("a", 0), receipt("a", 1)) == []


def again(*others, **tests):
    command = CommandReceipt(name="Tests", run="t", passed=True, tests=tests, others=others)
    return sealed(GateReceipt(commit="c", tree="a", passed=True, commands=(command,), at=NOW))


def alone(**tests):
    return Rerun(alone=True, tests=tests)


def test_v11_all_runs_of_one_gate_count():
    [found] = flaky_tests([again(Rerun(tests={"x": "failed"}), alone(x="passed"), x="passed")])

    assert (found.failed, found.passed, found.passes_alone) == (1, 2, False)


def test_v11_a_test_that_only_passes_alone_depends_on_the_others():
    [found] = flaky_tests([again(alone(x="passed"), Rerun(tests={"x": "failed"}), x="failed")])

    assert (found.failed, found.passed, found.passes_alone) == (2, 1, True)
    assert flaky_tests([again(alone(x="failed"), x="failed")]) == ()


def test_v11_quarantined_tests_are_marked_and_those_that_nobody_saw_are_named():
    receipts = [receipt("a", 0, x="failed"), receipt("a", 1, x="passed")]

    [found] = flaky_tests(receipts, ("x", "y"))

    assert found.quarantined
    assert unknown_tests(receipts, ("x", "y")) == ("y",)
