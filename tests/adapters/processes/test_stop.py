"""K2: leaving the block of a launch ends its whole process tree, whatever it does."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import anyio
import pytest

from adapters.processes.launch_fixture import (
    TESTS,
    ZOO,
    ZOO_KINDS,
    BoxFolders,
    alive,
    beats,
    hostile,
    until,
    until_ready,
)
from allstop.adapters.processes.live_registry import kill_recorded, recorded_trees
from allstop.adapters.processes.proc import children_of, halt_family
from allstop.core.events import Killed


class OopsError(Exception):
    pass


async def leave_by_cancel(launcher, launch):
    async with anyio.create_task_group() as group:

        async def inside(*, task_status):
            async with launcher.launch(launch) as child:
                await until_ready(child)
                task_status.started()
                await anyio.sleep_forever()

        await group.start(inside)
        group.cancel_scope.cancel()


async def leave_by_exception(launcher, launch):
    with suppress(OopsError):
        async with launcher.launch(launch) as child:
            await until_ready(child)
            raise OopsError


async def leave_by_end_of_program(launcher, launch):
    async with launcher.launch(launch) as child:
        await until_ready(child)
        await child.send(b"\n")
        await child.wait()


WAYS = (leave_by_cancel, leave_by_exception, leave_by_end_of_program)


def assert_nothing_left(box_folders, token, live_dir, new_children):
    survivors = alive(token)
    before = beats(box_folders)
    time.sleep(0.02)
    after = beats(box_folders)

    assert survivors == []
    assert before == after
    assert before
    assert list(live_dir.glob("*.json")) == []
    assert new_children() == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ZOO_KINDS)
async def test_no_kind_of_process_outlives_the_block(
    kind, way, launcher, box_folders, token, live_dir, new_children
):
    await way(launcher, hostile(box_folders, [kind], token))

    assert_nothing_left(box_folders, token, live_dir, new_children)


@pytest.mark.parametrize("way", WAYS)
async def test_the_whole_zoo_ends_at_once(
    way, launcher, box_folders, token, live_dir, new_children
):
    await way(launcher, hostile(box_folders, ZOO_KINDS, token))

    assert_nothing_left(box_folders, token, live_dir, new_children)


async def test_what_was_alive_is_reported_once(launcher, box_folders, token):
    async with launcher.launch(hostile(box_folders, ["plain"], token, label="a/b")) as child:
        await until_ready(child)
        pid = child.pid

    assert launcher.killed() == (Killed(label="a/b", pid=pid),)
    assert launcher.killed() == ()


async def test_what_ended_by_itself_is_not_reported(launcher, box_folders):
    async with launcher.launch(box_folders.launch("true")) as child:
        await child.wait()

    assert launcher.killed() == ()


async def test_one_word_strikes_all_that_is_under_a_label(launcher, tmp_path, token):
    codes = {}

    async def keep(name, *, task_status):
        launch = hostile(BoxFolders.make(tmp_path / name), ["chain"], token, label=name)
        async with launcher.launch(launch) as child:
            await until_ready(child)
            task_status.started()
            codes[name] = (await child.wait()).code

    async with anyio.create_task_group() as group:
        for name in ("run", "run/a", "runner"):
            await group.start(keep, name)
        launcher.kill("run")
        await until(lambda: len(codes) == 2)
        launcher.kill("")

    assert codes == dict.fromkeys(("run", "run/a", "runner"), -signal.SIGKILL)
    assert [killed.label for killed in launcher.killed()] == ["run", "run/a", "runner"]
    assert alive(token) == []


async def test_a_stopped_tree_can_be_killed(launcher, box_folders, token, live_dir, new_children):
    async with launcher.launch(hostile(box_folders, ["plain", "session"], token)) as child:
        await until_ready(child)
        while halt_family(child.pid):
            await anyio.sleep(0)

    assert_nothing_left(box_folders, token, live_dir, new_children)


async def test_a_killed_first_process_of_the_box_is_an_end(
    launcher, box_folders, token, live_dir, new_children
):
    async with launcher.launch(hostile(box_folders, ["daemonized"], token)) as child:
        await until_ready(child)
        os.kill(child.pid, signal.SIGKILL)
        with anyio.fail_after(60):
            while await child.receive():
                pass
            code = (await child.wait()).code

    assert code == -signal.SIGKILL
    assert_nothing_left(box_folders, token, live_dir, new_children)


async def test_a_launch_cancelled_at_any_moment_leaves_nothing(
    launcher, box_folders, token, live_dir, new_children
):
    for step in range(30):
        with anyio.move_on_after(step / 1000):
            async with launcher.launch(hostile(box_folders, ["plain"], token)):
                await anyio.sleep_forever()

        assert alive(token) == []
        assert list(live_dir.glob("*.json")) == []
    assert new_children() == []


def controller(script, *args):
    return subprocess.Popen(
        [sys.executable, str(ZOO / script), *args],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": f"{TESTS}:{TESTS.parent / 'src'}"},
    )


def ready_line(process):
    lines = []
    while not lines or lines[-1] != "ready":
        lines.append(process.stdout.readline().strip())
        assert lines[-1], "the controller ended"
    return [int(line) for line in lines[:-1]]


@pytest.mark.parametrize("mode", ["on", "off"])
async def test_nothing_outlives_a_controller_that_is_killed(mode, tmp_path, token, monkeypatch):
    temp = tmp_path / "temp"
    temp.mkdir()
    monkeypatch.setenv("TMPDIR", str(temp))
    with controller("controller.py", str(tmp_path), token, mode) as process:
        ready_line(process)
        process.kill()
        process.wait()
        await until(lambda: not alive(token))
        await until(lambda: not any(temp.iterdir()))


async def test_no_program_outlives_a_controller_killed_while_it_starts_one(tmp_path, token):
    for attempt in range(6):
        with controller("starter.py", str(tmp_path), token) as process:
            ready_line(process)
            await anyio.sleep(0.004 * attempt)
            process.kill()
            process.wait()
        await until(lambda: not [pid for pid, _ in alive(token) if not is_empty_box(pid)])

    kill_recorded(tmp_path / "live")
    await until(lambda: not alive(token))


def is_empty_box(pid):
    """Killed in one short instant, bwrap leaves a box in which nothing was or will be started."""
    try:
        program = Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0]
    except OSError:
        return True  # gone by now
    return program.endswith(b"bwrap") and not children_of(pid)


@pytest.mark.parametrize("mode", ["on", "off"])
async def test_another_process_can_put_down_what_a_hung_one_runs(mode, tmp_path, token):
    live_dir = tmp_path / "live"
    with controller("controller.py", str(tmp_path), token, mode) as process:
        pids = ready_line(process)
        os.kill(process.pid, signal.SIGSTOP)
        listed = recorded_trees(live_dir)
        killed = kill_recorded(live_dir)
        survivors = alive_besides(token, process.pid)
        os.kill(process.pid, signal.SIGCONT)
        process.wait(60)

    assert sorted(record.label for record in listed) == ["a", "b"]
    assert {record.driver.pid for record in listed} == {process.pid}
    assert sorted(killed, key=lambda one: one.label) == [
        Killed(label="a", pid=pids[0]),
        Killed(label="b", pid=pids[1]),
    ]
    assert survivors == []
    assert list(live_dir.glob("*.json")) == []


def alive_besides(token, pid):
    """The bwrap around a box that is gone runs nothing: it ends by itself, a moment later."""
    found = [one for one in alive(token) if one[0] != pid]
    return [one for one in found if b"bwrap\0" not in one[1] or not ends_soon(one[0])]


def ends_soon(pid):
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            if not Path(f"/proc/{pid}/cmdline").read_bytes():
                return True  # a zombie: the one that started it can't bury it now
        except OSError:
            return True
        time.sleep(0.001)
    return False
