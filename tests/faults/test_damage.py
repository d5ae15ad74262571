"""Q19: a damaged journal is detected and left unchanged; no event is invented."""

import random
import shutil
import sqlite3

import pytest

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.adapters.journals.sqlite_schema import APPLICATION_ID, MIGRATIONS
from allstop.core.ids import HELM
from allstop.ports import Entry, StoreBrokenError
from faults.damaged_stores import CLOCK, checkpointed, read_all, said, write_some, write_to

ROUNDS = 60


@pytest.fixture
async def whole(folder):
    """A store's one file, as bytes."""
    await write_some(folder)
    return checkpointed(folder)


def fresh(folder, data):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "journal.db").write_bytes(data)
    return folder


async def outcome_of_reading(folder):
    try:
        return await read_all(folder)
    except StoreBrokenError:
        return None


async def test_q19_flipped_bytes_are_read_or_refused_and_nothing_else_happens(folder, whole):
    chance = random.Random(7)
    refused = 0
    for _ in range(ROUNDS):
        data = bytearray(whole)
        for _ in range(chance.choice([1, 1, 4, 64])):
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        refused += await outcome_of_reading(fresh(folder, bytes(data))) is None

    assert 0 < refused < ROUNDS


async def test_q19_overwritten_blocks_are_read_or_refused(folder, whole):
    chance = random.Random(8)
    refused = 0
    for _ in range(ROUNDS):
        data = bytearray(whole)
        start, size = chance.randrange(len(data)), chance.choice([16, 512, 4096])
        data[start : start + size] = chance.randbytes(len(data[start : start + size]))
        refused += await outcome_of_reading(fresh(folder, bytes(data))) is None

    assert refused > 0


async def test_q19_writing_to_a_damaged_store_works_or_is_refused(folder, whole):
    chance = random.Random(9)
    for _ in range(ROUNDS):
        data = bytearray(whole)
        for _ in range(40):
            data[chance.randrange(100, len(data))] ^= 0xFF
        fresh(folder, bytes(data))
        try:
            journal = SqliteJournal(folder, CLOCK)
        except StoreBrokenError:
            continue
        try:
            await journal.append(Entry("a", said("x")), Entry(HELM, said("y")))
        except StoreBrokenError:
            pass
        finally:
            journal.close()


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9])
async def test_q19_a_file_that_was_cut_off_is_refused_or_empty(folder, whole, share):
    kept = whole[: int(len(whole) * share)]
    fresh(folder, kept)

    assert await outcome_of_reading(folder) in (None, {})


@pytest.mark.parametrize(
    "data",
    [b"not a database at all, but long enough to be one" * 100, b"\x00" * 4096, b"SQLite format 3"],
    ids=["text", "zeroes", "half a header"],
)
async def test_q19_what_is_not_a_database_is_refused_and_left_as_it_is(folder, data):
    fresh(folder, data)

    with pytest.raises(StoreBrokenError, match="the journal can't be read") as refused:
        SqliteJournal(folder, SystemClock())
    assert refused.value.hint
    assert (folder / "journal.db").read_bytes() == data


async def test_q19_a_folder_in_the_place_of_the_file_is_refused(folder):
    (folder / "journal.db").mkdir(parents=True)

    with pytest.raises(StoreBrokenError, match="the journal can't be read"):
        SqliteJournal(folder, SystemClock())


async def test_q19_a_store_of_a_newer_version_is_refused_and_left_as_it_is(folder, whole):
    fresh(folder, whole)
    db = sqlite3.connect(folder / "journal.db")
    db.execute(f"pragma user_version = {len(MIGRATIONS) + 1}")
    db.close()
    before = checkpointed(folder)

    with pytest.raises(StoreBrokenError, match=r"has version \d+; this program knows") as refused:
        SqliteJournal(folder, SystemClock())
    assert refused.value.hint == "use the newer allstop that wrote it"
    assert checkpointed(folder) == before


@pytest.mark.parametrize("version", [0, 1, 7])
@pytest.mark.parametrize("application", [0, APPLICATION_ID + 1])
async def test_q19_a_database_of_another_program_is_left_as_it_is(folder, version, application):
    folder.mkdir()
    db = sqlite3.connect(folder / "journal.db")
    db.execute("create table cookies (name text)")
    db.execute("insert into cookies values ('mine')")
    db.execute(f"pragma user_version = {version}")
    db.execute(f"pragma application_id = {application}")
    db.commit()
    db.close()
    before = (folder / "journal.db").read_bytes()

    with pytest.raises(StoreBrokenError, match="another program"):
        SqliteJournal(folder, SystemClock())
    assert (folder / "journal.db").read_bytes() == before


@pytest.mark.parametrize(
    "event",
    [b"", b"{", b"[]", b'{"event":"unheard of"}', b'{"event":"closed"}', b'{"event":"op\xff"}'],
)
async def test_q19_an_event_that_can_not_be_read_is_named(folder, event):
    await write_some(folder, appends=3)
    db = sqlite3.connect(folder / "journal.db")
    db.execute("update events set event = ? where seq = 2", (event,))
    db.commit()
    db.close()

    with pytest.raises(StoreBrokenError, match="event 2 of a can't be read"):
        await read_all(folder)


async def test_q19_a_stop_file_and_a_damaged_helm_are_refused_and_nothing_stays_locked(folder):
    """The helm is read inside the transaction; what can't be read must not leave it open."""
    await write_some(folder, appends=3)
    journal = SqliteJournal(folder, CLOCK)
    await journal.append(Entry(HELM, said("x")))
    damage = "update events set event = ? where run = (select id from runs where run = 'helm')"
    journal._db.execute(damage, (b"{",))
    journal.stop_file.create("test")

    for _ in range(2):
        with pytest.raises(StoreBrokenError, match="event 1 of helm can't be read"):
            await journal.append(Entry("a", said("y")))
    journal.stop_file.remove()
    await journal.append(Entry("a", said("z")))
    journal.close()


async def test_a_torn_log_is_always_a_prefix_of_whole_appends(folder, tmp_path):
    """Q16: power went while the log was written: what is there is what was there at some moment."""
    journal = SqliteJournal(folder, CLOCK)
    await write_to(journal, 40)
    log, file = (folder / "journal.db-wal").read_bytes(), (folder / "journal.db").read_bytes()
    everything = {run: [r.event for r in await journal.read(run)] for run in "abc"}
    journal.close()
    chance = random.Random(3)
    lengths = set()
    for number in range(ROUNDS):
        torn = bytearray(log[: chance.randrange(len(log) + 1)])
        if number % 3 == 0:
            torn += chance.randbytes(chance.randrange(5000))
        if number % 3 == 1 and torn:
            torn[chance.randrange(len(torn))] ^= 0xFF
        fresh(tmp_path / "torn", file)
        (tmp_path / "torn" / "journal.db-wal").write_bytes(torn)
        found = await read_all(tmp_path / "torn")

        total = sum(map(len, found.values()))
        lengths.add(total)
        for run, events in found.items():
            assert events == everything[run][: len(events)]
            assert len(events) % 2 == 1, "an opening, and pairs"
    assert len(lengths) > 15


async def test_an_event_that_can_not_be_written_is_its_writers_trouble_alone(folder):
    """Half a letter can't be encoded; whoever writes at the same time isn't hurt."""
    import anyio

    journal = SqliteJournal(folder, CLOCK)
    complaints = []

    async def write(text):
        try:
            await journal.append(Entry("a", said(text)))
        except UnicodeEncodeError:
            complaints.append(text)

    async with anyio.create_task_group() as group:
        for text in ("one", "\ud83d", "two", "\ud83d", "three"):
            group.start_soon(write, text)
    await journal.append(Entry("a", said("four")))
    texts = [record.event.command.text for record in await journal.read("a")]
    journal.close()

    assert complaints == ["\ud83d"] * 2
    assert sorted(texts) == ["four", "one", "three", "two"]
