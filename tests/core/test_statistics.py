"""B5: the numbers at the end of a run, from what its tasks have used."""

from datetime import UTC, datetime, timedelta

from allstop.core.brakes import Tally
from allstop.core.moves import Outcome
from allstop.core.statistics import statistics
from allstop.core.tasks import Attempt, Status, Task

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=1)


def task(number, status, *attempts):
    return Task(id=f"T{number}", title="x", number=number, status=status, attempts=attempts)


def attempt(run, *, turns=0, tokens=0, ended_at=LATER, outcome=Outcome.DONE):
    tally = Tally(turns=turns, input=tokens)
    return Attempt(run=run, began_at=NOON, ended_at=ended_at, outcome=outcome, tally=tally)


def numbers(*tasks, since=NOON, **under_way):
    return statistics(tasks, since, LATER, merged=0, resolved=0, under_way=under_way)


def test_b5_work_under_way_counts_with_what_it_has_used_so_far():
    """B5: a pause shows the turns that were taken and paid for."""
    over = task(1, Status.DONE, attempt("a", turns=2, tokens=100))
    runs = task(2, Status.ACTIVE, attempt("b", ended_at=None, outcome=None))

    found = numbers(over, runs, b=Tally(turns=1, input=50))

    assert (found.iterations, found.tokens) == (3, 150)
    assert (found.completed, found.remaining, found.average) == (1, 1, 2.0)


def test_b5_what_was_over_before_does_not_count():
    before = attempt("a", turns=5, ended_at=NOON - timedelta(hours=1), outcome=Outcome.FAILED)
    now = attempt("b", turns=1)

    found = numbers(task(1, Status.DONE, before, now))

    assert (found.iterations, found.completed, found.failed) == (1, 1, 0)
