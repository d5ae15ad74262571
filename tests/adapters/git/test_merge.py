"""Merges made from git objects, and landing them while a person works in the checkout."""

import subprocess

import pytest

from adapters.git.workspace_fixture import commit, git
from allstop.adapters.git.repository.merge_commits import with_trailer
from allstop.adapters.git.repository.repository import GitError, require_merge_tree
from allstop.core.moves import Failed, FailureKind, Integrated, Landed


def state(root):
    """All that a person could see of a checkout."""
    return (
        git(root, "rev-parse", "HEAD"),
        git(root, "status", "--porcelain"),
        sorted(path.name for path in root.iterdir()),
    )


def files_of(root):
    """Every file but what Allstop has, and git's own note of where HEAD was."""
    return {
        path: path.read_bytes()
        for path in sorted(root.rglob("*"))
        if path.is_file() and ".allstop" not in path.parts and path.name != "ORIG_HEAD"
    }


async def test_b17_a_merge_is_made_without_touching_a_tree_or_a_branch(repo):
    """B17: merge onto the tip; then move the branch."""
    change = await repo.worked("echo x >x")
    tip = commit(repo.root, b_txt="b\n")
    before = state(repo.root)

    made = await repo.integrated(message="Add x\n\nMore words.")

    assert made.tip == tip
    assert git(repo.root, "rev-parse", f"{made.commit}^1", f"{made.commit}^2").split() == [
        tip,
        change.head,
    ]
    assert git(repo.root, "rev-parse", f"{made.commit}^{{tree}}") == made.tree
    assert (
        git(repo.root, "log", "-1", "--format=%B", made.commit)
        == "Add x\n\nMore words.\n\nAllstop-Task: w"
    )
    assert git(repo.root, "ls-tree", "--name-only", made.commit).split() == ["a.txt", "b.txt", "x"]
    assert git(repo.root, "rev-parse", "refs/allstop/merge/w") == made.commit
    assert state(repo.root) == before


async def test_b17_a_clean_checkout_follows_the_branch(repo):
    await repo.worked("echo x >x")
    made = await repo.integrated()

    landed = await repo.landed(made)

    assert landed == Landed(commit=made.commit)
    assert state(repo.root)[:2] == (made.commit, "")
    assert (repo.root / "x").read_text() == "x\n"


async def test_m3_a_batch_lands_at_once_as_its_single_merges_in_order(repo):
    """M3: only the last merge is checked, so the branch never points at one before it."""
    tip = commit(repo.root, b_txt="b\n")
    for name in ("x", "y", "z"):
        await repo.worked(f"echo {name} >{name}", name)
    first = await repo.integrated("x", message="Merge x")
    second = await repo.integrated("y", message="Merge y", onto=first.commit)
    third = await repo.integrated("z", message="Merge z", onto=second.commit)
    assert (first.tip, second.tip, third.tip) == (tip, first.commit, second.commit)
    assert not any(each.sets_rules for each in (first, second, third))

    work = await repo.workspaces.subject("x", "run", commit=third.commit, base=tip)
    changed = [change.path for change in await repo.workspaces.changes(work)]
    landed = await repo.workspaces.land("main", tip, third.commit)

    assert landed == await repo.workspaces.land("main", tip, third.commit), "safe to repeat"
    assert landed == Landed(commit=third.commit)
    assert (work.tree, changed) == (third.tree, ["x", "y", "z"])
    log = git(repo.root, "log", "--first-parent", "--format=%s", "-4").splitlines()
    assert log[:3] == ["Merge z", "Merge y", "Merge x"]
    reflog = git(repo.root, "reflog", "show", "main", "--format=%H").splitlines()
    assert reflog[:2] == [third.commit, tip]
    again = await repo.integrated("y")
    assert again.commit == again.tip == third.commit, "it is merged already"


async def test_m1_changes_that_conflict_with_each_other_are_told_apart_before_any_check(repo):
    await repo.worked("echo 1 >same", "x")
    await repo.worked("echo 2 >same", "y")
    first = await repo.integrated("x")

    conflict = await repo.workspaces.integrate("y", "main", "Merge y", "run", onto=first.commit)

    assert conflict.kind is FailureKind.CONFLICT
    assert (await repo.integrated("y")).tip == first.tip, "with the target alone it fits"


async def test_m3_a_merge_tells_that_it_changes_the_rules(repo):
    await repo.worked("echo '[loop]' >allstop.toml")

    assert (await repo.integrated()).sets_rules


async def test_b17_a_branch_that_is_not_checked_out_is_moved_alone(repo):
    await repo.worked("echo x >x")
    git(repo.root, "checkout", "-q", "-b", "mine")
    (repo.root / "a.txt").write_text("unsaved")
    made = await repo.integrated()
    before = state(repo.root)

    await repo.landed(made)

    assert git(repo.root, "rev-parse", "main") == made.commit
    assert state(repo.root) == before


async def test_b17_a_branch_with_the_name_of_no_branch_is_moved_alone(repo):
    """Git says `(detached)` where HEAD is on no branch."""
    git(repo.root, "branch", "(detached)")
    await repo.worked("echo x >x", target="(detached)")
    git(repo.root, "checkout", "-q", "--detach")
    made = await repo.integrated(target="(detached)")
    before = state(repo.root)

    await repo.landed(made, target="(detached)")

    assert git(repo.root, "rev-parse", "refs/heads/(detached)") == made.commit
    assert state(repo.root) == before


async def test_b17_all_files_that_are_in_the_way_are_named(repo):
    """Also one whose name has blanks, and one of a merge that was not finished."""
    await repo.worked("echo x >x")
    made = await repo.integrated()
    (repo.root / "a  b.txt").write_text("mine")
    git(repo.root, "add", ".")
    other = git(repo.root, "hash-object", "-w", "--stdin", text="other")
    entries = "".join(f"100644 {other} {stage}\tu v\n" for stage in (1, 2, 3))
    git(repo.root, "update-index", "--index-info", text=entries)

    result = await repo.workspaces.land("main", made.tip, made.commit)

    assert isinstance(result, Failed)
    assert result.message == f"{repo.root}: it has uncommitted changes: a  b.txt, u v"


async def test_b17_a_linked_worktree_follows_too(repo, tmp_path):
    git(repo.root, "checkout", "-q", "-b", "mine")
    linked = tmp_path / "home" / "linked tree"
    git(repo.root, "worktree", "add", "-q", str(linked), "main")
    await repo.worked("echo x >x")

    await repo.landed(await repo.integrated())

    assert (linked / "x").read_text() == "x\n"
    assert git(linked, "status", "--porcelain") == ""


async def test_b17_a_worktree_that_was_removed_by_hand_is_no_obstacle(repo, tmp_path):
    git(repo.root, "checkout", "-q", "-b", "mine")
    linked = tmp_path / "home" / "linked"
    git(repo.root, "worktree", "add", "-q", str(linked), "main")
    subprocess.run(["rm", "-rf", str(linked)], check=True)
    await repo.worked("echo x >x")

    await repo.landed(await repo.integrated())

    assert git(repo.root, "show", "main:x") == "x"


BUSY = {
    "changed": ("echo unsaved >a.txt", "a.txt"),
    "staged": ("echo staged >s; git add s", "uncommitted changes: s"),
    "deleted": ("rm a.txt", "a.txt"),
    "untracked in the way": ("echo mine >x", "x"),
    "ignored in the way": ("echo x >.git/info/exclude; echo mine >x", "x"),
    "lock": ("touch .git/index.lock", "index.lock"),
    "merge": ("git rev-parse HEAD >.git/MERGE_HEAD", "a merge is in progress"),
    "cherry-pick": ("git rev-parse HEAD >.git/CHERRY_PICK_HEAD", "cherry-pick"),
    "bisect": ("touch .git/BISECT_LOG", "bisect"),
    "rebase": (
        "git checkout -q --detach; mkdir .git/rebase-merge; cd .git/rebase-merge;"  # noqa: ISC004
        " echo refs/heads/main >head-name",
        "rebased",
    ),
}


@pytest.mark.parametrize("what", BUSY)
async def test_b17_a_checkout_that_is_in_use_is_never_touched(repo, what):
    """B17: nobody's checked-out, dirty tree is ever touched: the merge waits and says so."""
    script, named = BUSY[what]
    await repo.worked("echo x >x; echo two >>a.txt")
    made = await repo.integrated()
    subprocess.run(["sh", "-c", script], cwd=repo.root, check=True)
    before = files_of(repo.root)

    result = await repo.workspaces.land("main", made.tip, made.commit)

    assert isinstance(result, Failed)
    assert result.kind is FailureKind.BUSY
    assert str(repo.root) in result.message
    assert named in result.message
    assert git(repo.root, "rev-parse", "main") == made.tip
    assert files_of(repo.root) == before


async def test_b17_untracked_files_elsewhere_are_no_obstacle(repo):
    await repo.worked("echo x >x")
    (repo.root / "notes.txt").write_text("mine")

    await repo.landed(await repo.integrated())

    assert (repo.root / "notes.txt").read_text() == "mine"


async def test_b17_a_branch_checked_out_twice_is_left_alone(repo, tmp_path):
    git(repo.root, "worktree", "add", "-q", "-f", str(tmp_path / "home" / "linked"), "main")
    await repo.worked("echo x >x")
    made = await repo.integrated()

    result = await repo.workspaces.land("main", made.tip, made.commit)

    assert isinstance(result, Failed)
    assert result.kind is FailureKind.BUSY


async def test_b17_a_branch_that_moved_meanwhile_is_told(repo):
    await repo.worked("echo x >x")
    made = await repo.integrated()
    moved = commit(repo.root, b_txt="b\n")

    result = await repo.workspaces.land("main", made.tip, made.commit)

    assert isinstance(result, Failed)
    assert result.kind is FailureKind.MOVED
    assert git(repo.root, "rev-parse", "main") == moved


async def test_q16_landing_and_merging_twice_is_the_same_as_once(repo):
    """Q16: 0 merged twice."""
    await repo.worked("echo x >x")
    made = await repo.integrated()
    await repo.landed(made)
    after = commit(repo.root, b_txt="b\n")

    again = await repo.landed(made)
    nothing = await repo.integrated()

    assert again == Landed(commit=made.commit)
    assert nothing == Integrated(
        tip=after, commit=after, tree=git(repo.root, "rev-parse", "main^{tree}")
    )
    assert git(repo.root, "rev-list", "--merges", "--count", "main") == "1"


async def test_q16_a_landing_killed_between_tree_and_branch_is_finished(repo):
    """Q16: git was killed after it wrote the files and before it moved the branch."""
    await repo.worked("echo x >x; echo two >>a.txt")
    made = await repo.integrated()
    git(repo.root, "read-tree", "-m", "-u", made.tip, made.commit)

    await repo.landed(made)

    assert state(repo.root)[:2] == (made.commit, "")


async def test_b17_a_conflict_names_the_files_and_the_commit(repo):
    await repo.worked("echo theirs >a.txt; echo new >n.txt")
    tip = commit(repo.root, a_txt="ours\n", n_txt="other\n")

    result = await repo.workspaces.integrate("w", "main", "m", "run")

    assert result == Failed(
        kind=FailureKind.CONFLICT, message=f"a.txt\nn.txt\nwith main at {tip[:10]}"
    )
    assert git(repo.root, "for-each-ref", "refs/allstop/merge") == ""


async def test_b17_work_without_a_common_history_is_refused(repo):
    await repo.worked("git checkout -q --orphan new; git rm -rqf .; echo x >x")

    result = await repo.workspaces.integrate("w", "main", "m", "run")

    assert isinstance(result, Failed)
    assert "unrelated histories" in result.message


async def test_b17_the_person_is_who_merges_where_git_knows_them(repo):
    await repo.worked("echo x >x")
    git(repo.root, "config", "user.name", "Ada")
    git(repo.root, "config", "user.email", "ada@example.invalid")

    made = await repo.integrated()

    who = git(repo.root, "log", "-1", "--format=%an <%ae> %cn", made.commit)
    assert who == "Ada <ada@example.invalid> Ada"


async def test_b17_the_repositorys_own_hooks_do_not_run_on_the_host(repo, tmp_path):
    """K15 for the user's checkout: hooks, fsmonitor and the like are off."""
    canary = tmp_path / "canary"
    for name in (
        "post-merge",
        "pre-merge-commit",
        "post-checkout",
        "reference-transaction",
        "post-index-change",
    ):
        hook = repo.root / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
        hook.chmod(0o755)
    await repo.worked("echo x >x")

    made = await repo.integrated()
    await repo.landed(made)
    await repo.workspaces.revert(made.commit, "main", "Take it back")

    assert not canary.exists()


# --- taking back ---


async def test_b18_a_merge_is_taken_out_in_a_new_commit(repo):
    """B18: rollback of a merged task reverts its commits in a new commit."""
    await repo.worked("echo x >x; echo two >>a.txt; git add -A; git commit -qm 1; echo y >y")
    made = await repo.integrated()
    await repo.landed(made)
    tip = commit(repo.root, b_txt="b\n")

    reverted = await repo.workspaces.revert(made.commit, "main", "Take w back")
    assert isinstance(reverted, Integrated)
    await repo.landed(reverted)

    assert git(repo.root, "rev-list", "--parents", "-1", "main").split()[1:] == [tip]
    assert git(repo.root, "ls-files").split() == ["a.txt", "b.txt"]
    assert (repo.root / "a.txt").read_text() == "one\n"


async def test_b18_taking_it_out_twice_is_the_same_as_once(repo):
    await repo.worked("echo x >x")
    made = await repo.integrated()
    await repo.landed(made)
    first = await repo.workspaces.revert(made.commit, "main", "m")
    await repo.landed(first)

    second = await repo.workspaces.revert(made.commit, "main", "m")
    again = await repo.landed(first)

    assert (second.tip, second.commit) == (first.commit, first.commit)
    assert again.commit == first.commit


async def test_b18_what_was_never_merged_is_not_taken_out(repo):
    await repo.worked("echo x >x")
    made = await repo.integrated()

    result = await repo.workspaces.revert(made.commit, "main", "m")

    assert result.commit == result.tip == made.tip


async def test_b18_later_work_on_the_same_lines_is_a_conflict(repo):
    await repo.worked("echo two >a.txt")
    made = await repo.integrated()
    await repo.landed(made)
    commit(repo.root, a_txt="three\n")

    result = await repo.workspaces.revert(made.commit, "main", "m")

    assert isinstance(result, Failed)
    assert result.kind is FailureKind.CONFLICT
    assert result.message.startswith("a.txt\n")


@pytest.mark.parametrize("what", ["nowhere", "-x", "a b", "HEAD\nHEAD"])
async def test_b18_a_commit_that_is_not_there_is_a_clear_failure(repo, what):
    result = await repo.workspaces.revert(what, "main", "m")

    assert isinstance(result, Failed)


async def test_b18_the_first_commit_has_nothing_before_it(repo):
    result = await repo.workspaces.revert("main", "main", "m")

    assert isinstance(result, Failed)
    assert "first commit" in result.message


# --- words ---


@pytest.mark.parametrize(
    ("message", "whole"),
    [
        ("Add x", "Add x\n\nT: 1\n"),
        ("Add x\n\nWhy: so", "Add x\n\nWhy: so\nT: 1\n"),
        ("Add x\n\nSigned-off-by: me\nCo: you\n", "Add x\n\nSigned-off-by: me\nCo: you\nT: 1\n"),
        ("fix: x", "fix: x\n\nT: 1\n"),
        ("", "T: 1\n"),
    ],
)
def test_a_trailer_is_the_last_paragraph(message, whole):
    assert with_trailer(message, "T: 1") == whole


def test_a_git_that_is_too_old_is_told():
    with pytest.raises(GitError, match=r"git 2\.37") as caught:
        require_merge_tree((2, 37))

    assert caught.value.hint == "install git 2.38 or newer"


REVERTED = {
    "by us": "rollback",
    "by hand": "git revert --no-edit -m 1 HEAD",
}


async def taken_out(repo, made, how):
    if how == "rollback":
        await repo.landed(await repo.workspaces.revert(made.commit, "main", "Take it back"))
    else:
        git(repo.root, *how.split()[1:])


@pytest.mark.parametrize("how", REVERTED)
async def test_b18_work_that_was_taken_out_is_not_taken_for_merged(repo, how):
    """B18: its commits are in the branch's history, what they did is not."""
    await repo.worked("echo x >x")
    await repo.landed(first := await repo.integrated())
    await taken_out(repo, first, REVERTED[how])
    commit(repo.root, b_txt="b\n")

    made = await repo.integrated()
    await repo.landed(made)

    assert made.commit != made.tip
    assert git(repo.root, "ls-tree", "--name-only", "main").split() == ["a.txt", "b.txt", "x"]
    again = await repo.integrated()
    assert again.commit == again.tip, "now it is there"


async def test_b18_work_that_goes_on_after_it_was_taken_out_lands_whole(repo):
    await repo.worked("echo x >x")
    await repo.landed(first := await repo.integrated())
    await taken_out(repo, first, "rollback")
    await repo.agent("echo y >y")
    await repo.kept()

    await repo.landed(await repo.integrated())

    assert git(repo.root, "ls-tree", "--name-only", "main").split() == ["a.txt", "x", "y"]


async def test_b18_a_workspace_begins_anew_from_the_tip_after_a_rollback(repo):
    await repo.worked("echo x >x")
    await repo.landed(first := await repo.integrated())
    await taken_out(repo, first, "rollback")

    opened = await repo.opened()

    assert opened.base == git(repo.root, "rev-parse", "main")
    assert opened.conflicts == ()
    assert (await repo.agent("ls"))[1].split() == ["a.txt"]
    assert (await repo.kept()).files == 0


async def test_b17_work_that_a_person_merged_is_merged(repo):
    change = await repo.worked("echo x >x")
    git(repo.root, "merge", "-q", "--no-ff", "--no-edit", change.head)
    commit(repo.root, x="more\n")

    made = await repo.integrated()

    assert made.commit == made.tip == git(repo.root, "rev-parse", "main")
