"""K3: creating a STOP file stops everything."""

import os
import sqlite3
import subprocess
from contextlib import closing, contextmanager

import anyio
import pytest

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.core.commands import Allstop, Resume
from allstop.core.events import Commanded, Halted, MoveEnded
from allstop.core.helm import Hold, fold
from allstop.core.ids import HELM
from allstop.core.moves import FailureKind, Outcome
from allstop.engine.steps import Waiting
from allstop.ports import Cursor, Entry, StaleError
from faults.damaged_stores import said
from support.in_memory_world import DONE, InMemoryWorld, task


@pytest.fixture
def journal(folder):
    journal = SqliteJournal(folder, SystemClock())
    yield journal
    journal.close()


def touch(folder):
    subprocess.run(["touch", str(folder / "STOP")], check=True)


async def helm_of(journal):
    return fold(record.event for record in await journal.read(HELM))


async def test_k3_a_file_that_another_process_creates_stops_everything(journal):
    world = InMemoryWorld(journal)
    world.agent("cli", *[3600.0] * 3)
    async with world.running() as engine:
        for run in "abc":
            await engine.open(run, "task", task())
        await anyio.sleep(0.1)
        touch(journal.folder)
        with anyio.fail_after(60):
            while not any(isinstance(e, Halted) for e in await world.events(HELM)):
                await anyio.sleep(0.01)
        for run in "abc":
            assert await engine.rested(run) == Waiting("allstop")
            (ended,) = [e for e in await world.events(run) if isinstance(e, MoveEnded)]
            assert ended.result.kind is FailureKind.CANCELLED


async def test_k3_the_stop_survives_a_restart_even_when_the_file_is_gone(journal):
    """K3: removed only by Resume: taking the file away does not lift the stop."""
    world = InMemoryWorld(journal)
    world.agent("cli", 3600.0, then=lambda turn: DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(0.1)
        touch(journal.folder)
        with anyio.fail_after(60):
            assert await engine.rested("t") == Waiting("allstop")
    journal.stop_file.remove()
    async with world.running() as engine:
        await engine.take("t")
        with anyio.fail_after(60):
            assert await engine.rested("t") == Waiting("allstop")
        await engine.command(HELM, Resume())
        with anyio.fail_after(60):
            while await world.outcome("t") != [Outcome.DONE]:
                await anyio.sleep(0.01)


@pytest.mark.parametrize("make", [os.mkdir, os.mkfifo, lambda path: os.symlink("nowhere", path)])
async def test_k3_whatever_has_its_name_stops_and_is_lifted(journal, make):
    """K3: a folder, a pipe that nobody writes to, a link to nothing."""
    make(journal.folder / "STOP")

    exists, why = journal.stop_file.exists(), journal.stop_file.author()
    journal.stop_file.remove()

    assert (exists, why, journal.stop_file.exists()) == (True, "STOP file", False)


async def test_k3_a_file_that_was_there_before_the_start_stops_too(journal):
    touch(journal.folder)
    world = InMemoryWorld(journal)
    world.agent("cli", DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        with anyio.fail_after(60):
            assert await engine.rested("t") == Waiting("allstop")

    assert (await helm_of(journal)).hold is Hold.STOPPED


async def test_k3_the_file_wins_against_a_conditional_append(journal):
    """K2: it counts before anybody has read it: what was chosen before it can't be written."""
    await journal.append(Entry("a", said("one")))
    touch(journal.folder)

    with pytest.raises(StaleError):
        await journal.append(Entry("a", said("two")), expect=Cursor("a", 1, 0))
    assert len(await journal.read("a")) == 1
    (stop,) = await journal.read(HELM)
    assert isinstance(stop.event, Commanded)
    assert stop.event.command == Allstop()
    await journal.append(Entry("a", said("two")), expect=Cursor("a", 1, 1))


async def test_k3_a_file_that_stays_is_one_stop_and_not_many(journal):
    touch(journal.folder)
    for number in range(5):
        await journal.append(Entry("a", said(str(number))))

    assert (await helm_of(journal)).stops == 1


async def test_k3_while_the_file_is_there_a_resume_does_not_last(journal):
    touch(journal.folder)
    await journal.append(Entry("a", said("one")))
    await journal.append(Entry(HELM, Commanded(at=SystemClock().now(), command=Resume())))
    await journal.append(Entry("a", said("two")))

    helm = await helm_of(journal)
    assert (helm.hold, helm.stops) == (Hold.STOPPED, 2)


async def test_k3_a_dangling_link_of_that_name_counts_too(journal):
    (journal.folder / "STOP").symlink_to("nowhere")
    await journal.append(Entry("a", said("one")))

    assert (await helm_of(journal)).hold is Hold.STOPPED


async def test_k2_the_alarm_comes_before_the_disk_has_taken_the_stop(journal):
    """K2: a disk may take long; what agents say meanwhile comes after the stop all the same."""
    await journal.append(Entry("a", said("x")))
    seen = []

    def on_disk():
        with sqlite3.connect(journal.folder / "journal.db") as other:
            return other.execute("select count(*) from events").fetchone()[0]

    with journal.listen(lambda run, seq: None, lambda: seen.append(on_disk())):
        await journal.append(Entry("a", said("x")))
        touch(journal.folder)
        await journal.append(Entry("a", said("x")))
        await journal.append(Entry("a", said("x")))
    journal.stop_file.remove()

    assert seen == [2]
    assert [e.command for e in [r.event for r in await journal.read(HELM)]] == [Allstop()]
    assert on_disk() == 5


@pytest.fixture
def locked(journal):
    """Another process keeps the store to itself within the block."""

    @contextmanager
    def lock():
        with closing(sqlite3.connect(journal.folder / "journal.db", isolation_level=None)) as other:
            other.execute("begin immediate")
            yield
            other.execute("rollback")

    return lock


async def until(condition):
    with anyio.fail_after(60):
        while not condition():
            await anyio.sleep(0.01)


async def test_k3_agents_are_struck_as_soon_as_the_file_is_there(journal, locked, monkeypatch):
    """K3: while the store is locked by somebody else, too; who waits for them knows why they end."""
    world = InMemoryWorld(journal)
    world.agent("cli", 3600.0)
    struck = []
    async with world.running() as engine:
        await engine.open("t", "task", task())
        drive = engine._driven_runs["t"].drive
        await until(lambda: drive.at_work)
        under_way = engine._context.hands._deadlines
        monkeypatch.setattr(
            world.launcher,
            "kill",
            lambda label: struck.append((label, all(each.was_cut for each in under_way.values()))),
        )
        with locked():
            touch(journal.folder)
            await until(lambda: struck)
            await until(lambda: not drive.at_work)
            before = await helm_of(journal)
        with anyio.fail_after(60):
            assert await engine.rested("t") == Waiting("allstop")

    assert struck[0] == ("", True)
    assert before.hold is Hold.NONE


async def test_k3_what_agents_were_struck_for_is_recorded_though_the_file_is_gone(journal, locked):
    """K3: taking the file away lifts nothing, and what ended is no failure of its own."""
    world = InMemoryWorld(journal)
    world.agent("cli", 3600.0)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        drive = engine._driven_runs["t"].drive
        await until(lambda: drive.at_work)
        with locked():
            (journal.folder / "STOP").write_text("the cat\n")
            await until(lambda: not drive.at_work)
            (journal.folder / "STOP").unlink()
        with anyio.fail_after(60):
            assert await engine.rested("t") == Waiting("allstop")
        (ended,) = [e for e in await world.events("t") if isinstance(e, MoveEnded)]
    stops = [r.event for r in await journal.read(HELM) if isinstance(r.event, Commanded)]

    assert [(e.command, e.by) for e in stops] == [(Allstop(), "the cat")]
    assert ended.result.kind is FailureKind.CANCELLED
    assert ended.result.message == "cut off by Allstop"


async def test_k3_a_stop_that_another_process_has_written_and_lifted_is_not_written_again(journal):
    """K3: that the file was seen is no reason to stop what a person has resumed since."""
    touch(journal.folder)
    journal._update_pending_stop()
    other = SqliteJournal(journal.folder, SystemClock())
    await other.append()
    journal.stop_file.remove()
    now = SystemClock().now()
    await other.append(Entry(HELM, Commanded(at=now, command=Resume(), by="user")))
    other.close()

    await journal.append(Entry("a", said("x")))

    commands = [r.event.command for r in await journal.read(HELM)]
    assert commands == [Allstop(), Resume()]
