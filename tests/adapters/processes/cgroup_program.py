"""Tests of memory limits by cgroups; test_cgroups.py runs it on a kernel that has them."""

import os
import signal
import subprocess
import sys

import anyio
import pytest

from adapters.processes.launch_fixture import BoxFolders, alive, new_token, output_of
from allstop.adapters.processes.launcher import ProcessLauncher
from allstop.adapters.processes.memory.cgroups import TAG, own_cgroups
from allstop.adapters.processes.sandbox.boxed_program import boxed
from allstop.adapters.processes.sandbox.host_tools import this_host
from allstop.adapters.processes.sandbox_probe import BOXED, UNBOXED_HOW
from allstop.adapters.processes.unboxed.unboxed_program import unboxed
from allstop.ports import Caps, Isolation

FORKED = """
import os, time
for number in range(6):
    if os.fork() == 0:
        mine = b"x" * (25 << 20)
        time.sleep(600)
time.sleep(600)
"""

WRITTEN = """
import time
for number, folder in enumerate(("/tmp", "/dev/shm") * 3):
    with open(f"{folder}/{number}", "wb") as file:
        file.write(b"x" * (25 << 20))
time.sleep(600)
"""

ABANDONED = """
import time
from allstop.adapters.processes.memory.cgroups import own_cgroups
own_cgroups().make(50)
print("made", flush=True)
time.sleep(600)
"""


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def box_folders(tmp_path):
    return BoxFolders.make(tmp_path / "place")


@pytest.fixture
def cgroups():
    cgroups = own_cgroups()
    assert cgroups is not None, "test_groups.py sees to it that they can be had"
    return cgroups


@pytest.fixture(params=["boxed", "bare"])
def launcher(request, tmp_path):
    isolation = BOXED
    start = boxed(this_host())
    if request.param == "bare":
        isolation = Isolation(boxed=False, allowed=True, how=UNBOXED_HOW)
        start = unboxed(this_host(), isolation)
    return ProcessLauncher(isolation=isolation, start=start, live_dir=tmp_path / "live")


def left(cgroups):
    return [box_folders.name for box_folders in cgroups.parent.glob(f"{TAG}-*")]


async def test_k17_the_kernel_ends_all_that_comes_to_the_limit_together(
    launcher, box_folders, cgroups
):
    token = new_token()
    with anyio.fail_after(300):
        async with launcher.launch(
            box_folders.python(FORKED, token, caps=Caps(memory_mb=100))
        ) as child:
            _, _, code = await output_of(child)

    assert code == -signal.SIGKILL
    assert alive(token) == []
    assert launcher.out_of_memory("run") == (
        "its programs needed more memory than the 100 MB that they may hold together;"
        " have it run fewer at once, or raise limits.memory_mb"
    )
    assert launcher.out_of_memory("run") == ""
    assert left(cgroups) == []


async def test_k17_files_in_memory_count_too(tmp_path, box_folders, cgroups):
    launcher = ProcessLauncher(
        isolation=BOXED, start=boxed(this_host()), live_dir=tmp_path / "live"
    )
    with anyio.fail_after(300):
        async with launcher.launch(box_folders.python(WRITTEN, caps=Caps(memory_mb=100))) as child:
            await output_of(child)

    assert launcher.out_of_memory("run")
    assert left(cgroups) == []


async def test_k17_what_stays_below_the_limit_is_let_alone(launcher, box_folders, cgroups):
    async with launcher.launch(
        box_folders.python("print( 'x' * 3 )", caps=Caps(memory_mb=100))
    ) as child:
        during = left(cgroups)
        said = await output_of(child)

    assert len(during) == 1
    assert said == (b"xxx\n", b"", 0)
    assert launcher.out_of_memory("run") == ""
    assert left(cgroups) == []


async def test_k17_what_a_killed_process_left_is_swept(cgroups):
    other = subprocess.Popen(
        (sys.executable, "-c", ABANDONED),
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    other.stdout.readline()
    cgroups.sweep()
    living = left(cgroups)
    other.kill()
    other.communicate()
    cgroups.sweep()

    assert len(living) == 1
    assert left(cgroups) == []
