"""K17: memory is limited for all processes of a box together, not only for each."""

import anyio
import pytest

from adapters.processes.launch_fixture import BoxFolders, alive
from allstop.adapters.processes.launcher import ProcessLauncher
from allstop.adapters.processes.memory.memory_use import IN_MEMORY, used_bytes
from allstop.adapters.processes.sandbox.boxed_program import boxed
from allstop.adapters.processes.sandbox_probe import BOXED, UNBOXED_HOW
from allstop.adapters.processes.unboxed.unboxed_program import unboxed
from allstop.ports import Caps, Isolation

MB = 1024**2
CHILDREN = 6
EACH_MB = 50

FORKED = f"""
import os, sys, time
for number in range({CHILDREN}):
    if os.fork() == 0:
        mine = b"x" * ({EACH_MB} << 20)
        os.write(1, b".")
        time.sleep(600)
while True:
    time.sleep(600)
"""

SHARED = f"""
import os, sys, time
ours = b"x" * ({EACH_MB} << 20)
for number in range({CHILDREN}):
    if os.fork() == 0:
        os.write(1, b".")
        time.sleep(600)
while True:
    time.sleep(600)
"""

MAPPED = f"""
import mmap, os, sys, time
with open("/dev/shm/ours", "wb+") as file:
    file.truncate({EACH_MB} << 20)
    ours = mmap.mmap(file.fileno(), 0)
ours.write(b"x" * ({EACH_MB} << 20))
for number in range({CHILDREN}):
    if os.fork() == 0:
        ours.seek(0)
        ours.read({EACH_MB} << 20)
        os.write(1, b".")
        time.sleep(600)
while True:
    time.sleep(600)
"""

WRITTEN = f"""
import os, sys, time
for number, folder in enumerate(("/tmp", "/dev/shm") * {CHILDREN // 2}):
    with open(f"{{folder}}/{{number}}", "wb") as file:
        file.write(b"x" * ({EACH_MB} << 20))
    os.write(1, b".")
while True:
    time.sleep(600)
"""

NAMELESS = f"""
import os, sys, time
for number in range({CHILDREN}):
    with open(os.memfd_create("ours"), "wb", closefd=False) as file:
        file.write(b"x" * ({EACH_MB} << 20))
    os.write(1, b".")
while True:
    time.sleep(600)
"""


@pytest.fixture
def launcher(host, live_dir):
    """As where the kernel can't be asked to see to it."""
    return ProcessLauncher(
        isolation=BOXED, start=boxed(host), live_dir=live_dir, cgroups=lambda: None
    )


async def until_all_hold_theirs(child):
    said = b""
    while len(said) < CHILDREN:
        chunk = await child.receive()
        assert chunk is not None, said
        said += chunk.data


def bounded(box_folders, script, token, most_mb):
    return box_folders.python(script, token, caps=Caps(memory_mb=most_mb))


@pytest.mark.parametrize(
    "script",
    [FORKED, WRITTEN, NAMELESS],
    ids=["processes", "files in memory", "files without a name"],
)
async def test_k17_what_a_box_holds_together_is_bounded(launcher, box_folders, token, script):
    most_mb = 4 * EACH_MB
    with anyio.fail_after(60):
        async with launcher.launch(bounded(box_folders, script, token, most_mb)) as child:
            memory_exceeded = await launcher.memory_exceeded()
            await child.wait()

            assert alive(token) == []

    assert memory_exceeded.label == "run"
    assert memory_exceeded.why.endswith(
        f" MB of memory, more than the {most_mb} MB that they may hold together;"
        " have it run fewer at once, or raise limits.memory_mb"
    )
    assert [killed.label for killed in launcher.killed()] == ["run"]


async def test_k17_what_a_box_holds_is_counted(launcher, box_folders, token):
    async with launcher.launch(bounded(box_folders, FORKED, token, 2000)) as child:
        await until_all_hold_theirs(child)
        found = used_bytes(child.pid, IN_MEMORY, 0) // MB

        assert CHILDREN * EACH_MB <= found < (CHILDREN + 2) * EACH_MB


@pytest.mark.parametrize(
    "script",
    [SHARED, MAPPED, MAPPED.replace('open("/dev/shm/ours"', 'open(os.memfd_create("ours")')],
    ids=["before a fork", "in /dev/shm", "in a file without a name"],
)
async def test_k17_what_processes_share_counts_once(launcher, box_folders, token, script):
    async with launcher.launch(bounded(box_folders, script, token, 2000)) as child:
        await until_all_hold_theirs(child)
        quick = used_bytes(child.pid, IN_MEMORY, 2000 * MB) // MB
        exact = used_bytes(child.pid, IN_MEMORY, 0) // MB

        assert quick >= CHILDREN * EACH_MB
        assert EACH_MB <= exact < 3 * EACH_MB


async def test_k17_one_that_holds_less_than_it_may_is_let_alone(launcher, box_folders, token):
    launch = bounded(box_folders, SHARED, token, 4 * EACH_MB)
    async with launcher.launch(launch) as child:
        await until_all_hold_theirs(child)
        with anyio.move_on_after(2.5) as looked:
            await launcher.memory_exceeded()

        assert looked.cancelled_caught
        assert len(alive(token)) > CHILDREN


async def test_k17_without_a_box_it_is_bounded_as_well(host, box_folders, live_dir, token):
    isolation = Isolation(boxed=False, allowed=True, how=UNBOXED_HOW)
    launcher = ProcessLauncher(
        isolation=isolation, start=unboxed(host, isolation), live_dir=live_dir, cgroups=lambda: None
    )
    with anyio.fail_after(60):
        async with launcher.launch(bounded(box_folders, FORKED, token, 4 * EACH_MB)) as child:
            memory_exceeded = await launcher.memory_exceeded()
            await child.wait()

    assert memory_exceeded.label == "run"
    assert alive(token) == []


async def test_k17_only_the_one_that_took_too_much_is_ended(launcher, box_folders, tmp_path, token):
    other = BoxFolders.make(tmp_path / "other")
    modest = other.python(SHARED, f"{token}-modest", label="run/below", caps=Caps(memory_mb=500))
    async with launcher.launch(modest) as neighbour:
        await until_all_hold_theirs(neighbour)
        async with launcher.launch(bounded(box_folders, FORKED, token, 4 * EACH_MB)):
            with anyio.fail_after(60):
                memory_exceeded = await launcher.memory_exceeded()

        assert memory_exceeded.label == "run"
        assert len(alive(f"{token}-modest")) > CHILDREN
