"""Q16: sprints whose process is killed at every write, and stopped at every write."""

import itertools

import anyio
import pytest

from allstop.board.sprint import REACHED
from allstop.core.board_specs import Mode, SprintSpec, Target, TargetKind
from allstop.core.commands import AddTasks, Resume, StartSprint
from allstop.core.events import MoveStarted
from allstop.core.moves import EndSprint, Failed, FailureKind, MakeCheckpoint
from allstop.core.replay import differences
from allstop.core.tasks import NewTask, Status
from support.board_runs import board_spec, board_world
from support.fault_scenarios import kill_at_every_write, open_or_resume
from support.faulty_ports import CrashingJournal, GuardedJournal, RacingJournal
from support.sweeps import short

LONG_S = 3600.0
TASKS = tuple(NewTask(id=name, title=name) for name in "abcd")
SPRINT = SprintSpec(
    target=Target(type=TargetKind.COUNT, value=2), checkpoint_before=True, batch_review=True
)


async def run_to_end(world):
    """Open or resume the board, start its sprint once, and wait until the sprint has ended."""
    async with world.running() as engine:
        await open_or_resume(world, engine, "board", "board", board_spec(slots=2, mode="semi"))
        while True:
            state = (await world.state("board")).pilot
            if not state.board.nodes:
                await engine.command("board", AddTasks(tasks=TASKS))
            elif state.sprint is None and not state.sprints:
                await engine.command("board", StartSprint(sprint=SPRINT))
            elif state.sprint is None:
                await engine.idle()
                return
            await anyio.sleep(7)


async def assert_one_sprint_of_two_tasks(world):
    state = (await world.state("board")).pilot
    (sprint,) = state.sprints
    assert (sprint.reason, len(sprint.finished), sprint.open) == (REACHED, 2, frozenset())
    assert state.board.count(Status.REVIEW) == 2
    assert state.board.count(Status.PENDING) == 2
    assert all(len(task.attempts) <= 1 for task in state.board.tasks())
    assert sprint.checkpoint.commit == world.workspaces.checkpoints["sprint1"]
    assert state.spec.mode is Mode.AUTOPILOT
    events = await world.events("board")
    moves = [event.move for event in events if isinstance(event, MoveStarted)]
    assert sum(isinstance(move, EndSprint) for move in moves) == 1
    first_task = next(n for n, move in enumerate(moves) if move.__struct_config__.tag == "spawn")
    assert all(isinstance(move, MakeCheckpoint) for move in moves[:first_task])
    assert differences(world.pilots["board"], events) == []


async def test_s2_the_sprint_of_the_other_tests_ends():
    world = board_world(GuardedJournal())
    await run_to_end(world)

    await assert_one_sprint_of_two_tasks(world)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("part", range(short(3, 1)))
async def test_q16_a_sprint_killed_at_any_write_ends_once_with_its_two_tasks(when, part):
    kills = await kill_at_every_write(
        itertools.count(1 + part, 3),
        lambda nth: board_world(CrashingJournal(nth, when)),
        run_to_end,
        assert_one_sprint_of_two_tasks,
    )

    assert kills > 5


@pytest.mark.parametrize("where", ["helm", "root", "writer"])
async def test_k2_a_stop_holds_a_sprint_which_then_continues(where):
    raced = 0
    for nth in itertools.count(1, short(1, 3)):
        world = board_world(RacingJournal(nth, where))
        async with world.running() as engine:
            await engine.open("board", "board", board_spec(slots=2, mode="semi"))
            await engine.command("board", AddTasks(tasks=TASKS))
            await engine.command("board", StartSprint(sprint=SPRINT))
            with anyio.move_on_after(200):
                await engine.idle()
                await anyio.sleep(100)
            stopped = world.journal.stopped
            if stopped is None:
                break
            raced += 1
            await engine.command(stopped, Resume())
            with anyio.fail_after(LONG_S):
                while not (await world.state("board")).pilot.sprints:
                    await anyio.sleep(7)
        await assert_one_sprint_of_two_tasks(world)

    assert raced > 4


async def test_s1_a_checkpoint_that_fails_pauses_the_sprint_before_its_first_task():
    world = board_world(GuardedJournal())
    world.workspaces.trouble["make_checkpoint"] = [
        Failed(kind=FailureKind.CRASHED, message="the disk is read-only")
    ]
    async with world.running() as engine:
        await engine.open("board", "board", board_spec(slots=2, mode="semi"))
        await engine.command("board", AddTasks(tasks=TASKS))
        await engine.command("board", StartSprint(sprint=SPRINT))
        await engine.idle()

        state = (await world.state("board")).pilot
        note = "the checkpoint can't be made: the disk is read-only"
        assert (state.sprint.note, state.refs) == (note, {})
