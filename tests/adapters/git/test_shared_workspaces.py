"""Machines that share their work by branches of one remote: real git, real boxes."""

import pytest

from adapters.git.workspace_fixture import OPENED, RepositoryFixture, commit, git
from allstop.adapters.git.repository.repository import Repository
from allstop.adapters.git.shared.mirror import Mirror, PushEnd
from allstop.adapters.git.shared.shared_workspaces import SharedWorkspaces
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.core.moves import Failed, FailureKind, Landed
from allstop.ports import Box
from support.repositories import make_repository

ADD = "echo {word} >>{word}.txt; git add -A; git commit -qm {word}"


@pytest.fixture
def remote(tmp_path):
    first = tmp_path / "first"
    first.mkdir()
    make_repository(first, "one\n")
    git(tmp_path, "clone", "-q", "--bare", str(first), "remote.git")
    return tmp_path / "remote.git"


@pytest.fixture
async def machine(tmp_path, remote):
    """Makes a machine with a clone and a mirror of the remote."""

    async def make(name):
        root = tmp_path / name / "project"
        root.parent.mkdir(mode=0o700)
        git(tmp_path, "clone", "-q", str(remote), str(root))
        folder = root / ".allstop" / "workspaces"
        folder.mkdir(parents=True)
        mirror = Mirror(root / ".allstop" / "mirror", str(remote), str(remote), pytest.fail)
        await mirror.open()
        repository = Repository(root, mirror.folder)
        launcher = await make_launcher("auto", tmp_path / name / "live")
        workspaces = SharedWorkspaces(
            repository,
            folder,
            mirror=mirror,
            is_worker=True,
            launcher=launcher,
            box=Box(home=""),
            stores=await repository.object_stores(),
        )
        made = RepositoryFixture(root, launcher, workspaces)
        made.mirror = mirror
        OPENED.append(made)
        return made

    return make


async def test_z2_work_is_pushed_after_each_turn_and_continued_elsewhere(machine, remote):
    one, two = await machine("one"), await machine("two")

    first = await one.worked(ADD.format(word="first"))
    assert git(remote, "rev-parse", "allstop/w") == first.head
    second = await two.worked(ADD.format(word="second"))
    assert (two.tree() / "first.txt").exists()
    third = await one.worked(ADD.format(word="third"))  # over what is left there from before

    assert git(remote, "rev-parse", "allstop/w") == third.head
    assert git(remote, "rev-list", "--count", f"main..{third.head}") == "3"
    assert git(remote, "merge-base", second.head, third.head) == second.head


async def test_z2_what_a_machine_could_not_push_is_kept_there(machine, remote):
    one, two = await machine("one"), await machine("two")
    await one.worked(ADD.format(word="first"))
    await one.agent(ADD.format(word="unpushed"))
    lost = await super(SharedWorkspaces, one.workspaces).keep("w", "run")  # it died before the push
    accepted = await two.worked(ADD.format(word="second"))

    merged = await one.integrated()

    parents = git(one.mirror.folder, "rev-parse", f"{merged.commit}^1", f"{merged.commit}^2")
    assert parents.split()[1] == accepted.head
    backups = git(
        one.mirror.folder, "for-each-ref", "--format=%(objectname)", "refs/allstop/backup"
    )
    assert backups == lost.head


async def test_z6_a_merge_moves_the_branch_of_the_remote_and_removes_that_of_the_task(
    machine, remote
):
    one, two = await machine("one"), await machine("two")
    await one.worked(ADD.format(word="first"))
    made = await two.integrated()

    await two.landed(made)

    assert git(remote, "rev-parse", "main") == made.commit
    assert git(remote, "branch", "--format=%(refname:short)") == "main"
    again = await two.workspaces.land("main", made.tip, made.commit)  # it died before it wrote that
    assert again == Landed(commit=made.commit)
    # and one that never made the merge finds it done
    assert await one.workspaces.land("main", made.tip, made.commit) == Landed(commit=made.commit)


async def test_z6_of_two_mergers_one_lands_and_the_other_begins_again(machine, remote):
    one, two = await machine("one"), await machine("two")
    await one.worked(ADD.format(word="first"), "a")
    await two.worked(ADD.format(word="second"), "b")
    first, second = await one.integrated("a"), await two.integrated("b")

    await one.landed(first)
    refused = await two.workspaces.land("main", second.tip, second.commit)

    assert isinstance(refused, Failed)
    assert refused.kind is FailureKind.MOVED
    await two.landed(await two.integrated("b"))
    assert git(remote, "ls-tree", "--name-only", "main").split() == [
        *("a.txt", "first.txt", "second.txt")
    ]


async def test_z6_a_merge_commit_that_was_lost_with_its_machine_is_made_again(machine, remote):
    one, two = await machine("one"), await machine("two")
    await one.worked(ADD.format(word="first"))
    made = await one.integrated()

    landing = await two.workspaces.land("main", made.tip, made.commit)
    checking = await two.workspaces.candidate("w", "run", commit=made.commit)

    for lost in (landing, checking):
        assert isinstance(lost, Failed)
        assert lost.kind is FailureKind.MOVED
    await two.landed(await two.integrated())


async def test_z3_a_push_from_an_old_value_is_refused(machine, remote):
    one, two = await machine("one"), await machine("two")
    first = await one.worked(ADD.format(word="first"))
    await two.worked(ADD.format(word="second"))

    late = await one.mirror.push("refs/heads/allstop/w", first.head, first.head)
    older = await one.mirror.push("refs/heads/main", first.head, first.head)

    assert [late.end, older.end] == [PushEnd.MOVED, PushEnd.MOVED]


async def test_z5_a_remote_that_is_gone_for_a_while_loses_nothing(machine, remote, tmp_path):
    one = await machine("one")
    told = []

    def come_back(text):
        told.append(text)
        (tmp_path / "away.git").rename(remote)

    await one.opened()
    await one.agent(ADD.format(word="first"))
    one.mirror._note = come_back
    remote.rename(tmp_path / "away.git")

    kept = await one.kept()

    assert "the shared remote doesn't answer" in told[0]
    assert git(remote, "rev-parse", "allstop/w") == kept.head


async def test_z6_a_branch_that_the_remote_protects_is_left_to_a_person(machine, remote):
    one = await machine("one")
    await one.worked(ADD.format(word="first"))
    hook = remote / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\n[ "$1" != refs/heads/main ]\n')
    hook.chmod(0o755)

    made = await one.integrated()
    refused = await one.workspaces.land("main", made.tip, made.commit)

    assert isinstance(refused, Failed)
    assert refused.kind is FailureKind.BUSY
    assert "refuses to move main" in refused.message


async def test_a_commit_of_another_person_on_the_target_is_merged_with(machine, remote, tmp_path):
    one = await machine("one")
    await one.worked(ADD.format(word="first"))
    theirs = tmp_path / "theirs"
    git(tmp_path, "clone", "-q", str(remote), str(theirs))
    commit(theirs, more_txt="more\n")
    git(theirs, "push", "-q", "origin", "main")

    await one.landed(await one.integrated())

    assert "more.txt" in git(remote, "ls-tree", "--name-only", "main")
