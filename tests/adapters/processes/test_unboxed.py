"""K14: without a sandbox: only by name, and still as few survivors as can be."""

import os
import time

import anyio
import pytest

from adapters.processes.launch_fixture import ZOO_KINDS, alive, beats, hostile, run, until_ready
from allstop.adapters.processes.launcher import ProcessLauncher
from allstop.adapters.processes.live_registry import put_down_recorded, recorded
from allstop.adapters.processes.proc import children_of
from allstop.adapters.processes.unboxed.unboxed_program import bare
from allstop.ports import Caps, Isolation, UnsafeError

ALLOWED = Isolation(boxed=False, allowed=True, how="bare")
REFUSED = Isolation(boxed=False, allowed=False, how="bare", hint='[sandbox] mode = "off"')


@pytest.fixture
def launcher(host, live_dir):
    return ProcessLauncher(isolation=ALLOWED, start=bare(host, ALLOWED), live_dir=live_dir)


@pytest.fixture
def refusing(host, live_dir):
    return ProcessLauncher(isolation=REFUSED, start=bare(host, REFUSED), live_dir=live_dir)


async def test_a_program_is_refused(refusing, place):
    with pytest.raises(UnsafeError) as caught:
        await run(refusing, place.launch("touch", "started", label="run"))

    assert caught.value.message == "run needs a sandbox, and there is none"
    assert caught.value.hint == '[sandbox] mode = "off"'
    assert list(place.workspace.iterdir()) == []


async def test_a_program_of_ours_is_run(refusing, place):
    out, _, _ = await run(refusing, place.launch("echo", "hello", trusted=True))

    assert out == b"hello\n"


@pytest.mark.parametrize("kind", ZOO_KINDS)
@pytest.mark.parametrize("way", ["leave", "end"])
async def test_nothing_outlives_the_block(kind, way, launcher, place, token, live_dir):
    async with launcher.launch(hostile(place, [kind], token)) as child:
        await until_ready(child)
        if way == "end":
            await child.send(b"\n")
            await child.wait()

    before = beats(place)
    time.sleep(0.02)

    assert alive(token) == []
    assert beats(place) == before
    assert list(live_dir.glob("*.json")) == []
    assert children_of(os.getpid()) == []


async def test_a_program_that_waits_to_be_thawed_can_be_put_down(launcher, place, live_dir):
    await launcher.freeze("")
    async with anyio.create_task_group() as group:

        async def start():
            await run(launcher, place.launch("touch", "started"))

        group.start_soon(start)
        with anyio.fail_after(60):
            while not recorded(live_dir):
                await anyio.sleep(0.01)
        killed = put_down_recorded(live_dir)
        group.cancel_scope.cancel()

    assert [each.label for each in killed] == ["run"]
    assert list(place.workspace.iterdir()) == []


async def test_it_can_be_frozen_and_thawed(launcher, place, token):
    async with launcher.launch(hostile(place, ["plain", "daemonized"], token)) as child:
        await until_ready(child)
        await launcher.freeze("run")
        before = beats(place)
        await anyio.sleep(0.05)
        after = beats(place)
        await launcher.thaw("run")
        with anyio.fail_after(60):
            while beats(place) == before:
                await anyio.sleep(0.01)

    assert before == after


async def test_environment_home_and_temp_are_its_own(launcher, place, monkeypatch):
    monkeypatch.setenv("CANARY", "must not be seen")
    script = "touch $TMPDIR/made && pwd && echo $HOME && env -0"
    out, _, _ = await run(launcher, place.launch("sh", "-c", script, env={"GIVEN": "value"}))
    cwd, home, rest = out.decode().split("\n", 2)
    found = dict(line.split("=", 1) for line in rest.rstrip("\0").split("\0"))

    assert (cwd, home) == (str(place.workspace), str(place.home))
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


async def test_caps_hold(launcher, place):
    script = "ulimit -c; ulimit -d; head -c 2000000 /dev/zero >big"
    caps = Caps(file_mb=1, memory_mb=1000)
    out, _, code = await run(launcher, place.launch("sh", "-c", script, caps=caps))

    assert out == b"0\n1024000\n"
    assert code != 0
    assert (place.workspace / "big").stat().st_size == 1 << 20


async def test_what_was_alive_is_reported_and_what_ended_is_not(launcher, place):
    async with launcher.launch(place.launch("true")) as child:
        await child.wait()
    ended = launcher.killed()
    async with launcher.launch(place.launch("sleep", "1000")):
        pass

    assert ended == ()
    assert [killed.label for killed in launcher.killed()] == ["run"]
