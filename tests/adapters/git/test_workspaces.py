"""Workspaces: shared clones that only boxed programs touch."""

import os
import subprocess

import pytest

from adapters.git.workspace_fixture import commit, git, open_repo
from allstop.core.moves import Failed, FailureKind


async def test_work_is_done_in_a_clone_at_the_repositorys_own_path_and_comes_home(repo):
    await repo.opened()

    code, said = await repo.agent(
        "pwd; git log --oneline | wc -l; echo two >>a.txt; echo new >b.txt"
    )
    change = await repo.kept()
    delivered = await repo.delivered()

    assert (code, said.split()) == (0, [str(repo.root), "1"])
    assert (change.commits, change.files) == (1, 2)
    assert git(repo.root, "show", "work:a.txt") == "one\ntwo"
    assert delivered.commit == git(repo.root, "rev-parse", "work") == change.head
    assert (repo.root / "a.txt").read_text() == "one\n"


async def test_a_workspace_is_taken_up_as_it_was_left(repo):
    first = await repo.opened()
    await repo.agent("echo half >half.txt")
    git(repo.root, "commit", "-q", "--allow-empty", "-m", "main has moved on")

    again = await repo.opened()
    _, said = await repo.agent("cat half.txt")

    assert again == first
    assert said == "half\n"


async def test_q19_locks_of_a_killed_git_are_gone_when_it_is_taken_up_again(repo):
    """Q19: index.lock and its kind, left by a turn that was cut off."""
    await repo.opened()
    await repo.agent("touch .git/index.lock .git/HEAD.lock .git/refs/heads/x.lock")

    await repo.opened()
    code, said = await repo.agent("echo x >x && git add x && git commit -qm x && git branch x")

    assert (code, said) == (0, "")


async def test_one_that_was_never_finished_is_made_again(repo):
    await repo.opened()
    tree = repo.root / ".allstop" / "workspaces" / "w"
    (tree / "meta.json").unlink()

    await repo.opened()

    assert (await repo.agent("git status --short"))[0] == 0


async def test_delivering_twice_is_the_same_as_once(repo):
    await repo.opened()
    await repo.agent("echo x >x")
    await repo.kept()

    first = await repo.delivered()
    second = await repo.delivered()

    assert first == second


async def test_a_branch_with_other_commits_is_never_overwritten(repo):
    await repo.opened()
    git(repo.root, "branch", "work")
    git(repo.root, "commit", "-q", "--allow-empty", "-m", "elsewhere")
    git(repo.root, "branch", "-f", "work", "main")
    await repo.agent("echo x >x")
    await repo.kept()

    result = await repo.workspaces.deliver("w", "work", "run")

    assert isinstance(result, Failed)
    assert result.kind is FailureKind.CONFLICT
    assert git(repo.root, "rev-parse", "work") == git(repo.root, "rev-parse", "main")


async def test_a_branch_that_is_not_there_is_a_clear_failure(repo):
    result = await repo.workspaces.open("w", "nowhere", "run")

    assert result == Failed(
        kind=FailureKind.BAD_REQUEST,
        message="branch 'nowhere' doesn't exist",
    )


async def test_the_base_survives_the_persons_own_tidying(repo):
    opened = await repo.opened()
    git(repo.root, "commit", "-q", "--amend", "-m", "rewritten")
    git(repo.root, "reflog", "expire", "--expire=now", "--all")
    git(repo.root, "gc", "-q", "--prune=now")

    await repo.agent("git fsck >/dev/null && echo x >x")

    assert (await repo.kept()).files == 1
    assert git(repo.root, "cat-file", "-t", opened.base) == "commit"


HOSTILE = {
    "hooks": "printf '#!/bin/sh\\ntouch {canary}\\n' >.git/hooks/post-commit;"
    " cp .git/hooks/post-commit .git/hooks/pre-commit; chmod +x .git/hooks/*",
    "fsmonitor": "git config core.fsmonitor 'touch {canary}'",
    "external diff": "git config diff.external 'touch {canary}'",
    "filter": "git config filter.x.clean 'touch {canary}; cat'; git config filter.x.smudge 'touch {canary}; cat';"
    " echo '* filter=x' >.gitattributes",
    "ssh command": "git config core.sshCommand 'touch {canary}'",
    "upload pack": "git config uploadpack.packObjectsHook 'touch {canary}'",
    "alias": "git config alias.bundle '!touch {canary}'",
    "hooks path": "mkdir h; printf '#!/bin/sh\\ntouch {canary}\\n' >h/post-commit; chmod +x h/*;"
    " git config core.hooksPath h",
}


@pytest.mark.parametrize("trick", HOSTILE)
async def test_k15_the_host_runs_nothing_that_an_agent_planted(repo, tmp_path, trick):
    """K15: whatever runs, runs in the box, where the canary's folder isn't."""
    canary = tmp_path / "canary"
    await repo.opened()
    await repo.agent(HOSTILE[trick].format(canary=canary) + "; echo x >x")

    await repo.kept()
    await repo.workspaces.candidate("w", "run")
    await repo.delivered()

    assert not canary.exists()


async def test_k15_a_git_file_that_points_elsewhere_brings_nothing_home(repo, tmp_path):
    """K15: another repository of the person is not imported."""
    other = tmp_path / "home" / "secret"
    other.mkdir()
    git(other, "init", "-q", "-b", "main", ".")
    (other / "secret.txt").write_text("s3cret")
    git(other, "add", "-A")
    git(other, "commit", "-q", "-m", "secret")
    await repo.opened()
    await repo.agent(f"rm -rf .git; echo 'gitdir: {other}/.git' >.git")

    kept = await repo.workspaces.keep("w", "run")
    delivered = await repo.workspaces.deliver("w", "work", "run")

    assert isinstance(kept, Failed)
    assert isinstance(delivered, Failed)
    assert (
        "s3cret"
        not in subprocess.run(
            ["git", "grep", "s3cret", "--all-match"], cwd=repo.root, capture_output=True, text=True
        ).stdout
    )


DAMAGE = {
    "no git folder": "rm -rf .git",
    "no tree at all": "rm -rf ./* .git",
    "git folder is a file": "rm -rf .git; echo x >.git",
    "broken head": "echo rubbish >.git/HEAD",
    "no objects": "rm -rf .git/objects/info/alternates",
}


@pytest.mark.parametrize("damage", DAMAGE)
async def test_a_damaged_workspace_is_told_and_hurts_nobody_else(repo, damage):
    await repo.opened()
    await repo.agent(DAMAGE[damage])

    kept = await repo.workspaces.keep("w", "run")

    assert isinstance(kept, Failed)
    assert "the workspace is damaged" in kept.message
    assert git(repo.root, "fsck", "--no-dangling") == ""
    await repo.opened("other")


async def test_locks_that_a_killed_git_left_behind_are_no_obstacle(repo):
    await repo.opened()
    await repo.agent("echo x >x; touch .git/index.lock")

    assert (await repo.kept()).files == 1


async def test_work_on_another_branch_or_a_detached_head_is_work_too(repo):
    await repo.opened()
    await repo.agent(
        "git checkout -q -b mine; echo x >x; git add x; git commit -qm x; git checkout -q --detach"
    )

    change = await repo.kept()
    await repo.delivered()

    assert change.files == 1
    assert git(repo.root, "ls-tree", "--name-only", "work").split() == ["a.txt", "x"]


async def test_k19_checks_see_a_clean_clone_of_the_commit_only(repo):
    """K19: what the agent left lying about, ignored files and caches too, isn't there."""
    await repo.opened()
    await repo.agent("echo secret-cache >cache; echo cache >.gitignore; echo x >x; echo y >~/left")
    await repo.kept()

    candidate = await repo.candidate()
    _, said = await repo.in_box(candidate.box, "ls -A; ls -A ~; git status --short")

    assert said.split() == [".git", ".gitignore", "a.txt", "x"]


async def test_objects_the_box_cannot_read_are_sent_along(root, tmp_path):
    """A repository written under umask 077, as root."""
    for folder, _, files in os.walk(root / ".git" / "objects"):
        for name in files:
            os.chmod(os.path.join(folder, name), 0o400)
        os.chmod(folder, 0o700)
    repo = await open_repo(root, tmp_path)

    await repo.opened()
    await repo.agent("echo x >x")

    assert (await repo.kept()).files == 1
    assert (await repo.delivered()).branch == "work"


READ_ALL = (
    "git cat-file -t {blob}; git cat-file -t {other}; git cat-file -t {base}; ls /run/allstop"
)


async def with_hidden_objects(root):
    """A repository with a dangling blob and another branch; and these objects."""
    blob = git(root, "hash-object", "-w", "--stdin", text="dangling secret\n")
    git(root, "checkout", "-qb", "other")
    other = commit(root, secret_txt="secret\n")
    git(root, "checkout", "-q", "main")
    return {"blob": blob, "other": other, "base": git(root, "rev-parse", "main")}


async def test_x8_k14_with_the_history_of_the_branch_a_box_has_no_other_objects(root, tmp_path):
    """K14: in the workspace and in the gate's clone; work, conflicts and merges go on as ever."""
    hidden = await with_hidden_objects(root)
    repo = await open_repo(root, tmp_path, whole_history=False)
    await repo.opened()

    _, in_work = await repo.agent(READ_ALL.format(**hidden))
    await repo.agent("echo mine >a.txt; git commit -qam mine")
    await repo.kept()
    _, in_gate = await repo.in_box((await repo.candidate()).box, READ_ALL.format(**hidden))
    onto = commit(root, a_txt="theirs\n")
    opened = await repo.opened(onto=onto)
    await repo.agent("echo both >a.txt; git commit -qam both")
    await repo.kept()
    landed = await repo.landed(await repo.integrated())

    for said in (in_work, in_gate):
        assert said.splitlines().count("commit") == 1
        assert "blob" not in said.split()
        assert "objects" not in said.split()
    assert opened.conflicts == ("a.txt",)
    assert git(root, "show", f"{landed.commit}:a.txt") == "both"


async def test_x8_a_workspace_from_before_goes_on_with_the_objects_it_borrows(root, tmp_path):
    before = await open_repo(root, tmp_path)
    await before.worked("echo x >x")
    before.workspaces.close()
    repo = await open_repo(root, tmp_path, whole_history=False)

    await repo.opened()
    await repo.agent("git log -1 && echo y >y")

    assert (await repo.kept()).files == 2


async def test_a_repository_that_borrows_objects_itself(root, tmp_path):
    borrower = tmp_path / "home" / "borrower"
    git(root.parent, "clone", "-q", "--shared", str(root), str(borrower))
    repo = await open_repo(borrower, tmp_path)

    await repo.opened()
    await repo.agent("echo x >x; git log >/dev/null")

    assert (await repo.kept()).files == 1
    await repo.delivered()


async def test_k14_linked_folders_can_be_read_not_changed_and_are_no_work(root, tmp_path):
    """K14: [workspace] link paths are there, read-only."""
    (root / "node_modules").mkdir()
    (root / "node_modules" / "lib.js").write_text("lib")
    (root / "node_modules").chmod(0o755)
    repo = await open_repo(root, tmp_path, links=("node_modules", ".venv"))
    await repo.opened()

    _, said = await repo.agent(
        "cat node_modules/lib.js; echo evil >node_modules/lib.js || echo kept; git status --short"
    )
    await repo.agent("echo x >x")
    change = await repo.kept()

    assert "lib" in said
    assert "kept" in said
    assert (root / "node_modules" / "lib.js").read_text() == "lib"
    assert change.files == 1


async def test_k14_vite_can_write_its_settings_beside_the_linked_packages(root, tmp_path):
    """Vitest with a settings file fails if it can't; nothing of it reaches the checkout."""
    (root / "node_modules" / "vite").mkdir(parents=True)
    (root / "node_modules").chmod(0o755)
    repo = await open_repo(root, tmp_path, links=("node_modules",))
    await repo.opened()

    _, said = await repo.agent(
        "mkdir -p node_modules/.vite-temp && echo 1 >node_modules/.vite-temp/x && echo written;"
        "touch node_modules/y || echo kept; git status --short"
    )

    assert "written" in said
    assert "kept" in said
    assert "node_modules" not in said.split("kept")[1]
    assert list((root / "node_modules" / ".vite-temp").iterdir()) == []


async def test_a_tree_with_closed_folders_can_be_removed(repo):
    await repo.opened()
    await repo.agent("mkdir -p deep/er; touch deep/er/f; chmod 000 deep/er deep; ln -s / out")

    repo.workspaces.remove_folders("w")

    assert not (repo.root / ".allstop" / "workspaces" / "w").exists()
    assert os.path.exists("/usr")
