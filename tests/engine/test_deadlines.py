"""K12: total and idle deadlines of a move, which stop while it is held."""

import math

import anyio
import anyio.lowlevel
import pytest

from allstop.core.moves import FailureKind
from allstop.engine import deadlines
from allstop.engine.deadlines import DeadlineTimer


@pytest.fixture
async def timer():
    timer = DeadlineTimer()
    async with anyio.create_task_group() as group:
        group.start_soon(timer.keep)
        yield timer
        group.cancel_scope.cancel()


async def spent(deadline, *steps):
    """Seconds until the deadline; steps are seconds to wait, or methods to call."""
    began = anyio.current_time()
    with deadline.scope:
        for step in steps:
            if isinstance(step, str):
                getattr(deadline, step)()
            else:
                await anyio.sleep(step)
        await anyio.sleep_forever()
    return anyio.current_time() - began


@pytest.mark.parametrize(
    ("most_s", "idle_s", "steps", "until_s", "stalled"),
    [
        (100, 30, [], 30, True),
        (20, 30, [], 20, False),
        (100, 30, [20, "touch"], 50, True),
        (100, 30, [20, "touch", 20, "touch", 20, "touch", 20, "touch"], 100, False),
        (100, 30, [10, "hold", 500, "release"], 540, True),
        (40, 1000, [10, "hold", 500, "release"], 540, False),
        (100, 30, [10, "hold", 50, "hold", 50, "release", 50, "release"], 190, True),
        (100, 30, [10, "hold", "touch", 500, "release"], 540, True),
        (100, 30, [10, "clear", 500, "cut"], 510, True),
    ],
)
async def test_k12_deadlines(timer, most_s, idle_s, steps, until_s, stalled):
    deadline = timer.begin(most_s, idle_s)

    assert await spent(deadline, *steps) == pytest.approx(until_s)
    assert deadline.scope.cancelled_caught
    assert deadline.stalled is stalled or deadline.was_cut


async def test_work_that_is_done_in_time_is_left_alone(timer):
    with timer.deadlines(100, 30) as deadline, deadline.scope:
        await anyio.sleep(29)

    assert not deadline.scope.cancelled_caught


async def test_k1_a_part_is_held_together_with_the_whole(timer):
    whole = timer.begin(1000)
    whole.hold()
    whole.hold()
    began = anyio.current_time()
    with whole.scope, whole.part(60) as part, part.scope:
        await anyio.sleep(300)
        whole.release()
        await anyio.sleep(300)
        whole.release()
        await anyio.sleep_forever()

    assert part.scope.cancelled_caught
    assert anyio.current_time() - began == pytest.approx(660)


async def test_k1_parts_side_by_side_are_held_and_called_off_together(timer):
    whole = timer.begin(1000)
    ended = {}

    async def part(most_s):
        with whole.part(most_s) as part, part.scope:
            await anyio.sleep_forever()
        ended[most_s] = (anyio.current_time() - began, part.why)

    began = anyio.current_time()
    async with anyio.create_task_group() as group:
        for most_s in (20, 60):
            group.start_soon(part, most_s)
        await anyio.sleep(10)
        whole.hold()
        await anyio.sleep(100)
        whole.release()
        await anyio.sleep(20)
        whole.call_off(FailureKind.OUT_OF_MEMORY, "too much memory")

    assert ended == {
        20: (pytest.approx(120), ""),
        60: (pytest.approx(130), "too much memory"),
    }


async def test_k12_each_is_cut_off_at_its_own_time(timer):
    """K12: one timer serves all, and deadlines come in any order."""
    ended = {}

    async def work(most_s):
        with timer.deadlines(most_s) as deadline, deadline.scope:
            await anyio.sleep_forever()
        ended[most_s] = anyio.current_time() - began

    began = anyio.current_time()
    async with anyio.create_task_group() as group:
        for most_s in (50, 10, 30, 20, 40):
            group.start_soon(work, most_s)
        await anyio.sleep(5)
        group.start_soon(work, 1)

    assert {most_s: pytest.approx(at) for most_s, at in ended.items()} == {
        1: 6, 10: 10, 20: 20, 30: 30, 40: 40, 50: 50
    }  # fmt: skip


async def test_what_is_over_is_forgotten(timer, monkeypatch):
    """A million quick turns with an hour each leave nothing behind, and others keep their time."""
    monkeypatch.setattr(deadlines, "MAX_STALE", 10)
    long = timer.begin(100)
    for _ in range(1000):
        with timer.deadlines(3600, 600) as deadline:
            deadline.touch()  # work that waits and speaks
            await anyio.lowlevel.checkpoint()

    assert deadline.scheduled != math.inf
    assert len(timer._queue) <= 25
    assert await spent(long) == pytest.approx(100)


async def test_k12_what_is_held_while_others_are_forgotten_keeps_its_time(timer, monkeypatch):
    """K12: a person takes the night to answer, beside busy runs."""
    monkeypatch.setattr(deadlines, "MAX_STALE", 3)
    asked = timer.begin(100, 30)
    await anyio.sleep(10)
    asked.hold()
    for _ in range(20):
        with timer.deadlines(3600, 600) as deadline:
            deadline.touch()
            await anyio.lowlevel.checkpoint()
    asked.release()

    with anyio.fail_after(1000):
        assert await spent(asked) == pytest.approx(30)


async def test_work_that_never_waits_never_has_a_deadline(timer):
    for _ in range(100):
        with timer.deadlines(3600, 600) as deadline:
            pass

    await anyio.sleep(1)

    assert deadline.scheduled == math.inf
    assert timer._queue == []
