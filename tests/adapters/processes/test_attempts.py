"""Q21, K14: a table of attempts to get out of a box, none of which succeeds."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.processes.host_probe import CREDENTIALS, outside_of
from adapters.processes.launch_fixture import ZOO, run
from allstop.adapters.processes.sandbox.landlock import has_landlock
from allstop.ports import Network

HARMFUL = (
    *("signal everyone's parent", "set the clock", "set the clock as root", "name the host"),
    *("load a module", "keep accounts", "change the network", "take swap away", "mount a disk"),
    *("write /etc", "write /usr", "write /", "write /run", "write /var"),
    *("make /usr writable", "make / writable", "type for the person"),
)
"""Not for a machine without a box around them."""

WORKS_FOR_ANYONE = {
    *("write the user's home", "write the start of a shell", "write the repository's hooks"),
    *("write the repository's settings", "write a sibling", "write a sibling's home"),
    *("write through a link", "write through our own root", "write a shared folder"),
    *("write the record of the living", "take the STOP file away", "move a file out"),
    *("link a secret in", "make a pipe outside", "cut a secret short", "change a secret's mode"),
    *("change a secret's owner", "change a secret's time", "watch a secret"),
    *("read the user's secret", "read it through a link", "read it through our own root"),
    *("read it from above", "read a sibling", "read the store", "list the user's home"),
    *(f"read ~/{name}" for name in CREDENTIALS),
    *("signal the controller", "signal its group", "hold the controller"),
    *("map the controller's memory", "read the controller's environment"),
    *("read the controller's command", "walk the controller's root"),
    *("walk the controller's folder", "use the controller's descriptors"),
    *("slow the controller down", "bind the controller to a core", "limit the controller"),
    *("find the controller's session", "find a key in an environment", "find a key in one's own"),
    *("read a secret by anyone's root", "find a file in shared memory"),
    *("reach a socket in the file system", "reach it through our own root"),
    *("reach the agent of ssh", "reach the bell of a run", "reach an abstract socket"),
    *("reach an abstract socket by datagrams", "reach the desktop"),
    *("reach a port of the host", "reach a port by datagrams", "see who is connected"),
}
"""The rest depends on what else the machine has, and on who asks."""

OPEN_TO_THE_NETWORK = {
    "reach a port of the host",
    "reach a port by datagrams",
    "see other networks",
    "see who is connected",
}


@pytest.fixture
def outside(box_folders, tmp_path, live_dir, launcher):
    with outside_of(box_folders, tmp_path, live_dir) as targets:
        yield targets


def objects_at(tmp_path):
    objects = tmp_path / "objects"
    objects.mkdir()
    (objects / "pack").write_text("object")
    return objects


async def tried(launcher, box_folders, outside, tmp_path, **options):
    launch = box_folders.python(
        "escape.py",
        json.dumps(outside),
        objects=(str(objects_at(tmp_path)),),
        read=(outside["shown"],),
        **options,
    )
    out, err, code = await run(launcher, launch)
    assert code == 0, err
    return json.loads(out)


def succeeded(attempts):
    return {name for name, done in attempts.items() if done}


def traces(tmp_path):
    """What an attempt that worked would have left, whatever it was told."""
    mounts = Path("/proc/self/mountinfo").read_text()
    planted = [str(path) for path in tmp_path.rglob("planted*")]
    planted += [path for path in ("/planted", "/usr/planted") if os.path.exists(path)]
    return [*planted, *(line for line in mounts.splitlines() if str(tmp_path) in line)]


async def test_q21_no_attempt_succeeds_without_the_network(
    launcher, box_folders, outside, tmp_path
):
    name = socket.gethostname()
    attempts = await tried(launcher, box_folders, outside, tmp_path, network=Network.NONE)

    assert succeeded(attempts) == set()
    assert len(attempts) >= 160
    assert traces(tmp_path) == []
    assert socket.gethostname() == name
    assert Path(outside["secret"]).read_text() == "the secret of secret"
    assert Path(outside["stop"]).exists()


async def test_q21_with_the_network_only_the_network_is_reached(
    launcher, box_folders, outside, tmp_path
):
    attempts = await tried(launcher, box_folders, outside, tmp_path, network=Network.FULL)

    abstract = {name for name in attempts if "abstract" in name or "desktop" in name}
    assert len(abstract) == 3
    allowed = OPEN_TO_THE_NETWORK if has_landlock() else OPEN_TO_THE_NETWORK | abstract
    assert succeeded(attempts) <= allowed
    assert "reach a port of the host" in succeeded(attempts)
    assert traces(tmp_path) == []


def test_q21_what_is_attempted_works_where_there_is_no_box(outside, tmp_path):
    """An attempt that can't succeed anywhere would show nothing."""
    done = subprocess.run(
        [sys.executable, "-S", str(ZOO / "escape.py"), json.dumps({**outside, "but": HARMFUL})],
        cwd=objects_at(tmp_path),
        env={**os.environ, "SSH_AUTH_SOCK": outside["socket"], "KEY": outside["canary"]},
        capture_output=True,
        text=True,
        check=True,
    )

    assert WORKS_FOR_ANYONE - succeeded(json.loads(done.stdout)) == set()
