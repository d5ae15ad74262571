"""Q6: a workspace of a repository with 50,000 files, compared with git clone and checkout.

Prints figures and the ratio; asserts nothing. All files are in memory, so that the disk doesn't matter.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import anyio

from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.app import runtime
from allstop.core.moves import WorkspaceOpen
from common import adopt_orphans, figure, git, print_load, project_in, sized
from common.boards import programs_cpu_s, reap_orphans

MEMORY = Path("/dev/shm")
BYTES_EACH = 1000
ROOM_FOR_EACH = 20_000  # two trees at once, the objects, and folders


class Took(NamedTuple):
    wall_s: float
    cpu_s: float  # of programs


def make_large(folder: Path, files: int) -> None:
    """A repository without a checkout."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    with subprocess.Popen(
        ["git", "fast-import", "--quiet"], cwd=folder, stdin=subprocess.PIPE
    ) as process:
        assert process.stdin
        process.stdin.write(
            b"commit refs/heads/main\ncommitter B <b@allstop.invalid> 0 +0000\ndata 1\nx\n"
        )
        for number in range(files):
            text = (f"line of file {number}\n" * BYTES_EACH)[:BYTES_EACH].encode()
            name = f"package-{number % 50}/module-{number % 500}/file-{number}.txt".encode()
            process.stdin.write(b"M 644 inline %s\ndata %d\n%s\n" % (name, len(text), text))


async def cloned(folder: Path) -> Took:
    before, began = programs_cpu_s(), time.perf_counter()
    git(folder, "clone", "-q", "--shared", "--no-checkout", "repository", "clone")
    git(folder / "clone", "checkout", "-q", "main")
    return Took(time.perf_counter() - began, programs_cpu_s() - before)


async def opened(folder: Path) -> Took:
    """Lookups that are shared by all workspaces aren't counted."""
    project = project_in(folder)
    launcher = await make_launcher("on", project.live)
    workspaces = await runtime.open_workspaces(project, launcher)
    before, began = programs_cpu_s(), time.perf_counter()
    result = await workspaces.open("one", "main", "bench")
    wall = time.perf_counter() - began
    assert isinstance(result, WorkspaceOpen), result
    reap_orphans()
    return Took(wall, programs_cpu_s() - before)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=sized(50_000, 50))
    parser.add_argument("--rounds", type=int, default=sized(3, 1))
    arguments = parser.parse_args()
    needed = arguments.files * ROOM_FOR_EACH
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < needed:
        print(f"Q6  skipped: {MEMORY} has no space for {needed / 1e6:,.0f} MB")
        return
    print_load()
    adopt_orphans()
    ours, theirs = [], []
    with tempfile.TemporaryDirectory(dir=MEMORY) as real, tempfile.TemporaryDirectory() as shown:
        folder = Path(shown) / "memory"  # a sandbox has its own /dev, without our files
        folder.symlink_to(real)
        make_large(folder / "repository", arguments.files)
        for _ in range(arguments.rounds):
            theirs.append(anyio.run(cloned, folder))
            shutil.rmtree(folder / "clone")
            ours.append(anyio.run(opened, folder))
            shutil.rmtree(folder / "repository" / ".allstop")
    wall, git_wall = (min(took.wall_s for took in each) for each in (ours, theirs))
    cpu, git_cpu = (max(took.cpu_s for took in each) for each in (ours, theirs))  # see common
    print(f"Q6  a workspace of {arguments.files:,} files: {wall:.2f} s, {cpu:.2f} s CPU")
    print(f"    git clone --shared, checkout: {git_wall:.2f} s, {git_cpu:.2f} s CPU")
    figure(
        f"Q6 workspace of {arguments.files:,} files",
        f"{wall:.2f} s",
        goal="1.2 x",
        ratio=f"{wall / git_wall:.2f} x git clone and checkout",
    )
    print(
        f"    ratio: {wall / git_wall:.2f} of the time, {cpu / git_cpu:.2f} of the CPU (goal 1.2)"
    )


if __name__ == "__main__":
    main()
