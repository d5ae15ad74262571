"""K1: a frozen label stands still, with everything below it, and goes on when it is thawed."""

import anyio
import pytest

from adapters.processes.launch_fixture import (
    ZOO_KINDS,
    BoxFolders,
    alive,
    beats,
    hostile,
    until,
    until_ready,
)
from allstop.adapters.processes.proc import family_of, stat_of


def running(pid):
    """Those below it that could do something now.

    D is one that waits for its stopped child to become another program (vfork).
    """
    states = [stat_of(child) for child, _ in family_of(pid)]
    return [stat for stat in states if stat is not None and stat.state not in "TtDZX"]


@pytest.mark.parametrize("kind", ZOO_KINDS)
async def test_what_is_frozen_stands_still_and_goes_on_when_thawed(
    kind, launcher, box_folders, token
):
    async with launcher.launch(hostile(box_folders, [kind], token)) as child:
        await until_ready(child)
        await launcher.freeze("run")
        before = beats(box_folders)
        await anyio.sleep(0.05)
        after = beats(box_folders)
        still = running(child.pid)
        await launcher.thaw("run")
        await until(lambda: beats(box_folders) != before)

    assert before == after
    assert still == []


async def test_a_frozen_zoo_can_be_killed(launcher, box_folders, token):
    async with launcher.launch(hostile(box_folders, ZOO_KINDS, token)) as child:
        await until_ready(child)
        await launcher.freeze("")

    assert alive(token) == []


async def test_a_label_covers_what_is_below_it_and_nothing_else(launcher, tmp_path, token):
    names = ("run", "run/task", "runner")
    async with anyio.create_task_group() as group:
        pids = {}
        for name in names:
            box_folders = BoxFolders.make(tmp_path / name.replace("/", "-"))
            launch = hostile(box_folders, ["plain"], token, label=name)
            pids[name] = await group.start(kept_running, launcher, launch)
        await launcher.freeze("run")
        moving = {name for name in names if running(pids[name])}
        await launcher.thaw("run")
        group.cancel_scope.cancel()

    assert moving == {"runner"}


async def kept_running(launcher, launch, *, task_status):
    async with launcher.launch(launch) as child:
        await until_ready(child)
        task_status.started(child.pid)
        await anyio.sleep_forever()


async def test_a_program_under_a_frozen_label_starts_when_it_is_thawed(launcher, box_folders):
    await launcher.freeze("run")
    started = anyio.Event()
    async with anyio.create_task_group() as group:

        async def start():
            launch = box_folders.launch("touch", "started", label="run/task")
            async with launcher.launch(launch) as child:
                started.set()
                await child.wait()

        group.start_soon(start)
        await anyio.sleep(0.2)
        early = started.is_set() or any(box_folders.workspace.iterdir())
        await launcher.thaw("")

    assert not early
    assert [file.name for file in box_folders.workspace.iterdir()] == ["started"]


async def test_waiting_for_a_thaw_can_be_cancelled(launcher, box_folders, token, live_dir):
    await launcher.freeze("")

    with anyio.move_on_after(0.1):
        async with launcher.launch(hostile(box_folders, ["plain"], token)):
            pass

    assert alive(token) == []
    assert list(live_dir.glob("*.json")) == []
    assert list(box_folders.workspace.iterdir()) == []


async def test_the_last_word_that_covers_a_label_counts(launcher, box_folders, token):
    async with launcher.launch(hostile(box_folders, ["plain"], token, label="run/task")) as child:
        await until_ready(child)
        await launcher.freeze("")
        await launcher.thaw("run")
        moving = bool(running(child.pid))
        await launcher.freeze("run/task")
        still = running(child.pid)

    assert moving
    assert still == []
