"""A journal on PostgreSQL when the server, the network or another process fails."""

import os
import threading
from datetime import UTC, datetime, timedelta

import anyio
import pytest
from msgspec.structs import replace

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.heartbeat import LeaseTimes
from allstop.adapters.journals.postgres import PostgresJournal
from allstop.core.commands import Allstop, Resume, Say
from allstop.core.events import Commanded, Opened
from allstop.core.ids import HELM
from allstop.ports import (
    ClaimLostError,
    Cursor,
    Entry,
    HeldError,
    Holder,
    StaleError,
    StoreBrokenError,
    StoreUnreachableError,
)
from support.cut_proxy import CutProxy
from support.postgres_fixtures import database, own_postgres, postgres
from support.process_fixtures import asyncio_backend

__all__ = ["asyncio_backend", "database", "own_postgres", "postgres"]

NOW = datetime(2026, 1, 1, tzinfo=UTC)
OPENED = Opened(at=NOW, kind="room", spec={})
QUICK = LeaseTimes(beat_s=0.2, fence_s=0.6, lease_s=1.2, look_s=0.2)
HERE = Holder(pid=os.getpid(), host="here", command="test", since=NOW, world="a")


KEPT = []


async def keep_claim(journal, run):
    """Claim a run as soon as it is free, for as long as the journal is open."""
    with anyio.fail_after(20):
        while True:
            claim = journal.claim(run)
            try:
                await claim.__aenter__()
            except HeldError:
                await anyio.sleep(0.05)
            else:
                return KEPT.append(claim)  # it would end if nobody knew it


def said(text):
    return Commanded(at=NOW, command=Say(text=text))


@pytest.fixture
def proxy(postgres):
    proxy = CutProxy(postgres.port)
    yield proxy
    proxy.close()


@pytest.fixture
def opened(tmp_path):
    """Opens journals, each as another process would."""
    journals = []

    def journal(url, own=HERE, folder=None, times=QUICK, **more):
        folder = folder or tmp_path / f"machine-{len(journals)}"
        folder.mkdir(exist_ok=True)
        made = PostgresJournal(url, folder, SystemClock(), own=own, times=times, **more)
        journals.append(made)
        return made

    yield journal
    for journal in journals:
        journal.close()


@pytest.fixture
def through(proxy, postgres, database, opened):
    """A journal whose network can be cut."""
    return opened(postgres.tcp_url(database, port=proxy.port))


@pytest.fixture
def lasting(proxy, postgres, database, opened):
    """A journal whose network can be cut, with a lease that doesn't end within a test."""
    times = LeaseTimes(beat_s=0.2, fence_s=60.0, lease_s=90.0, look_s=0.2)
    return opened(postgres.tcp_url(database, port=proxy.port), times=times)


async def until(condition, within_s=20):
    with anyio.fail_after(within_s):
        while not condition():
            await anyio.sleep(0.01)


async def texts(journal, run="a"):
    return [each.event.command.text for each in await journal.read(run, after=1)]


async def test_z5_a_write_whose_answer_was_lost_is_written_once(through, proxy):
    """The server has committed it when the connection ends: the repeat finds it there."""
    await through.append(Entry("a", OPENED))
    proxy.lose_answer_to(b"once")
    await through.append(Entry("a", said("once")), expect=Cursor("a", 1, 0))

    assert await texts(through) == ["once"]
    await through.append(Entry("a", said("more")), expect=Cursor("a", 2, 0))


async def test_z5_a_write_is_repeated_with_its_id_after_an_outage(own_postgres, opened):
    url = own_postgres.url(own_postgres.new_database())
    journal = opened(url)
    await journal.append(Entry("a", OPENED))
    own_postgres.stop("immediate")

    with pytest.raises(StoreUnreachableError) as failed:
        await journal.append(Entry("a", said("x")), expect=Cursor("a", 1, 0))
    with pytest.raises(StoreUnreachableError):
        await journal.read("a")
    own_postgres.start()
    for _ in range(2):
        await journal.append(
            Entry("a", said("x")), expect=Cursor("a", 1, 0), write=failed.value.write
        )

    assert await texts(journal) == ["x"]


async def test_z5_many_writers_lose_nothing_while_the_server_restarts(own_postgres, opened):
    """Three processes of five writers each; the server is killed while they write."""
    url = own_postgres.url(own_postgres.new_database())
    journals = [opened(url) for _ in range(3)]
    await journals[0].append(Entry("a", OPENED))
    wanted = [f"{name}-{number}" for name in range(15) for number in range(40)]

    async def write(journal, name):
        for number in range(40):
            write_id = None
            while True:
                try:
                    await journal.append(Entry("a", said(f"{name}-{number}")), write=write_id)
                    break
                except StoreUnreachableError as error:
                    write_id = error.write
                    await anyio.sleep(0.05)

    async def restart():
        while len(await journals[0].read("a")) < 100:
            await anyio.sleep(0.01)
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(own_postgres.stop, "immediate")
            await anyio.to_thread.run_sync(own_postgres.start)

    async with anyio.create_task_group() as group:
        for name in range(15):
            group.start_soon(write, journals[name % 3], name)
        group.start_soon(restart)

    written = await texts(journals[1])
    assert sorted(written) == sorted(wanted)
    for name in range(15):
        mine = [text for text in written if text.startswith(f"{name}-")]
        assert mine == [f"{name}-{number}" for number in range(40)]


async def test_z5_a_claim_whose_answer_was_lost_is_had(through, proxy):
    """The server has given it when the connection ends: the repeat finds it there."""
    await through.append(Entry("a", OPENED))
    proxy.lose_answer_to(b"allstop.claim(")

    async with through.claim("a"):
        await through.append(Entry("a", said("x")), expect=Cursor("a", 1, 0))


async def test_z5_a_claim_that_may_have_arrived_is_given_back(
    lasting, proxy, opened, postgres, database
):
    """Else nobody would drive the run as long as this process lives."""
    await lasting.append(Entry("a", OPENED))
    async with lasting.claim("b"):  # starts its signs of life
        proxy.lose_answer_to(b"allstop.claim(", then_cut=True)
        with pytest.raises(StoreUnreachableError):
            await lasting._take("a")
        assert "a" in opened(postgres.url(database)).holders()
        proxy.mend()

        await keep_claim(opened(postgres.url(database)), "a")


async def test_z5_a_claim_whose_end_may_not_have_arrived_is_given_back(
    lasting, proxy, opened, postgres, database
):
    await lasting.append(Entry("a", OPENED))
    async with lasting.claim("b"):
        async with lasting.claim("a"):
            proxy.lose_request(b"allstop.release")
        proxy.mend()

        await keep_claim(opened(postgres.url(database)), "a")


async def test_z3_a_process_that_was_given_up_can_write_no_more(
    through, proxy, postgres, database, opened
):
    """Its lease ends while it is cut off; when it is back, another one has the run."""
    await through.append(Entry("a", OPENED))
    other = opened(postgres.url(database), own=replace(HERE, host="other"))
    async with through.claim("a"):
        with pytest.raises(HeldError, match="on here"):
            async with other.claim("a"):
                pass
        proxy.cut()
        await keep_claim(other, "a")
        proxy.mend()

        with pytest.raises(ClaimLostError):
            await through.append(Entry("a", said("late")), expect=Cursor("a", 1, 0))
        await other.append(Entry("a", said("mine")), expect=Cursor("a", 1, 0))

    assert await texts(other) == ["mine"]
    assert [holder.host for holder in other.holders().values()] == ["other"]


async def test_z4_a_process_that_is_cut_off_is_told_before_others_take_over(
    through, proxy, postgres, database, opened
):
    other = opened(postgres.url(database))
    told = anyio.Event()
    async with anyio.create_task_group() as group:
        with through.listen(lambda run, seq: None, cut_off=told.set):
            group.start_soon(through.watch_writes)
            async with through.claim("a"):
                await until(lambda: "a" in through.holders())
                proxy.cut()
                with anyio.fail_after(20):
                    await told.wait()
                with pytest.raises(HeldError):
                    async with other.claim("a"):
                        pass
                proxy.mend()
            await keep_claim(other, "a")
            group.cancel_scope.cancel()


async def test_z4_agents_are_ended_once_when_another_process_has_taken_a_run_over(
    postgres, database, opened
):
    """Such as after the machine was asleep for longer than the lease."""
    url = postgres.url(database)
    journal = opened(url, times=LeaseTimes())
    other = opened(url, own=replace(HERE, host="other"), is_gone=lambda holder: True)
    ended, heard = [], set()
    async with anyio.create_task_group() as group:
        with journal.listen(lambda run, seq: heard.add(run), cut_off=lambda: ended.append(1)):
            group.start_soon(journal.watch_writes)
            await keep_claim(journal, "a")
            await keep_claim(other, "a")
            await until(lambda: ended)
            for run in "bcdef":
                await other.append(Entry(run, OPENED))
                await until(lambda run=run: run in heard)
            group.cancel_scope.cancel()

    assert ended == [1]


async def test_z1_a_lost_notice_loses_no_news(postgres, database, opened):
    """The listening connection is ended at the moment of the write."""
    journal, other = opened(postgres.url(database)), opened(postgres.url(database))
    heard = {}
    async with anyio.create_task_group() as group:
        with journal.listen(lambda run, seq: heard.update({run: seq})):
            group.start_soon(journal.watch_writes)
            await other.append(Entry("a", OPENED))
            await until(lambda: heard.get("a") == 1)
            postgres.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where query like 'select r.run%' or query = 'listen allstop'",
                database,
            )
            await other.append(Entry("a", said("x")))
            await until(lambda: heard.get("a") == 2)
            group.cancel_scope.cancel()


async def test_z1_no_reader_misses_a_write_of_many_writers(postgres, database, opened):
    """Positions become visible in their order: a reader that has seen one never misses a lower."""
    journals = [opened(postgres.url(database)) for _ in range(4)]
    reader = opened(postgres.url(database))
    seen = []
    is_over = anyio.Event()

    async def write(journal, name):
        for number in range(50):
            await journal.append(Entry(name, OPENED if number == 0 else said(str(number))))

    async def read():
        while not is_over.is_set() or await reader.last_place() > (seen[-1].pos if seen else 0):
            seen.extend(await reader.written(seen[-1].pos if seen else 0, 7))

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        async with anyio.create_task_group() as writers:
            for number, journal in enumerate(journals):
                writers.start_soon(write, journal, f"run{number}")
        is_over.set()

    assert [each.pos for each in seen] == list(range(1, 201))


async def test_z4_a_stop_file_ends_local_agents_at_once_and_reaches_the_helm_later(
    through, proxy, postgres, database, opened
):
    other = opened(postgres.url(database))
    ended = anyio.Event()
    async with anyio.create_task_group() as group:
        with through.listen(lambda run, seq: None, alarm=ended.set):
            group.start_soon(through.watch_writes)
            await through.append(Entry("a", OPENED))
            proxy.cut()
            through.stop_file.create("me")
            with anyio.fail_after(20):
                await ended.wait()
            assert await other.read(HELM) == []
            proxy.mend()
            await until_helm(other, 1)
            group.cancel_scope.cancel()

    (stop,) = [record.event for record in await other.read(HELM)]
    assert (stop.command, stop.by) == (Allstop(), "me on here")
    with pytest.raises(StaleError):
        await other.append(Entry("a", said("x")), expect=Cursor("a", 1, 0))


async def test_z4_a_queued_run_cannot_start_after_a_stop_that_its_worker_has_not_heard_of(
    postgres, database, opened
):
    """The server refuses the first move inside the write; no notice has to arrive for that."""
    worker, room = opened(postgres.url(database)), opened(postgres.url(database))
    await room.append(Entry("board/T1.1", OPENED))
    async with worker.claim("board/T1.1"):
        seen = Cursor("board/T1.1", 1, len(await worker.read(HELM)))
        await room.append(Entry(HELM, Commanded(at=NOW, command=Allstop())))

        with pytest.raises(StaleError):
            await worker.append(Entry("board/T1.1", said("start")), expect=seen)

    assert len(await room.read("board/T1.1")) == 1


async def until_helm(journal, seq):
    with anyio.fail_after(30):
        while len(await journal.read(HELM)) < seq:
            await anyio.sleep(0.02)


async def test_z4_a_resume_elsewhere_does_not_lift_the_stop_of_a_file_that_is_still_there(
    postgres, database, opened
):
    journal, other = opened(postgres.url(database)), opened(postgres.url(database))
    journal.stop_file.create("me")
    async with anyio.create_task_group() as group:
        group.start_soon(journal.watch_writes)
        await until_helm(other, 1)
        await other.append(Entry(HELM, Commanded(at=NOW, command=Resume())))
        await until_helm(other, 3)
        group.cancel_scope.cancel()

    commands = [record.event.command for record in await other.read(HELM)]
    assert commands == [Allstop(), Resume(), Allstop()]


async def test_equal_pids_of_two_machines_are_two_processes(postgres, database, opened):
    """Only a machine itself knows that one of its processes has ended."""
    url = postgres.url(database)
    mine = opened(url, own=replace(HERE, pid=77), is_gone=lambda holder: holder.world == "a")
    theirs = opened(url, own=replace(HERE, pid=77, host="there", world="b", worker="w1"))
    await keep_claim(theirs, "a")

    with pytest.raises(HeldError, match="worker w1, process 77 on there"):
        async with mine.claim("a"):
            pass
    ended = opened(url, own=replace(HERE, pid=78), times=LeaseTimes())
    await keep_claim(ended, "b")
    assert list(mine.holders()) == ["a"]
    async with mine.claim("b"):
        pass


async def test_a_closed_journal_leaves_no_claim_and_no_thread(postgres, database, opened):
    before = threading.active_count()
    journal = opened(postgres.url(database), times=LeaseTimes())
    other = opened(postgres.url(database))
    await keep_claim(journal, "a")
    journal.close()

    async with other.claim("a"):
        pass
    other.close()
    await until(lambda: threading.active_count() <= before + 2)  # those of the event loop


async def test_a_program_without_rights_is_told_so(postgres, database, opened):
    postgres.execute("create role nobody_else login", database)
    try:
        journal = opened(postgres.url(database, user="nobody_else"))
        with pytest.raises(StoreBrokenError) as refused:
            await journal.read("a")
        assert refused.value.code == "store_needs_init"
        journal.close()
    finally:
        postgres.execute("drop role nobody_else", database)


class SkewedClock(SystemClock):
    def __init__(self, ahead):
        self._ahead = ahead

    def now(self):
        return super().now() + self._ahead


async def test_z5_a_machine_notices_that_its_clock_is_wrong(opened, postgres, database):
    journal = opened(postgres.url(database))

    assert await journal.clock_ahead_s(SystemClock()) == 0
    assert 0 < await journal.clock_ahead_s(SkewedClock(timedelta(hours=9))) <= 9 * 3600
    assert -9 * 3600 <= await journal.clock_ahead_s(SkewedClock(timedelta(hours=-9))) < 0
