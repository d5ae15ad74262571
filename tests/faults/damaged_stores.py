"""Journals to be damaged, and a way to read one in any state."""

import sqlite3

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.core.commands import Say
from allstop.core.events import Commanded, Opened
from allstop.ports import Entry
from allstop.testing.virtual_clock import EPOCH

CLOCK = SystemClock()
RUNS = ("a", "b", "c")


def said(text):
    return Commanded(at=EPOCH, command=Say(text=text))


async def write_some(folder, appends=40):
    """Three runs; every append has two entries. Closed in order, so all of it is in one file."""
    journal = SqliteJournal(folder, CLOCK)
    await write_to(journal, appends)
    journal.close()


async def write_to(journal, appends):
    for run in RUNS:
        await journal.append(Entry(run, Opened(at=EPOCH, kind="task", spec={})))
    for number in range(appends):
        run = RUNS[number % 3]
        text = f"{number} " + "x" * (number * 7 % 200)
        await journal.append(Entry(run, said(f"{text} a")), Entry(run, said(f"{text} b")))


async def read_all(folder):
    """Everything in the store: heads, and each run's events."""
    journal = SqliteJournal(folder, CLOCK)
    try:
        heads = await journal.heads()
        return {
            head.run: [record.event for record in await journal.read(head.run)] for head in heads
        }
    finally:
        journal.close()


def checkpointed(folder):
    """Everything in the one file, nothing in the log beside it."""
    db = sqlite3.connect(folder / "journal.db")
    db.execute("pragma wal_checkpoint(truncate)")
    db.close()
    return (folder / "journal.db").read_bytes()
