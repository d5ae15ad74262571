"""Q16, P7: several processes on one journal, and processes that die while they write."""

import json
import os
import signal
import threading
import time

import anyio
import pytest

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import BUSY_S, BUSY_TRIES, SqliteJournal
from allstop.ports import Entry, HeldError, StoreBusyError
from faults.damaged_stores import read_all, said

KILLS = int(os.environ.get("TEST_KILLS", "20"))  # `make soak`: 1000


def test_q16_a_writer_killed_again_and_again_leaves_whole_appends_and_no_gaps(report, folder):
    happened = report("writer_program.py", "kills", folder, KILLS)

    assert happened["kept"] >= happened["acknowledged"] >= KILLS


async def test_q16_four_processes_that_write_at_once_lose_nothing(program, folder):
    """Each counts 200 on a run they all share, and 200 on one of its own."""
    names = ["north", "east", "south", "west"]
    processes = [program("writer_program.py", "count", folder, name, 200) for name in names]
    for process in processes:
        output, _ = process.communicate(timeout=100)
        assert process.returncode == 0
        assert json.loads(output)["refused"] >= 0

    found = await read_all(folder)
    assert len(found["shared"]) == 800
    assert len(set(found["shared"])) == 800
    for name in names:
        assert [e.command.text for e in found[name]] == [f"{name} {n}" for n in range(200)]
        mine = [e.command.text for e in found["shared"] if e.command.text.startswith(name)]
        assert mine == [f"{name} {n}" for n in range(200)]


async def test_p7_nobody_who_only_looks_keeps_a_run_from_being_driven(folder):
    """P7: `status` and the control room look while others begin."""
    journal, looking = (SqliteJournal(folder, SystemClock()) for _ in range(2))
    is_over = threading.Event()

    def look():
        while not is_over.is_set():
            looking.holders()

    lookers = [threading.Thread(target=look) for _ in range(4)]
    for looker in lookers:
        looker.start()
    try:
        for _ in range(500):
            async with journal.claim("a"):
                pass
    finally:
        is_over.set()
        for looker in lookers:
            looker.join()
        journal.close()
        looking.close()


async def test_p7_a_claim_names_its_holder_and_dies_with_it(program, folder):
    """P7: the second is told who has it; a lock whose holder was killed never blocks."""
    holder = program("writer_program.py", "hold", folder, "a/b c")
    assert holder.stdout.readline() == "held\n"
    journal = SqliteJournal(folder, SystemClock())

    with pytest.raises(HeldError, match=rf"process {holder.pid} on .*allstop hold"):
        await journal.claim("a/b c").__aenter__()
    assert [h.pid for h in journal.holders().values()] == [holder.pid]
    async with journal.claim("other"):
        assert sorted(journal.holders()) == ["a/b c", "other"]
    holder.kill()
    holder.wait()
    assert dict(journal.holders()) == {}
    async with journal.claim("a/b c"):
        assert [h.pid for h in journal.holders().values()] == [os.getpid()]
    journal.close()


async def test_q19_a_process_that_hangs_with_the_store_locked_does_not_hang_us(program, folder):
    """An append gives up after its limit and says why; other tasks go on all the while."""
    journal = SqliteJournal(folder, SystemClock())
    await journal.append(Entry("a", said("before")))
    locker = program("writer_program.py", "lock", folder)
    assert locker.stdout.readline() == "locked\n"
    os.kill(locker.pid, signal.SIGSTOP)
    beats = []

    async def beat():
        while True:
            beats.append(time.monotonic())
            await anyio.sleep(0.01)

    async with anyio.create_task_group() as group:
        group.start_soon(beat)
        began = time.monotonic()
        with pytest.raises(StoreBusyError):
            await journal.append(Entry("a", said("never")))
        took_s = time.monotonic() - began
        assert len(await journal.read("a")) == 1
        group.cancel_scope.cancel()

    assert 2 * BUSY_S * BUSY_TRIES == 5.0
    assert took_s >= 4.5
    assert len(beats) > BUSY_TRIES // 2
    locker.kill()
    locker.wait()
    await journal.append(Entry("a", said("after")))
    assert [r.event for r in await journal.read("a")] == [said("before"), said("after")]
    journal.close()


async def test_q19_an_append_waits_for_a_process_that_lets_go_in_time(program, folder):
    journal = SqliteJournal(folder, SystemClock())
    await journal.append(Entry("a", said("before")))
    locker = program("writer_program.py", "lock", folder)
    assert locker.stdout.readline() == "locked\n"
    async with anyio.create_task_group() as group:
        group.start_soon(journal.append, Entry("a", said("after")))
        await anyio.sleep(0.3)
        assert len(await journal.read("a")) == 1
        locker.kill()

    assert len(await journal.read("a")) == 2
    journal.close()
