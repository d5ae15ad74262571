"""K17: the size of a workspace and a filling disk are noticed while an agent works."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.git.workspace_fixture import open_repo
from allstop.adapters.git.workspace.folders import WorkspaceFolders
from allstop.adapters.git.workspace.free_space import size_of
from allstop.gate.facts import Variant

ON_A_SMALL_DISK = """
import sys
from pathlib import Path
from allstop.adapters.git.workspace.free_space import shortage

folder = Path(sys.argv[1])
print("before:", shortage(folder, 8 * 1024**2))
(folder / "big").write_bytes(bytes(12 * 1024**2))
print("after:", shortage(folder, 8 * 1024**2))
"""


@pytest.mark.parametrize("folder", ["deep/er", "$HOME/cache"])
async def test_k17_a_workspace_that_holds_too_much_is_noticed_without_its_box(
    root, tmp_path, folder
):
    """K17: in its home too, which lies on the same disk."""
    repo = await open_repo(root, tmp_path, disk_mb=5)
    await repo.opened()
    before = await repo.workspaces.over_limit("w")
    await repo.agent(f"mkdir -p {folder}; head -c 9000000 /dev/urandom >{folder}/big")

    after = await repo.workspaces.over_limit("w")

    assert before == ""
    assert "and may hold 5 MB; remove what is not needed, or raise limits.disk_mb" in after


@pytest.mark.parametrize("folder", ["deep/er", "$HOME/cache"])
async def test_k17_a_clean_clone_that_holds_too_much_is_noticed_and_can_be_dropped(
    root, tmp_path, folder
):
    """K17: it may hold as much as the workspace, and neither counts for the other."""
    repo = await open_repo(root, tmp_path, disk_mb=5)
    await repo.worked("echo x >x")
    candidate = await repo.candidate()
    before = await repo.workspaces.candidate_over_limit("w")
    await repo.in_box(
        candidate.box, f"mkdir -p {folder}; head -c 9000000 /dev/urandom >{folder}/big"
    )

    after = await repo.workspaces.candidate_over_limit("w")
    await repo.workspaces.drop_candidate("w")

    assert before == ""
    assert after.startswith("the clean clone of the work holds 8 MB, and may hold 5 MB;")
    assert await repo.workspaces.over_limit("w") == ""
    assert await repo.workspaces.candidate_over_limit("w") == ""


async def test_k17_clones_of_variants_count_each_for_itself_and_leave_nothing(root, tmp_path):
    repo = await open_repo(root, tmp_path, disk_mb=5)
    await repo.worked("echo x >x")
    work = await repo.candidate()
    one, two = [await repo.workspaces.variant("w", "w", work, Variant()) for _ in range(2)]
    await repo.in_box(one.box, "head -c 9000000 /dev/urandom >big")

    found = await repo.workspaces.candidate_over_limit("w")
    await repo.workspaces.drop_variant(one)
    then = await repo.workspaces.candidate_over_limit("w")
    await repo.candidate()

    assert "and may hold 5 MB" in found
    assert then == ""
    assert not Path(one.box.workspace).exists()
    assert not Path(two.box.workspace).exists()
    assert Path(work.box.workspace).exists()


async def test_k17_without_a_limit_a_workspace_may_hold_anything(root, tmp_path):
    repo = await open_repo(root, tmp_path)
    await repo.opened()
    await repo.agent("head -c 9000000 /dev/urandom >big")

    assert await repo.workspaces.over_limit("w") == ""


async def test_k17_a_disk_with_less_than_is_kept_free_is_told(root, tmp_path):
    disk = os.statvfs(tmp_path)
    size = disk.f_blocks * disk.f_frsize
    repo = await open_repo(root, tmp_path, low_bytes=size + 1024**2)

    assert repo.workspaces.shortage() == await repo.workspaces.over_limit("w")
    assert "MB are reserved" in repo.workspaces.shortage()


def test_k17_a_small_disk_is_short_once_it_fills_up(tmp_path):
    """A real file system of 16 MB."""
    done = subprocess.run(
        [
            *("bwrap", "--dev-bind", "/", "/", "--size", str(16 * 1024**2)),
            *("--tmpfs", str(tmp_path), "--", sys.executable, "-c", ON_A_SMALL_DISK, str(tmp_path)),
        ],
        capture_output=True,
        text=True,
        check=True,
    )

    before, after = done.stdout.splitlines()
    assert before == "before: "
    assert after == "after: the disk has 4 MB left, and 8 MB are reserved; free some space"


def test_k17_what_is_linked_twice_counts_once_and_what_is_elsewhere_not_at_all(tmp_path):
    tree = WorkspaceFolders(tmp_path / "w")
    tree.make()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "big").write_bytes(os.urandom(3_000_000))
    (tree.work / "one").write_bytes(os.urandom(1_000_000))
    (tree.work / "again").hardlink_to(tree.work / "one")
    (tree.work / "link").symlink_to(elsewhere)

    assert 1_000_000 <= size_of(tree) < 1_100_000
