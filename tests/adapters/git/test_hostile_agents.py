"""Hostile agents: whatever they do to their clone, the host accepts only valid commits."""

import os
import tracemalloc

import pytest

from adapters.git.workspace_fixture import commit, git, open_repo
from allstop.core.moves import Change, Failed

FORGED = {
    "a git folder in a tree": "blob=$(echo x | git hash-object -w --stdin);"
    " tree=$(printf '100644 blob %s\\tconfig\\n' $blob | git mktree);"
    " printf '040000 tree %s\\t.git\\n' $tree | git mktree",
    "a way up in a tree": "blob=$(echo x | git hash-object -w --stdin);"
    " tree=$(printf '100644 blob %s\\tx\\n' $blob | git mktree);"
    " printf '040000 tree %s\\t..\\n' $tree | git mktree",
    "modules that are a link": "blob=$(printf /etc/passwd | git hash-object -w --stdin);"
    " printf '120000 blob %s\\t.gitmodules\\n' $blob | git mktree",
    "a blob that isn't there": "printf '100644 blob %040d\\tx\\n' 1 | git mktree --missing",
}


@pytest.mark.parametrize("what", FORGED)
async def test_k15_forged_objects_are_refused_one_by_one(repo, what):
    """K15: all that comes from a workspace is checked before it counts."""
    sound = await repo.worked("echo x >x")
    await repo.agent(
        f"tree=$({FORGED[what]}); commit=$(git commit-tree $tree -p HEAD -m forged);"
        " git update-ref HEAD $commit; git read-tree HEAD"
    )

    kept = await repo.workspaces.keep("w", "run")
    opened = await repo.opened()

    assert isinstance(kept, Failed)
    assert git(repo.root, "rev-parse", "refs/allstop/tip/w") == sound.head
    assert git(repo.root, "fsck", "--strict", "--no-dangling") == ""
    assert any("recreated" in note for note in opened.notes)
    assert (await repo.kept()).head == sound.head


async def test_k15_what_the_box_says_is_only_data(repo):
    """K15: a `git` of the agent's own, first on its PATH, can send anything."""
    await repo.worked("echo x >x")
    await repo.agent("git config core.pager 'touch evil'; git config alias.rev-parse '!echo evil'")

    assert isinstance(await repo.workspaces.keep("w", "run"), Change)


async def test_b6_a_head_elsewhere_is_what_counts(repo):
    """B6: the workspace's HEAD is the work, on whatever branch or none."""
    await repo.opened()
    await repo.agent("echo 1 >one; git add -A; git commit -qm one; git checkout -q -b other HEAD~1")
    await repo.agent("echo 2 >two")

    change = await repo.kept()

    assert git(repo.root, "ls-tree", "--name-only", change.head).split() == ["a.txt", "two"]


async def test_b6_history_that_is_rewritten_is_not_lost_at_home(repo):
    first = await repo.worked("echo x >x")
    await repo.agent("echo y >y; git add -A; git commit -q --amend -m amended")
    second = await repo.kept()

    git(repo.root, "gc", "-q", "--prune=now")

    assert second.head != first.head
    assert git(repo.root, "cat-file", "-t", first.head) == "commit"


async def test_b6_an_agent_that_does_nothing_has_no_work(repo):
    change = await repo.worked("true")

    assert (change.commits, change.files) == (0, 0)
    assert (await repo.integrated()).commit == git(repo.root, "rev-parse", "main")


async def test_b6_work_that_is_undone_again_is_no_work(repo):
    change = await repo.worked(
        "echo x >x; git add -A; git commit -qm x; git rm -qf x; git commit -qm y"
    )

    assert (change.commits, change.files) == (2, 0)


AWKWARD = {
    "an empty repository in it": "git init -q inner",
    "a repository in it": "git init -q inner; cd inner; git commit -q --allow-empty -m x",
    "a file nobody can read": "echo x >closed; chmod 000 closed",
    "a pipe": "mkfifo pipe",
    "a folder nobody can enter": "mkdir closed; touch closed/x; chmod 000 closed",
    "links": "ln -s / up; ln -s up down; ln -s loop loop",
    "names": "touch -- -rf '--help' \"$(printf 'a\\nb')\" ' ' '*' ':(exclude)x'",
}


@pytest.mark.parametrize("what", AWKWARD)
async def test_b6_what_can_be_committed_is(repo, what):
    change = await repo.worked(f"echo good >good; ({AWKWARD[what]})")

    assert git(repo.root, "show", f"{change.head}:good") == "good"
    assert git(repo.root, "fsck", "--no-dangling") == ""


async def test_b6_a_rebase_or_a_pick_in_the_middle_is_kept(repo):
    await repo.worked("echo 1 >a.txt")
    await repo.agent(
        "git checkout -q -b side HEAD~1; echo 2 >a.txt; git commit -qam 2; git cherry-pick - || true"
    )

    change = await repo.kept()

    assert git(repo.root, "cat-file", "-t", change.head) == "commit"


async def test_k15_a_link_in_the_place_of_a_mount_does_not_lead_out(root, tmp_path):
    """K14: folders that are shown can't be shown elsewhere."""
    os.makedirs(root / "web" / "node_modules")
    commit(root, web__a_txt="x\n")
    (root / "web" / "node_modules" / "lib").write_text("lib")
    repo = await open_repo(root, tmp_path, links=("web/node_modules",))
    await repo.worked("echo x >x")
    await repo.agent("mv web away; ln -s / web")

    opened = await repo.opened()

    assert any("recreated" in note for note in opened.notes)
    assert (await repo.agent("cat web/node_modules/lib x"))[1] == "libx\n"


async def test_big_work_comes_home_in_one_pack(repo):
    change = await repo.worked("mkdir d; for n in $(seq 300); do echo $n >d/$n; done")

    assert change.files == 300
    assert git(repo.root, "count-objects", "-v").count("packs: 1") == 1


OUR_OWN = {
    "a key of the server": "echo secret >.allstop/token",
    "a record of a living process": "mkdir .allstop/live; echo '{}' >.allstop/live/1",
    "a sibling's home": "mkdir -p .allstop/homes/other; echo evil >.allstop/homes/other/.bashrc",
    "a stop": "echo stop >.allstop/STOP",
    "in large letters": "git mv -k x y; mv .allstop .ALLSTOP; echo secret >.ALLSTOP/token",
    "a link in its place": "rmdir .allstop; ln -s /etc .allstop",
}


@pytest.mark.parametrize("what", OUR_OWN)
async def test_q21_nothing_is_planted_in_allstops_own_folder(repo, what):
    """Q21, K14: what an agent commits there would be merged into the folder that the host reads."""
    sound = await repo.worked("echo x >x")
    await repo.agent(f"mkdir .allstop; {OUR_OWN[what]}; git add -fA .; git commit -qm evil")

    kept = await repo.workspaces.keep("w", "run")
    opened = await repo.opened()

    assert isinstance(kept, Failed)
    assert "reserved for Allstop" in kept.message
    assert git(repo.root, "rev-parse", "refs/allstop/tip/w") == sound.head
    assert any("recreated" in note for note in opened.notes)
    assert (await repo.kept()).head == sound.head


async def test_k12_links_to_nowhere_are_told_by_the_first_of_them(repo):
    """K12: what is told of work is written down, and an agent can make a million of them."""
    await repo.opened()
    await repo.agent(
        "head=$(git rev-parse HEAD); i=0; while [ $i -lt 500 ]; do i=$((i+1));"
        ' printf "160000 commit %s\\tlink%04d\\n" $head $i; done >list; rm -f a.txt;'
        " tree=$(git mktree <list); rm list;"
        " git reset -q --hard $(git commit-tree $tree -p HEAD -m links)"
    )

    change = await repo.kept()

    assert change.files == 501
    assert change.loose == tuple(f"link{number:04}" for number in range(1, 21))


LARGE = 16 * 1024**2

GROWN = {
    ".gitattributes": f"{{ echo '*.bin filter=lfs'; head -c {LARGE} /dev/zero; }} >.gitattributes",
    ".gitmodules": 'i=0; while [ $i -lt 30 ]; do i=$((i+1)); printf "[submodule \\"%s\\"]\\n'
    f'path = a/%s\\n" $i $(head -c {LARGE // 30} /dev/zero | tr "\\0" x); done >.gitmodules;'
    " git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),a/b",
}


@pytest.mark.parametrize("name", GROWN)
async def test_k12_a_file_that_steers_git_is_not_read_however_large_it_is(repo, name):
    """K12: a few bytes of a pack may be any number of them in memory."""
    await repo.opened()
    await repo.agent(f"{GROWN[name]}; git add {name}; git commit -qm large")

    tracemalloc.start()
    try:
        change = await repo.kept()
        candidate = await repo.candidate()
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert candidate.commit == change.head
    assert peak < LARGE / 2
