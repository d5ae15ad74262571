"""Q16, K2: boards that are killed or stopped at every write."""

import itertools

import anyio
import pytest

from allstop.core.commands import Resume
from support.board_runs import assert_all_done, board_spec, board_world, person
from support.fault_scenarios import assert_nothing_began_and_no_word_counted
from support.faulty_ports import CrashingJournal, GuardedJournal, RacingJournal
from support.sweeps import short

LONG_S = 3600.0
ARRIVED_S = 200.0
"""Time after which the run under test has ended."""


async def run_to_end(world):
    """Open or resume the board until it ends or the process dies."""
    async with world.running() as engine:
        if await world.journal.heads():
            await world.resume_all(engine)
        else:
            await engine.open("board", "board", board_spec(slots=2))
        await person(world, engine)


async def sail_until_death(world):
    async with anyio.create_task_group() as group:
        group.start_soon(run_to_end, world)
        with anyio.move_on_after(LONG_S):
            await world.journal.dead.wait()
        group.cancel_scope.cancel()


async def test_the_run_of_the_other_tests_ends():
    world = board_world(GuardedJournal())
    await run_to_end(world)

    await assert_all_done(world)
    board = (await world.state("board")).pilot.board
    assert {task.id: len(task.attempts) for task in board.tasks()} == {
        "a": 1,
        "b": 1,
        "asks": 1,
        "clash": 2,
    }


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("part", range(short(4, 1)))
async def test_q16_a_board_killed_at_any_write_loses_nothing_and_merges_nothing_twice(when, part):
    kills = 0
    for nth in itertools.count(1 + part, 4):
        world = board_world(CrashingJournal(nth, when))
        await sail_until_death(world)
        if not world.journal.dead.is_set():
            break
        kills += 1
        world.journal = world.journal.disk()
        with anyio.fail_after(LONG_S):
            await run_to_end(world)
        await assert_all_done(world)

    assert kills > 15


async def test_q16_a_board_killed_again_and_again_still_arrives():
    world = board_world(CrashingJournal(5, "after"))
    for deaths in itertools.count(1):
        await sail_until_death(world)
        if not world.journal.dead.is_set():
            break
        journal = CrashingJournal(11 + deaths % 3, ("before", "after")[deaths % 2])
        journal._records = world.journal.disk()._records
        world.journal = journal

    assert deaths >= 5
    await assert_all_done(world)


@pytest.mark.parametrize("where", ["helm", "root", "writer"])
@pytest.mark.parametrize("part", range(short(3, 1)))
async def test_k2_allstop_wins_every_race_with_every_write_of_a_board(where, part):
    raced = 0
    for nth in itertools.count(1 + part, 3):
        world = board_world(RacingJournal(nth, where))
        async with world.running() as engine:
            await engine.open("board", "board", board_spec(slots=2))
            with anyio.move_on_after(ARRIVED_S):
                await person(world, engine)
            stopped = world.journal.stopped
            if stopped is None:
                break
            raced += 1
            assert_nothing_began_and_no_word_counted(world.journal)
            await engine.command(stopped, Resume())
            with anyio.fail_after(LONG_S):
                await person(world, engine)
        await assert_all_done(world)

    assert raced > 12
