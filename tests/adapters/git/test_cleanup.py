"""B6, B18: leftover workspaces are found, and none is removed with work in it unless forced."""

import pytest

from adapters.git.workspace_fixture import commit, git
from allstop.adapters.git.repository.repository import Repository
from allstop.adapters.git.repository.safe_names import folder_name
from allstop.adapters.git.workspace.cleanup import State, WorkspaceCleanup
from allstop.core.errors import AllstopError


@pytest.fixture
def cleaning(repo):
    repository = Repository(repo.root)
    yield WorkspaceCleanup(
        repository, repo.folder, launcher=repo.launcher, workspaces=repo.workspaces
    )
    repository.close()


async def merged(repo, name="w"):
    await repo.worked("echo x >x", name)
    await repo.landed(await repo.integrated(name))


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
    "stashed, and its log is gone": (
        "echo x >a.txt; git stash -q; rm -r .git/logs",
        (False, True),
    ),
}


@pytest.mark.parametrize("mess", MESS)
async def test_b6_what_is_in_a_workspace_is_told(repo, cleaning, mess):
    """B6: left-over workspaces are found and offered for clean-up."""
    script, expected = MESS[mess]
    await repo.opened()
    await repo.agent(script)

    leftover = await found(cleaning)

    assert (leftover.unmerged, leftover.uncommitted) == expected
    assert leftover.state is State.WHOLE
    assert leftover.size_bytes > 0
    assert leftover.used_at is not None
    assert leftover.is_safe == (expected == (False, False))


@pytest.mark.parametrize("mess", ["unmerged", "on another branch", "uncommitted", "stashed"])
async def test_b6_nothing_with_work_in_it_is_removed_unasked(repo, cleaning, mess):
    """B6: nothing with unmerged commits or changes is ever deleted without being asked."""
    await repo.opened()
    await repo.agent(MESS[mess][0])

    removal = await cleaning.remove("w", "clean")

    assert not removal.removed
    assert removal.reason.startswith("it has ")
    assert repo.tree().is_dir()


async def test_b6_what_is_merged_is_removed_with_its_refs(repo, cleaning):
    await merged(repo)
    before = await found(cleaning)

    removal = await cleaning.remove("w", "clean")

    assert before.is_safe
    assert removal.removed
    assert removal.freed_bytes > 0
    assert removal.backup == ""
    assert refs(repo.root) == []
    assert await cleaning.leftovers("clean") == ()


async def test_b18_work_that_is_thrown_away_is_kept_by_a_ref(repo, cleaning):
    """B18: of an unmerged one, resets its branch, keeping a backup ref."""
    await repo.worked("echo x >x")
    await repo.agent("echo y >y")

    backup = await cleaning.reset("w", "clean")
    opened = await repo.opened()

    assert backup == "refs/allstop/backup/w/1"
    assert git(repo.root, "ls-tree", "--name-only", backup).split() == ["a.txt", "x", "y"]
    assert opened.base == git(repo.root, "rev-parse", "main")
    assert (await repo.agent("ls"))[1].split() == ["a.txt"]


async def test_b18_each_time_it_is_another_ref(repo, cleaning):
    backups = []
    for number in range(2):
        await repo.worked(f"echo {number} >x")
        backups.append(await cleaning.reset("w", "clean"))

    assert backups == ["refs/allstop/backup/w/1", "refs/allstop/backup/w/2"]


async def contents(repo, backups):
    names = (git(repo.root, "ls-tree", "--name-only", ref) for ref in backups.split(" and "))
    return sorted({name for told in names for name in told.split()})


async def test_b6_side_branches_and_stashes_are_kept_by_refs_too(repo, cleaning):
    """B6, B19: cleaning a workspace up loses nothing that git knows in it."""
    await repo.worked("echo x >x")
    await repo.agent(
        "git switch -qc side; echo s >side; git add -A; git commit -qm s; git tag t; git switch -q -;"
        "for n in 1 2; do echo $n >stashed$n; git stash -qu; done;"
        "git switch -q --detach; echo d >detached; git add -A; git commit -qm d; echo y >y"
    )

    removal = await cleaning.remove("w", "clean", force=True)

    assert removal.removed
    assert removal.reason == ""
    assert removal.backup.split(" and ") == refs(repo.root)
    assert len(refs(repo.root)) == 4  # two stashes, the side branch, and the tree
    kept = git(repo.root, "log", "--format=", "--name-only", "-m", "--glob=refs/allstop/backup")
    assert set(kept.split()) >= {"x", "side", "stashed1", "stashed2", "detached", "y"}
    assert await contents(repo, removal.backup) == ["a.txt", "detached", "side", "x", "y"]
    git(repo.root, "gc", "-q", "--prune=now")
    assert git(repo.root, "fsck", "--strict", "--no-dangling") == ""


async def test_b18_a_rollback_keeps_side_branches_and_stashes_too(repo, cleaning):
    await repo.worked("echo x >x")
    await repo.agent("echo s >s; git stash -qu; git branch old; git commit -q --amend -m other")

    backups = (await cleaning.reset("w", "clean")).split(" and ")

    assert backups == refs(repo.root)
    assert len(backups) == 2  # the stash on what was amended, and what was made of it


async def test_b6_a_tree_in_the_middle_of_a_conflict_is_kept_as_it_is(repo, cleaning):
    await repo.worked("echo ours >a.txt")
    commit(repo.root, a_txt="theirs\n")
    await repo.opened(onto=git(repo.root, "rev-parse", "main"))
    await repo.agent("echo half solved >>a.txt")

    removal = await cleaning.remove("w", "clean", force=True)

    kept = git(repo.root, "show", f"{removal.backup}:a.txt")
    assert "<<<<<<<" in kept
    assert kept.endswith("half solved")


FORGED = (
    "blob=$(echo x | git hash-object -w --stdin);"
    " tree=$(printf '100644 blob %s\\tconfig\\n' $blob | git mktree);"
    " tree=$(printf '040000 tree %s\\t.git\\n' $tree | git mktree);"
    " git branch side $(git commit-tree $tree -p HEAD -m forged)"
)
UNKEEPABLE = {
    "a repository of its own": (
        "git init -q in; cd in; git -c user.name=A -c user.email=a@b commit -q --allow-empty -m x",
        "other git repositories: in;",
    ),
    "objects that git refuses": (FORGED, "git unpack-objects:"),
}


@pytest.mark.parametrize("what", UNKEEPABLE)
async def test_b6_a_workspace_stays_where_not_all_of_it_can_be_kept(repo, cleaning, what):
    script, why = UNKEEPABLE[what]
    await repo.opened()
    await repo.agent(script)
    before = refs(repo.root)

    removal = await cleaning.remove("w", "clean", force=True)

    assert not removal.removed
    assert why in removal.reason
    assert str(repo.tree()) in removal.reason
    with pytest.raises(AllstopError, match="the workspace of w was not removed"):
        await cleaning.reset("w", "clean")
    assert repo.tree().is_dir()
    assert refs(repo.root) == before


async def test_b18_a_rollback_does_not_take_along_what_no_ref_can_keep(repo, cleaning):
    await repo.worked("echo x >x")
    await repo.agent("echo y >y; rm -rf .git")

    with pytest.raises(AllstopError, match="it is damaged") as damaged:
        await cleaning.reset("w", "clean")
    await repo.opened()
    with pytest.raises(AllstopError, match="saved when it was damaged"):
        await cleaning.refuse_if_lost("w", "clean")

    assert damaged.value.hint.startswith("`allstop clean --force w`")
    assert (repo.folder / "w" / "damaged" / "y").is_file()


async def test_b18_nothing_to_throw_away(repo, cleaning):
    assert await cleaning.reset("never", "clean") == ""


async def test_b6_a_damaged_one_is_removed_only_by_name_and_what_came_home_is_kept(repo, cleaning):
    change = await repo.worked("echo x >x")
    await repo.agent("rm -rf .git")

    leftover = await found(cleaning)
    unasked = await cleaning.remove("w", "clean")
    asked = await cleaning.remove("w", "clean", force=True)

    assert leftover.state is State.DAMAGED
    assert not unasked.removed
    assert git(repo.root, "rev-parse", asked.backup) == change.head
    assert asked.reason == "git can't back up its damaged content"
    assert not repo.tree().exists()


async def test_b6_what_was_put_aside_stays_each_time_until_it_is_named(repo, cleaning):
    """B6: of a tree that was damaged nobody can say what is in it."""
    await repo.opened()
    notes = []
    for number in range(3):
        await repo.agent(f"echo {number} >p.txt; rm -rf .git")
        notes += (await repo.opened()).notes

    leftover = await found(cleaning)
    unasked = await cleaning.remove("w", "clean")

    folders = [repo.folder / "w" / name for name in ("damaged", "damaged-2", "damaged-3")]
    assert [(folder / "p.txt").read_text() for folder in folders] == ["0\n", "1\n", "2\n"]
    assert leftover.put_aside == tuple(map(str, folders))
    assert [str(folder) in note for folder, note in zip(folders, notes, strict=True)] == [True] * 3
    assert not leftover.is_safe
    assert not unasked.removed
    assert str(folders[0]) in unasked.reason
    assert (await cleaning.remove("w", "clean", force=True)).removed
    assert not (repo.folder / "w").exists()


async def test_b6_one_that_was_never_finished_is_safe_to_remove(repo, cleaning):
    await repo.opened()
    (repo.tree().parent / "meta.json").unlink()

    assert (await found(cleaning)).state is State.UNFINISHED
    assert (await cleaning.remove("w", "clean")).removed


async def test_b6_refs_of_a_workspace_that_is_gone_are_found(repo, cleaning):
    await repo.worked("echo x >x", "odd name/1")
    repo.workspaces.remove_folders("odd name/1")

    leftover = await found(cleaning, "odd name/1")
    removal = await cleaning.remove("odd name/1", "clean")

    assert (leftover.state, leftover.unmerged) == (State.NO_MODE, True)
    assert not removal.removed


async def test_b17_after_a_merge_refs_stay_until_the_workspace_is_discarded(repo):
    """B17: nothing stays but refs under refs/allstop/, for as long as retention says."""
    await merged(repo)
    kept = refs(repo.root)

    await repo.workspaces.discard("w")
    await repo.workspaces.discard("w")

    assert kept == ["refs/allstop/base/w", "refs/allstop/merge/w", "refs/allstop/tip/w"]
    assert refs(repo.root) == []
    assert git(repo.root, "branch", "--format=%(refname:short)") == "main"


async def test_k15_looking_runs_nothing_of_the_agents_on_the_host(repo, cleaning, tmp_path):
    """K15: git looks at the agent's tree only inside the box."""
    canary = tmp_path / "canary"
    await repo.opened()
    await repo.agent(f"git config core.fsmonitor 'touch {canary}'; ln -s /etc link; touch x")

    await found(cleaning)
    await cleaning.remove("w", "clean", force=True)

    assert not canary.exists()


@pytest.mark.parametrize("name", ["w", "x.lock", "a..b"])
async def test_b17_nothing_stays_of_a_task_once_it_is_cleaned_up(repo, cleaning, name):
    """B17: also what a person gave, and what took it out before it was done again."""
    await merged(repo, name)
    first = git(repo.root, "rev-parse", "main")
    await repo.landed(await repo.workspaces.revert(first, "main", "Take it back"))
    await merged(repo, name)
    git(repo.root, "update-ref", f"refs/allstop/given/{folder_name(name)}", first)

    removal = await cleaning.remove(name, "clean")

    assert removal.removed
    assert removal.backup == ""
    assert refs(repo.root) == []
    assert await cleaning.leftovers("clean") == ()


async def test_b6_what_a_person_gave_is_work_too(repo, cleaning):
    await merged(repo)
    tree = git(repo.root, "rev-parse", "main^{tree}")
    given = git(repo.root, "commit-tree", tree, "-p", "main", "-m", "by hand")
    git(repo.root, "update-ref", "refs/allstop/given/w", given)

    assert not (await found(cleaning)).is_safe
    assert not (await cleaning.remove("w", "clean")).removed
    removal = await cleaning.remove("w", "clean", force=True)
    assert git(repo.root, "rev-parse", removal.backup) == given
    assert refs(repo.root) == [removal.backup]
