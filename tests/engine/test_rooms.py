"""Rooms in the engine: killed and stopped at every write, and long sessions."""

import itertools

import anyio
import pytest

from allstop.core.commands import Allstop, Interrupt, Resume, Say, StartSession
from allstop.core.events import Commanded, MoveEnded, MoveStarted
from allstop.core.ids import HELM
from allstop.core.moves import Item, TurnDone, Usage
from allstop.core.replay import differences
from allstop.core.room_specs import Ending
from allstop.kinds import PILOTS
from allstop.ports import Abilities, Entry
from allstop.views.rooms import EventType, RoomView
from support.faulty_ports import CrashingJournal, GuardedJournal, RacingJournal
from support.in_memory_world import InMemoryWorld
from support.room_runs import envelope, session_spec

ROOM = "room:default"
LONG_S = 3600.0
TURNS = 5


class PersonWithModels:
    """Answers with the round in its prompt; stateless, so that it can be killed."""

    abilities = Abilities()

    def __init__(self):
        self.calls = []

    async def take_turn(self, turn, watch):
        number = turn.prompt.talk.parts[-1].text.split()[1]
        self.calls.append(number)
        await anyio.sleep(2)
        await watch.saw(Item(kind="x", text="hm"))
        await anyio.sleep(2)
        return TurnDone(text=envelope(f"idea {number}"), usage=Usage(input=50, output=10))

    async def close(self):
        pass


def room_driver(journal=None):
    world = InMemoryWorld(journal or GuardedJournal())
    world.agents.update(gpt=PersonWithModels(), claude=PersonWithModels())
    return world


def spec(**more):
    return session_spec(**{"max_turns": TURNS, **more})


async def talk(world):
    """Open or resume the room until the session ends or the process dies."""
    async with world.running() as engine:
        if await world.journal.heads():
            await world.resume_all(engine)
        else:
            await engine.open(ROOM, "room", {"thread": "default"})
        state = await world.state(ROOM)
        if state.pilot.session is None and state.pilot.last is None:
            await engine.command(ROOM, StartSession(session=spec()))
        await anyio.sleep(LONG_S)


async def talk_until_death(world):
    async with anyio.create_task_group() as group:
        group.start_soon(talk, world)
        with anyio.move_on_after(2 * LONG_S):
            await world.journal.dead.wait()
        group.cancel_scope.cancel()


async def shown(world):
    opened, *events = await world.events(ROOM)
    view = RoomView(PILOTS["room"], opened)
    return [told for event in events for told in view.take(event)]


def said(told):
    return [event.text for event in told if event.type is EventType.AGENT_RESPONSE]


@pytest.mark.parametrize("when", ["before", "after"])
async def test_q16_killed_at_any_write_of_a_room_nothing_is_lost_and_nothing_is_said_twice(when):
    """Q16, R18: the session goes on at the turn it had reached."""
    for nth in itertools.count(1):
        world = room_driver(CrashingJournal(nth, when))
        await talk_until_death(world)
        if not world.journal.dead.is_set():
            break
        world.journal = world.journal.disk()
        await talk(world)

        state = await world.state(ROOM)
        assert said(await shown(world)) == [f"idea {n}" for n in range(1, TURNS + 1)]
        assert state.pilot.last.reason is Ending.EMERGENCY_CAP
        assert state.pilot.last.spoke == {"gpt": 3, "claude": 2}
        calls = sum(len(agent.calls) for agent in world.agents.values())
        assert calls <= TURNS + 1, "only the turn under way is taken again"
        assert differences(PILOTS["room"], await world.events(ROOM)) == []

    assert nth > 2 * TURNS


@pytest.mark.parametrize("where", ["helm", "root"])
async def test_k2_allstop_wins_every_race_with_every_write_of_a_room(where):
    """K2, R8: no reply is posted after it, the session is over, and Resume does not revive it."""
    for nth in itertools.count(1):
        world = room_driver(RacingJournal(nth, where))
        async with world.running() as engine:
            await engine.open(ROOM, "room", {"thread": "default"})
            await engine.command(ROOM, StartSession(session=spec()))
            await anyio.sleep(LONG_S)
            if world.journal.stopped is None:
                break
            before = said(await shown(world))
            had_begun = any(isinstance(e, MoveStarted) for e in await world.events(ROOM))
            await engine.command(world.journal.stopped, Resume())
            await anyio.sleep(LONG_S)
            if had_begun:
                assert said(await shown(world)) == before
        state = await world.state(ROOM)
        assert state.pilot.session is None
        assert state.open_move is None
        if had_begun and state.pilot.last.turns < TURNS:
            assert state.pilot.last.reason is Ending.STOPPED_BY_USER
            notices = [told.text for told in await shown(world) if told.kind == "ended"]
            assert notices == ["Collaboration stopped by user (Allstop)."]

    assert nth > TURNS


@pytest.mark.parametrize(
    ("command", "reason"),
    [(Allstop(), Ending.STOPPED_BY_USER), (Interrupt(), Ending.CANCELED_BY_USER)],
)
async def test_r8_a_call_in_flight_is_cut_and_its_reply_never_shows(command, reason):
    world = room_driver()
    async with world.running() as engine:
        await engine.open(ROOM, "room", {"thread": "default"})
        await engine.command(ROOM, StartSession(session=spec()))
        await anyio.sleep(5)
        began = anyio.current_time()
        await engine.command(ROOM, command)
        await engine.idle()
        assert anyio.current_time() - began < 1
        await anyio.sleep(LONG_S)

    assert said(await shown(world)) == ["idea 1"]
    assert (await world.state(ROOM)).pilot.last.reason is reason
    ends = [e.result for e in await world.events(ROOM) if isinstance(e, MoveEnded)]
    assert [type(end).__name__ for end in ends] == ["TurnDone", "Failed"]


async def test_r8_a_room_can_talk_again_after_a_stop():
    world = room_driver()
    async with world.running() as engine:
        await engine.open(ROOM, "room", {"thread": "default"})
        for number in range(3):
            await engine.command(ROOM, Resume())
            await engine.command(ROOM, StartSession(session=spec(id=f"s{number}")))
            await anyio.sleep(5)
            await (engine.allstop() if number == 1 else engine.command(ROOM, Allstop()))
            await engine.command(HELM, Resume())
            await anyio.sleep(LONG_S)

    endings = [told.session_id for told in await shown(world) if told.kind == "ended"]
    assert endings == ["s0", "s1", "s2"]


async def test_r6_a_message_joins_while_a_turn_is_under_way():
    world = room_driver()
    async with world.running() as engine:
        await engine.open(ROOM, "room", {"thread": "default"})
        await engine.command(ROOM, StartSession(session=spec(max_turns=2)))
        await anyio.sleep(1)
        await engine.command(ROOM, Say(text="Make it rhyme."))
        await engine.idle()

    texts = [told.text for told in await shown(world) if told.type != EventType.SYSTEM]
    assert texts.index("Make it rhyme.") < texts.index("idea 1")
    assert len(world.agents["gpt"].calls) == 1, "nothing was started again"


async def test_r12_time_is_up_in_the_middle_of_a_call():
    world = room_driver()
    async with world.running() as engine:
        await engine.open(ROOM, "room", {"thread": "default"})
        await engine.command(ROOM, StartSession(session=spec(max_minutes=0.1)))
        await engine.idle()

    assert said(await shown(world)) == ["idea 1"]
    last = (await world.state(ROOM)).pilot.last
    assert (last.reason, last.detail) == (Ending.EMERGENCY_CAP, "room.max_minutes = 0.1")
    assert last.seconds == pytest.approx(6)


async def test_r14_two_rooms_side_by_side_do_not_see_each_other():
    world = room_driver()
    async with world.running() as engine:
        for name in ("room:a", "room:b"):
            await engine.open(name, "room", {"thread": name})
            goal = f"the goal of {name}"
            await engine.command(name, StartSession(session=spec(goal=goal)))
        await engine.idle()

    for name, other in (("room:a", "room:b"), ("room:b", "room:a")):
        events = str(await world.events(name))
        assert f"the goal of {name}" in events
        assert other not in events


async def test_r8_a_stop_that_was_lifted_at_once_has_ended_the_session_all_the_same():
    """R8, K2: Allstop and Resume may both be written before anybody looks."""
    world = room_driver()
    async with world.running() as engine:
        await engine.open(ROOM, "room", {"thread": "default"})
        await engine.command(ROOM, StartSession(session=spec()))
        await anyio.sleep(5)
        now = world.journal.writes[-1][1][0].event.at
        await world.journal.append(
            Entry(HELM, Commanded(at=now, command=Allstop())),
            Entry(HELM, Commanded(at=now, command=Resume())),
        )
        await anyio.sleep(LONG_S)

    assert said(await shown(world)) == ["idea 1"]
    assert (await world.state(ROOM)).pilot.last.reason is Ending.STOPPED_BY_USER
