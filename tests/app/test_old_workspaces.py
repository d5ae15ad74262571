"""B17: workspaces and refs of what is over are kept as long as `[workspace] keep_days` says."""

from datetime import timedelta

import anyio
import pytest

from allstop.adapters.clock import SystemClock
from allstop.app import actions
from allstop.app.actions import do
from allstop.app.board import cleanup
from allstop.app.board import commands as boards
from allstop.app.kinds import RUN_KINDS
from allstop.app.start_requests import StartBoard
from allstop.app.supervisor import start_supervisor
from allstop.core import commands
from allstop.core.ids import BOARD
from allstop.core.tasks import Status
from support.room_models import until, writes

SETTINGS = '[review]\nmode = "skip"\n[workspace]\nkeep_days = 7\n'
BLOCKED = '{ write = "half.txt", text = "x" }, { signal = "BLOCKED: no key" }'


class Later(SystemClock):
    """So many days from now."""

    def __init__(self, days):
        self._ahead = timedelta(days=days)

    def now(self):
        return super().now() + self._ahead


async def ends_as(here, status, **more):
    """A task that is brought to its end; its name."""
    task = (await do(here, BOARD, actions.AddTask(title="Task", **more), "web")).tasks[0]
    await here.open(StartBoard())

    async def holds():
        return (await boards.find_task(here.project, task)).status is status

    await until(holds, f"{task} to be {status}")
    return task


def kept(project, person, task):
    """The folder of a task's workspace, and whether refs of ours are left."""
    refs = person.git("for-each-ref", "--format=%(refname)", "refs/allstop")
    return (project.folder / "workspaces" / task).is_dir(), task in refs


@pytest.fixture
def project(trusted):
    return trusted(SETTINGS, worker=[writes("w.txt")], stuck=[BLOCKED])


@pytest.mark.parametrize("is_driven", [True, False], ids=["at work", "at rest"])
async def test_b17_what_was_merged_longer_ago_than_keep_days_is_removed(project, person, is_driven):
    """B17: also while this very process drives the board."""
    async with start_supervisor(project, RUN_KINDS) as here:
        task = await ends_as(here, Status.DONE, agent="worker")
        if is_driven:
            await here.remove_due_workspaces()
            young = kept(project, person, task)
            project.clock = Later(days=8)
            await here.remove_due_workspaces()
            assert here.drives(BOARD)
    if not is_driven:
        async with start_supervisor(project, RUN_KINDS) as here:
            await here.remove_due_workspaces()
            young = kept(project, person, task)
            project.clock = Later(days=8)
            await here.remove_due_workspaces()
            assert not here.drives(BOARD)

    assert young == (True, True)
    assert kept(project, person, task) == (False, False)


async def test_b17_what_is_not_over_or_would_be_lost_is_kept(project, person):
    """B6, B17: a task that waits, one that was given up with its work, and a changed workspace."""
    async with start_supervisor(project, RUN_KINDS) as here:
        waiting = await ends_as(here, Status.BLOCKED, agent="stuck")
        given_up = await ends_as(here, Status.BLOCKED, agent="stuck")
        await do(here, given_up, commands.RemoveTask(task=given_up), "web")
        changed = await ends_as(here, Status.DONE, agent="worker")
        (project.folder / "workspaces" / changed / "tree" / "a.txt").write_text("mine\n")
        project.clock = Later(days=800)

        await here.remove_due_workspaces()

        left = [kept(project, person, task) for task in (waiting, given_up, changed)]
        assert left == [(True, True)] * 3


async def test_b17_a_task_that_is_taken_up_again_begins_once_its_workspace_is_gone(project, person):
    """B17: whoever opens a workspace waits until it has been removed."""
    async with start_supervisor(project, RUN_KINDS) as here:
        task = await ends_as(here, Status.BLOCKED, agent="stuck")
        workspaces = here.runtime.workspaces
        async with workspaces.lock(task):
            await do(here, task, commands.Retry(task=task), "web")

            async def begun():
                return (await boards.find_task(project, task)).status is Status.ACTIVE

            await until(begun, "the second attempt")
            await anyio.sleep(0.5)
            assert await begun()

        async def ended():
            return (await boards.find_task(project, task)).status is Status.BLOCKED

        await until(ended, "it to go on")


async def test_b17_a_workspace_that_can_not_be_removed_stays_and_ends_nothing(
    project, person, monkeypatch
):
    """B17: a file may be another's, or on a disk that is gone."""

    async def refuses(*_, **__):
        raise PermissionError(1, "Operation not permitted", "stuck")

    notes = []
    async with start_supervisor(project, RUN_KINDS, note=notes.append) as here:
        task = await ends_as(here, Status.DONE, agent="worker")
        project.clock = Later(days=8)
        monkeypatch.setattr(cleanup, "remove_workspace", refuses)
        await here.remove_due_workspaces()

        assert here.drives(BOARD)
    assert kept(project, person, task) == (True, True)
    assert [note for note in notes if "not removed" in note] == [
        f"The workspace of {task} is not removed: [Errno 1] Operation not permitted: 'stuck'"
    ]
