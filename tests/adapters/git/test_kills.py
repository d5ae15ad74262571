"""A merge that is killed at any of its git commands and repeated loses nothing."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.git.workspace_fixture import commit, git
from support.sweeps import every

HERE = Path(__file__).parent
GIT = shutil.which("git")
WRAPPER = f"""#!/bin/sh
number=$(($(cat "$COUNT") + 1)); echo $number >"$COUNT"
[ $number -eq "$AT" ] || exec {GIT} "$@"
case $HOW in
  before) kill -9 $PPID ;;
  git) kill -9 $$ ;;
esac
"""


def land(root, tmp_path, at, how):
    """How it ended, and how many git commands it took."""
    wrapped = tmp_path / "wrapped"
    wrapped.mkdir(exist_ok=True)
    (wrapped / "git").write_text(WRAPPER)
    (wrapped / "git").chmod(0o755)
    (wrapped / ".gitconfig").write_text("[user]\nname = P\nemail = p@example.invalid\n")
    count = tmp_path / "count"
    count.write_text("0")
    env = {
        **os.environ,
        "HOME": str(wrapped),
        "GIT_CONFIG_GLOBAL": str(wrapped / ".gitconfig"),  # without a name, commits are tried twice
        "PATH": f"{wrapped}:{os.environ['PATH']}",
        "PYTHONPATH": str(HERE.parents[1]),
        "COUNT": str(count),
        "AT": str(at),
        "HOW": how,
    }
    done = subprocess.run(
        [sys.executable, str(HERE / "merge_program.py"), str(root)],
        env=env,
        capture_output=True,
        text=True,
    )
    return done, int(count.read_text())


@pytest.fixture
async def ready(repo):
    """Work that came home, and a target that has moved on."""
    await repo.worked("echo x >x; echo two >>a.txt")
    commit(repo.root, b_txt="b\n")
    return repo.root


@pytest.mark.parametrize(
    ("how", "is_checked_out"), [("before", True), ("git", True), ("before", False)]
)
async def test_q16_killed_at_every_git_command_of_a_merge(ready, tmp_path, how, is_checked_out):
    """Q16: 0 lost, 0 merged twice, git fsck clean."""
    if not is_checked_out:
        git(ready, "checkout", "-q", "-b", "mine")
    for at in every(2):
        root = tmp_path / "home" / f"killed-{at}"
        shutil.copytree(ready, root, symlinks=True)

        _, reached = land(root, tmp_path, at, how)
        again, _ = land(root, tmp_path, 0, how)

        assert again.returncode == 0, again.stdout + again.stderr
        assert git(root, "rev-list", "--merges", "--count", "main") == "1"
        assert git(root, "show", "main:x") == "x"
        assert git(root, "status", "--porcelain") == ""
        assert git(root, "fsck", "--no-dangling", "--strict") == ""
        shutil.rmtree(root)
        if reached < at:
            break

    assert at > 7


async def test_q5_a_merge_asks_git_as_little_as_it_can(ready, tmp_path):
    """One that answers, one that writes refs; version; merge-base, merge-tree, commit-tree; folder,
    status, merge.
    """
    _, asked = land(ready, tmp_path, 0, "")

    assert asked == 9


async def test_q5_work_that_follows_the_tip_is_merged_without_merging(repo, tmp_path):
    change = await repo.worked("for i in 1 2 3; do echo $i >x; git add x; git commit -qm $i; done")

    _, asked = land(repo.root, tmp_path, 0, "")

    assert asked == 6
    parents = git(repo.root, "log", "-1", "--format=%P", "main").split()
    assert parents == [git(repo.root, "rev-parse", "refs/allstop/base/w"), change.head]
    assert git(repo.root, "rev-parse", "main^{tree}") == git(
        repo.root, "rev-parse", f"{change.head}^{{tree}}"
    )
