"""One process that drives everything: what can be begun there, and what people do to it."""

import anyio
import pytest

from allstop.app import actions
from allstop.app.actions import ALL, do
from allstop.app.board import commands as boards
from allstop.app.kinds import RUN_KINDS
from allstop.app.rooms import threads
from allstop.app.runs.commands import deliver_command, split_run_and_ask
from allstop.app.runs.status import helm_of, record_of, status
from allstop.app.start_requests import StartAuto, StartBoard, StartRoom, StartTask
from allstop.app.stop import everything
from allstop.app.supervisor import start_supervisor
from allstop.core import commands
from allstop.core import run as runs
from allstop.core.errors import AllstopError
from allstop.core.events import Halted
from allstop.core.helm import Hold
from allstop.core.ids import BOARD
from allstop.core.moves import TakeTurn
from allstop.core.room_specs import TalkMode
from allstop.core.tasks import Changes, Status
from allstop.ports import HeldError
from allstop.settings.model import Approvals
from support.inbox import inbox
from support.room_models import says, to, until, writes

SETTINGS = (
    '[review]\nmode = "skip"\n[auto]\ncooldown_s = 0\nreview = "never"\n[loop]\nmax_parallel = 2\n'
)


@pytest.fixture
def project(trusted):
    def make(settings=SETTINGS, **turns):
        return trusted(settings, **(turns or {"worker": [writes("w.txt")]}))

    return make


async def task_is(project, task, wanted):
    async def holds():
        return (await boards.find_task(project, task)).status is wanted

    await until(holds, f"{task} to be {wanted}")


async def add(here, title, **more):
    return (await do(here, BOARD, actions.AddTask(title=title, **more), "web")).tasks[0]


async def state_of(project, run):
    recorded = await record_of(project, run)
    return runs.fold(recorded.pilot, recorded.events)


async def test_k1_a_board_is_started_where_everything_else_is_driven_too(project, person):
    """K1, R14, F6: a board, a room and a thread of full auto in one process, at once."""
    here_project = project(
        worker=[writes("one.txt")],
        helper=[writes("two.txt")],
        coder=[writes("three.txt")],
        gpt=[says("I begin.", **to("claude"))],
        claude=[says("I end.", final=True)],
    )
    async with start_supervisor(here_project, RUN_KINDS) as here:
        first = await add(here, "First", agent="worker")
        second = await add(here, "Second", needs=(first,), agent="helper")

        assert await here.open(StartBoard(mode="autopilot")) == BOARD
        talk = await here.open(StartRoom(goal="Talk", agents=("gpt", "claude")))
        auto = await here.open(StartAuto(goal="Write it", agent="coder"))

        assert here.drives(BOARD)
        await task_is(here_project, second, Status.DONE)

        async def over():
            return (await state_of(here_project, auto)).closed is not None

        await until(over, "the thread to end")

        async def ended():
            return (await threads.read(here_project, "default")).room.session is None

        await until(ended, "the talk to end")
        assert talk == "room:default"
        assert (await state_of(here_project, auto)).closed.outcome == "done"


async def test_b5_a_prompt_becomes_a_task_and_only_that_one_is_started(project):
    """B5: a person who has one thing done has not started the loop."""
    here_project = project(worker=[writes("b.txt")])
    async with start_supervisor(here_project, RUN_KINDS) as here:
        waiting = await add(here, "Not now")

        made = await here.open(StartTask(prompt="Write b\nwith an x in it", agent="worker"))

        await task_is(here_project, made, Status.DONE)
        task = await boards.find_task(here_project, made)
        assert (task.title, task.body) == ("Write b", "with an x in it")
        assert (await boards.find_task(here_project, waiting)).status is Status.PENDING


async def test_b20_what_people_say_of_tasks_is_carried_out_at_once(project):
    """B19, B20: nobody has to start the loop for an approval, a retry or an assignment."""
    here_project = project(
        SETTINGS.replace("skip", "per-task"),
        worker=[writes("a.txt")],
    )
    async with start_supervisor(here_project, RUN_KINDS) as here:
        task = await add(here, "Reviewed")

        await do(here, task, commands.Assign(task=task, agent="worker"), "web")
        await task_is(here_project, task, Status.REVIEW)
        await do(here, task, commands.Approve(task=task), "web")
        await task_is(here_project, task, Status.DONE)
        reverted = await do(here, task, commands.RollBack(task=task), "web")

        assert reverted.note == "it is being reverted"
        await task_is(here_project, task, Status.PENDING)


async def test_b19_tasks_are_edited_limited_pinned_split_and_taken_off(project):
    here_project = project()
    async with start_supervisor(here_project, RUN_KINDS) as here:
        task = await add(here, "Big", tags=("x",), priority=2)
        await do(here, task, commands.EditTask(task=task, changes=Changes(title="Bigger")), "web")
        await do(here, task, actions.Limit(iterations=3), "web")
        await do(here, task, commands.Pin(task=task), "web")
        changed = await boards.find_task(here_project, task)
        parts = await do(here, task, actions.Split(titles=("One", "Two")), "web")
        await do(here, parts.tasks[1], commands.RemoveTask(task=parts.tasks[1]), "web")

        assert (changed.title, changed.iterations, bool(changed.pin)) == ("Bigger", 3, True)
        assert parts.tasks == (f"{task}-1", f"{task}-2")
        assert (await boards.find_task(here_project, parts.tasks[1])).status is Status.CANCELLED


async def test_b19_a_cleaned_task_stays_where_it_stands_and_can_be_tried_again(project, person):
    """B19: clean-up leaves the status; the next attempt begins in a workspace of its own."""
    blocked = '{ write = "half.txt", text = "x" }, { signal = "BLOCKED: no key" }'
    here_project = project(worker=[blocked])
    async with start_supervisor(here_project, RUN_KINDS) as here:
        task = await add(here, "Blocked")
        await do(here, task, commands.Assign(task=task, agent="worker"), "web")
        await task_is(here_project, task, Status.BLOCKED)

        cleaned = await do(here, task, actions.Clean(), "web")

        kept = cleaned.note.removeprefix("its work is kept as ")
        assert person.git("show", f"{kept}:half.txt") == "x"
        assert not (here_project.folder / "workspaces" / task).exists()
        assert (await boards.find_task(here_project, task)).status is Status.BLOCKED
        await do(here, task, commands.Retry(task=task), "web")

        async def again():
            found = await boards.find_task(here_project, task)
            return len(found.attempts) == 2 and found.status is Status.BLOCKED

        await until(again, "the second attempt to end")
        assert (here_project.folder / "workspaces" / task).is_dir()


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (commands.Approve(task="T1"), "pending"),
        (commands.Assign(task="T1", agent="nobody"), "there is no agent 'nobody'"),
        (actions.Limit(), "names no limit"),
        (actions.Cancel(), "is not a room"),
        (actions.Allow(), "has not been started yet"),
        (actions.Clean(), "has no workspace"),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_b2_what_makes_no_sense_is_refused_with_the_reason(project, action, words):
    here_project = project()
    async with start_supervisor(here_project, RUN_KINDS) as here:
        task = await add(here, "Task")

        with pytest.raises(AllstopError) as refused:
            await do(here, task, action, "web")

        assert words in refused.value.message


async def test_k3_allstop_holds_everything_until_resume_and_then_it_goes_on(project):
    """K2, K3, R8: agents end, nothing new can be begun, Resume goes on where it was."""
    here_project = project(
        worker=["{ sleep = 1.5 }, " + writes("a.txt")],
        gpt=[says("Hm.", **to("claude"))],
        claude=["{ hang = true }"],
    )
    async with start_supervisor(here_project, RUN_KINDS) as here:
        task = await add(here, "Slow", agent="worker")
        await here.open(StartBoard(mode="autopilot"))
        await here.open(StartRoom(goal="Talk", mode=TalkMode.AUTOPILOT, agents=("gpt", "claude")))
        await task_is(here_project, task, Status.ACTIVE)

        done = await do(here, ALL, commands.Allstop(), "the red button")
        with pytest.raises(AllstopError, match="Allstop is in force"):
            await here.open(StartTask(prompt="More"))
        stopped_by = (await status(here_project)).stopped_by

        assert done.note.startswith("done after")
        assert stopped_by == "the red button"
        assert (await threads.read(here_project, "default")).room.session is None
        await do(here, ALL, commands.Resume(), "web")
        assert (await helm_of(here_project)).hold == "running"
        await task_is(here_project, task, Status.DONE)


async def test_k4_the_stop_of_one_run_leaves_a_receipt_on_its_record(project):
    """K4: of a thread that is at work, and of a room in which nobody speaks."""
    here_project = project(coder=["{ sleep = 600 }"])
    async with start_supervisor(here_project, RUN_KINDS) as here:
        auto = await here.open(StartAuto(goal="Write it", agent="coder"))

        async def at_work():
            move = (await state_of(here_project, auto)).open_move
            return isinstance(move.move, TakeTurn) if move else False

        await until(at_work, "the turn")
        await do(here, auto, commands.Allstop(), "web")
        await threads.stop(here_project, "default")  # opens the thread
        await do(here, "room:default", commands.Allstop(), "web")

        (halted,) = await halts(here_project, auto)
        (quiet,) = await halts(here_project, "room:default")
        assert (halted.by, halted.discarded) == ("web", (f"{auto}: coder takes a turn",))
        assert halted.runs == {auto: "stopped"}
        assert (quiet.discarded, quiet.killed) == ((), ())
        assert (await state_of(here_project, auto)).hold is Hold.STOPPED


async def halts(project, run):
    events = [record.event for record in await project.journal.read(run)]
    return [event for event in events if isinstance(event, Halted)]


async def test_r18_what_was_interrupted_goes_on_when_a_person_says_so(project):
    """R18, P7: a new process shows it as interrupted; Resume drives it again."""
    here_project = project(
        worker=["{ sleep = 1.5 }, " + writes("a.txt")],
        gpt=[says("Hm.", **to("claude"))],
        claude=["{ hang = true }", says("Done.", final=True)],
    )
    async with start_supervisor(here_project, RUN_KINDS) as here:
        task = await add(here, "Slow", agent="worker")
        await do(here, task, commands.Assign(task=task), "web")
        await here.open(StartRoom(goal="Talk", agents=("gpt", "claude")))
        await here.open(StartAuto(goal="Slowly", agent="worker"))
        await task_is(here_project, task, Status.ACTIVE)
        await anyio.sleep(0.3)
    left = {view.id: view.status for view in (await status(here_project)).runs}

    async with start_supervisor(here_project, RUN_KINDS) as here:
        for run in ("board", "room:default", "auto1"):
            await do(here, run, commands.Resume(), "web")

        await task_is(here_project, task, Status.DONE)
        assert left["room:default"] == left["auto1"] == "interrupted"
        assert here.drives("auto1") or (await state_of(here_project, "auto1")).closed


@pytest.mark.parametrize("how", ["page", "file", "command", "lifted"])
async def test_r8_an_allstop_ends_a_session_whose_process_had_ended(project, how):
    """R8, R18: whatever gave the Allstop, and whenever; Resume finds no session."""
    here_project = project(gpt=["{ hang = true }"], claude=["{ hang = true }"])
    async with start_supervisor(here_project, RUN_KINDS) as here:
        await here.open(StartRoom(goal="Talk", agents=("gpt", "claude"), mode=TalkMode.AUTOPILOT))

        async def at_work():
            return (await state_of(here_project, "room:default")).open_move is not None

        await until(at_work, "the turn")
    assert (await threads.read(here_project, "default")).room.session is not None
    if how == "file":
        (here_project.folder / "STOP").touch()
    elif how == "command":
        await everything.stop(here_project, "allstop stop")
    elif how == "lifted":
        for command in (commands.Allstop(), commands.Resume()):
            await deliver_command(here_project, None, command)

    async with start_supervisor(here_project, RUN_KINDS) as here:
        if how == "page":
            await here.allstop("web")
        found = await threads.read(here_project, "default")
        await everything.lift(here_project, "web")
        with pytest.raises(AllstopError) as refused:
            await do(here, "room:default", commands.Resume(), "web")
        await here.open(StartRoom(goal="Again", agents=("gpt", "claude")))
        later = await threads.read(here_project, "default")

    assert found.room.session is None
    assert found.room.last.reason == "stopped_by_user"
    assert refused.value.code == "no_open_session"
    assert later.room.session.spec.goal == "Again"
    assert not later.is_stopped


async def test_r6_what_is_typed_in_a_room_begins_continues_and_stops_a_session(project):
    """R6, R7, R9, R16: by the same words as in the terminal."""
    here_project = project(gpt=[says("Hm.", **to("claude"))], claude=[says("Hm.", **to("gpt"))])
    async with start_supervisor(here_project, RUN_KINDS) as here:
        run = "room:side"
        await do(here, run, commands.Say(text="@router autopilot gpt claude: Count sheep"), "web")
        await do(here, run, commands.Say(text="Please hurry"), "web")
        found = await threads.read(here_project, "side")
        await do(here, run, commands.Say(text="All-Stop!"), "web")

        async def over():
            return (await threads.read(here_project, "side")).room.session is None

        await until(over, "the session to end")
        again = await do(here, run, commands.Allstop(), "web")
        assert found.room.session is not None
        assert again.note == "no session is active: nothing to stop"
        assert "Please hurry" in [event.text for event in found.events]


async def test_p7_what_another_process_drives_is_not_driven_twice(project, person):
    """P7, R14: whoever tries is told who has it."""
    here_project = project(gpt=["{ hang = true }"], claude=["{ hang = true }"])
    other = person.start("room", "Talk", "--agents", "gpt,claude", "--mode", "autopilot")
    await until(lambda: "room:default" in here_project.journal.holders(), "the other to begin")
    async with start_supervisor(here_project, RUN_KINDS) as here:
        with pytest.raises((HeldError, AllstopError)) as refused:
            await here.open(StartRoom(goal="Mine", agents=("gpt", "claude")))

    other.terminate()
    assert "room:default is driven by process" in refused.value.message


async def test_f5_what_an_agent_asks_is_answered_by_the_name_the_inbox_gives_it(project):
    """F5, B11: in full auto and in a room, whose name has a colon of its own."""
    here_project = project(
        coder=['{ ask = "make install" }, ' + writes("made.txt")],
    )
    async with start_supervisor(here_project, RUN_KINDS) as here:
        auto = await here.open(StartAuto(goal="Install", agent="coder", approvals=Approvals.ASK))

        async def asks():
            return [each.id for each in await inbox(here_project) if each.kind == "leave"]

        async def asked():
            return bool(await asks())

        await until(asked, "it to ask")
        (name,) = await asks()
        done = await do(here, name, actions.Deny(message="not today"), "web")

        assert done.run == auto
        assert await split_run_and_ask(here_project, "room:default:a1") == ("room:default", "a1")

        async def over():
            return (await state_of(here_project, auto)).closed is not None

        await until(over, "it to end")
        assert await asks() == []


async def test_b5_nothing_of_a_long_prompt_is_lost(project):
    """B5: what is too long for a title is the body, as with `allstop run`."""
    here_project = project(worker=[writes("b.txt")])
    prompt = "Say " + "very " * 60 + "little"
    async with start_supervisor(here_project, RUN_KINDS) as here:
        made = await here.open(StartTask(prompt=prompt))

        task = await boards.find_task(here_project, made)
        assert task.body == prompt
        assert len(task.title) <= 120


async def test_k5_a_budget_for_a_board_at_work_comes_on_top_of_what_its_runs_have_spent(project):
    """K5: named later, it is the same as named at the start; not named, the limits stay."""
    costly = '{ use = { input = 10, output = 10, cost_microusd = 2000000 } }, { say = "More." }'
    here_project = project(worker=[costly, "{ sleep = 30 }"])
    async with start_supervisor(here_project, RUN_KINDS) as here:
        await here.open(StartTask(prompt="Spend"))

        async def spent():
            found = [view for view in (await status(here_project)).runs if view.parent == BOARD]
            return any(view.tally.cost_microusd == 2_000_000 for view in found)

        await until(spent, "the first turn's cost")
        await here.open(StartBoard(mode="semi", budget_usd=1.0))
        within = (await boards.read(here_project)).run.limits
        await here.open(StartBoard(mode="semi"))
        kept = (await boards.read(here_project)).run.limits

        assert within.cost_microusd == 3_000_000
        assert kept == within
