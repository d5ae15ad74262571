"""U2, B20: comments on lines reach the agent by whatever way there is, and can be read again."""

import pytest

from allstop.app import actions
from allstop.app.actions import do
from allstop.app.board import commands as boards
from allstop.app.board.review_comments import Comment, OnLine, reviews_in, reviews_of
from allstop.app.kinds import RUN_KINDS
from allstop.app.start_requests import StartAuto
from allstop.app.supervisor import start_supervisor
from allstop.core import commands
from allstop.core.errors import AllstopError
from allstop.core.ids import BOARD
from allstop.core.tasks import Status
from app.test_supervisor import SETTINGS, add, project, state_of, task_is  # noqa: F401 - a fixture
from support.room_models import until, writes

REMARK = OnLine(id="one", file="a.txt", line=1, quoted="x", text="Say y.")
COMMENT = Comment(remarks=(REMARK,), text="Nearly.")
WORDS = "Nearly.\n\na.txt:1\n> x\nSay y."
BLOCKED = '{ write = "a.txt", text = "x" }, { signal = "BLOCKED: no key" }'
ASKS = '{ write = "a.txt", text = "x" }, { signal = "PENDING: which?" }'


async def tried(project, task, times):  # noqa: F811
    async def holds():
        return len((await boards.find_task(project, task)).attempts) == times

    await until(holds, f"attempt {times}")


async def test_u2_work_that_waits_for_review_goes_back_with_what_was_said_of_its_lines(
    project,  # noqa: F811
):
    here_project = project(SETTINGS.replace("skip", "per-task"), worker=[writes("a.txt")] * 2)
    async with start_supervisor(here_project, RUN_KINDS) as here:
        task = await add(here, "Reviewed")
        await do(here, task, commands.Assign(task=task, agent="worker"), "web")
        await task_is(here_project, task, Status.REVIEW)

        done = await do(here, task, COMMENT, "web")
        await tried(here_project, task, 2)

        attempt = (await boards.find_task(here_project, task)).attempts[1]
        found = await reviews_of(here_project, await boards.find_task(here_project, task))
        spec = (await state_of(here_project, attempt.run)).pilot.spec
        assert done.note == "the task goes back to the agent"
        assert spec.news == f"A person looked at your work and says: {WORDS}"
        assert [(each.text, each.remarks[0].id) for each in found] == [("Nearly.", "one")]


async def test_b19_a_blocked_task_is_tried_again_with_what_was_said_of_its_lines(
    project,  # noqa: F811
):
    here_project = project(worker=[BLOCKED])
    async with start_supervisor(here_project, RUN_KINDS) as here:
        task = await add(here, "Blocked")
        await do(here, task, commands.Assign(task=task, agent="worker"), "web")
        await task_is(here_project, task, Status.BLOCKED)

        done = await do(here, task, COMMENT, "web")
        await tried(here_project, task, 2)

        run = (await boards.find_task(here_project, task)).attempts[1].run
        assert done.note == "the task is tried again"
        assert WORDS in (await state_of(here_project, run)).pilot.spec.news


async def test_b20_an_agent_at_work_reads_them_at_its_next_turn(project):  # noqa: F811
    here_project = project(worker=[ASKS, writes("b.txt")])
    async with start_supervisor(here_project, RUN_KINDS) as here:
        task = await add(here, "Asks")
        await do(here, task, commands.Assign(task=task, agent="worker"), "web")
        await task_is(here_project, task, Status.WAITING)
        run = (await boards.find_task(here_project, task)).attempts[0].run

        done = await do(here, task, COMMENT, "web")

        assert done.note == "the agent reads it at its next turn"
        assert (await state_of(here_project, run)).pilot.messages == (WORDS,)
        await do(here, task, actions.Answer(texts=("this",)), "web")
        await task_is(here_project, task, Status.DONE)
        assert (await state_of(here_project, run)).pilot.messages == ()
        found = await reviews_of(here_project, await boards.find_task(here_project, task))
        assert [each.remarks[0].quoted for each in found] == ["x"]


async def test_u2_a_thread_of_full_auto_is_told_too(project):  # noqa: F811
    here_project = project(SETTINGS, coder=[writes("a.txt"), "{ sleep = 60 }"])
    async with start_supervisor(here_project, RUN_KINDS) as here:
        auto = await here.open(StartAuto(goal="Write", agent="coder"))
        await do(here, auto, commands.Pause(), "web")

        await do(here, auto, COMMENT, "web")

        assert (await state_of(here_project, auto)).pilot.told == (WORDS,)
        assert [each.text for each in await reviews_in(here_project, [auto])] == ["Nearly."]


@pytest.mark.parametrize("name", ["T1", "nobody"])
async def test_b2_what_no_agent_would_read_is_refused(project, name):  # noqa: F811
    here_project = project()
    async with start_supervisor(here_project, RUN_KINDS) as here:
        await do(here, BOARD, actions.AddTask(title="Pending", id="T1"), "web")

        with pytest.raises(AllstopError) as refused:
            await do(here, name, COMMENT, "web")

        assert refused.value.message in (
            "T1 is pending: no agent would read it",
            "there is no run 'nobody'",
        )
