"""Waiting for output is cheap, and no output is missed."""

import os

import anyio
import pytest

from allstop.adapters.processes.readable_descriptors import (
    EpollWatch,
    SelectorWatch,
    watch_readiness,
)


@pytest.fixture
def pipes():
    numbers = [*os.pipe(), *os.pipe()]
    yield numbers
    for number in numbers:
        os.close(number)


@pytest.fixture(params=[SelectorWatch, watch_readiness])
async def guard(request, pipes, anyio_backend):
    made = request.param(pipes[0], pipes[2])
    yield made
    made.close()


async def woken(guard, within_s=60.0):
    with anyio.move_on_after(within_s):
        await guard.wait()
        return True
    return False


async def test_it_wakes_for_each_of_them_as_often_as_something_comes(guard, pipes):
    for writing, reading in ((1, 0), (3, 2), (3, 2), (1, 0)):
        os.write(pipes[writing], b"x")
        assert await woken(guard)
        os.read(pipes[reading], 9)


async def test_what_came_before_the_wait_is_not_slept_through(guard, pipes):
    os.write(pipes[1], b"x")
    await anyio.sleep(0.05)  # the loop has seen it, and nobody waited
    assert await woken(guard)
    assert await woken(guard)  # nobody has read it yet
    os.read(pipes[0], 9)
    os.write(pipes[3], b"x")
    assert await woken(guard)


async def test_it_sleeps_while_nothing_comes(guard, pipes):
    os.write(pipes[1], b"x")
    assert await woken(guard)
    os.read(pipes[0], 9)
    assert not await woken(guard, 0.1)
    os.write(pipes[1], b"x")
    assert await woken(guard)  # although the wait before was given up


async def test_one_that_has_ended_is_not_heard_again(guard, pipes):
    pipes_end = os.dup(pipes[1])
    os.write(pipes_end, b"x")
    os.close(pipes_end)
    assert await woken(guard)
    guard.remove(pipes[0])
    assert not await woken(guard, 0.1)


async def test_closing_it_wakes_who_waits(pipes, anyio_backend):
    for kind in (SelectorWatch, watch_readiness):
        made = kind(pipes[0], pipes[2])
        heard = []

        async def wait(made=made, heard=heard):
            try:
                await made.wait()
            except anyio.ClosedResourceError:
                heard.append("closed")

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            await anyio.wait_all_tasks_blocked()
            made.close()
        assert heard == ["closed"]


async def test_nobody_is_woken_for_what_nobody_waits_for(pipes, anyio_backend):
    """Words are gathered while one sleeps: each would wake the loop otherwise."""
    guard = watch_readiness(pipes[0])
    rounds = []
    guard._on_ready = lambda came=guard._on_ready: (rounds.append(1), came())
    guard._loop.add_reader(guard._epoll.fileno(), guard._on_ready)
    for _ in range(20):
        os.write(pipes[1], b"x")
        await anyio.sleep(0.001)
    guard.close()

    assert len(rounds) <= 1


async def test_it_is_the_cheaper_one_where_there_is_one(pipes, anyio_backend):
    guard = watch_readiness(pipes[0])
    assert isinstance(guard, EpollWatch)
    guard.close()


def test_it_works_for_other_loops(pipes):
    async def main():
        guard = watch_readiness(pipes[0])
        os.write(pipes[1], b"x")
        assert await woken(guard)
        guard.close()
        return type(guard)

    assert anyio.run(main, backend="trio") is SelectorWatch


@pytest.mark.parametrize("kind", [SelectorWatch, watch_readiness])
async def test_it_can_look_up_now_and_then_and_be_told_of_another(kind, pipes, anyio_backend):
    made = kind(pipes[0], timeout_s=0.01)
    os.write(pipes[3], b"x")

    assert await woken(made)  # by itself: what came is not what it waits for
    made.add(pipes[2])
    assert await woken(made)
    os.read(pipes[2], 9)
    os.write(pipes[1], b"x")
    assert await woken(made)
    made.close()
