"""P11, U4: whoever drives a run tells a person of it, wherever that person wants to be told."""

import json

import pytest

from allstop.app import actions
from allstop.app.actions import ALL, do
from allstop.app.board import commands as boards
from allstop.app.kinds import RUN_KINDS
from allstop.app.notify.channels import channels
from allstop.app.start_requests import PlanOptions, StartAuto, StartBoard, StartPlan, StartRoom
from allstop.app.supervisor import start_supervisor
from allstop.core import commands
from allstop.core.events import Opened
from allstop.core.ids import BOARD, RunId
from allstop.core.room_specs import TalkMode
from allstop.core.tasks import Status
from allstop.plans.state import PlanMode
from allstop.ports import Entry
from support.http_listener import listening
from support.room_models import says, to, until, writes

CANARY = "hunter2-hunter2"
SETTINGS = """
[review]
mode = "skip"
[auto]
cooldown_s = 0
review = "never"
[notify]
desktop = false
private = true
urls = ["{url}"]
"""


@pytest.fixture
def listener():
    with listening() as here:
        yield here


@pytest.fixture
def project(trusted, listener):
    def make(settings="", **turns):
        return trusted(SETTINGS.format(url=listener.url()) + settings, **turns)

    return make


async def told(listener, count):
    async def holds():
        return len(listener.got) >= count

    await until(holds, f"{count} messages")
    return [(got["level"], got["title"], got["text"]) for _, got in listener.got]


async def add(here, title, **more):
    return (await do(here, BOARD, actions.AddTask(title=title, **more), "web")).tasks[0]


async def test_p11_a_board_tells_of_a_question_and_of_its_end(project, listener):
    """U4. Each thing once; nothing of turns, merges and what a person did."""
    asks = '{ signal = "PENDING: red or blue?" }'
    async with start_supervisor(project(worker=[asks, writes("w.txt")]), RUN_KINDS) as here:
        task = await add(here, "Paint it", agent="worker")
        await here.open(StartBoard(mode="autopilot"))
        first = await told(listener, 1)
        await do(here, task, actions.Answer(texts=("blue",)), "web")
        both = await told(listener, 2)

    assert first == [("needs_you", f"project: {task} waits for you", "asks: red or blue?")]
    assert both[1:] == [("done", "project: The board is complete", "1 done")]
    assert len(listener.got) == 2


async def test_p11_whom_changed_settings_name_is_told_from_then_on(trusted, listener, person):
    """And of nothing that happened before."""
    nobody = SETTINGS.replace('urls = ["{url}"]', "")
    project = trusted(nobody, worker=[writes("one.txt"), writes("two.txt")])
    async with start_supervisor(project, RUN_KINDS) as here:
        first = await add(here, "One", agent="worker")
        await here.open(StartBoard(mode="autopilot"))
        await until(lambda: _is_done(here, first), "the first")
        toml = person.repository / "allstop.toml"
        toml.write_text(
            toml.read_text().replace("[notify]", f'[notify]\nurls = ["{listener.url()}"]')
        )
        person.commit()
        person.allstop("trust", "--yes")
        assert project.reload_settings() == ""
        await add(here, "Two", agent="worker")
        got = await told(listener, 1)

    assert got == [("done", "project: The board is complete", "2 done")]


async def _is_done(here, task):
    return (await boards.find_task(here.project, task)).status is Status.DONE


async def test_p11_a_failure_is_told(project, listener):
    red = '[verification]\ncommands = [{ run = "false" }]\n[loop]\nmax_iterations = 1\n'
    async with start_supervisor(project(red, worker=[writes("w.txt")]), RUN_KINDS) as here:
        task = await add(here, "Write it", agent="worker")
        await here.open(StartBoard(mode="autopilot"))
        got = await told(listener, 1)

    text = "Write it: not done after 1 turn; it said COMPLETE, but this fails: false"
    assert got == [("error", f"project: {task} ran out of time", text)]


async def test_p11_full_auto_tells_of_its_end(project, listener):
    async with start_supervisor(project(coder=[writes("w.txt")]), RUN_KINDS) as here:
        await here.open(StartAuto(goal="Write it", agent="coder"))
        [(level, title, text)] = await told(listener, 1)

    assert (level, title.split()[-2:]) == ("done", ["is", "done"])
    assert text.startswith("Write it")


async def test_p11_a_plan_tells_of_a_failed_step_and_of_its_end(project, listener):
    """Each thing once; nothing of its steps and of the merge."""
    fails = '{ fail = "bad_request", message = "no" }'
    settings = "[retry]\nmax_retries = 0\nstep_delay_ms = 0\n"
    made = project(settings, coder=[writes("a.txt"), fails, writes("b.txt")])
    plan = "# Letters\n## Both\n- Write a\n- Write b\n"
    async with start_supervisor(made, RUN_KINDS) as here:
        run = await here.open(StartPlan(plan=plan, config=PlanOptions(primary_agent="coder")))
        first = await told(listener, 1)
        await do(here, run, commands.Skip(), "web")
        both = await told(listener, 2)

    failed = "step 1.2 failed: bad request: no"
    assert first == [("needs_you", f"project: {run} waits for you", failed)]
    assert both[1:] == [("done", f"project: {run} is done", "Letters: merged")]
    assert len(listener.got) == 2


async def test_p11_a_plan_that_waits_for_approval_from_the_start_is_told(project, listener):
    made = project(coder=[writes("w.txt")])
    async with start_supervisor(made, RUN_KINDS) as here:
        run = await here.open(StartPlan(plan="# A\n- Write it\n", mode=PlanMode.STEP))
        [(level, title, text)] = await told(listener, 1)

    assert (level, title) == ("needs_you", f"project: {run} waits for you")
    assert "waits for your approval" in text


async def test_p11_p9_a_start_that_waits_for_approval_is_told(project, listener):
    made = project("[loop]\nauto_execute = false\n", coder=[writes("w.txt")])
    async with start_supervisor(made, RUN_KINDS) as here:
        run = await here.open(StartAuto(goal="Write it", agent="coder"))
        [(level, title, _)] = await told(listener, 1)

    assert (level, title) == ("needs_you", f"project: {run} waits for you")


async def test_p11_a_room_tells_of_its_end(project, listener):
    turns = {
        "gpt": [says("I begin.", **to("claude"))],
        "claude": [says("I end.", final=True)],
    }
    async with start_supervisor(project(**turns), RUN_KINDS) as here:
        order = StartRoom(goal="Talk", agents=("gpt", "claude"), mode=TalkMode.COLLABORATE)
        await here.open(order)
        [(level, title, text)] = await told(listener, 1)

    assert (level, title) == ("done", "project: The session is over")
    assert text.endswith("Goal: Talk")


async def test_p11_an_allstop_is_told_with_its_receipt_although_all_ends(project, listener):
    """The message is written before the end, and delivered after it."""
    async with start_supervisor(project(worker=["{ sleep = 60 }"]), RUN_KINDS) as here:
        await add(here, "Sleep", agent="worker")
        await here.open(StartBoard(mode="autopilot"))
        await do(here, ALL, commands.Allstop(), "web")

    [(level, title, text)] = await told(listener, 1)
    assert (level, title) == ("stopped", "project: Allstop")
    assert text.startswith("stopped in ")


async def test_p11_two_processes_do_not_tell_the_same_thing(project, person, listener):
    """Whoever drives a run tells of it."""
    other = project(worker=[writes("w.txt")])
    mine = person.project()
    async with start_supervisor(other, RUN_KINDS), start_supervisor(mine, RUN_KINDS) as here:
        await add(here, "Write it", agent="worker")
        await here.open(StartBoard(mode="autopilot"))
        await told(listener, 1)
    mine.close()

    assert [got["title"] for _, got in listener.got] == ["project: The board is complete"]


async def test_p11_trouble_that_is_in_no_record_is_told_once(project, listener):
    """A run that can't be read is not driven; nothing is written of that."""
    made = project(worker=[writes("w.txt")])
    broken, nonsense = RunId("auto9"), Opened(at=made.clock.now(), kind="auto", spec={"odd": 1})
    await made.journal.append(Entry(broken, nonsense))
    async with start_supervisor(made, RUN_KINDS) as here:
        for _ in range(3):
            await here.engine.take(broken)

    [(level, title, text)] = await told(listener, 1)
    assert (level, title) == ("error", "project: auto9 has a problem")
    assert text.startswith("broken: ")


async def test_k23_no_secret_is_told_or_logged(project, listener, person):
    """A key of the environment, one that merely looks like one, and the webhook's own address."""
    secret = listener.url()
    said = f"the key is {CANARY}, or sk-abcdefgh12345678, see {secret}"
    made = project(worker=[f'{{ signal = "PENDING: {said}" }}'])
    made.environment.variables["MY_API_KEY"] = CANARY
    listener.status = 500
    shown = []
    async with start_supervisor(made, RUN_KINDS, shown.append) as here:
        await add(here, "Ask", agent="worker")
        await here.open(StartBoard(mode="autopilot"))
        [(_, _, text)] = await told(listener, 1)

    log = (person.repository / ".allstop" / "logs" / "notify.log").read_text()
    assert text == "asks: the key is ***, or ***, see ***"
    assert [line for line in shown if line.startswith("notify")] == [
        "notify http://127.0.0.1: the webhook answered 500"
    ]
    for secret in (CANARY, "sk-abcdefgh12345678", "secret-path"):
        assert secret not in json.dumps(listener.got[0][1]) + log + "".join(shown)


def test_p11_a_repository_decides_nothing_of_where_messages_go(person):
    """Its file counts once it was accepted, as any of that kind."""
    asked = '[notify]\nsounds = false\nurls = ["https://evil.example/"]\nprivate = true\n'
    person.write("allstop.toml", asked)
    person.commit()
    before, after = person.project(), person.project()

    assert channels(before) == []
    person.allstop("trust", "--yes")
    assert [each.name for each in channels(after)] == ["https://evil.example"]


def test_k23_short_values_and_names_of_other_things_are_left_alone(project):
    made = project(worker=[writes("w.txt")])
    made.environment.variables.update(MONKEY_KEY="abc", EDITOR="emacs-emacs")

    assert made.secrets.redact_all("abc emacs-emacs") == "abc emacs-emacs"
