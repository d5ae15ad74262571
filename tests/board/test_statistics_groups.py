"""S5, K7: statistics by agent, model, tag, operation and day."""

from datetime import UTC, datetime, timedelta

from allstop.board.statistics import Period
from allstop.board.statistics_groups import Worked, Worker
from allstop.board.time_use import Part, Stretch
from allstop.core.brakes import Tally
from allstop.core.moves import Outcome
from allstop.core.tasks import Attempt, Status, Task

NOON = datetime(2026, 1, 10, 12, tzinfo=UTC)


def attempt(run, outcome=Outcome.DONE, turns=1, days_ago=0):
    ended_at = NOON - timedelta(days=days_ago)
    tally = Tally(turns=turns, input=10 * turns, cost_microusd=1000 * turns)
    began_at = ended_at - timedelta(minutes=1)
    return Attempt(run=run, began_at=began_at, ended_at=ended_at, outcome=outcome, tally=tally)


def task(number, status=Status.DONE, *attempts, **more):
    return Task(id=f"T{number}", title="x", number=number, status=status, attempts=attempts, **more)


def worked(*tasks, stretches=(), days=30):
    return Worked(tasks, Period(NOON - timedelta(days=days)), {}, stretches)


def used(turns, cost=1000):
    return Tally(turns=turns, input=10 * turns, cost_microusd=cost * turns)


def figures(groups, *names):
    return {g.name: tuple(getattr(g.statistics, name) for name in names) for g in groups}


def test_s5_a_task_with_two_tags_counts_in_both_and_one_without_by_itself():
    found = worked(
        task(1, Status.DONE, attempt("a", turns=2), tags=("api", "ui")),
        task(2, Status.FAILED, attempt("b", Outcome.FAILED), tags=("api",)),
        task(3, Status.PENDING, tags=("docs",)),
        task(4, Status.DONE, attempt("d")),
        task(5, Status.DONE, tags=("old",)),
    ).by_field(lambda task: task.tags or ("",))

    assert figures(found, "finished", "completed", "remaining", "iterations") == {
        "api": (2, 1, 1, 3),
        "ui": (1, 1, 0, 2),
        "": (1, 1, 0, 1),
        "docs": (0, 0, 1, 0),
    }
    assert [group.name for group in found] == ["api", "ui", "", "docs"], "most finished first"


def test_s5_k7_each_agent_has_its_own_turns_and_the_last_one_has_the_task():
    """K7: a fallback agent took over in the second attempt; both are paid for what they did."""
    shared = task(
        1, Status.DONE, attempt("a1", Outcome.FAILED, 2), attempt("a2", turns=3), merged_at=NOON
    )
    own = task(2, Status.FAILED, attempt("b", Outcome.FAILED))
    turns = [
        Worker("a1", "claude", used(2)),
        Worker("a2", "claude", used(1)),
        Worker("a2", "codex", used(2)),
        Worker("b", "claude", used(1)),
        Worker("of another time", "claude", used(50)),
    ]

    found = worked(shared, own).by_worker(turns)

    assert figures(
        found, "finished", "completed", "failed", "merged", "iterations", "attempts"
    ) == {
        "codex": (1, 1, 0, 1, 2, 1),
        "claude": (1, 0, 1, 0, 4, 3),
    }
    total = worked(shared, own).total()
    for name in ("iterations", "tokens", "cost_usd", "finished", "merged"):
        assert sum(getattr(g.statistics, name) for g in found) == getattr(total, name), name
    assert {g.statistics.remaining for g in found} == {None}, "nobody knows who takes what is left"


def test_s5_every_day_since_the_first_is_there_and_they_add_up():
    tasks = [
        task(1, Status.DONE, attempt("a", turns=2, days_ago=3)),
        task(2, Status.DONE, attempt("b1", Outcome.FAILED, days_ago=3), attempt("b2", days_ago=1)),
        task(3, Status.FAILED, attempt("c", Outcome.FAILED, days_ago=1)),
        task(4, Status.DONE, attempt("d", days_ago=90)),
    ]
    began_at = NOON - timedelta(days=1, minutes=5)
    span = Stretch("T3", Part.AGENT, began_at, began_at + timedelta(minutes=1), 60)

    found = worked(*tasks, stretches=[span]).by_day(UTC, NOON.date())

    assert figures(found, "finished", "completed", "iterations", "runtime_s", "remaining") == {
        "2026-01-07": (1, 1, 3, 0, None),
        "2026-01-08": (0, 0, 0, 0, None),
        "2026-01-09": (2, 1, 2, 60, None),
        "2026-01-10": (0, 0, 0, 0, None),
    }
    total = worked(*tasks).total()
    assert total.finished == sum(group.statistics.finished for group in found)
    assert total.iterations == sum(group.statistics.iterations for group in found)


def test_s5_a_group_has_the_time_of_its_own_tasks():
    later = NOON + timedelta(seconds=30)
    spans = [
        Stretch("T1", Part.AGENT, NOON, later, 30),
        Stretch("T2", Part.CHECKS, NOON, later, 30),
    ]
    found = worked(
        task(1, Status.DONE, attempt("a"), operation="x"),
        task(2, Status.DONE, attempt("b"), operation="y"),
        stretches=spans,
    )

    assert figures(found.by_field(lambda task: (task.operation,)), "runtime_s") == {
        "x": (30,),
        "y": (30,),
    }
    assert found.total().runtime_s == 30
