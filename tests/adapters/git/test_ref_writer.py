"""The ref writer: writes Allstop's refs, reports failures, and survives the end of its git process."""

import os
import signal
from pathlib import Path

import anyio
import pytest

from adapters.git.workspace_fixture import commit, git
from allstop.adapters.git.repository.git_processes import MAX_BYTES
from allstop.adapters.git.repository.repository import GitError, Repository

KEPT = "refs/allstop/tip"


@pytest.fixture
def repository(root):
    repository = Repository(root)
    yield repository
    repository.close()


@pytest.fixture
def writing(new_children):
    """A function that gives the processes that stay to write."""

    def writes(pid):
        return b"update-ref" in Path(f"/proc/{pid}/cmdline").read_bytes()

    return lambda: [pid for pid in new_children() if writes(pid)]


def refs(root):
    told = git(root, "for-each-ref", "--format=%(refname) %(objectname)", "refs/allstop")
    return dict(line.split() for line in told.splitlines())


async def test_q5_many_refs_are_written_by_one_program(root, repository, writing):
    first, second = git(root, "rev-parse", "HEAD"), commit(root, b_txt="b\n")

    await repository.set_refs(f"update {KEPT}/a {first}")
    await repository.set_refs(f"update {KEPT}/a {second} {first}", f"create {KEPT}/b {first}")
    await repository.set_refs(f"delete {KEPT}/b {first}")

    assert refs(root) == {f"{KEPT}/a": second}
    assert len(writing()) == 1
    assert len(git(root, "reflog", "show", f"{KEPT}/a").splitlines()) == 2


async def test_all_are_written_or_none(root, repository):
    head = git(root, "rev-parse", "HEAD")
    await repository.set_refs(f"update {KEPT}/a {head}")

    with pytest.raises(GitError, match="reference already exists"):
        await repository.set_refs(f"update {KEPT}/b {head}", f"create {KEPT}/a {head}")

    assert refs(root) == {f"{KEPT}/a": head}
    await repository.set_refs(f"update {KEPT}/b {head}")
    assert refs(root) == {f"{KEPT}/a": head, f"{KEPT}/b": head}


async def test_one_that_was_killed_is_not_missed(root, repository, writing):
    head = git(root, "rev-parse", "HEAD")
    await repository.set_refs(f"update {KEPT}/a {head}")
    (pid,) = writing()
    os.kill(pid, signal.SIGKILL)

    await repository.set_refs(f"update {KEPT}/b {head}")

    assert refs(root) == {f"{KEPT}/a": head, f"{KEPT}/b": head}


async def test_it_is_never_cut_off(root, repository):
    """Git would leave a lock behind."""
    head = git(root, "rev-parse", "HEAD")

    with anyio.CancelScope() as scope:
        scope.cancel()
        await repository.set_refs(f"update {KEPT}/a {head}")

    assert refs(root) == {f"{KEPT}/a": head}


async def test_refs_at_once_are_written_one_after_the_other(root, repository, writing):
    head = git(root, "rev-parse", "HEAD")

    async with anyio.create_task_group() as group:
        for number in range(40):
            group.start_soon(repository.set_refs, f"update {KEPT}/{number} {head}")

    assert refs(root) == {f"{KEPT}/{number}": head for number in range(40)}
    assert len(writing()) == 1


async def test_many_at_once_are_written_by_another(root, repository, writing):
    head = git(root, "rev-parse", "HEAD")
    lines = [f"update {KEPT}/{number} {head}" for number in range(100)]
    assert sum(map(len, lines)) > MAX_BYTES

    await repository.set_refs(*lines)

    assert len(refs(root)) == 100
    assert writing() == []


async def test_branches_are_written_with_the_time_of_now(root, repository, writing):
    """One that stays would note the time at which it began."""
    head = git(root, "rev-parse", "HEAD")

    await repository.set_refs(f"update refs/heads/new {head}")

    assert git(root, "rev-parse", "new") == head
    assert writing() == []


async def test_none_is_left_when_it_is_closed(root, repository, writing):
    head = git(root, "rev-parse", "HEAD")
    await repository.set_refs(f"update {KEPT}/a {head}")

    repository.close()

    assert writing() == []
    assert not list((root / ".git").rglob("*.lock"))
    await repository.set_refs(f"update {KEPT}/b {head}")
    assert len(writing()) == 1


async def test_one_that_does_not_end_is_killed(root, repository, writing):
    head = git(root, "rev-parse", "HEAD")
    await repository.set_refs(f"update {KEPT}/a {head}")
    (pid,) = writing()
    os.kill(pid, signal.SIGSTOP)

    repository.close()

    assert writing() == []
