"""Programs that write to a store, and hold on to it, until they are done or killed.

writers.py count FOLDER NAME TIMES   conditional appends to a shared run and to one of its own
writers.py kills FOLDER TIMES        starts a writer and kills it, again and again, and looks
writers.py hold FOLDER RUN           claims a run
writers.py lock FOLDER               opens a transaction and never ends it
writers.py open FOLDER               opens the store with one migration more
"""

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import anyio

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.adapters.journals.sqlite_schema import MIGRATIONS
from allstop.ports import Cursor, Entry, StaleError
from faults.damaged_stores import CLOCK, said

MORE = (*MIGRATIONS, "create table notes (text text not null) strict;")


async def count(folder, name, times):
    """Like a counter that several share: read, add one, write if nobody else did meanwhile."""
    journal = SqliteJournal(Path(folder), CLOCK)
    refused = 0
    for run in ("shared", name):
        done = 0
        while done < int(times):
            last = len(await journal.read(run))
            try:
                await journal.append(
                    Entry(run, said(f"{name} {done}")), expect=Cursor(run, last, 0)
                )
                done += 1
            except StaleError:
                refused += 1
    journal.close()
    print(json.dumps({"refused": refused}))


async def write_pairs(folder, acknowledge):
    """Two entries an append, numbered; each is acknowledged once it is durable."""
    journal = SqliteJournal(Path(folder), CLOCK)
    number = len(await journal.read("pairs")) // 2
    while True:
        await journal.append(
            Entry("pairs", said(f"{number} a")), Entry("pairs", said(f"{number} b"))
        )
        os.write(acknowledge, f"{number}\n".encode())
        number += 1


def kills(folder, times):
    chance = random.Random(5)
    acknowledged = 0
    for _ in range(int(times)):
        ours, theirs = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(ours)
            anyio.run(write_pairs, folder, theirs)
        os.close(theirs)
        with os.fdopen(ours) as lines:
            first = lines.readline()  # however long the machine takes to start the writer
            time.sleep(chance.uniform(0.0, 0.05))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            acknowledged = max([acknowledged, *(int(line) + 1 for line in (first, *lines))])
        texts = anyio.run(read_pairs, folder)
        expected = [f"{n} {half}" for n in range(len(texts) // 2) for half in "ab"]
        assert texts == expected, "not whole, or not in order"
        assert len(texts) // 2 >= acknowledged, "what was acknowledged is lost"
    print(json.dumps({"acknowledged": acknowledged, "kept": len(texts) // 2}))


async def read_pairs(folder):
    journal = SqliteJournal(Path(folder), CLOCK)
    records = await journal.read("pairs")
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    journal.close()
    return [record.event.command.text for record in records]


async def hold(folder, run):
    journal = SqliteJournal(Path(folder), SystemClock())
    async with journal.claim(run):
        print("held", flush=True)
        time.sleep(600)


def lock(folder):
    journal = SqliteJournal(Path(folder), SystemClock())
    journal._db.execute("begin immediate")
    print("locked", flush=True)
    time.sleep(600)


def open_newer(folder):
    journal = SqliteJournal(Path(folder), CLOCK, MORE)
    ((version,),) = journal._db.execute("pragma user_version")
    ((notes,),) = journal._db.execute("select count(*) from notes")
    journal.close()
    print(json.dumps({"version": version, "notes": notes}))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["count", folder, name, times]:
            anyio.run(count, folder, name, times)
        case ["kills", folder, times]:
            kills(folder, times)
        case ["hold", folder, run]:
            anyio.run(hold, folder, run)
        case ["lock", folder]:
            lock(folder)
        case ["open", folder]:
            open_newer(folder)
        case _:
            sys.exit(__doc__)
