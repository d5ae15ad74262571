"""Z11: the engine keeps its promises on every journal."""

import os

import anyio
import pytest

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.in_memory import MemoryJournal
from allstop.adapters.journals.postgres import PostgresJournal
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.core.commands import Resume
from allstop.core.events import Halted, MoveEnded
from allstop.core.ids import HELM
from allstop.core.moves import Failed, FailureKind, Outcome, TurnDone, Usage
from allstop.core.replay import differences
from allstop.engine.steps import Waiting
from allstop.ports import Abilities, HeldError, Holder
from support.in_memory_world import DONE, InMemoryWorld, task
from support.postgres_fixtures import database, postgres
from support.process_fixtures import asyncio_backend

__all__ = ["asyncio_backend", "database", "postgres"]

WITHIN_S = 60


class HangsOnce:
    """Does its work in the second turn."""

    abilities = Abilities()

    def __init__(self):
        self.turns = 0
        self.begun = anyio.Event()

    async def take_turn(self, turn, watch):
        self.turns += 1
        self.begun.set()
        if self.turns == 1:
            await anyio.sleep_forever()
        return TurnDone(text=DONE, thread="t1", usage=Usage(output=1))

    async def close(self):
        pass


class EngineContract:
    """`opened` opens the journal, each time as another process would."""

    @pytest.fixture
    def world(self, opened):
        return InMemoryWorld(opened())

    async def test_z11_a_run_is_driven_to_its_end_and_replays(self, world):
        world.agent("cli", "going on", DONE)
        with anyio.fail_after(WITHIN_S):
            async with world.running() as engine:
                await engine.open("t", "task", task())
                assert await engine.rested("t") is Outcome.DONE

        events = await world.events("t")
        assert differences(world.pilots["task"], events) == []

    async def test_z11_nothing_is_accepted_after_a_stop_until_a_resume(self, world):
        agent = world.agents["cli"] = HangsOnce()
        with anyio.fail_after(WITHIN_S):
            async with world.running() as engine:
                await engine.open("t", "task", task())
                await agent.begun.wait()
                receipt = await engine.allstop("me")
                assert receipt.runs.keys() == {"t"}
                assert await engine.rested("t") == Waiting("allstop")
                ended = [e for e in await world.events("t") if isinstance(e, MoveEnded)]
                assert ended[-1].result.kind is FailureKind.CANCELLED
                await engine.command(HELM, Resume())
                while await world.outcome("t") != [Outcome.DONE]:
                    await anyio.sleep(0.01)

        assert any(isinstance(event, Halted) for event in await world.events(HELM))

    async def test_z11_one_engine_drives_a_run_and_the_next_one_continues_it(self, world, opened):
        first = world.agents["cli"] = HangsOnce()
        other = InMemoryWorld(opened())
        other.agent("cli", DONE)
        with anyio.fail_after(WITHIN_S):
            async with world.running() as engine:
                await engine.open("t", "task", task())
                await first.begun.wait()
                async with other.running() as second:
                    with pytest.raises(HeldError):
                        await second.take("t")
            async with other.running() as second:
                await second.take("t")
                assert await second.rested("t") is Outcome.DONE

        results = [e.result for e in await world.events("t") if isinstance(e, MoveEnded)]
        failed = [result.kind for result in results if isinstance(result, Failed)]
        assert failed == [FailureKind.INTERRUPTED]


class TestMemory(EngineContract):
    @pytest.fixture
    def opened(self):
        journal = MemoryJournal()
        return lambda: journal


class TestSqlite(EngineContract):
    @pytest.fixture
    def opened(self, tmp_path):
        journals = []

        def journal():
            journals.append(SqliteJournal(tmp_path / "store", SystemClock()))
            return journals[-1]

        yield journal
        for each in journals:
            each.close()


class TestPostgres(EngineContract):
    @pytest.fixture
    def opened(self, tmp_path, postgres, database):
        journals = []

        def journal():
            own = Holder(pid=os.getpid(), host="here", command="test", since=SystemClock().now())
            url = postgres.url(database)
            journals.append(PostgresJournal(url, tmp_path, SystemClock(), own=own))
            return journals[-1]

        yield journal
        for each in journals:
            each.close()
