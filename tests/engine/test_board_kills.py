"""Q16, K2: boards that are killed or stopped at every write."""

import itertools

import anyio
import pytest

from support.board_runs import assert_all_done, board_spec, board_world, person
from support.fault_scenarios import (
    kill_again_and_again,
    kill_at_every_write,
    open_or_resume,
    stop_at_every_write,
)
from support.faulty_ports import CrashingJournal, GuardedJournal, RacingJournal
from support.sweeps import short

LONG_S = 3600.0
ARRIVED_S = 200.0
"""Time after which the run under test has ended."""


async def run_to_end(world):
    """Open or resume the board until it ends or the process dies."""
    async with world.running() as engine:
        await open_or_resume(world, engine, "board", "board", board_spec(slots=2))
        await person(world, engine)


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
    kills = await kill_at_every_write(
        itertools.count(1 + part, 4),
        lambda nth: board_world(CrashingJournal(nth, when)),
        run_to_end,
        assert_all_done,
    )

    assert kills > 15


async def test_q16_a_board_killed_again_and_again_still_arrives():
    deaths, world = await kill_again_and_again(board_world, run_to_end, 5, 11)

    assert deaths >= 5
    await assert_all_done(world)


@pytest.mark.parametrize("where", ["helm", "root", "writer"])
@pytest.mark.parametrize("part", range(short(3, 1)))
async def test_k2_allstop_wins_every_race_with_every_write_of_a_board(where, part):
    async def go_on(world, engine):
        with anyio.move_on_after(ARRIVED_S if world.journal.stopped is None else LONG_S):
            await person(world, engine)

    stops = await stop_at_every_write(
        itertools.count(1 + part, 3),
        lambda nth: board_world(RacingJournal(nth, where)),
        lambda engine: engine.open("board", "board", board_spec(slots=2)),
        go_on,
        assert_all_done,
    )

    assert stops > 12
