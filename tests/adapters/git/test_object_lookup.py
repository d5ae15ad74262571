"""Object lookup: sees later commits, and survives the end of its git process."""

import gc
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import anyio
import pytest

from adapters.git.workspace_fixture import commit, git
from allstop.adapters.git.repository import git_processes
from allstop.adapters.git.repository.repository import GitError, Repository
from allstop.adapters.processes.proc import children_of, stat_of


@pytest.fixture
def repository(root):
    repository = Repository(root)
    yield repository
    repository.close()


def running(parent=None):
    """The processes that stay to answer."""
    found = children_of(parent or os.getpid())
    return [pid for pid in found if b"--batch-check" in Path(f"/proc/{pid}/cmdline").read_bytes()]


async def test_many_questions_are_answered_by_one_program(root, repository):
    head = git(root, "rev-parse", "HEAD")

    answers = [await repository.commit(name) for name in ("main", "nowhere", "HEAD", "a b", "")]

    assert answers == [head, None, head, None, None]
    assert len(running()) == 1


async def test_what_comes_later_is_known(root, repository):
    assert await repository.commit("more") is None

    loose = commit(root, b_txt="b\n")
    git(root, "branch", "more")
    assert await repository.commit("more") == loose

    git(root, "repack", "-adq")
    git(root, "pack-refs", "--all", "--prune")
    assert await repository.resolve("more", f"{loose}:b.txt") == (
        loose,
        git(root, "rev-parse", "HEAD:b.txt"),
    )

    packed = commit(root, c_txt="c\n")
    git(root, "branch", "-f", "more")
    git(root, "repack", "-adq")
    assert await repository.commit("more") == packed

    git(root, "branch", "-D", "more")
    assert await repository.commit("more") is None
    assert len(running()) == 1


async def test_one_that_was_killed_is_replaced(root, repository):
    head = await repository.commit("main")
    (pid,) = running()
    os.kill(pid, signal.SIGKILL)

    assert await repository.commit("main") == head
    assert running() != [pid]


async def test_an_answer_that_nobody_waited_for_is_not_taken_for_another(root, repository):
    head = await repository.commit("main")
    (pid,) = running()
    os.kill(pid, signal.SIGSTOP)

    with anyio.move_on_after(0.05) as scope:
        await repository.commit("nowhere")

    assert scope.cancelled_caught
    assert stat_of(pid) is None
    assert await repository.commit("main") == head


async def test_questions_at_once_get_their_own_answers(root, repository):
    blob, head = git(root, "rev-parse", "HEAD:a.txt"), git(root, "rev-parse", "HEAD")
    found = {}

    async def ask(number, name):
        found[number] = await repository.resolve(name, "nowhere")

    async with anyio.create_task_group() as group:
        for number in range(40):
            group.start_soon(ask, number, "HEAD:a.txt" if number % 2 else "HEAD")

    assert found == {number: (blob if number % 2 else head, None) for number in range(40)}


async def test_a_long_question_is_answered_too(root, repository):
    head = git(root, "rev-parse", "HEAD")
    names = ["main", "n" * git_processes.MAX_BYTES, *["HEAD"] * 500]

    assert await repository.resolve(*names) == (head, None, *[head] * 500)


async def test_it_is_replaced_after_a_while(root, repository):
    await repository.commit("main")
    first = running()
    for _ in range(git_processes.MAX_REQUESTS // 50):
        await repository.resolve(*["main"] * 50)

    await repository.commit("main")

    assert len(running()) == 1
    assert running() != first


async def test_why_git_does_not_answer_is_told(root, repository):
    (root / ".git" / "config").write_text("[core\n")

    with pytest.raises(GitError, match="bad config"):
        await repository.commit("main")
    assert running() == []


async def test_none_is_left_when_it_is_closed_or_forgotten(root):
    one, other = Repository(root), Repository(root)
    await one.commit("main")
    await other.commit("main")
    assert len(running()) == 2

    one.close()
    del other
    gc.collect()

    assert running() == []
    assert await one.commit("main") is not None
    one.close()


def test_it_ends_with_a_program_that_is_killed(root):
    script = f"""
import anyio, time
from pathlib import Path
from allstop.adapters.git.repository.repository import Repository
repository = Repository(Path({str(root)!r}))
print(anyio.run(repository.commit, "main"), flush=True)
time.sleep(60)
"""
    program = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    program.stdout.readline()
    (pid,) = running(program.pid)

    program.kill()
    program.communicate()

    until = time.monotonic() + 5
    while (stat := stat_of(pid)) and stat.state not in "ZX" and time.monotonic() < until:
        time.sleep(0.01)
    assert stat is None or stat.state in "ZX"


async def test_a_command_that_is_cut_off_is_gone(root, repository, new_children):
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as never, anyio.move_on_after(0.2) as scope:
        await repository.run("cat-file", "--batch", stdin=never)
    os.close(writing)

    assert scope.cancelled_caught
    assert new_children() == []


async def test_a_command_takes_and_gives_any_number_of_bytes(root, repository):
    data = bytes(range(256)) * 20_000

    name = await repository.git("hash-object", "-w", "--stdin", stdin=data)

    assert await repository.output("cat-file", "blob", name) == data
