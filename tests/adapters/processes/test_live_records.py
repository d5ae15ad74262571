"""K3: what a program is written down on is used again, and never shown half written."""

import subprocess

import msgspec
import pytest

from allstop.adapters.processes.identity import identify, ourselves
from allstop.adapters.processes.live_records import Slips, shown_as
from allstop.adapters.processes.live_registry import Kind, Record, put_down_recorded, recorded


@pytest.fixture
def sleeper():
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


def record_of(process, label="run"):
    return Record(label=label, kind=Kind.BOX, root=identify(process.pid), driver=ourselves())


async def test_the_same_file_serves_again_and_holds_only_what_was_written_last(tmp_path, sleeper):
    slips = Slips(tmp_path)
    long, short = record_of(sleeper, "run/" + "long" * 500), record_of(sleeper)
    slip = slips.write_down(long)
    (first,) = tmp_path.iterdir()
    number = first.stat().st_ino
    slips.take_back(slip)

    assert recorded(tmp_path) == ()
    slips.write_down(short)

    (again,) = tmp_path.iterdir()
    assert again.stat().st_ino == number
    assert msgspec.json.decode(again.read_bytes(), type=Record) == short


async def test_as_many_as_live_at_once_have_one_each(tmp_path, sleeper):
    slips = Slips(tmp_path)
    ours = Record(label="b", kind=Kind.BOX, root=ourselves(), driver=ourselves())

    for _ in range(3):
        taken = [slips.write_down(record_of(sleeper, "a")), slips.write_down(ours)]
        assert {record.label for record in recorded(tmp_path)} == {"a", "b"}
        for slip in taken:
            slips.take_back(slip)

    assert len(list(tmp_path.iterdir())) == 2


async def test_one_that_was_removed_with_its_tree_is_not_missed(tmp_path, sleeper):
    slips = Slips(tmp_path)
    slip = slips.write_down(record_of(sleeper))
    assert len(put_down_recorded(tmp_path)) == 1
    slips.take_back(slip)
    assert list(tmp_path.iterdir()) == []

    with subprocess.Popen(["sleep", "1000"]) as other:
        slips.write_down(record_of(other))
        assert [record.root.pid for record in recorded(tmp_path)] == [other.pid]
        other.kill()


async def test_one_that_was_removed_while_it_was_blank_is_not_missed(tmp_path, sleeper):
    slips = Slips(tmp_path)
    slips.take_back(slips.write_down(record_of(sleeper)))
    (blank,) = tmp_path.iterdir()
    blank.unlink()

    record = record_of(sleeper)
    slips.write_down(record)

    assert [str(file) for file in tmp_path.iterdir()] == [shown_as(tmp_path, record)]


async def test_blank_ones_go_with_their_driver(tmp_path, sleeper):
    slips = Slips(tmp_path)
    slips.take_back(slips.write_down(record_of(sleeper)))
    assert len(list(tmp_path.iterdir())) == 1

    del slips

    assert list(tmp_path.iterdir()) == []
