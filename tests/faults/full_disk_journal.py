"""What a journal, and an engine on it, do when their disk is full. Prints what happened as JSON.

`small_disk.py tmpfs FOLDER SCENE` mounts a disk of 3 MB there (it is run in a mount namespace of
its own); `small_disk.py paper FOLDER SCENE` lets SQLite itself believe that the disk is full, for
places where nobody may mount anything.
"""

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import anyio

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.core.commands import Allstop, Resume, Say
from allstop.core.events import Commanded, Opened
from allstop.core.ids import HELM
from allstop.core.moves import Outcome
from allstop.ports import Entry, StoreFullError
from support.in_memory_world import DONE, InMemoryWorld, task

CLOCK = SystemClock()
SIZE = 3 * 1024 * 1024


class RealDisk:
    def __init__(self, folder):
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)], check=True
        )
        self._filler = folder / "filler"
        self.store = folder / "store"

    def fill(self, journal):
        with self._filler.open("ab", buffering=0) as file:
            for size in (65536, 4096, 1):
                with suppress(OSError):
                    while True:
                        file.write(b"x" * size)

    def make_room(self, journal):
        self._filler.unlink()


class PaperDisk:
    def __init__(self, folder):
        self.store = folder / "store"

    def fill(self, journal):
        journal._reserve = PaperReserve(journal._reserve, lambda: self._allow(journal, 60))
        self._allow(journal, 0)

    def make_room(self, journal):
        self._allow(journal, 10_000)

    def _allow(self, journal, pages):
        ((count,),) = journal._db.execute("pragma page_count").fetchall()
        journal._db.execute(f"pragma max_page_count = {count + pages}").fetchall()


class PaperReserve:
    """Gives room when it is taken away, as a file on a full disk would."""

    def __init__(self, path, freed):
        self._path = path
        self._freed = freed

    def exists(self):
        return self._path.exists()

    def unlink(self):
        self._path.unlink()
        self._freed()


def said(text):
    return Commanded(at=CLOCK.now(), command=Say(text=text))


def opened():
    return Opened(at=CLOCK.now(), kind="task", spec=task())


async def write_until_full(journal):
    """How many were written, and what was said then."""
    for number in range(5000):
        try:
            await journal.append(Entry("a", said(f"{number} " + "x" * 3000)))
        except StoreFullError as error:
            return number, f"{error.message}: {error.hint}"
    raise AssertionError("never full")


async def journal_scene(disk):
    journal = SqliteJournal(disk.store, CLOCK)
    await journal.append(Entry("a", opened()))
    disk.fill(journal)
    written, complaint = await write_until_full(journal)
    kept = len(await journal.read("a"))
    stop = Commanded(at=CLOCK.now(), command=Allstop(), by="anna")
    await journal.append(Entry(HELM, stop))
    reserve_left = journal._reserve.exists()
    disk.make_room(journal)
    await journal.append(Entry("a", said("again")))
    after = len(await journal.read("a"))
    journal.close()
    second = SqliteJournal(disk.store, CLOCK)
    report = {
        "written": written,
        "complaint": complaint,
        "kept": kept,
        "reserve_left": reserve_left,
        "after": after,
        "helm": [type(r.event.command).__name__ for r in await second.read(HELM)],
        "numbers": [r.seq for r in await second.read("a")],
        "integrity": second._db.execute("pragma integrity_check").fetchall()[0][0],
    }
    second.close()
    return report


async def twice_scene(disk):
    """The disk is full, there is room again, and then it is full a second time."""
    journal = SqliteJournal(disk.store, CLOCK)
    await journal.append(Entry("a", opened()))
    stops = []
    for _ in range(2):
        disk.fill(journal)
        await write_until_full(journal)
        await journal.append(Entry(HELM, Commanded(at=CLOCK.now(), command=Allstop())))
        stops.append(True)
        disk.make_room(journal)
        await journal.append(Entry(HELM, Commanded(at=CLOCK.now(), command=Resume())))
    helm = len(await journal.read(HELM))
    journal.close()
    return {"stops": len(stops), "helm": helm}


async def newcomer_scene(disk):
    """Nobody has the store open; the disk is full; somebody comes to stop everything."""
    journal = SqliteJournal(disk.store, CLOCK)
    await journal.append(Entry("a", opened()))
    disk.fill(journal)
    await write_until_full(journal)
    journal.close()
    second = SqliteJournal(disk.store, CLOCK)
    if isinstance(disk, PaperDisk):
        disk.fill(second)
    await second.append(Entry(HELM, Commanded(at=CLOCK.now(), command=Allstop())))
    helm = len(await second.read(HELM))
    second.close()
    return {"helm": helm}


async def engine_scene(disk):
    """A task writes while the disk is full, waits, and goes on when there is room."""
    journal = SqliteJournal(disk.store, CLOCK)
    world = InMemoryWorld(journal)
    world.agent("cli", *[f"{number} " + "x" * 30_000 for number in range(40)], DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task(iterations=50))
        disk.fill(journal)
        with anyio.fail_after(60):
            while not world.shown:
                await anyio.sleep(0.05)
        turns_then = sum(
            "turn_done" in str(e) or "TurnDone" in str(e) for e in await world.events("t")
        )
        disk.make_room(journal)
        with anyio.fail_after(60):
            outcome = await engine.rested("t")
    state = await world.state("t")
    journal.close()
    return {
        "outcome": outcome is Outcome.DONE,
        "turns_then": turns_then,
        "turns": state.tally.turns,
        "trouble": world.shown[0][1].text,
    }


async def stopped_engine_scene(disk):
    """The disk is full, and somebody stops everything: the turn is cut and the stop is recorded."""
    journal = SqliteJournal(disk.store, CLOCK)
    world = InMemoryWorld(journal)
    world.agent("cli", 3600.0)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(0.2)
        disk.fill(journal)
        await write_until_full(journal)
        with anyio.fail_after(60):
            await engine.allstop()
        disk.make_room(journal)
        await anyio.sleep(2.5)
    helm = [type(e).__name__ for e in await world.events(HELM)]
    ended = [type(e).__name__ for e in await world.events("t")]
    journal.close()
    return {"helm": helm, "ended": ended}


SCENES = {
    "journal": journal_scene,
    "twice": twice_scene,
    "newcomer": newcomer_scene,
    "engine": engine_scene,
    "stopped engine": stopped_engine_scene,
}
DISKS = {"tmpfs": RealDisk, "paper": PaperDisk}

if __name__ == "__main__":
    kind, where, name = sys.argv[1:]
    print(json.dumps(anyio.run(SCENES[name], DISKS[kind](Path(where)))))
