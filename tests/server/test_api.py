"""The API: the functions of the command line over HTTP."""

import json
import subprocess
import sys

import anyio
import pytest

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.core.events import Noted, Opened
from allstop.core.ids import RunId
from allstop.core.moves import Item, ModelCall
from allstop.ports import Entry
from allstop.server.routes.table import READ_ROUTES
from support.control_room import ControlRoom, settled
from support.person import MERGE_AT_ONCE, at_home, wait_for

TASK = {"kind": "task", "prompt": "Write done.txt"}


def _task(room, name, status):
    wait_for(lambda: room.read(f"/tasks/{name}")["status"] == status, f"{name} is {status}")
    return room.read(f"/tasks/{name}")


def test_the_description_in_the_repository_is_current():
    from project.project_files import ROOT

    done = subprocess.run([sys.executable, ROOT / "tools" / "openapi", "--check"], check=False)

    assert done.returncode == 0


def test_it_describes_itself(still_room):
    document = still_room.read("/openapi.json")

    assert document["openapi"].startswith("3.1")
    assert "/api/v1/runs/{run}/commands" in document["paths"]


def test_a_task_from_prompt_to_merge(room):
    opened = room.post("/runs", TASK)
    assert opened.status == 200
    task = _task(room, opened.json["run"], "done")

    run = room.read(f"/runs/{task['run']}")
    events = room.read(f"/runs/{task['run']}/events")["events"]
    receipts = room.read(f"/receipts/{task['run']}")["receipts"]
    diff = room.read(f"/tasks/{task['id']}/diff")

    assert run["run"]["outcome"] == "done"
    assert run["run"]["parent"] == "board"
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["type"] == "opened"
    assert all(receipt.get("same", True) for receipt in receipts)
    assert diff["files"] == [{"path": "done.txt", "change": "added", "added": 1, "removed": 0}]
    assert "+done" in diff["patch"]
    assert room.read("/stats")["merged"] == 1
    assert room.read("/board")["counts"] == {"done": 1}
    assert room.person.merged() == [task["id"]]


def test_b17_a_merge_that_failed_is_tried_again_over_http(room):
    """B17: the inbox offers it, and a task says that it can be done."""
    room.person.write("in-the-way.txt", "mine\n")
    room.person.git("add", "in-the-way.txt")
    name = room.post("/runs", TASK).json["run"]
    _task(room, name, "merging")
    wait_for(lambda: "uncommitted" in room.read(f"/tasks/{name}")["note"], "the merge to wait")
    assert room.read(f"/tasks/{name}")["lacks_merge"] is False
    room.do(f"board/{name}.merge1", "abort")
    assert _task(room, name, "waiting")["lacks_merge"] is True
    (waiting,) = room.read("/inbox")["waiting"]

    room.person.git("rm", "-q", "-f", "in-the-way.txt")
    room.do(name, "approve")

    assert (waiting["kind"], waiting["options"][0]) == ("merge", "approve")
    assert waiting["do"] == f"allstop approve {name}"
    assert len(_task(room, name, "done")["attempts"]) == 1
    assert room.person.merged() == [name]


def test_k1_the_board_cannot_be_ended_over_http(room):
    """K1: it is never over; its tasks can be."""
    room.person.allstop("add", "Something")

    answer = room.post("/runs/board/commands", {"command": "abort"})

    assert answer.status == 409, answer.body
    assert answer.json["error"]["code"] == "board_never_ends"


IDLES = """
[[turn]]
steps = [{ say = "Thinking." }]
[[turn]]
steps = [{ say = "Still thinking." }]
[[turn]]
steps = [{ hear = true }, { signal = "BLOCKED: no idea" }]
"""


@pytest.fixture
def idle_room(tmp_path):
    person = at_home(tmp_path)
    person.script(
        IDLES, settings=MERGE_AT_ONCE + "[loop]\nstuck_threshold = 2\nno_progress_turns = 0\n"
    )
    person.commit()
    yield ControlRoom(person)
    person.close()


def test_b9_a_task_that_commits_nothing_says_so_over_http(idle_room):
    """B9: the same warning that its run has, also in the stream."""
    room = idle_room
    warning = "no commit for 2 iterations"

    with room.listen() as stream:
        name = room.post("/runs", TASK).json["run"]
        stream.until(lambda e: e.kind == "task" and e.data["warning"] == warning)
        task = room.read(f"/tasks/{name}")
        (on_board,) = room.read("/board")["tasks"]
        room.do(name, "say", text="stop")
        _task(room, name, "blocked")
        ended = room.read(f"/tasks/{name}")

    assert task["warning"] == on_board["warning"] == warning
    assert ended["warning"] == ""


def test_a_room_talks_and_its_events_follow_r15(room):
    room.person.script('repeat = true\n[[turn]]\nsteps = [{ say = "Hello there." }]\n')
    room.person.commit("talk")
    room.person.git("config", "x.y", "z")
    order = {"kind": "room", "goal": "Say hello.", "mode": "single", "agents": ["demo"]}

    answer = room.post("/runs", order)

    assert answer.status == 200, answer.body
    assert answer.json["run"] == "room:default"
    wait_for(
        lambda: any(
            event["type"] == "agent_response"
            for event in room.read("/rooms/default/events")["events"]
        ),
        "an answer",
    )
    events = room.read("/rooms/default/events")["events"]
    assert set(events[0]) >= {"type", "sender", "target", "thread", "text", "call_id", "ts"}
    assert [room_["thread"] for room_ in room.read("/rooms")["rooms"]] == ["default"]
    later = room.read(f"/rooms/default/events?after={events[0]['seq']}")["events"]
    assert later == [event for event in events if event["seq"] > events[0]["seq"]]


def test_commands_have_the_names_of_the_command_line(room):
    own = {"iterations": 9, "minutes": 1.5, "stuck_after": 4}
    made = room.do("board", "add_task", title="one", tags=["x"], **own)
    assert made["tasks"] == ["T1"]
    task = room.read("/tasks/T1")
    assert {name: task[name] for name in own} == own

    room.do("T1", "edit_task", changes={"title": "better"})
    room.do("T1", "limit", iterations=3)
    room.do("T1", "pin")

    task = room.read("/tasks/T1")
    assert (task["title"], task["iterations"], task["pinned"]) == ("better", 3, True)
    shown = room.person.task("T1")
    assert {name: shown[name] for name in task} == task  # the terminal says the same, and more


def test_k3_allstop_by_http_ends_everything_and_keeps_it_ended(room):
    room.person.script("[[turn]]\nsteps = [{ hang = true }]\n")
    room.person.commit("hang")
    room.post("/runs", TASK)
    wait_for(lambda: room.read("/board")["counts"] == {"active": 1}, "it is at work")

    stopped = room.post("/allstop", {"by": "a test"})

    assert stopped.status == 200
    assert stopped.json["receipt"]["by"]
    assert room.read("/hold")["hold"] == "stopped"
    assert (room.person.repository / ".allstop" / "STOP").exists()
    again = room.post("/runs", TASK)
    assert (again.status, again.error) == (409, "allstop_in_force")
    room.do("all", "resume")
    assert room.read("/hold")["hold"] == "running"


def test_k3_the_command_line_stops_what_the_control_room_drives(room):
    room.person.script("[[turn]]\nsteps = [{ hang = true }]\n")
    room.person.commit("hang")
    room.post("/runs", TASK)
    wait_for(lambda: room.read("/board")["counts"] == {"active": 1}, "it is at work")

    said = room.person.allstop("stop")

    assert "ALLSTOP" in said
    assert "did not answer" not in said
    assert room.read("/hold")["hold"] == "stopped"


def test_pause_and_resume_of_all(room):
    room.do("all", "pause")
    assert room.read("/hold")["hold"] == "paused"

    room.do("all", "resume")
    assert room.read("/hold")["hold"] == "running"


def test_what_waits_for_a_person_is_in_the_inbox_and_can_be_answered(room):
    room.person.script(
        "repeat = true\n"
        '[[turn]]\nsteps = [{ signal = "PENDING: Which colour?" }]\n'
        '[[turn]]\nsteps = [{ write = "c.txt", text = "red" }, { signal = "COMPLETE" }]\n'
    )
    room.person.commit("ask")
    with room.listen("?kinds=inbox") as stream:
        task = room.post("/runs", TASK).json["run"]
        stream.until(lambda event: event.data["count"] == 1)
    (waiting,) = room.read("/inbox")["waiting"]

    room.do(task, "answer", texts=["Red."])

    assert "Which colour?" in waiting["text"]
    assert waiting["task"] == task
    _task(room, task, "done")
    assert room.read("/inbox")["waiting"] == []


def test_runs_come_in_pages_the_newest_first(room):
    _task(room, room.post("/runs", TASK).json["run"], "done")
    whole = [run["id"] for run in room.read("/runs")["runs"]]

    first = room.read("/runs?limit=1")
    rest = room.read(f"/runs?before={first['runs'][-1]['id']}")

    assert whole == ["board/T1.merge1", "board/T1.1"]
    assert [run["id"] for run in first["runs"]] == whole[:1]
    assert first["more"]
    assert [run["id"] for run in rest["runs"]] == whole[1:]
    assert not rest["more"]
    assert {run["kind"] for run in room.read("/runs?kind=task")["runs"]} == {"task"}
    assert room.read("/runs?open=true")["runs"] == []


def test_a_run_that_is_over_stays_over(room):
    task = _task(room, room.post("/runs", TASK).json["run"], "done")

    answer = room.post(f"/runs/{task['run']}/commands", {"command": "say", "text": "more"})

    assert (answer.status, answer.error) == (409, "run_over")
    assert settled(room, task["run"], "done")


@pytest.mark.parametrize(
    ("path", "body", "status", "code"),
    [
        ("/runs", {"kind": "nonsense"}, 422, "invalid"),
        ("/runs", {"kind": "task"}, 422, "invalid"),
        ("/runs", {"kind": "task", "prompt": "x", "more": 1}, 422, "invalid"),
        ("/runs", b"{", 400, "not_json"),
        ("/runs", b"\xff\xfe", 400, "not_json"),
        ("/runs", b'{"kind": "task", "prompt": ' + b"[" * 100_000, 422, "invalid"),
        ("/runs", b"[]", 422, "invalid"),
        ("/runs/all/commands", {"command": "nonsense"}, 422, "invalid"),
        ("/runs/nobody/commands", {"command": "pause"}, 404, "not_found"),
        ("/runs/T9/commands", {"command": "approve"}, 409, "task_not_found"),
        ("/runs/board/commands", {"command": "add_task", "title": ""}, 422, "invalid"),
        ("/runs/board/commands", {"command": "add_task", "title": "x", "needs": ["T9"]}, 409, "task_needs_unknown"),
        ("/runs/board/commands", {"command": "add_task", "title": "x", "minutes": -1}, 409, "task_number_out_of_range"),
        ("/runs", {"kind": "board", "budget_usd": 1e308}, 422, "invalid"),
        ("/runs", {"kind": "board", "parallel": 10**9}, 422, "invalid"),
        ("/runs/T1/commands", {"command": "limit", "minutes": 1e308}, 422, "invalid"),
        ("/nowhere", {}, 404, "not_found"),
        ("/stream", {}, 405, "method_not_allowed"),
        ("/board", {}, 405, "method_not_allowed"),
    ],
)  # fmt: skip
def test_what_can_not_be_done_is_said_in_one_shape(still_room, path, body, status, code):
    answer = still_room.post(path, body)

    assert (answer.status, answer.error) == (status, code), answer.body


@pytest.mark.parametrize(
    "path",
    [
        "/runs?limit=0",
        "/runs?limit=100000",
        "/runs?limit=x",
        "/runs?nonsense=1",
        "/runs/board/events?after=-1",
        "/runs/helm/events?after=19653217741439787008",
        "/board?after=-1",
        "/stats?hours=1",
    ],
)
def test_a_question_that_makes_no_sense_is_refused(still_room, path):
    answer = still_room.get(path)

    assert (answer.status, answer.error) == (422, "invalid")


@pytest.mark.parametrize(
    ("method", "path", "takes"),
    [
        ("POST", "/api/v1/agents", "GET, HEAD"),
        ("PUT", "/api/v1/runs", "GET, HEAD, POST"),
        ("GET", "/api/v1/runs/board/T1.1/commands", "POST"),
        ("DELETE", "/metrics", "GET, HEAD"),
    ],
)
def test_another_method_is_told_which_ones_there_are(still_room, method, path, takes):
    answer = still_room.ask(method, path)

    assert (answer.status, answer.headers["allow"]) == (405, takes)


def test_head_is_get_without_the_words(still_room):
    answer = still_room.ask("HEAD", "/api/v1/runs")

    assert (answer.status, answer.body) == (200, b"")


def test_changed_settings_are_taken_up_when_they_are_right(room):
    good = (room.person.repository / "allstop.toml").read_text()
    room.person.write("allstop.toml", good + "[loop]\nmax_iterations = 7\n")
    room.person.commit("seven")
    wait_for(lambda: _setting(room, "loop.max_iterations") == 7, "the new value")

    room.person.write("allstop.toml", good + "[loop]\nmax_iterations = 0\n")
    room.person.commit("wrong")
    wait_for(lambda: room.read("/healthz")["settings_problem"], "it is said what is wrong")

    assert "max_iterations" in room.read("/settings")["problem"]
    assert _setting(room, "loop.max_iterations") == 7


def _setting(room, key):
    return next(row["value"] for row in room.read("/settings")["settings"] if row["key"] == key)


def test_numbers_are_in_the_form_of_prometheus(still_room):
    answer = still_room.ask("GET", "/metrics")

    lines = answer.body.decode().splitlines()
    assert answer.headers["content-type"].startswith("text/plain")
    assert "allstop_stopped 0" in lines
    for line in lines:
        assert line.startswith("# ") or len(line.rsplit(" ", 1)) == 2


def test_g7_numbers_of_model_calls_are_by_provider_and_model(room):
    """G7: as they are written to the journal while the server runs."""
    call = ModelCall(
        provider='a "host"\n', model="m", status=200, input=1_234_567, output=5, first_ms=250
    )
    lost = ModelCall(provider="openai", model="m", status=0)
    journal = SqliteJournal(room.person.repository / ".allstop", SystemClock())
    now, run = SystemClock().now(), RunId("auto1")
    items = tuple(Item(kind="model call", text="", call=each) for each in (call, call, lost))
    events = [Opened(at=now, kind="auto", spec={}), Noted(at=now, id=1, items=items)]
    anyio.run(journal.append, *(Entry(run, event) for event in events))
    journal.close()
    labels = 'provider="a \\"host\\"\\n",model="m"'

    def lines():
        return room.ask("GET", "/metrics").body.decode().splitlines()

    counted = f'allstop_model_calls_total{{{labels},status="200"}} 2'
    wait_for(lambda: counted in lines(), "the calls are counted")
    found = lines()
    assert 'allstop_model_calls_total{provider="openai",model="m",status="0"} 1' in found
    assert f'allstop_model_tokens_total{{{labels},kind="input"}} 2469134' in found
    assert f"allstop_model_first_token_seconds_total{{{labels}}} 0.5" in found
    assert f"allstop_model_replies_total{{{labels}}} 2" in found


def test_without_a_built_page_that_is_said(still_room):
    answer = still_room.ask("GET", "/", headers={"Accept": "text/html"})

    assert answer.status == 200
    assert answer.headers["content-type"].startswith("text/html")


def test_no_answer_names_a_place_on_this_machine(still_room):
    for route in READ_ROUTES:
        if "{" not in route.path:
            text = json.dumps(still_room.read(route.path))
            assert str(still_room.person.home) not in text, route.path


def test_k7_what_was_used_is_told_by_what_it_went_into(room):
    """K7: and a way that there is none of is refused with those there are."""
    _task(room, room.post("/runs", TASK).json["run"], "done")
    refused = room.get("/usage?by=colour")

    (line,) = room.read("/usage?by=task&days=1")["lines"]
    assert (line["name"], line["title"], line["turns"]) == ("T1", TASK["prompt"], 1)
    assert room.read("/usage?by=day")["total"]["turns"] == 1
    assert room.read("/usage?agent=nobody")["lines"] == []
    assert refused.status == 422


def test_s5_the_statistics_of_the_board_are_told_by_group_and_by_day(room):
    _task(room, room.post("/runs", TASK).json["run"], "done")
    found = room.read("/stats?by=agent&days=1")

    assert (found["finished"], found["completed"], found["remaining"]) == (1, 1, 0)
    assert found["groups"][0]["statistics"]["completed"] == 1
    assert sum(day["statistics"]["completed"] for day in found["days"]) == 1
    assert [task["task"] for task in found["finished_tasks"]] == ["T1"]
    assert found["time"]["agent_s"] > 0
    assert room.get("/stats?by=colour").status == 422


def test_s7_a_forecast_is_asked_for_and_refused_with_the_reason(room):
    _task(room, room.post("/runs", TASK).json["run"], "done")
    found = room.read("/forecast?slots=3&count=2&hours=1.5")

    assert (found["forecast"], found["code"]) == ("none", "too_little_history")
    assert (found["attempts"], found["attempts_needed"]) == (1, 10)
    assert room.get("/forecast?slots=-1").status == 422


def test_k6_a_day_that_is_used_up_goes_on_once_more_is_allowed(room):
    """K6: in the settings of the running control room, or for today."""
    file = room.person.repository / "allstop.toml"
    file.write_text(file.read_text() + "\n[budget.day]\nturns = 1\n")
    room.person.commit()
    wait_for(lambda: room.read("/day")["max_turns"] == 1, "the limit is in force")
    first = room.post("/runs", TASK).json["run"]
    _task(room, first, "done")
    room.post("/runs", TASK)
    wait_for(lambda: room.read("/inbox")["waiting"], "somebody waits")
    waiting = room.read("/inbox")["waiting"]
    raised = room.post("/day", {"turns": 2}).json

    assert [each["kind"] for each in waiting] == ["limit"]
    assert "today: turns 1 + 1 of 1" in waiting[0]["text"]
    assert (raised["turns"], raised["max_turns"]) == (1, 2)
    wait_for(lambda: room.read("/day")["turns"] == 2, "it has gone on")
    assert room.post("/day", {}).status == 409


def test_b15_where_nothing_verifies_the_page_is_told_and_what_was_found(room):
    """B15: the indicator and the proposal for this very repository."""
    (room.person.repository / "Makefile").write_text("test:\n\ttrue\n")
    noted = {note["code"]: note for note in room.read("/notes")["notes"]}

    assert noted["VERIFICATION_EMPTY"]["indicator"] == "No verification configured"
    assert 'commands = ["make test"]' in noted["VERIFICATION_EMPTY"]["text"]
