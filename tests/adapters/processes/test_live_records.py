"""K3: record files are reused, and readers never see a half-written one."""

import subprocess

import msgspec
import pytest

from allstop.adapters.processes.identity import identify, own_identity
from allstop.adapters.processes.live_records import LiveRecords, record_path
from allstop.adapters.processes.live_registry import Record, TreeKind, kill_recorded, recorded_trees


@pytest.fixture
def sleeper():
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


def record_of(process, label="run"):
    return Record(label=label, kind=TreeKind.BOX, root=identify(process.pid), driver=own_identity())


async def test_the_same_file_serves_again_and_holds_only_what_was_written_last(tmp_path, sleeper):
    records = LiveRecords(tmp_path)
    long, short = record_of(sleeper, "run/" + "long" * 500), record_of(sleeper)
    record_file = records.add(long)
    (first,) = tmp_path.iterdir()
    number = first.stat().st_ino
    records.release(record_file)

    assert recorded_trees(tmp_path) == ()
    records.add(short)

    (again,) = tmp_path.iterdir()
    assert again.stat().st_ino == number
    assert msgspec.json.decode(again.read_bytes(), type=Record) == short


async def test_as_many_as_live_at_once_have_one_each(tmp_path, sleeper):
    records = LiveRecords(tmp_path)
    ours = Record(label="b", kind=TreeKind.BOX, root=own_identity(), driver=own_identity())

    for _ in range(3):
        taken = [records.add(record_of(sleeper, "a")), records.add(ours)]
        assert {record.label for record in recorded_trees(tmp_path)} == {"a", "b"}
        for record_file in taken:
            records.release(record_file)

    assert len(list(tmp_path.iterdir())) == 2


async def test_one_that_was_removed_with_its_tree_is_not_missed(tmp_path, sleeper):
    records = LiveRecords(tmp_path)
    record_file = records.add(record_of(sleeper))
    assert len(kill_recorded(tmp_path)) == 1
    records.release(record_file)
    assert list(tmp_path.iterdir()) == []

    with subprocess.Popen(["sleep", "1000"]) as other:
        records.add(record_of(other))
        assert [record.root.pid for record in recorded_trees(tmp_path)] == [other.pid]
        other.kill()


async def test_one_that_was_removed_while_it_was_blank_is_not_missed(tmp_path, sleeper):
    records = LiveRecords(tmp_path)
    records.release(records.add(record_of(sleeper)))
    (blank,) = tmp_path.iterdir()
    blank.unlink()

    record = record_of(sleeper)
    records.add(record)

    assert [str(file) for file in tmp_path.iterdir()] == [record_path(tmp_path, record)]


async def test_blank_ones_go_with_their_driver(tmp_path, sleeper):
    records = LiveRecords(tmp_path)
    records.release(records.add(record_of(sleeper)))
    assert len(list(tmp_path.iterdir())) == 1

    del records

    assert list(tmp_path.iterdir()) == []
