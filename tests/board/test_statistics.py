"""B5, B17: the statistics at the end of a run."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from allstop.board.statistics import Period, shares_in, statistics
from allstop.cli.board.screen import summary_lines
from allstop.core.brakes import Tally
from allstop.core.moves import Outcome
from allstop.core.tasks import Attempt, Status, Task

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LATER = NOON + timedelta(minutes=1)


def task(number, status, *attempts):
    given = {"status": status, "attempts": attempts, "note": "why"}
    return Task(id=f"T{number}", title="x", number=number, **given)


def attempt(run, *, turns=0, tokens=0, ended_at=LATER, outcome=Outcome.DONE):
    tally = Tally(turns=turns, input=tokens)
    return Attempt(run=run, began_at=NOON, ended_at=ended_at, outcome=outcome, tally=tally)


def numbers(*tasks, since=NOON, **under_way):
    period = Period(since)
    return statistics(shares_in(tasks, period, under_way), period, runtime_s=60.0)


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


FAILURES = ("failed", "timed_out", "blocked", "crashed")


@pytest.mark.parametrize(
    ("status", "outcome", "counted"),
    [
        (Status.DONE, Outcome.DONE, "completed"),
        (Status.REVIEW, Outcome.DONE, "completed"),
        (Status.MERGING, Outcome.DONE, "completed"),
        (Status.FAILED, Outcome.FAILED, "failed"),
        (Status.TIMEOUT, Outcome.TIMED_OUT, "timed_out"),
        (Status.TIMEOUT, Outcome.BRAKED, "timed_out"),
        (Status.BLOCKED, Outcome.BLOCKED, "blocked"),
        (Status.PENDING, Outcome.CRASHED, "crashed"),
        (Status.PENDING, Outcome.ABORTED, ""),
        (Status.ACTIVE, None, ""),
        (Status.CANCELLED, Outcome.DONE, ""),
        (Status.SKIPPED, Outcome.FAILED, ""),
    ],
)
def test_b5_tasks_are_counted_by_what_they_are_now(status, outcome, counted):
    """B5: also if an earlier attempt was verified, or failed."""
    for first in (Outcome.DONE, Outcome.FAILED):
        attempts = attempt("a", turns=1, outcome=first), attempt("b", turns=1, outcome=outcome)
        found = numbers(task(1, status, *attempts))

        shown = {name: getattr(found, name) for name in ("completed", *FAILURES)}
        assert shown == {name: int(name == counted) for name in ("completed", *FAILURES)}


def test_b5_work_that_could_not_be_merged_is_verified_all_the_same():
    verified = Task(
        id="T1",
        title="x",
        number=1,
        status=Status.WAITING,
        verified="tree",
        attempts=(attempt("a", turns=1),),
    )

    assert numbers(verified).completed == 1


def test_b5_b17_the_average_the_fastest_and_the_slowest_are_of_what_was_completed():
    found = numbers(
        task(1, Status.DONE, attempt("a", turns=4)),
        task(2, Status.MERGING, attempt("b", turns=1)),
        task(
            3, Status.REVIEW, attempt("c1", turns=1, outcome=Outcome.FAILED), attempt("c2", turns=6)
        ),
        task(4, Status.FAILED, attempt("d", turns=50, outcome=Outcome.FAILED)),
        task(5, Status.MERGING),
        task(6, Status.PENDING),
    )

    assert (found.average, found.fastest, found.slowest, found.iterations) == (4.0, 1, 7, 62)
    assert (found.completed, found.failed, found.remaining) == (3, 1, 5)
    assert found.pending_merges == 2, "also what was verified before"


def test_na13_one_number_stands_for_equal_ones():
    one, other = (task(n, Status.DONE, attempt(f"a{n}", turns=1)) for n in (1, 2))
    slow = task(3, Status.DONE, attempt("a3", turns=4))

    assert "2 iterations (per completed task: 1) · " in summary_lines(numbers(one, other))[-1]
    assert (
        "(per completed task: 2 on average, fastest 1, slowest 4)"
        in (summary_lines(numbers(one, other, slow))[-1])
    )


def test_b5_the_summary_names_what_ended_otherwise_only_where_it_did():
    good = task(1, Status.DONE, attempt("a", turns=2))
    late = task(2, Status.TIMEOUT, attempt("b", turns=3, outcome=Outcome.TIMED_OUT))
    stuck = task(3, Status.BLOCKED, attempt("c", turns=1, outcome=Outcome.BLOCKED))
    dead = task(4, Status.PENDING, attempt("d", outcome=Outcome.CRASHED))

    assert summary_lines(numbers(good))[1].startswith("1 verified, 0 failed, 0 remaining · ")
    ended = "1 verified, 0 failed, 1 timed out, 1 blocked, 1 crashed, 3 remaining"
    assert summary_lines(numbers(good, late, stuck, dead))[1:] == [
        f"{ended} · 0 merged, 0 conflicts resolved",
        "6 iterations · 0 tokens · 60 s",
    ]


def test_nb18_k7_the_summary_counts_failed_turns():
    down = replace(attempt("a", outcome=Outcome.FAILED), tally=Tally(failed_turns=3))

    assert summary_lines(numbers(task(1, Status.FAILED, down)))[-1] == (
        "0 iterations, 3 failed turns · 0 tokens · 60 s"
    )


def test_na3_k7_tokens_that_are_known_in_part_are_no_exact_number():
    some = replace(attempt("a"), tally=Tally(turns=1, input=278, partial=True))
    none = replace(attempt("b"), tally=Tally(turns=1, partial=True))

    assert "≥ 278 tokens · cost unknown" in summary_lines(numbers(task(1, Status.DONE, some)))[-1]
    assert "tokens unknown · cost" in summary_lines(numbers(task(1, Status.DONE, none)))[-1]


# --- what can't be known ---


def test_s5_nothing_is_averaged_over_nothing():
    found = numbers(task(1, Status.FAILED, attempt("a", turns=3, outcome=Outcome.FAILED)))

    assert (found.average, found.fastest, found.slowest) == (None, None, None)
    assert found.cost_per_merged_usd is None


def test_s5_an_unknown_cost_is_none_and_never_zero():
    silent = Attempt(
        run="a",
        began_at=NOON,
        ended_at=LATER,
        outcome=Outcome.DONE,
        tally=Tally(turns=1, partial=True),
    )
    done = Task(
        id="T1", title="x", number=1, status=Status.DONE, attempts=(silent,), merged_at=LATER
    )

    found = numbers(done)

    assert (found.cost_usd, found.tokens, found.partial) == (None, None, True)
    assert (found.merged, found.cost_per_merged_usd) == (1, None)


def test_s5_k7_a_merged_task_costs_what_all_its_attempts_cost():
    """K7: also those that failed before the period."""

    def spent(run, cost, ended_at=LATER):
        tally = Tally(turns=1, cost_microusd=cost)
        return Attempt(run=run, began_at=NOON, ended_at=ended_at, outcome=Outcome.DONE, tally=tally)

    before = spent("a1", 400_000, NOON - timedelta(days=2))
    one = Task(
        id="T1", title="x", number=1, status=Status.DONE, merged_at=LATER,
        attempts=(before, spent("a2", 100_000)), conflicts_resolved=1,
    )  # fmt: skip
    other = Task(
        id="T2", title="x", number=2, status=Status.DONE, merged_at=LATER,
        attempts=(spent("b", 100_000),),
    )  # fmt: skip
    unmerged = Task(id="T3", title="x", number=3, status=Status.FAILED, attempts=(spent("c", 9),))

    found = numbers(one, other, unmerged)

    assert (found.merged, found.conflicts_resolved) == (2, 1)
    assert found.cost_per_merged_usd == 0.3
    assert found.cost_usd == 0.200009


def test_s5_a_task_counts_in_the_period_in_which_its_latest_attempt_ended():
    hour = timedelta(hours=1)
    first = attempt("a", turns=2, ended_at=NOON + hour, outcome=Outcome.FAILED)
    second = attempt("b", turns=3, ended_at=NOON + 3 * hour)
    twice = task(1, Status.DONE, first, second)

    def between(since, until):
        period = Period(NOON + since * hour, until and NOON + until * hour)
        return statistics(shares_in([twice], period, {}), period)

    early, late = between(0, 2), between(2, None)
    assert (early.completed, early.iterations, early.remaining) == (0, 2, None)
    assert (late.completed, late.iterations, late.average, late.remaining) == (1, 3, 3.0, 0)


def test_s5_an_hour_is_only_counted_up_from_a_time_that_is_long_enough():
    done = task(1, Status.DONE, attempt("a", turns=1))
    period = Period(NOON)

    def pace(runtime_s):
        return statistics(shares_in([done], period, {}), period, runtime_s=runtime_s).per_hour

    assert [pace(None), pace(599), pace(600), pace(7200)] == [None, None, 6.0, 0.5]
