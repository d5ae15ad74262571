"""K17: work that uses too much disk space is ended, and waits for a person."""

import anyio
import pytest

from allstop.core.brakes import AtLimit, Limits
from allstop.core.commands import Resume
from allstop.core.moves import FailureKind, Outcome, WorkspaceOpen
from allstop.engine.steps import Waiting
from support.in_memory_world import InMemoryWorld, task, turns

DONE = "done\n<promise>COMPLETE</promise>"
GROWN = "the workspace holds 12 MB, and may hold 5 MB"
PAUSE = Limits(at_limit=AtLimit.PAUSE)


@pytest.fixture
def world():
    world = InMemoryWorld()
    world.workspaces.check_every_s = 2.0
    return world


def spec():
    return task(target="main", branch="allstop/t", review="never")


async def failures(world):
    events = await world.events("t")
    return [
        (e.result.kind, e.result.message)
        for e in events
        if hasattr(getattr(e, "result", 0), "kind")
    ]


async def test_k17_a_workspace_that_outgrows_its_limit_ends_the_turn_and_waits_for_a_person(world):
    world.agent("cli", 5000.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", spec(), limits=PAUSE)
        await anyio.sleep(100)
        world.workspaces.grown["t"] = GROWN
        began = anyio.current_time()
        rest = await engine.rested("t")
        took_s = anyio.current_time() - began
        del world.workspaces.grown["t"]
        await engine.command("t", Resume())
        await anyio.sleep(1)
        assert turns(await world.events("t")) == ["cli", "cli"]

    assert rest == Waiting(f"limit reached: {GROWN}", for_person=True)
    assert took_s <= 2.1
    assert await failures(world) == [(FailureKind.OUT_OF_ROOM, GROWN)]


async def test_k17_where_limits_stop_a_workspace_that_outgrows_its_own_ends_the_run(world):
    world.agent("cli", 5000.0, DONE)
    world.workspaces.grown["t"] = GROWN
    async with world.running() as engine:
        await engine.open("t", "task", spec(), limits=Limits(at_limit=AtLimit.STOP))
        assert await engine.rested("t") is Outcome.BRAKED


async def test_k17_on_a_disk_that_is_nearly_full_nothing_begins(world):
    world.agent("cli", DONE)
    world.workspaces.short = "the disk has 3 MB left"
    async with world.running() as engine:
        await engine.open("t", "task", spec(), limits=PAUSE)
        rest = await engine.rested("t")
        opened = dict(world.workspaces.opened)
        world.workspaces.short = ""
        await engine.command("t", Resume())
        await anyio.sleep(1)
        await engine.rested("t")

    assert rest == Waiting("limit reached: the disk has 3 MB left", for_person=True)
    assert opened == {}
    assert turns(await world.events("t")) == ["cli"]


async def test_k17_nothing_is_looked_at_while_no_turn_is_under_way(world):
    looks = []

    async def over_limit(workspace):
        looks.append(anyio.current_time())
        return ""

    world.workspaces.over_limit = over_limit
    world.agent("cli", 9.0, DONE)
    async with world.running() as engine:
        await anyio.sleep(1000)
        assert looks == []
        await engine.open("t", "task", spec())
        await engine.rested("t")
        await anyio.sleep(1000)

    assert 4 <= len(looks) <= 5


async def test_k17_a_setup_that_fills_the_new_workspace_is_ended_and_waits_for_a_person(world):
    world.agent("cli", DONE)
    tries = []

    async def open_(workspace, target, label, **how):
        tries.append(workspace)
        if len(tries) == 1:
            await anyio.sleep(5000)
        return WorkspaceOpen(base="base")

    world.workspaces.open = open_
    world.workspaces.grown["t"] = GROWN
    async with world.running() as engine:
        await engine.open("t", "task", spec(), limits=PAUSE)
        rest = await engine.rested("t")
        del world.workspaces.grown["t"]
        await engine.command("t", Resume())
        await anyio.sleep(1)
        await engine.rested("t")

    assert rest == Waiting(f"limit reached: {GROWN}", for_person=True)
    assert await failures(world) == [(FailureKind.OUT_OF_ROOM, GROWN)]
    assert tries == ["t", "t"]
    assert turns(await world.events("t")) == ["cli"]
