"""K10: one cancel scope for many moves cuts off the one it is used for, and no other."""

import anyio
import pytest

from allstop.engine.cancel_scope import Leash


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param


async def test_what_was_not_cut_leaves_the_scope_for_the_next_move():
    leash = Leash()

    with leash as first:
        await anyio.sleep(0)
    with leash as second:
        await anyio.sleep(0)
    leash.drop()

    assert second is first


async def test_k10_a_cut_ends_one_move_and_not_the_next():
    leash, done = Leash(), []

    with leash as first:
        first.cancel()
        await anyio.sleep_forever()
    with leash as second:
        await anyio.sleep(0)
        done.append("second")
    leash.drop()

    assert first.cancelled_caught
    assert second is not first
    assert done == ["second"]


async def test_a_cut_that_came_too_late_does_not_reach_the_next_move():
    leash, done = Leash(), []

    with leash as first:
        first.cancel()
    await anyio.sleep(0)
    with leash:
        await anyio.sleep(0)
        done.append("second")
    leash.drop()

    assert done == ["second"]


async def test_what_ends_all_goes_through():
    leash = Leash()

    with anyio.CancelScope() as all_:
        with leash:
            await anyio.sleep(0)
        with leash:
            all_.cancel()
            await anyio.sleep_forever()
    leash.drop()

    assert all_.cancelled_caught


async def test_a_fault_goes_through_and_leaves_no_scope_behind():
    leash = Leash()

    with anyio.CancelScope() as outer:
        with pytest.raises(ValueError, match="x"), leash:
            raise ValueError("x")
        leash.drop()

    assert not outer.cancelled_caught
