"""K14: without a sandbox: only if allowed, and with as few survivors as possible."""

import os
import time

import anyio
import pytest

from adapters.processes.launch_fixture import ZOO_KINDS, alive, beats, hostile, run, until_ready
from allstop.adapters.checks import BoxedChecks
from allstop.adapters.processes.launcher import ProcessLauncher
from allstop.adapters.processes.live_registry import kill_recorded, recorded_trees
from allstop.adapters.processes.unboxed.unboxed_program import unboxed
from allstop.core.gate import Check
from allstop.ports import Caps, Isolation, UnsafeError

ALLOWED = Isolation(boxed=False, allowed=True, how="bare")
REFUSED = Isolation(boxed=False, allowed=False, how="bare", hint='[sandbox] mode = "off"')


@pytest.fixture
def launcher(host, live_dir):
    return ProcessLauncher(isolation=ALLOWED, start=unboxed(host, ALLOWED), live_dir=live_dir)


@pytest.fixture
def refusing(host, live_dir):
    return ProcessLauncher(isolation=REFUSED, start=unboxed(host, REFUSED), live_dir=live_dir)


async def test_a_program_is_refused(refusing, box_folders):
    with pytest.raises(UnsafeError) as caught:
        await run(refusing, box_folders.launch("touch", "started", label="run"))

    assert caught.value.code == "no_sandbox"
    assert caught.value.hint == '[sandbox] mode = "off"'
    assert list(box_folders.workspace.iterdir()) == []


async def test_a_program_of_ours_is_run(refusing, box_folders):
    out, _, _ = await run(refusing, box_folders.launch("echo", "hello", trusted=True))

    assert out == b"hello\n"


async def test_a_check_of_a_plan_is_refused_where_a_trusted_one_is_run(refusing, box_folders):
    checks = BoxedChecks(refusing, trusted=True)

    results = [
        await checks.run(
            Check(name="x", run="echo hello", trusted=trusted), box_folders.box(), "run", print
        )
        for trusted in (True, False)
    ]

    assert [(each.passed, each.code) for each in results] == [(True, 0), (False, None)]
    assert "sandbox" in results[1].output


@pytest.mark.parametrize("kind", ZOO_KINDS)
@pytest.mark.parametrize("way", ["leave", "end"])
async def test_nothing_outlives_the_block(
    kind, way, launcher, box_folders, token, live_dir, new_children
):
    async with launcher.launch(hostile(box_folders, [kind], token)) as child:
        await until_ready(child)
        if way == "end":
            await child.send(b"\n")
            await child.wait()

    before = beats(box_folders)
    time.sleep(0.02)

    assert alive(token) == []
    assert beats(box_folders) == before
    assert list(live_dir.glob("*.json")) == []
    assert new_children() == []


async def test_a_program_that_waits_to_be_thawed_can_be_put_down(launcher, box_folders, live_dir):
    await launcher.freeze("")
    async with anyio.create_task_group() as group:

        async def start():
            await run(launcher, box_folders.launch("touch", "started"))

        group.start_soon(start)
        with anyio.fail_after(60):
            while not recorded_trees(live_dir):
                await anyio.sleep(0.01)
        killed = kill_recorded(live_dir)
        group.cancel_scope.cancel()

    assert [each.label for each in killed] == ["run"]
    assert list(box_folders.workspace.iterdir()) == []


async def test_it_can_be_frozen_and_thawed(launcher, box_folders, token):
    async with launcher.launch(hostile(box_folders, ["plain", "daemonized"], token)) as child:
        await until_ready(child)
        await launcher.freeze("run")
        before = beats(box_folders)
        await anyio.sleep(0.05)
        after = beats(box_folders)
        await launcher.thaw("run")
        with anyio.fail_after(60):
            while beats(box_folders) == before:
                await anyio.sleep(0.01)

    assert before == after


async def test_environment_home_and_temp_are_its_own(launcher, box_folders, monkeypatch):
    monkeypatch.setenv("CANARY", "must not be seen")
    script = "touch $TMPDIR/made && pwd && echo $HOME && env -0"
    out, _, _ = await run(launcher, box_folders.launch("sh", "-c", script, env={"GIVEN": "value"}))
    cwd, home, rest = out.decode().split("\n", 2)
    found = dict(line.split("=", 1) for line in rest.rstrip("\0").split("\0"))

    assert (cwd, home) == (str(box_folders.workspace), str(box_folders.home))
    assert set(found) - {"SHLVL", "_"} == {
        "GIVEN",
        "HOME",
        "LANG",
        "PATH",
        "PWD",
        "TMPDIR",
        "USER",
    }
    assert not os.path.exists(found["TMPDIR"])


async def test_caps_hold(launcher, box_folders):
    script = "ulimit -c; ulimit -d; head -c 2000000 /dev/zero >big"
    caps = Caps(file_mb=1, memory_mb=1000)
    out, _, code = await run(launcher, box_folders.launch("sh", "-c", script, caps=caps))

    assert out == b"0\n1024000\n"
    assert code != 0
    assert (box_folders.workspace / "big").stat().st_size == 1 << 20


async def test_what_was_alive_is_reported_and_what_ended_is_not(launcher, box_folders):
    async with launcher.launch(box_folders.launch("true")) as child:
        await child.wait()
    ended = launcher.killed()
    async with launcher.launch(box_folders.launch("sleep", "1000")):
        pass

    assert ended == ()
    assert [killed.label for killed in launcher.killed()] == ["run"]
