"""Q19: on a full disk nothing is lost, runs wait, and a stop is still recorded."""

import os
import re
import sqlite3
import subprocess

import anyio
import pytest

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.core.commands import Allstop
from allstop.core.events import Commanded
from allstop.core.ids import HELM
from allstop.ports import Entry
from faults.full_disk_journal import PaperDisk, PaperReserve, opened, write_until_full

NAMESPACE = ("unshare", "--map-root-user", "--mount") if os.geteuid() else ("unshare", "--mount")


@pytest.fixture(scope="session")
def can_mount(tmp_path_factory):
    """Whether a disk of our own can be had here; otherwise SQLite is told that it is full."""
    place = tmp_path_factory.mktemp("probe")
    probe = [*NAMESPACE, "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    try:
        return subprocess.run(probe, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


@pytest.fixture
def on_a_small_disk(report, can_mount, tmp_path):
    place = tmp_path / "disk"
    place.mkdir()

    def run(scene):
        if can_mount:
            return report("full_disk_journal.py", "tmpfs", place, scene, wrap=NAMESPACE)
        return report("full_disk_journal.py", "paper", place, scene)

    return run


def test_q19_an_append_without_room_says_so_and_changes_nothing(on_a_small_disk):
    happened = on_a_small_disk("journal")

    assert happened["complaint"].startswith("the disk is full: free some space for /")
    assert happened["kept"] == happened["written"] + 1
    assert happened["after"] == happened["kept"] + 1
    assert happened["numbers"] == list(range(1, happened["after"] + 1))
    assert happened["integrity"] == "ok"


def test_q19_an_allstop_is_recorded_from_the_reserve(on_a_small_disk):
    happened = on_a_small_disk("journal")

    assert happened["helm"] == ["Allstop"]
    assert happened["reserve_left"] is False


def test_q19_the_reserve_is_there_again_when_the_disk_is_full_a_second_time(on_a_small_disk):
    assert on_a_small_disk("twice") == {"stops": 2, "helm": 4}


def test_q19_a_newcomer_can_stop_everything_on_a_full_disk(on_a_small_disk):
    assert on_a_small_disk("newcomer") == {"helm": 1}


def test_q19_a_run_waits_for_room_and_goes_on(on_a_small_disk):
    happened = on_a_small_disk("engine")

    assert happened["trouble"].startswith("the disk is full: free some space for /")
    assert happened["turns_then"] < 41
    assert happened["turns"] == 41
    assert happened["outcome"] is True


def test_q19_a_turn_is_cut_and_its_stop_recorded_on_a_full_disk(on_a_small_disk):
    happened = on_a_small_disk("stopped engine")

    assert happened["helm"] == ["Commanded", "Halted"]
    assert happened["ended"] == ["Opened", "MoveStarted", "MoveEnded"]


class ReserveTakenByAnother(PaperReserve):
    """As soon as it gives room, another process is the first to write."""

    def __init__(self, path, freed, store):
        super().__init__(path, freed)
        self.other = sqlite3.connect(store / "journal.db", isolation_level=None)
        self.taken = anyio.Event()

    def unlink(self):
        super().unlink()
        self.other.execute("begin immediate")
        self.taken.set()

    def write_bytes(self, content):
        self._path.write_bytes(content)


async def test_q19_a_stop_waits_for_who_writes_first_when_the_reserve_gives_room(tmp_path):
    """It was acknowledged, and not written."""
    disk = PaperDisk(tmp_path)
    journal = SqliteJournal(disk.store, SystemClock())
    await journal.append(Entry("a", opened()))
    disk.fill(journal)
    await write_until_full(journal)
    reserve = ReserveTakenByAnother(
        tmp_path / "store" / "reserve", lambda: disk.make_room(journal), disk.store
    )
    journal._reserve = reserve
    stop = Commanded(at=journal._clock.now(), command=Allstop(), by="anna " * 5000)

    async with anyio.create_task_group() as group:
        group.start_soon(journal.append, Entry(HELM, stop))
        await reserve.taken.wait()
        reserve.other.execute("rollback")

    assert [record.event for record in await journal.read(HELM)] == [stop]
    reserve.other.close()
    journal.close()


# --- the whole program, on a disk that becomes full while an agent works ---


@pytest.fixture
def crowded(report, can_mount, tmp_path):
    assert can_mount, "a disk of our own is needed: allow user namespaces, or be root"
    place = tmp_path / "disk"
    place.mkdir()
    return lambda scene: report("full_disk_program.py", place, scene, wrap=NAMESPACE)


def is_whole(happened):
    """Whether the work went on to its end, with what was done before the disk was full."""
    assert happened["again"]["code"] == 0, happened["again"]["said"]
    assert happened["tasks"] == {"T1": "done"}
    assert happened["merged"] == ["T1"]
    assert {"one.txt", "two.txt"} <= set(happened["files"])
    assert happened["fsck"] == 0
    return "damaged" not in happened["again"]["said"]


def test_q19_a_task_waits_for_room_and_says_so_once(crowded):
    """Q19, K17: the agent is ended at once, the reason is recorded when it can be."""
    happened = crowded("waits")

    run, status = happened["run"], happened["status"]
    assert status["code"] == 0
    assert "! The disk is full: " in status["said"]
    assert run["code"] == 4
    # On a slow disk the watch ends the agent before the journal finds the disk full.
    assert run["said"].count("the disk is full: free some space for /") <= 1
    waits = r"T1 waits: limit reached: the disk has \d+ MB left, and 200 MB are reserved"
    assert re.search(waits, run["said"])
    assert is_whole(happened)


def test_q19_a_program_at_work_is_stopped_and_nothing_of_its_work_is_lost(crowded):
    """Q19, K2: from the reserve; what git could not take in for want of room is no damage."""
    happened = crowded("stopped")

    assert happened["stop"]["code"] == 0, happened["stop"]["said"]
    assert happened["alive"] == []
    assert happened["run"]["code"] == 130
    assert "ALLSTOP since" in happened["after"]["said"]
    first, *receipts, last = happened["helm"]  # of the stopping and of the driving process
    assert (first, set(receipts), last) == ("commanded", {"halted"}, "commanded")
    assert is_whole(happened)


def test_q19_a_stop_is_recorded_although_nobody_has_the_store_open(crowded):
    """Q19, K3: SQLite can't make the file that it would share with others."""
    happened = crowded("stopped by somebody else")

    assert happened["stop"]["code"] == 0, happened["stop"]["said"]
    assert "can't be written" not in happened["stop"]["said"]
    assert "ALLSTOP since" in happened["after"]["said"]
    assert happened["helm"] == ["commanded", "commanded"]
    assert is_whole(happened)


@pytest.mark.parametrize("scene", ["journal", "twice", "newcomer", "engine"])
def test_q19_the_same_holds_where_sqlite_is_only_told_that_it_is_full(report, tmp_path, scene):
    """So that the way for places without mounts is tried everywhere."""
    happened = report("full_disk_journal.py", "paper", tmp_path, scene)

    assert happened.get("helm", ["Allstop"]) in (["Allstop"], 4, 1)
    assert happened.get("integrity", "ok") == "ok"
    assert happened.get("outcome", True) is True
