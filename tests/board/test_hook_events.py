"""B22: which hook an event triggers, and its variables."""

from datetime import UTC, datetime

import pytest

from allstop.board.hook_events import (
    MAX_FACT_CHARS,
    Facts,
    Hook,
    HookContext,
    HookState,
    evolve,
    hook_facts,
    pause_facts,
    variable_names,
    variables,
)
from allstop.core.brakes import Tally
from allstop.core.commands import Allstop, Pause, Resume
from allstop.core.events import ChildClosed, Commanded, MoveStarted
from allstop.core.ids import BOARD, MoveId, child_of
from allstop.core.moves import Outcome, Spawn, TakeTurn
from allstop.core.prompt import prompt
from allstop.core.tasks import Attempt, Status, Task

AT = datetime(2030, 1, 1, tzinfo=UTC)


def attempts(count):
    return tuple(
        Attempt(run=child_of(BOARD, f"t1.{number}"), began_at=AT) for number in range(1, count + 1)
    )


TASK = Task(
    id="t1", title="Greet people", number=1, status=Status.ACTIVE, attempts=attempts(2), merged=""
)


def context(task=TASK):
    return HookContext(
        board=BOARD,
        target="main",
        task={task.id: task}.get,
        workspace=lambda name: f"/repository/.allstop/workspaces/{name}",
    )


def spawned(kind, ref="t1.2", **spec):
    move = Spawn(kind=kind, ref=ref, spec={"task": "t1", **spec})
    return MoveStarted(at=AT, id=MoveId(1), move=move)


def closed(outcome, ref="t1.2", note="", **facts):
    tally = Tally(turns=4, input=900, output=100, cost_microusd=1_250_000)
    run = child_of(BOARD, ref)
    return ChildClosed(
        at=AT, ref=ref, run=run, outcome=outcome, tally=tally, note=note, facts=facts
    )


def only_facts(*given):
    """The facts of the one hook, or None."""
    facts = hook_facts(*given)
    assert len(facts) <= 1
    return facts[0] if facts else None


def hook_at_the_end(kind, outcome, **spec):
    state = evolve(HookState(), spawned(kind, **spec))
    facts = only_facts(state, closed(outcome), context())
    return facts.hook if facts else None


def test_b22_before_a_task_starts():
    assert only_facts(HookState(), spawned("task"), context()) == Facts(
        hook=Hook.PRE_START,
        task="t1",
        title="Greet people",
        status="active",
        target="main",
        branch="allstop/t1",
        run="board/t1.2",
        attempt=2,
        workspace="/repository/.allstop/workspaces/t1",
    )


def test_b22_after_a_task_is_verified():
    state = evolve(HookState(), spawned("task"))

    assert only_facts(state, closed(Outcome.DONE, note="fine"), context()) == Facts(
        hook=Hook.POST_COMPLETE,
        task="t1",
        title="Greet people",
        status="active",
        target="main",
        branch="allstop/t1",
        run="board/t1.2",
        attempt=2,
        outcome="done",
        note="fine",
        workspace="/repository/.allstop/workspaces/t1",
        cost_usd=1.25,
        tokens=1000,
        iterations=4,
    )


def test_b22_after_a_merge_the_commit_is_told():
    state = evolve(HookState(), spawned("merge", ref="t1.merge1"))

    facts = only_facts(state, closed(Outcome.DONE, ref="t1.merge1", commit="abc"), context())

    assert (facts.hook, facts.commit, facts.attempt) == (Hook.POST_MERGE, "abc", 2)


@pytest.mark.parametrize(
    ("kind", "outcome", "hook"),
    [
        ("task", Outcome.DONE, Hook.POST_COMPLETE),
        ("task", Outcome.FAILED, Hook.ON_ERROR),
        ("task", Outcome.TIMED_OUT, Hook.ON_ERROR),
        ("task", Outcome.CRASHED, Hook.ON_ERROR),
        ("task", Outcome.BRAKED, Hook.ON_ERROR),
        ("task", Outcome.BLOCKED, None),
        ("task", Outcome.ABORTED, None),
        ("task", Outcome.CONFLICT, None),
        ("merge", Outcome.DONE, Hook.POST_MERGE),
        ("merge", Outcome.CONFLICT, Hook.ON_CONFLICT),
        ("merge", Outcome.FAILED, Hook.ON_ERROR),
        ("merge", Outcome.ABORTED, None),
    ],
)
def test_b22_how_a_run_of_the_board_ends(kind, outcome, hook):
    assert hook_at_the_end(kind, outcome) == hook


def test_b22_a_merge_has_a_hook_before_it_and_taking_one_out_has_not():
    assert only_facts(HookState(), spawned("merge"), context()).hook is Hook.PRE_MERGE
    assert only_facts(HookState(), spawned("merge", revert="abc"), context()) is None
    assert hook_at_the_end("merge", Outcome.DONE, revert="abc") is None
    assert hook_at_the_end("merge", Outcome.FAILED, revert="abc") is Hook.ON_ERROR


def test_b22_every_change_of_a_batch_has_its_hooks():
    """They are merged by one run; the runs after it only record what it has landed."""
    begins = spawned("merge", others=[{"task": "t2", "message": "Merge t2"}])
    facts = hook_facts(HookState(), begins, context())
    assert [(each.hook, each.task) for each in facts] == [
        (Hook.PRE_MERGE, "t1"),
        (Hook.PRE_MERGE, "t2"),
    ]

    state = evolve(HookState(), spawned("merge", landed="m2"))
    assert only_facts(HookState(), spawned("merge", landed="m2"), context()) is None
    assert only_facts(state, closed(Outcome.DONE, commit="m2"), context()).hook is Hook.POST_MERGE


def test_b22_a_batch_that_is_split_is_no_conflict():
    state = evolve(HookState(), spawned("merge"))

    assert only_facts(state, closed(Outcome.CONFLICT, batch="t1 t2"), context()) is None
    assert only_facts(state, closed(Outcome.CONFLICT, batch="t1"), context()) is not None


def test_b22_a_pause_has_a_hook_and_an_allstop_has_not():
    def said(command):
        return only_facts(HookState(), Commanded(at=AT, command=command, by="ada"), context())

    assert said(Pause()) == Facts(hook=Hook.ON_PAUSE, run="board", target="main", note="by ada")
    assert [said(Allstop()), said(Resume())] == [None, None]


def test_b12_a_board_that_pauses_by_itself_can_say_why():
    facts = pause_facts(context(), "3 tasks failed in a row")

    assert (facts.hook, facts.note) == (Hook.ON_PAUSE, "3 tasks failed in a row")


def test_a_child_is_forgotten_when_it_has_ended():
    state = evolve(HookState(), spawned("task"))
    turn = TakeTurn(agent="a", prompt=prompt("go"))

    assert evolve(state, MoveStarted(at=AT, id=MoveId(2), move=turn)) is state
    assert evolve(state, closed(Outcome.DONE)) == HookState()
    assert only_facts(HookState(), closed(Outcome.DONE), context()) is None


def test_an_attempt_the_task_does_not_know_yet_is_its_next_one():
    fresh = Task(id="t1", title="x", number=1)

    assert only_facts(HookState(), spawned("task", ref="t1.1"), context(fresh)).attempt == 1


def test_a_task_nobody_knows_is_told_by_its_id():
    facts = only_facts(HookState(), spawned("task"), HookContext(BOARD, "main", {}.get))

    assert (facts.task, facts.title, facts.status) == ("t1", "", "")


def test_b22_every_fact_is_a_variable():
    told = variables(Facts(hook=Hook.ON_ERROR, task="t1", attempt=2, cost_usd=0.5, tokens=7))

    assert set(variable_names()) == set(told)
    assert {name: value for name, value in told.items() if value} == {
        "ALLSTOP_HOOK": "on_error",
        "ALLSTOP_TASK": "t1",
        "ALLSTOP_ATTEMPT": "2",
        "ALLSTOP_COST_USD": "0.500000",
        "ALLSTOP_TOKENS": "7",
        "ALLSTOP_ITERATIONS": "0",
    }


@pytest.mark.parametrize(
    ("title", "told"),
    [
        ("$(touch /tmp/x); `id` \"'", "$(touch /tmp/x); `id` \"'"),
        ("a\0b", "a\N{REPLACEMENT CHARACTER}b"),
        ("\x1b]0;owned\x07red", "red"),
        ("\ud800", "\N{REPLACEMENT CHARACTER}"),
        ("x" * 10_000, "x" * MAX_FACT_CHARS),
    ],
)
def test_b22_what_an_agent_says_is_plain_and_short(title, told):
    assert variables(Facts(hook=Hook.PRE_START, title=title))["ALLSTOP_TITLE"] == told
