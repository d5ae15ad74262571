"""K10: a cancel handle that is reused for many moves cancels only the current one."""

import anyio
import pytest

from allstop.engine.cancel_scope import CancelHandle


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request):
    return request.param


async def test_what_was_not_cut_leaves_the_scope_for_the_next_move():
    cancel_handle = CancelHandle()

    with cancel_handle as first:
        await anyio.sleep(0)
    with cancel_handle as second:
        await anyio.sleep(0)
    cancel_handle.drop()

    assert second is first


async def test_k10_a_cut_ends_one_move_and_not_the_next():
    cancel_handle, done = CancelHandle(), []

    with cancel_handle as first:
        first.cancel()
        await anyio.sleep_forever()
    with cancel_handle as second:
        await anyio.sleep(0)
        done.append("second")
    cancel_handle.drop()

    assert first.cancelled_caught
    assert second is not first
    assert done == ["second"]


async def test_a_cut_that_came_too_late_does_not_reach_the_next_move():
    cancel_handle, done = CancelHandle(), []

    with cancel_handle as first:
        first.cancel()
    await anyio.sleep(0)
    with cancel_handle:
        await anyio.sleep(0)
        done.append("second")
    cancel_handle.drop()

    assert done == ["second"]


async def test_what_ends_all_goes_through():
    cancel_handle = CancelHandle()

    with anyio.CancelScope() as all_:
        with cancel_handle:
            await anyio.sleep(0)
        with cancel_handle:
            all_.cancel()
            await anyio.sleep_forever()
    cancel_handle.drop()

    assert all_.cancelled_caught


async def test_a_fault_goes_through_and_leaves_no_scope_behind():
    cancel_handle = CancelHandle()

    with anyio.CancelScope() as outer:
        with pytest.raises(ValueError, match="x"), cancel_handle:
            raise ValueError("x")
        cancel_handle.drop()

    assert not outer.cancelled_caught
