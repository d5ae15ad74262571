"""K3: killing recorded trees never hits a wrong process, whatever is in the folder."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from adapters.processes.launch_fixture import alive, hostile, until, until_ready
from allstop.adapters.processes.identity import current_world, identify, own_identity
from allstop.adapters.processes.live_records import LiveRecords, record_path
from allstop.adapters.processes.live_registry import Record, TreeKind, kill_recorded, recorded_trees
from allstop.core.events import Killed


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "records"
    folder.mkdir()
    return folder


@pytest.fixture
def stranger():
    """A process that has taken the number of one that was recorded."""
    with subprocess.Popen(["sleep", "1000"]) as process:
        yield process
        process.kill()


def record_of(pid, **changes):
    identity = msgspec.structs.replace(identify(pid), **changes)
    return Record(label="run", kind=TreeKind.BOX, root=identity, driver=own_identity())


def written(folder, record):
    LiveRecords(folder).add(record)
    return Path(record_path(folder, record))


async def test_a_program_is_written_down_while_it_lives(launcher, box_folders, token, live_dir):
    async with launcher.launch(hostile(box_folders, ["plain"], token, label="run/a")) as child:
        await until_ready(child)
        records = recorded_trees(live_dir)
        expected = Record(
            label="run/a", kind=TreeKind.BOX, root=identify(child.pid), driver=identify(os.getpid())
        )

    assert records == (expected,)
    assert recorded_trees(live_dir) == ()


async def test_a_recorded_tree_is_put_down(folder, stranger):
    path = written(folder, record_of(stranger.pid))

    assert kill_recorded(folder) == (Killed(label="run", pid=stranger.pid),)
    assert stranger.wait(60) == -9
    assert not path.exists()


@pytest.mark.parametrize("changes", [{"started": "1"}, {"world": "another"}])
async def test_a_process_with_a_recorded_number_is_left_alone(changes, folder, stranger):
    path = written(folder, record_of(stranger.pid, **changes))

    assert recorded_trees(folder) == ()
    assert kill_recorded(folder) == ()
    assert stranger.poll() is None
    assert not path.exists()


async def test_what_runs_in_another_container_is_left_as_it_is(folder, stranger):
    boot = current_world().partition("/")[0]
    path = written(folder, record_of(stranger.pid, world=f"{boot}/1"))

    assert kill_recorded(folder) == ()
    assert stranger.poll() is None
    assert path.exists()


async def test_a_process_that_is_gone_is_cleared_up(folder, stranger):
    path = written(folder, record_of(stranger.pid))
    stranger.kill()
    stranger.wait()

    assert kill_recorded(folder) == ()
    assert not path.exists()


WHOLE = b'{"label":"a","kind":"box","root":{"pid":%d,"started":"1","world":"w"},"driver":{"pid":2,"started":"1","world":"w"}}'


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"null",
        b"\xff\xfe\x00",
        WHOLE[:40],
        WHOLE % 0,
        WHOLE % 1,
        WHOLE.replace(b"%d", b"-1"),
        WHOLE.replace(b"%d", b"99999999999999"),
        WHOLE.replace(b"%d", b'"2"'),
        b"[" * 100_000,
    ],
)
async def test_damaged_records_harm_nobody_and_are_cleared_up(data, folder, stranger):
    (folder / "damaged.json").write_bytes(data)
    good = written(folder, record_of(stranger.pid))

    assert [record.root.pid for record in recorded_trees(folder)] == [stranger.pid]
    assert kill_recorded(folder) == (Killed(label="run", pid=stranger.pid),)
    assert not good.exists()
    assert list(folder.iterdir()) == []


async def test_other_things_in_the_folder_do_no_harm(folder):
    (folder / "folder.json").mkdir()
    (folder / "dangling.json").symlink_to("/no/such/file")
    (folder / "notes.txt").write_text("mine")
    os.mkfifo(folder / "pipe.json")
    (folder / "999999999-5.part").write_text("{")
    (folder / f"{os.getpid()}-5.part").write_text("{")

    assert recorded_trees(folder) == ()
    assert kill_recorded(folder) == ()
    assert sorted(entry.name for entry in folder.iterdir()) == sorted(
        ["folder.json", "notes.txt", f"{os.getpid()}-5.part"]
    )


async def test_a_folder_that_is_not_there_holds_nothing(tmp_path):
    assert recorded_trees(tmp_path / "missing") == ()
    assert kill_recorded(tmp_path / "missing") == ()


async def test_a_program_that_can_not_be_written_down_is_not_started(
    launcher, box_folders, live_dir
):
    live_dir.rmdir()

    with pytest.raises(Exception, match="no record can be written"):
        async with launcher.launch(box_folders.launch("touch", "started")):
            pass

    assert list(box_folders.workspace.iterdir()) == []


async def test_a_box_without_its_driver_is_found_and_ended(folder):
    """As bwrap would look if its driver had been killed in the wrong instant."""
    words = [
        "bwrap",
        "-c",
        "import time; time.sleep(1000)",
        f"allstop-box-of-999999-1-{current_world()}",
    ]
    with subprocess.Popen(words, executable=sys.executable) as orphan:
        await until(lambda: (orphan.pid, "\0".join((*words, "")).encode()) in alive(words[-1]))
        kill_recorded(folder)

        assert orphan.wait(60) == -9
