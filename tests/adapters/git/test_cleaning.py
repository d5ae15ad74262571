"""B6, B18: what lies about is found, and nothing of anybody's work goes with it unasked."""

import pytest

from adapters.git.desk import git
from allstop.adapters.git.cleaning import Cleaning, State
from allstop.adapters.git.names import folder_name
from allstop.adapters.git.repository import Repository


@pytest.fixture
def cleaning(desk):
    return Cleaning(
        Repository(desk.root), desk.folder, launcher=desk.launcher, workspaces=desk.workspaces
    )


async def merged(desk, name="w"):
    await desk.worked("echo x >x", name)
    await desk.landed(await desk.integrated(name))


async def found(cleaning, name="w"):
    return {leftover.name: leftover for leftover in await cleaning.leftovers("clean")}[name]


def refs(root):
    return git(root, "for-each-ref", "--format=%(refname)", "refs/allstop").split()


MESS = {
    "nothing done": ("true", (False, False)),
    "unmerged": ("echo x >x; git add -A; git commit -qm x", (True, False)),
    "uncommitted": ("echo x >x", (False, True)),
    "on another branch": (
        "git switch -qc side; echo x >x; git add -A; git commit -qm x; git switch -q -",
        (True, False),
    ),
    "under a tag": (
        "git switch -q --detach; git commit -q --allow-empty -m x; git tag -am x x; git switch -q -",
        (True, False),
    ),
    "in a tree of its own": (
        "git worktree add -q --detach $HOME/other; cd $HOME/other; git commit -q --allow-empty -m x",
        (True, False),
    ),
    "another branch without work": ("git branch side; git tag here", (False, False)),
    "stashed": ("echo x >a.txt; git stash -q", (False, True)),
}


@pytest.mark.parametrize("mess", MESS)
async def test_b6_what_is_in_a_workspace_is_told(desk, cleaning, mess):
    """B6: left-over workspaces are found and offered for clean-up."""
    script, expected = MESS[mess]
    await desk.opened()
    await desk.agent(script)

    leftover = await found(cleaning)

    assert (leftover.unmerged, leftover.uncommitted) == expected
    assert leftover.state is State.WHOLE
    assert leftover.size_bytes > 0
    assert leftover.used_at is not None
    assert leftover.is_safe == (expected == (False, False))


@pytest.mark.parametrize("mess", ["unmerged", "on another branch", "uncommitted", "stashed"])
async def test_b6_nothing_with_work_in_it_is_removed_unasked(desk, cleaning, mess):
    """B6: nothing with unmerged commits or changes is ever deleted without being asked."""
    await desk.opened()
    await desk.agent(MESS[mess][0])

    removal = await cleaning.remove("w", "clean")

    assert not removal.removed
    assert removal.reason.startswith("it has ")
    assert desk.tree().is_dir()


async def test_b6_what_is_merged_is_removed_with_its_refs(desk, cleaning):
    await merged(desk)
    before = await found(cleaning)

    removal = await cleaning.remove("w", "clean")

    assert before.is_safe
    assert removal.removed
    assert removal.freed_bytes > 0
    assert removal.backup == ""
    assert refs(desk.root) == []
    assert await cleaning.leftovers("clean") == ()


async def test_b18_work_that_is_thrown_away_is_kept_by_a_ref(desk, cleaning):
    """B18: of an unmerged one, resets its branch, keeping a backup ref."""
    await desk.worked("echo x >x")
    await desk.agent("echo y >y")

    backup = await cleaning.reset("w", "clean")
    opened = await desk.opened()

    assert backup == "refs/allstop/backup/w/1"
    assert git(desk.root, "ls-tree", "--name-only", backup).split() == ["a.txt", "x", "y"]
    assert opened.base == git(desk.root, "rev-parse", "main")
    assert (await desk.agent("ls"))[1].split() == ["a.txt"]


async def test_b18_each_time_it_is_another_ref(desk, cleaning):
    backups = []
    for number in range(2):
        await desk.worked(f"echo {number} >x")
        backups.append(await cleaning.reset("w", "clean"))

    assert backups == ["refs/allstop/backup/w/1", "refs/allstop/backup/w/2"]


async def test_b18_nothing_to_throw_away(desk, cleaning):
    assert await cleaning.reset("never", "clean") == ""


async def test_b6_a_damaged_one_is_removed_only_by_name_and_what_came_home_is_kept(desk, cleaning):
    change = await desk.worked("echo x >x")
    await desk.agent("rm -rf .git")

    leftover = await found(cleaning)
    unasked = await cleaning.remove("w", "clean")
    asked = await cleaning.remove("w", "clean", force=True)

    assert leftover.state is State.DAMAGED
    assert not unasked.removed
    assert git(desk.root, "rev-parse", asked.backup) == change.head
    assert not desk.tree().exists()


async def test_b6_what_was_put_aside_stays_each_time_until_it_is_named(desk, cleaning):
    """B6: of a tree that was damaged nobody can say what is in it."""
    await desk.opened()
    notes = []
    for number in range(3):
        await desk.agent(f"echo {number} >p.txt; rm -rf .git")
        notes += (await desk.opened()).notes

    leftover = await found(cleaning)
    unasked = await cleaning.remove("w", "clean")

    folders = [desk.folder / "w" / name for name in ("damaged", "damaged-2", "damaged-3")]
    assert [(folder / "p.txt").read_text() for folder in folders] == ["0\n", "1\n", "2\n"]
    assert leftover.put_aside == tuple(map(str, folders))
    assert [str(folder) in note for folder, note in zip(folders, notes, strict=True)] == [True] * 3
    assert not leftover.is_safe
    assert not unasked.removed
    assert str(folders[0]) in unasked.reason
    assert (await cleaning.remove("w", "clean", force=True)).removed
    assert not (desk.folder / "w").exists()


async def test_b6_one_that_was_never_finished_is_safe_to_remove(desk, cleaning):
    await desk.opened()
    (desk.tree().parent / "meta.json").unlink()

    assert (await found(cleaning)).state is State.UNFINISHED
    assert (await cleaning.remove("w", "clean")).removed


async def test_b6_refs_of_a_workspace_that_is_gone_are_found(desk, cleaning):
    await desk.worked("echo x >x", "odd name/1")
    desk.workspaces.discard("odd name/1")

    leftover = await found(cleaning, "odd name/1")
    removal = await cleaning.remove("odd name/1", "clean")

    assert (leftover.state, leftover.unmerged) == (State.GONE, True)
    assert not removal.removed


async def test_b17_after_a_merge_refs_stay_until_they_are_dropped(desk, cleaning):
    """B17: nothing stays but refs under refs/allstop/, for as long as retention says."""
    await merged(desk)
    kept = refs(desk.root)

    await cleaning.drop_refs("w")

    assert kept == ["refs/allstop/base/w", "refs/allstop/merge/w", "refs/allstop/tip/w"]
    assert refs(desk.root) == []
    assert git(desk.root, "branch", "--format=%(refname:short)") == "main"


async def test_k15_looking_runs_nothing_of_the_agents_on_the_host(desk, cleaning, tmp_path):
    """K15: git looks at the agent's tree only inside the box."""
    canary = tmp_path / "canary"
    await desk.opened()
    await desk.agent(f"git config core.fsmonitor 'touch {canary}'; ln -s /etc link; touch x")

    await found(cleaning)
    await cleaning.remove("w", "clean", force=True)

    assert not canary.exists()


@pytest.mark.parametrize("name", ["w", "x.lock", "a..b"])
async def test_b17_nothing_stays_of_a_task_once_it_is_cleaned_up(desk, cleaning, name):
    """B17: also what a person gave, and what took it out before it was done again."""
    await merged(desk, name)
    first = git(desk.root, "rev-parse", "main")
    await desk.landed(await desk.workspaces.revert(first, "main", "Take it back"))
    await merged(desk, name)
    git(desk.root, "update-ref", f"refs/allstop/given/{folder_name(name)}", first)

    removal = await cleaning.remove(name, "clean")

    assert removal.removed
    assert removal.backup == ""
    assert refs(desk.root) == []
    assert await cleaning.leftovers("clean") == ()


async def test_b6_what_a_person_gave_is_work_too(desk, cleaning):
    await merged(desk)
    tree = git(desk.root, "rev-parse", "main^{tree}")
    given = git(desk.root, "commit-tree", tree, "-p", "main", "-m", "by hand")
    git(desk.root, "update-ref", "refs/allstop/given/w", given)

    assert not (await found(cleaning)).is_safe
    assert not (await cleaning.remove("w", "clean")).removed
    removal = await cleaning.remove("w", "clean", force=True)
    assert git(desk.root, "rev-parse", removal.backup) == given
    assert refs(desk.root) == [removal.backup]
