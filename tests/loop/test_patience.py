"""K12: how long a move may last and be silent; neither counts while it is held."""

import anyio
import pytest

from allstop.loop.patience import Patience


async def spent(patience, *steps):
    """Seconds until it ran out; steps are seconds to wait, or what to do to it."""
    began = anyio.current_time()
    with patience.scope:
        for step in steps:
            if isinstance(step, str):
                getattr(patience, step)()
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
        (100, 30, [10, "relax", 500, "cut"], 510, True),
    ],
)
async def test_k12_deadlines(most_s, idle_s, steps, until_s, stalled):
    patience = Patience(most_s, idle_s)

    assert await spent(patience, *steps) == pytest.approx(until_s)
    assert patience.ran_out
    assert patience.stalled is stalled or patience.was_cut


async def test_work_that_is_done_in_time_is_left_alone():
    patience = Patience(100, 30)
    with patience.scope:
        await anyio.sleep(29)

    assert not patience.ran_out


async def test_k1_a_part_is_held_together_with_the_whole():
    whole, part = Patience(1000), Patience(60)
    whole.hold()
    whole.hold()
    began = anyio.current_time()
    with whole.scope:
        whole.begin(part)
        with part.scope:
            await anyio.sleep(300)
            whole.release()
            await anyio.sleep(300)
            whole.release()
            await anyio.sleep_forever()

    assert part.ran_out
    assert anyio.current_time() - began == pytest.approx(660)
