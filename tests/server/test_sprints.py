"""S1, S2, S3, S6: sprints over HTTP and in the event stream."""

import json

import pytest

from allstop.app.board import driver
from allstop.app.board import sprints as sprints_of_app
from allstop.app.project import Project
from allstop.app.start_requests import SprintTarget, StartSprint
from allstop.core.board_specs import TargetKind
from allstop.settings.sources.environment import Environment
from support.control_room import ControlRoom, texts
from support.person import at_home, wait_for

SCRIPT = """
repeat = true
[[turn]]
when = "slow"
steps = [{ sleep = 600 }]

[[turn]]
steps = [{ write = "done.txt", text = "done" }, { say = "Done.\\n<promise>COMPLETE</promise>" }]
"""
SETTINGS = """
[review]
mode = "skip"
[sprint]
checkpoint_before = true
"""
COUNT = {"type": "count", "value": 1}


@pytest.fixture
def room(tmp_path):
    person = at_home(tmp_path)
    person.script(SCRIPT, SETTINGS)
    person.commit()
    person.allstop("trust", "--yes")
    room = ControlRoom(person)
    yield room
    room.person.close()


def add(room, *titles, **more):
    for title in titles:
        room.do("board", "add_task", title=title, **more)


def sprints(room):
    return room.read("/sprints")["sprints"]


def refused(room, path, body):
    answer = room.post(path, body)
    return answer.status, answer.error


def test_s1_s3_a_sprint_is_started_and_read_over_http(room):
    add(room, "one", "two", tags=["api"])
    assert sprints(room) == []

    filters = {"include_tags": ["api"]}
    started = room.post("/runs", {"kind": "sprint", "target": COUNT, "filters": filters})

    assert started.json == {"run": "board"}
    wait_for(lambda: sprints(room)[0]["endedAt"], "its end", 60)
    sprint = room.read("/sprints/sprint1")
    assert sprint == sprints(room)[0]
    assert (sprint["completedTasks"], sprint["phase"], sprint["target"]) == (1, "idle", COUNT)
    assert sprint["filters"]["includeTags"] == ["api"]
    (checkpoint,) = room.read("/checkpoints")["checkpoints"]
    assert (checkpoint["id"], checkpoint["target"]) == ("sprint1", "main")
    file = room.person.repository / ".allstop" / "sprints.jsonl"
    wait_for(file.exists, "the record")
    (line,) = file.read_text().splitlines()
    assert json.loads(line) == {name: sprint[name] for name in json.loads(line)}
    assert room.get("/sprints/sprint7").status == 404


def test_s2_a_sprint_is_paused_resumed_and_cancelled_over_http(room):
    add(room, "slow one", "two")
    room.post("/runs", {"kind": "sprint", "target": {"type": "no_ready"}, "parallel": 1})
    wait_for(lambda: sprints(room)[0]["atWork"] == ["T1"], "its first task", 60)

    room.do("board", "pause_sprint")
    assert sprints(room)[0]["phase"] == "paused"
    assert refused(room, "/runs/board/commands", {"command": "pause_sprint"}) == (
        409,
        "sprint_wrong_phase",
    )
    room.do("sprint1", "resume_sprint")
    assert sprints(room)[0]["phase"] == "running"
    second = {"kind": "sprint", "target": COUNT}
    assert refused(room, "/runs", second) == (409, "sprint_running")
    room.do("board", "cancel_sprint")
    assert (sprints(room)[0]["phase"], sprints(room)[0]["taskStats"]) == ("idle", [])
    assert refused(room, "/runs/board/commands", {"command": "cancel_sprint"}) == (
        409,
        "no_sprint",
    )


def test_s6_bad_sprints_are_refused_over_http(room):
    add(room, "one")
    cases = [
        ({"target": {"type": "count", "value": 0}}, "sprint_target_invalid"),
        ({"target": {"type": "count", "value": "3"}}, "sprint_target_invalid"),
        ({"target": {"type": "duration", "value": 0}}, "sprint_target_invalid"),
        ({"target": {"type": "duration"}}, "sprint_target_invalid"),
        ({"target": {"type": "no_ready", "value": 3}}, "sprint_target_invalid"),
        ({"target": {"type": "until_time", "value": "2001-01-01"}}, "sprint_target_past"),
        ({"filters": {"include_operations": ["ghost"]}}, "operation_unknown"),
        ({"filters": {"include_tags": ["ghost"]}}, "sprint_matches_nothing"),
    ]
    for body, code in cases:
        status, found = refused(room, "/runs", {"kind": "sprint", **body})
        assert (status, found) == (409, code), body
    for body in ({"target": {"type": "never"}}, {"filters": {"tags": []}}, {"ghost": 1}):
        assert room.post("/runs", {"kind": "sprint", **body}).status == 422
    assert sprints(room) == []


def test_s6_a_start_of_the_board_with_a_target_is_a_sprint(room):
    add(room, "one", "two")
    room.post("/runs", {"kind": "board", "count": 1})

    wait_for(lambda: sprints(room) and sprints(room)[0]["endedAt"], "its end", 60)
    assert sprints(room)[0]["target"] == COUNT
    two = {"kind": "board", "count": 1, "until": "2099-01-01T00:00:00Z"}
    assert refused(room, "/runs", two) == (409, "sprint_target_twice")


def test_s2_the_stream_tells_of_a_sprint(room):
    add(room, "one")
    with room.listen("?kinds=sprint,log") as stream:
        room.post("/runs", {"kind": "sprint", "target": COUNT})
        events = stream.until(lambda event: event.kind == "sprint" and event.data["endedAt"])
    phases = [event.data["phase"] for event in events if event.kind == "sprint"]
    assert (phases[0], phases[-1]) == ("running", "idle")
    assert any("starts a sprint: 1 task" in text for text in texts(events))
    assert "ends sprint1: its target is reached" in texts(events)


async def test_q16_a_sprint_whose_process_died_before_its_first_task_goes_on(tmp_path):
    """The start is written, and nothing else: a new control room does the rest."""
    person = at_home(tmp_path)
    person.script(SCRIPT, SETTINGS)
    person.commit()
    person.allstop("trust", "--yes")
    for title in ("one", "two"):
        person.allstop("add", title)
    project = Project(
        person.repository, Environment(home=person.home, variables=person.environment)
    )
    begun = sprints_of_app.sprint_start(
        project, StartSprint(target=SprintTarget(type=TargetKind.COUNT, value=1))
    )
    await driver.prepare(project, begun.spec, begun.decide, allowance=begun.allowance)
    project.close()

    room = ControlRoom(person)
    try:
        wait_for(lambda: sprints(room)[0]["endedAt"], "its end", 60)
        assert [each["completedTasks"] for each in sprints(room)] == [1]
        assert sprints(room)[0]["checkpoint"] == "sprint1"
    finally:
        person.close()


def test_s5_s7_a_sprint_has_statistics_and_is_forecast_before_it_starts(room):
    add(room, "one", "two", tags=["api"])
    request = {"target": COUNT, "filters": {"include_tags": ["api"]}}

    forecast = room.post("/forecast", request)
    assert (forecast.status, forecast.json["code"]) == (200, "too_little_history")
    assert sprints(room) == [], "nothing was started"
    wrong = {**request, "filters": {"include_tags": ["nothing"]}}
    assert refused(room, "/forecast", wrong)[1] == "sprint_matches_nothing"
    room.post("/runs", {"kind": "sprint", **request})
    wait_for(lambda: sprints(room)[0]["endedAt"], "its end")

    found = room.read("/sprints/sprint1/stats")
    assert (found["finished"], found["remaining"]) == (1, None)
    assert found["time"]["agent_s"] > 0
    assert room.get("/sprints/sprint9/stats").status == 404
