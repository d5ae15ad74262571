"""Boards from end to end, in virtual time: slots, questions, merges, brakes."""

from datetime import timedelta

import anyio
import pytest

from allstop.board.board_pilot import BoardPilot
from allstop.core.board_specs import Mode
from allstop.core.commands import (
    Abort,
    AddTasks,
    Answer,
    Approve,
    Assign,
    Pause,
    Pin,
    Redo,
    Resume,
    Retry,
    RollBack,
    SetMode,
    Skip,
)
from allstop.core.events import ChildWaited, ChildWentOn, Closed, MoveEnded, MoveStarted, Waited
from allstop.core.ids import HELM
from allstop.core.moves import Failed, FailureKind, OpenWorkspace, Outcome, RunChecks, TakeTurn
from allstop.core.replay import differences
from allstop.core.run import FoldedRun, fold
from allstop.core.tasks import NewTask
from allstop.engine.send import send_command
from allstop.engine.steps import Waiting
from allstop.kinds import KINDS
from allstop.testing.virtual_clock import LoopClock
from allstop.views.runs import view
from support.board_runs import QUESTION, TaskAgent, board_spec, statuses
from support.faulty_ports import GuardedJournal, MergingWorkspaces
from support.in_memory_world import InMemoryWorld

LONG_S = 3600.0
HOUR = timedelta(seconds=LONG_S)


@pytest.fixture
def world():
    world = InMemoryWorld(GuardedJournal())
    world.workspaces = MergingWorkspaces()
    return world


def add(*tasks, **needs):
    made = [NewTask(id=name, title=name) for name in tasks]
    made += [NewTask(id=name, title=name, needs=tuple(of.split())) for name, of in needs.items()]
    return AddTasks(tasks=tuple(made))


async def begin(engine, *commands, **spec):
    await engine.open("board", "board", board_spec(**{"gate": {}, **spec}))
    for command in commands:
        await engine.command("board", command)


def started(events):
    """When each turn began."""
    return [e.at for e in events if isinstance(e, MoveStarted) and isinstance(e.move, TakeTurn)]


def moves(events):
    return [type(e.move).__name__ for e in events if isinstance(e, MoveStarted)]


# --- from end to end ---


async def test_b5_b17_a_board_goes_on_until_all_is_merged_each_after_what_it_needs(world):
    world.agents["cli"] = TaskAgent()
    async with world.running() as engine:
        await begin(engine, add("a", "b", c="a b", d="c", e="c"), slots=2)
        await anyio.sleep(LONG_S)
        assert await engine.rested("board") == Waiting("nothing to do", for_person=True)

    assert set((await statuses(world)).values()) == {"done"}
    assert world.workspaces.merged[2] == "c"
    assert sorted(world.workspaces.merged) == ["a", "b", "c", "d", "e"]
    assert world.agents["cli"].most == 2
    for head in await world.journal.heads():
        assert differences(world.pilots[head.kind], await world.events(head.run)) == []


async def test_b5_a_slot_that_is_free_is_taken_in_the_same_moment(world):
    """B5: no batch, no polling: the next task begins when the one before it ends."""
    world.agents["cli"] = TaskAgent(takes_s=10.0, slow=[500.0])
    async with world.running() as engine:
        await begin(engine, add("slow", "a", "b", "c"), slots=2, merge=False)
        await anyio.sleep(LONG_S)

    begins = [started(await world.events(f"board/{name}.1"))[0] for name in "abc"]
    assert [(at - begins[0]).total_seconds() for at in begins] == [0, 10, 20]


async def test_b17_the_gate_runs_on_the_work_and_again_on_the_merge(world):
    world.agents["cli"] = TaskAgent()
    async with world.running() as engine:
        await begin(engine, add("a"), gate={"checks": [{"name": "T", "run": "make"}]})
        await anyio.sleep(LONG_S)

    merge = await world.events("board/a.merge1")
    assert moves(await world.events("board/a.1")) == ["OpenWorkspace", "TakeTurn", "RunChecks"]
    assert moves(merge) == ["Integrate", "RunChecks", "Land"]
    (checks,) = [e.move for e in merge if isinstance(getattr(e, "move", None), RunChecks)]
    assert checks.commit == "base+a.1"


async def test_b17_a_merge_that_fails_its_checks_goes_back_to_the_agent(world):
    world.agents["cli"] = hand = TaskAgent()
    world.checks.codes = {"make": [0, 1, 0, 1, 0, 0]}
    async with world.running() as engine:
        await begin(engine, add("a"), gate={"checks": [{"name": "T", "run": "make"}]})
        await anyio.sleep(LONG_S)

    assert await statuses(world) == {"a": "done"}
    assert (
        "Your work does not pass once it is merged with what is new on main." in hand.told("a")[1]
    )
    assert "resolve the conflicts in these files" in hand.told("a")[1]
    assert (await world.state("board")).pilot.resolved == 1


async def test_b17_a_conflict_that_nobody_resolves_goes_to_the_person(world):
    world.workspaces.fits_after = {"a": 99}
    world.agents["cli"] = hand = TaskAgent()
    async with world.running() as engine:
        await begin(engine, add("a", "b"), conflicts=2)
        await anyio.sleep(LONG_S)

        assert await statuses(world) == {"a": "waiting", "b": "done"}
        assert len(hand.told("a")) == 3
        world.workspaces.fits_after = {}
        await engine.command("board", Retry(task="a"))
        await anyio.sleep(LONG_S)
    assert await statuses(world) == {"a": "done", "b": "done"}
    assert world.workspaces.merged == ["b", "a"]


async def test_b17_a_target_that_moves_meanwhile_is_followed(world):
    world.agents["cli"] = TaskAgent()
    world.workspaces.trouble = {"land": [Failed(kind=FailureKind.MOVED)] * 3}
    async with world.running() as engine:
        await begin(engine, add("a"))
        await anyio.sleep(LONG_S)

    assert moves(await world.events("board/a.merge1")) == ["Integrate", "Land"] * 4
    assert world.workspaces.merged == ["a"]


async def test_b17_a_dirty_tree_holds_the_merge_and_is_said_until_it_is_clean(world):
    world.agents["cli"] = TaskAgent()
    busy = Failed(kind=FailureKind.BUSY, message="main is checked out in /repo, with changes")
    world.workspaces.trouble = {"land": [busy] * 4}
    async with world.running() as engine:
        await begin(engine, add("a", b="a"))
        await anyio.sleep(15)
        task = (await world.state("board")).pilot.board["a"]
        assert (task.status, task.note) == ("merging", busy.message)
        await anyio.sleep(LONG_S)

    assert await statuses(world) == {"a": "done", "b": "done"}
    assert world.workspaces.merged == ["a", "b"]


async def test_b18_a_merged_task_is_rolled_back_and_done_again(world):
    world.agents["cli"] = TaskAgent()
    async with world.running() as engine:
        await begin(engine, add("a", "b"))
        await anyio.sleep(LONG_S)
        await engine.command("board", RollBack(task="a"))
        await anyio.sleep(LONG_S)
        assert await statuses(world) == {"a": "pending", "b": "done"}
        assert world.workspaces.reverted != []
        await engine.command("board", Retry(task="a"))
        await anyio.sleep(LONG_S)

    assert await statuses(world) == {"a": "done", "b": "done"}
    assert sorted(world.workspaces.merged) == ["a", "a", "b"]


async def test_b8_a_crash_of_the_agent_puts_the_task_back_and_others_first(world):
    world.agents["cli"] = hand = TaskAgent(a=[RuntimeError("boom")])
    async with world.running() as engine:
        await begin(engine, add("a", "b"), slots=1)
        await anyio.sleep(LONG_S)

    assert [name for name, _ in hand.heard] == ["a", "b", "a"]
    assert await statuses(world) == {"a": "done", "b": "done"}
    assert (await world.state("board")).pilot.board["a"].retries == 1


async def test_b12_three_failures_in_a_row_pause_the_board_until_a_person_resumes(world):
    exited = Failed(kind=FailureKind.EXITED, message="exit code 1")
    world.agents["cli"] = TaskAgent(a=[exited], b=[exited], c=[exited])
    async with world.running() as engine:
        await begin(engine, add("a", "b", "c", "d"), slots=1)
        await anyio.sleep(LONG_S)
        assert await engine.rested("board") == Waiting("3 tasks failed in a row", for_person=True)
        assert (await statuses(world))["d"] == "pending"
        await engine.command("board", Resume())
        await anyio.sleep(LONG_S)

    assert await statuses(world) == {"a": "failed", "b": "failed", "c": "failed", "d": "done"}


async def test_b9_the_time_of_an_attempt_holds_during_a_turn(world):
    world.agents["cli"] = TaskAgent(a=[5000.0])
    async with world.running() as engine:
        await begin(engine, add("a", "b"), slots=1, attempt_s=600.0)
        await anyio.sleep(6000)

    assert await statuses(world) == {"a": "timeout", "b": "done"}
    (closed,) = [e for e in await world.events("board/a.1") if isinstance(e, Closed)]
    assert closed.outcome is Outcome.TIMED_OUT


# --- questions ---


async def test_b11_a_question_frees_its_slot_and_the_answer_goes_on(world):
    world.slots = 1
    world.agents["cli"] = hand = TaskAgent(a=[QUESTION])
    async with world.running() as engine:
        await begin(engine, add("a", "b", "c"), slots=1)
        await anyio.sleep(5)
        assert await statuses(world) == {"a": "waiting", "b": "active", "c": "pending"}
        await anyio.sleep(10)
        await engine.command("board/a.1", Answer(text="the second"))
        await anyio.sleep(LONG_S)

    assert set((await statuses(world)).values()) == {"done"}
    assert hand.most == 1
    assert "You asked: which one?\nThe answer: the second" in hand.told("a")[1]
    said = [type(e) for e in await world.events("board")]
    assert (said.count(ChildWaited), said.count(ChildWentOn)) == (1, 1)
    assert [type(e) for e in await world.events("board/a.1")].count(Waited) == 1


async def test_b5_b20_a_paused_task_frees_its_slot_and_waits_for_one_when_it_goes_on(world):
    world.slots = 1
    world.agents["cli"] = hand = TaskAgent(a=[10.0, "hm"])
    async with world.running() as engine:
        await begin(engine, add("a", "b", "c"), slots=1)
        await anyio.sleep(1)
        await engine.command("board/a.1", Pause())
        await anyio.sleep(14)
        assert await statuses(world) == {"a": "active", "b": "active", "c": "pending"}
        await engine.command("board/a.1", Resume())
        await anyio.sleep(LONG_S)

    assert set((await statuses(world)).values()) == {"done"}
    assert [task for task, _ in hand.heard] == ["a", "b", "a", "c"]
    assert hand.most == 1


async def test_k13_while_a_limited_task_waits_another_agent_has_its_slot(world):
    """K13: others go on, and the limited one resumes by itself."""
    world.slots = 1
    limited = Failed(kind=FailureKind.RATE_LIMITED, retry_at=LoopClock().now() + HOUR)
    world.agents["cli"] = TaskAgent(a=[limited])
    world.agents["other"] = TaskAgent()
    others = NewTask(id="b", title="b", agent="other")
    async with world.running() as engine:
        await begin(engine, add("a"), AddTasks(tasks=(others,)), add("c"), slots=1)
        await anyio.sleep(100)
        assert await statuses(world) == {"a": "active", "b": "done", "c": "pending"}
        await anyio.sleep(LONG_S)

    assert set((await statuses(world)).values()) == {"done"}
    assert len(world.agents["cli"].told("c")) == 1
    for head in await world.journal.heads():
        assert differences(world.pilots[head.kind], await world.events(head.run)) == []


async def test_q7_a_board_that_was_read_is_taken_without_reading_it_again(world):
    """Q7: only newer events are read."""
    world.agents["cli"] = TaskAgent()
    async with world.running() as engine:
        await begin(engine)
        await anyio.sleep(1)
    records = await world.journal.read("board")
    known = FoldedRun(fold(BoardPilot(), [record.event for record in records]), records[-1].seq)
    read, whole = world.journal.read, []

    async def noting(run, after=0):
        if run == "board" and after < known.seq:
            whole.append(after)
        return await read(run, after)

    async with world.running() as engine:
        world.journal.read = noting
        await engine.command("board", add("a"))
        await engine.take("board", known)
        await engine.command("board", add("b"))
        await anyio.sleep(LONG_S)
        state = engine.state("board")

    assert whole == []
    assert state == fold(BoardPilot(), await world.events("board"))
    assert await statuses(world) == {"a": "done", "b": "done"}


async def test_b11_a_question_is_told_once_through_pauses_stops_and_restarts(world):
    world.agents["cli"] = TaskAgent(a=[QUESTION])
    async with world.running() as engine:
        await begin(engine, add("a"))
        await anyio.sleep(5)
        await engine.command("board", Pause())
        await engine.command("board", Resume())
        await engine.allstop()
        await engine.command(HELM, Resume())
        await anyio.sleep(5)
    async with world.running() as engine:
        await engine.take("board")
        await anyio.sleep(5)
        assert await statuses(world) == {"a": "waiting"}
        await engine.command("board/a.1", Answer(text="b"))
        await anyio.sleep(LONG_S)

    assert await statuses(world) == {"a": "done"}
    assert [type(e) for e in await world.events("board")].count(ChildWaited) == 1


async def test_b8_a_question_can_be_aborted_and_the_task_waits_for_a_person(world):
    world.agents["cli"] = TaskAgent(a=[QUESTION])
    async with world.running() as engine:
        await begin(engine, add("a", "b"))
        await anyio.sleep(5)
        await engine.command("board/a.1", Abort())
        await anyio.sleep(LONG_S)
        assert await statuses(world) == {"a": "pending", "b": "done"}
        await engine.command("board", Assign(task="a"))
        await anyio.sleep(LONG_S)

    assert await statuses(world) == {"a": "done", "b": "done"}


async def test_b5_it_is_idle_when_nothing_goes_on_without_a_person(world):
    world.agents["cli"] = TaskAgent(a=[QUESTION], b=["hm"])
    async with world.running() as engine:
        await begin(engine, add("a", "b"))
        with anyio.fail_after(LONG_S):
            await engine.idle()

        assert await statuses(world) == {"a": "waiting", "b": "done"}


# --- people ---


async def test_b5_tasks_and_orders_of_another_process_are_heard_at_once(world):
    """B5: another process writes to the journal while the board runs."""
    world.agents["cli"] = hand = TaskAgent(takes_s=100.0)
    async with world.running() as engine:
        await begin(engine, slots=1)
        await anyio.sleep(10)
        await send_command(world.journal, LoopClock(), "board", add("a", "b"), "somebody")
        await anyio.sleep(1)
        for command in (add("c", "d"), Pin(task="d"), Skip(task="c")):
            await send_command(world.journal, LoopClock(), "board", command, "somebody")
        await anyio.sleep(1)
        assert await statuses(world) == {
            "a": "active",
            "b": "pending",
            "c": "skipped",
            "d": "pending",
        }
        await send_command(world.journal, LoopClock(), "board", SetMode(mode=Mode.SEMI), "somebody")
        await anyio.sleep(LONG_S)
        assert (await statuses(world))["d"] == "pending"
        await send_command(
            world.journal, LoopClock(), "board", SetMode(mode=Mode.AUTOPILOT), "somebody"
        )
        await anyio.sleep(LONG_S)

    assert [name for name, _ in hand.heard] == ["a", "d", "b"]


async def test_b21_review_waits_for_the_person_and_redo_goes_back_with_the_comment(world):
    world.agents["cli"] = hand = TaskAgent()
    async with world.running() as engine:
        await begin(engine, add("a", "b"), review="batch")
        await anyio.sleep(LONG_S)
        assert await statuses(world) == {"a": "review", "b": "review"}
        assert world.workspaces.merged == []
        await engine.command("board", Redo(task="a", text="shorter"))
        await engine.command("board", Approve(task="b"))
        await anyio.sleep(LONG_S)
        assert await statuses(world) == {"a": "review", "b": "done"}
        await engine.command("board", Approve(task="a"))
        await anyio.sleep(LONG_S)

    assert "A person looked at your work and says: shorter" in hand.told("a")[1]
    assert world.workspaces.merged == ["b", "a"]


# --- brakes ---


async def test_b13_pause_ends_at_the_end_of_the_turn_and_says_pausing_until_then(world):
    world.agents["cli"] = hand = TaskAgent(a=[100.0, "hm"])
    async with world.running() as engine:
        await begin(engine, add("a", "b"), slots=1)
        await anyio.sleep(10)
        await engine.command("board", Pause())
        await anyio.sleep(10)
        state = engine.state("board/a.1")
        shown = view(
            "board/a.1",
            KINDS["task"],
            state,
            helm=engine.helm,
            now=LoopClock().now(),
            driven=True,
        )
        assert shown.status == "pausing"
        await anyio.sleep(LONG_S)
        assert len(hand.heard) == 1
        assert [e.result.text for e in await world.events("board/a.1") if is_turn(e)] == ["hm"]
        await engine.command("board", Resume())
        await anyio.sleep(LONG_S)

    assert await statuses(world) == {"a": "done", "b": "done"}
    assert len(hand.told("a")) == 2, "the turn before the pause counted"


def is_turn(event):
    return isinstance(event, MoveEnded) and hasattr(event.result, "text")


async def test_b13_allstop_ends_all_at_once_and_resume_goes_on_with_what_was_there(world):
    world.agents["cli"] = hand = TaskAgent(takes_s=100.0)
    async with world.running() as engine:
        await begin(engine, add("a", "b", "c"), slots=2)
        await anyio.sleep(50)
        halted = await engine.allstop()
        assert halted.took_ms == 0
        assert hand.at_work == set()
        await anyio.sleep(LONG_S)
        assert len(hand.heard) == 2
        await engine.command(HELM, Resume())
        await anyio.sleep(LONG_S)

    assert set((await statuses(world)).values()) == {"done"}
    opened = [
        e.move.stash
        for e in await world.events("board/a.1")
        if isinstance(e, MoveStarted) and isinstance(e.move, OpenWorkspace)
    ]
    assert opened == [False, False]
    assert "in `git stash`" not in hand.told("a")[1]
    assert sorted(world.workspaces.merged) == ["a", "b", "c"]


async def test_b8_one_task_is_aborted_and_the_others_go_on(world):
    world.agents["cli"] = TaskAgent(takes_s=100.0)
    async with world.running() as engine:
        await begin(engine, add("a", "b", "c"), slots=2)
        await anyio.sleep(50)
        await engine.command("board/a.1", Abort())
        await anyio.sleep(1)
        assert await statuses(world) == {"a": "pending", "b": "active", "c": "active"}
        await anyio.sleep(LONG_S)
        assert await statuses(world) == {"a": "pending", "b": "done", "c": "done"}
        await engine.command("board", Retry(task="a"))
        await anyio.sleep(LONG_S)

    assert (await statuses(world))["a"] == "done"


# --- many ---


async def test_b5_two_hundred_tasks_on_eight_slots_leave_no_slot_idle(world):
    world.slots = 8
    world.workspaces.takes_s = 0.0
    world.agents["cli"] = hand = TaskAgent(takes_s=10.0)
    async with world.running() as engine:
        await begin(engine, add(*(f"t{n}" for n in range(200))), slots=8)
        with anyio.move_on_after(10_000):
            while (await world.state("board")).pilot.merged < 200:
                await anyio.sleep(5)
        took_s = (LoopClock().now() - (await world.state("board")).opened.at).total_seconds()

    assert hand.most == 8
    assert took_s <= 200 / 8 * 10 + 5
    assert len(set(world.workspaces.merged)) == len(world.workspaces.merged) == 200
