"""Programs get the original limit of open files, although this process raised its own."""

import subprocess
import sys

import pytest

from adapters.processes.launch_fixture import TESTS

OPEN = 1500
SOFT = 200

HOLDS_MANY = f"""
import os, resource, sys
from pathlib import Path

import anyio

from adapters.processes.launch_fixture import BoxFolders, run
from allstop.adapters.git.repository.git_processes import GitProcess, kill
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.open_files import raise_limit

hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, ({SOFT}, hard))


def soft_of(pid):
    lines = Path(f"/proc/{{pid}}/limits").read_text().splitlines()
    return next(line.split()[3] for line in lines if line.startswith("Max open files"))


async def main(mode, folder):
    raise_limit()
    held = [os.open(os.devnull, os.O_RDONLY) for _ in range({OPEN})]
    assert held[-1] >= {OPEN}
    if mode == "git":
        daemon = GitProcess(Path(folder), ("hash-object", "--stdin-paths"), kill)
        lines = await daemon.ask(b"file\\n", 1)
        print(soft_of(daemon._running._process.pid), len(lines[0]))
        daemon.close()
        return
    launcher = await make_launcher(mode, Path(folder) / "live")
    folders = BoxFolders.make(Path(folder) / "place")
    out, err, code = await run(launcher, folders.launch("sh", "-c", "ulimit -S -n; ulimit -H -n"))
    print(out.decode().replace("\\n", " "), err.decode(), code, hard)


anyio.run(main, *sys.argv[1:])
"""


def said_by_child(mode, folder):
    done = subprocess.run(
        [sys.executable, "-c", HOLDS_MANY, mode, str(folder)],
        cwd=TESTS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("mode", ["auto", "off"])
def test_k17_an_agent_has_the_limit_on_open_files_that_the_program_was_given(tmp_path, mode):
    soft, hard, code, hard_here = said_by_child(mode, tmp_path)

    assert (int(soft), hard, code) == (SOFT, hard_here, "0")


def test_k17_a_git_that_stays_has_it_too(tmp_path):
    (tmp_path / "file").write_text("x")

    assert said_by_child("git", tmp_path) == [str(SOFT), "40"]
