"""What the gate caught, counted by verdict and kind."""

from datetime import timedelta

from allstop.board.gate_catches import CatchLedger
from allstop.board.statistics import Period
from allstop.core.events import MoveEnded
from allstop.core.gate import Verdict
from allstop.core.moves import CheckResult, ChecksDone, Finding
from allstop.testing.virtual_clock import EPOCH

RED = CheckResult(name="Tests", run="t", passed=False, code=1)
DELETED = Finding(kind="deleted_test", path="tests/test_a.py", verdict=Verdict.ASK)
WEAKER = Finding(kind="dilution", path="tests/test_a.py", verdict=Verdict.NOTE, text="weaker")
ALWAYS = Period(EPOCH)


def ledger(*gates):
    """Each gate is a run, and its result or results."""
    found = CatchLedger()
    for minute, (run, result) in enumerate(gates):
        at = EPOCH + timedelta(minutes=minute)
        found.take(run, MoveEnded(at=at, id=1, result=result))
    return found


def counts(catches):
    return [(each.verdict.value, each.kind, each.count, each.tasks) for each in catches.caught]


def test_s5_what_the_gate_caught_is_counted_by_verdict_and_kind_the_worst_first():
    found = ledger(
        ("board/T1.1", ChecksDone(results=(RED,), findings=(DELETED, WEAKER))),
        ("board/T2.1", ChecksDone(findings=(WEAKER,))),
        ("board/T2.merge1", ChecksDone()),
    ).catches(ALWAYS, {"T1", "T2"})

    assert (found.runs, found.failed) == (3, 1)
    assert counts(found) == [
        ("fail", "failed_check", 1, 1),
        ("ask", "deleted_test", 1, 1),
        ("note", "dilution", 2, 2),
    ]


def test_s5_the_same_place_in_a_later_turn_counts_once():
    again = ("board/T1.1", ChecksDone(results=(RED,), findings=(DELETED,)))

    found = ledger(again, again, again).catches(ALWAYS, {"T1"})

    assert (found.runs, found.failed) == (3, 3)
    assert counts(found) == [("fail", "failed_check", 1, 1), ("ask", "deleted_test", 1, 1)]


def test_s5_only_the_period_and_the_tasks_asked_for_count():
    gates = ledger(
        ("board/T1.1", ChecksDone(findings=(DELETED,))),
        ("board/T2.1", ChecksDone(findings=(DELETED,))),
        ("plan1", ChecksDone(findings=(DELETED,))),
    )

    assert counts(gates.catches(ALWAYS, {"T1"})) == [("ask", "deleted_test", 1, 1)]
    later = Period(EPOCH + timedelta(seconds=30))
    assert counts(gates.catches(later, {"T1", "T2"})) == [("ask", "deleted_test", 1, 1)]
    assert gates.catches(Period(EPOCH + timedelta(days=1)), {"T1", "T2"}).runs == 0


def test_s5_findings_of_old_records_have_a_verdict_too():
    old = Finding(kind="protected", path="ci.yml")

    found = ledger(("board/T1.1", ChecksDone(findings=(old,)))).catches(ALWAYS, {"T1"})

    assert counts(found) == [("ask", "protected", 1, 1)]
