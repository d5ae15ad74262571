"""F6: the number of concurrent turns, and the order of waiting runs."""

import anyio
from hypothesis import given
from hypothesis import strategies as st

from allstop.engine.slots import Slots
from allstop.ports import Live
from support.in_memory_world import DONE, InMemoryWorld, task


@given(st.integers(1, 4), st.lists(st.tuples(st.booleans(), st.integers(0, 50)), max_size=60))
def test_f6_never_more_than_the_slots_and_always_in_order(slots, steps):
    turn_slots, line = Slots(slots), []
    for joins, which in steps:
        if joins or not line:
            line.append(turn_slots.enqueue())
        else:
            turn_slots.release(line.pop(which % len(line)))

        granted = [ticket.granted for ticket in line]
        assert granted == [n < slots for n in range(len(line))]


def test_f6_more_slots_are_taken_at_once_and_fewer_as_they_are_given_back():
    turn_slots = Slots(1)
    line = [turn_slots.enqueue() for _ in range(4)]

    turn_slots.resize(3)
    more = [ticket.granted for ticket in line]
    turn_slots.resize(1)
    for ticket in line[:2]:
        turn_slots.release(ticket)
    fewer = line[3].granted
    turn_slots.release(line[2])

    assert (more, fewer) == ([True, True, True, False], False)
    assert line[3].granted


def test_without_a_number_there_are_slots_for_all():
    turn_slots = Slots()

    turn_slots.resize(1)
    assert [turn_slots.enqueue() for _ in range(3)] == [None] * 3
    turn_slots.release(None)


async def test_f6_a_call_wakes_who_waits_without_giving_a_slot():
    turn_slots = Slots(1)
    first, second = turn_slots.enqueue(), turn_slots.enqueue()
    second.wake()
    await second.wait()

    assert (first.granted, second.granted) == (True, False)
    turn_slots.release(first)
    await second.wait()
    assert second.granted


async def test_f6_whoever_waits_for_a_slot_says_so_and_whoever_has_one_does_not():
    world = InMemoryWorld(slots=1)
    world.agent("cli", 10.0, DONE, 10.0, DONE)
    shown = []
    async with world.running() as engine:
        engine.view(lambda run, live: shown.append((run, live)))
        await engine.open("a", "task", task())
        await anyio.sleep(1)
        assert shown == []
        await engine.open("b", "task", task())
        await anyio.sleep(1)
        assert shown == [("b", Live("queued", "waits for a free slot (1 of 1 taken)"))]
        await engine.rested("b")

    assert len(shown) == 1
