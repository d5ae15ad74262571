"""Reopening a workspace: stashes, merges of the target, repairs, and doing it twice."""

import os

import pytest

from adapters.git.workspace_fixture import commit, git, open_repo
from allstop.core.moves import Failed


async def test_b13_what_a_stop_left_uncommitted_is_stashed_in_the_box(repo):
    """B13: stashed inside the box when the task is taken up again."""
    await repo.worked("echo x >x")
    await repo.agent("echo half >>x; echo new >new")

    opened = await repo.opened(stash=True)
    _, said = await repo.agent("cat x; ls; git stash show --include-untracked --name-only")

    assert opened.stashed
    assert said.split() == ["x", "a.txt", "x", "new", "x"]


async def test_b13_nothing_to_stash_is_no_stash(repo):
    await repo.worked("echo x >x")

    opened = await repo.opened(stash=True)

    assert not opened.stashed
    assert (await repo.agent("git stash list"))[1] == ""


async def test_b17_a_conflict_is_brought_into_the_workspace(repo):
    """B17: it goes back to the agent with the conflict in its workspace."""
    await repo.worked("echo theirs >a.txt")
    tip = commit(repo.root, a_txt="ours\n", b_txt="b\n")

    opened = await repo.opened(onto=tip)
    _, said = await repo.agent("cat a.txt; git status --porcelain")

    assert (opened.base, opened.conflicts) == (tip, ("a.txt",))
    assert "<<<<<<< HEAD" in said
    assert f">>>>>>> {tip}" in said
    assert git(repo.root, "rev-parse", "refs/allstop/base/w") == tip


async def test_b17_solving_it_makes_work_that_merges(repo):
    await repo.worked("echo theirs >a.txt")
    tip = commit(repo.root, a_txt="ours\n", b_txt="b\n")
    await repo.opened(onto=tip)

    await repo.agent("echo both >a.txt")
    change = await repo.kept()
    made = await repo.integrated()

    assert change.files == 1
    assert made.tip == tip
    assert git(repo.root, "show", f"{made.commit}:a.txt") == "both"


UNSOLVED = {
    "left as it is": "true",
    "half of it": "sed -i '/^<<<<<<</d' a.txt",
    "with other work": "echo other >other",
}


@pytest.mark.parametrize("what", UNSOLVED)
async def test_b17_an_unsolved_conflict_is_not_committed_as_work(repo, what):
    """B17: the next merge tells of it again; nothing is pretended."""
    before = await repo.worked("echo theirs >a.txt")
    tip = commit(repo.root, a_txt="ours\n")
    await repo.opened(onto=tip)

    await repo.agent(UNSOLVED[what])
    change = await repo.kept()
    again = await repo.opened(onto=tip)

    assert change.head == before.head
    assert again.conflicts == ("a.txt",)
    assert isinstance(await repo.workspaces.integrate("w", "main", "m", "run"), Failed)


async def test_b17_a_file_changed_here_and_deleted_there_must_be_decided(repo):
    commit(repo.root, b_txt="b\n")
    before = await repo.worked("echo theirs >b.txt")
    git(repo.root, "rm", "-q", "b.txt")
    git(repo.root, "commit", "-q", "-m", "gone")
    opened = await repo.opened(onto="refs/heads/main")

    undecided = await repo.kept()
    await repo.agent("git rm -q --cached b.txt; rm -f b.txt")
    decided = await repo.kept()

    assert opened.conflicts == ("b.txt",)
    assert undecided.head == before.head
    assert decided.head != before.head
    assert (await repo.integrated()).tip == git(repo.root, "rev-parse", "main")


async def test_b17_a_merge_without_conflict_is_simply_there(repo):
    await repo.worked("echo x >x")
    tip = commit(repo.root, b_txt="b\n")

    opened = await repo.opened(onto=tip)
    change = await repo.kept()

    assert (opened.base, opened.conflicts) == (tip, ())
    assert (await repo.agent("ls"))[1].split() == ["a.txt", "b.txt", "x"]
    assert (change.commits, change.files) == (2, 1)


async def test_b17_bringing_in_twice_is_the_same_as_once(repo):
    await repo.worked("echo theirs >a.txt")
    tip = commit(repo.root, a_txt="ours\n")

    first = await repo.opened(onto=tip)
    second = await repo.opened(onto=tip)
    await repo.agent("echo both >a.txt")
    await repo.kept()
    third = await repo.opened(onto=tip)

    assert first == second
    assert third.conflicts == ()
    assert (await repo.agent("cat a.txt"))[1] == "both\n"


async def test_b17_work_left_uncommitted_is_committed_before_the_merge(repo):
    await repo.worked("echo x >x")
    await repo.agent("echo theirs >a.txt")
    tip = commit(repo.root, a_txt="ours\n")

    opened = await repo.opened(onto=tip)

    assert opened.conflicts == ("a.txt",)
    assert (await repo.agent("git show HEAD:a.txt"))[1] == "theirs\n"


async def test_b17_a_stash_in_the_middle_of_a_merge_begins_it_again(repo):
    await repo.worked("echo theirs >a.txt")
    tip = commit(repo.root, a_txt="ours\n")
    await repo.opened(onto=tip)
    await repo.agent("echo half-solved >a.txt")

    opened = await repo.opened(onto=tip, stash=True)

    assert opened.stashed
    assert opened.conflicts == ("a.txt",)
    assert "<<<<<<<" in (await repo.agent("cat a.txt"))[1]


async def test_b17_names_with_line_breaks_and_dashes_are_names(repo):
    script = "printf x >'-rf'; printf x >\"$(printf 'two\\nlines')\""
    await repo.worked(script)
    for name in ("-rf", "two\nlines"):
        (repo.root / name).write_text("other")
    tip = commit(repo.root)

    opened = await repo.opened(onto=tip)
    failed = await repo.workspaces.integrate("w", "main", "m", "run")

    assert sorted(opened.conflicts) == ["-rf", "two\nlines"]
    assert isinstance(failed, Failed)
    assert "-rf" in failed.message


async def test_a_commit_that_is_not_there_can_not_be_brought_in(repo):
    await repo.opened()

    result = await repo.workspaces.open("w", "main", "run", onto="refs/heads/nowhere")

    assert isinstance(result, Failed)
    assert "refs/heads/nowhere" in result.message


async def test_b17_objects_that_can_not_be_read_are_sent_along_for_a_merge_too(root, tmp_path):
    (root / ".git" / "objects").chmod(0o700)
    repo = await open_repo(root, tmp_path)
    await repo.worked("echo theirs >a.txt")
    tip = commit(repo.root, a_txt="ours\n", b_txt="b\n")
    (root / ".git" / "objects").chmod(0o700)

    opened = await repo.opened(onto=tip)

    assert opened.conflicts == ("a.txt",)


DAMAGE = {
    "no git folder": "rm -rf .git",
    "nothing at all": "rm -rf ./* .git",
    "git folder is a file": "rm -rf .git; echo x >.git",
    "git folder is a link": "rm -rf .git; ln -s /tmp .git",
    "no refs": "rm -rf .git/refs .git/packed-refs .git/HEAD",
}


@pytest.mark.parametrize("damage", DAMAGE)
async def test_q19_a_workspace_beyond_repair_is_made_anew_from_what_came_home(repo, damage):
    """Q19: a damaged workspace; commits that came home are never lost."""
    change = await repo.worked("echo x >x")
    await repo.agent(DAMAGE[damage])

    opened = await repo.opened()
    _, said = await repo.agent("git rev-parse HEAD; cat x; git status --short")

    assert any("recreated" in note for note in opened.notes)
    assert said.split() == [change.head, "x"]
    assert (await repo.kept()).head == change.head


REPAIRABLE = {
    "no objects of its own": "find .git/objects -type f -delete",
    "no alternates": "rm .git/objects/info/alternates",
    "broken config": "echo '[[[' >.git/config",
    "broken head": "echo rubbish >.git/HEAD",
    "broken index": "head -c 100 /dev/urandom >.git/index",
    "bare": "git config core.bare true; git config core.worktree /tmp",
}


@pytest.mark.parametrize("damage", REPAIRABLE)
async def test_q19_a_damaged_git_folder_is_repaired_and_no_file_is_lost(repo, damage):
    await repo.worked("echo x >x")
    await repo.agent(f"echo unsaved >unsaved; {REPAIRABLE[damage]}")

    await repo.opened()
    change = await repo.kept()

    assert change.files == 2
    assert git(repo.root, "show", f"{change.head}:unsaved") == "unsaved"


async def test_q19_a_workspace_whose_folder_is_gone_goes_on_from_what_came_home(repo):
    change = await repo.worked("echo x >x")
    repo.workspaces.remove_folders("w")

    opened = await repo.opened()
    await repo.agent("echo y >y")
    later = await repo.kept()

    assert any(change.head[:12] in note for note in opened.notes)
    assert (later.commits, later.files) == (2, 2)


async def test_q19_a_tree_that_somebody_removed_is_there_again(repo):
    change = await repo.worked("echo x >x")
    repo.tree().rename(repo.root / "elsewhere")

    opened = await repo.opened()

    assert any(change.head[:12] in note for note in opened.notes)
    assert (await repo.agent("cat x"))[1] == "x\n"


async def test_a_workspace_is_fresh_when_its_former_work_was_merged(repo):
    await repo.worked("echo x >x")
    await repo.landed(await repo.integrated())
    repo.workspaces.remove_folders("w")

    opened = await repo.opened()

    assert opened.base == git(repo.root, "rev-parse", "main")
    assert opened.notes == ()


async def test_q19_a_lock_that_a_killed_git_left_on_our_own_ref_is_no_obstacle(repo):
    """Q19: locks left behind; only under refs/allstop, where nobody else writes."""
    await repo.worked("echo x >x")
    lock = repo.root / ".git" / "refs" / "allstop" / "tip" / "w.lock"
    lock.touch()
    os.utime(lock, (1, 1))
    await repo.agent("echo y >y")

    change = await repo.kept()

    assert git(repo.root, "rev-parse", "refs/allstop/tip/w") == change.head
    assert not lock.exists()


async def test_a_lock_that_somebody_holds_is_respected(repo):
    await repo.worked("echo x >x")
    (repo.root / ".git" / "refs" / "allstop" / "tip" / "w.lock").touch()
    await repo.agent("echo y >y")

    assert isinstance(await repo.workspaces.keep("w", "run"), Failed)


async def test_q16_a_merge_that_was_cut_off_before_git_noted_it_is_made_again(repo):
    """Q16: the tree has the conflict's marks and git knows of no merge; nobody's work is in it."""
    await repo.worked("echo theirs >a.txt")
    tip = commit(repo.root, a_txt="ours\n", b_txt="b\n")
    await repo.opened(onto=tip)
    await repo.agent(
        "head=$(git rev-parse HEAD); echo $head >.git/allstop-bringing;"
        " rm .git/MERGE_HEAD .git/MERGE_MSG .git/MERGE_MODE; git rm -q --cached b.txt"
    )

    opened = await repo.opened(onto=tip)
    _, said = await repo.agent("cat a.txt; git log --format=%s; ls .git/allstop-bringing || true")

    assert opened.conflicts == ("a.txt",)
    assert said.count("<<<<<<<") == 1
    assert "Left over" not in said
