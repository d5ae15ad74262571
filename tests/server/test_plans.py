"""P2, P3, P18: plans over the API: started, approved, paused and shown."""

import pytest

from support.control_room import ControlRoom
from support.person import at_home, wait_for

SCRIPT = """
repeat = true
[[turn]]
steps = [{ write = "done.txt", text = "done\\n" }, { say = "Done." }]
"""
RETRY = "[retry]\nbase_ms = 10\nstep_delay_ms = 10\n"
PLAN = "# A\n\n- one\n- two\n"


@pytest.fixture
def room(tmp_path):
    person = at_home(tmp_path)
    person.script(SCRIPT, RETRY)
    person.commit()
    person.allstop("trust", "--yes")
    room = ControlRoom(person)
    yield room
    room.person.close()


def detail(room, run="plan1"):
    return room.read(f"/runs/{run}")["detail"]


def test_p18_a_plan_is_started_approved_skipped_and_merged_over_the_api(room):
    body = {"kind": "plan", "plan": PLAN, "mode": "step", "config": {"maxRetries": 1}}
    assert room.post("/runs", body).json == {"run": "plan1"}
    wait_for(lambda: detail(room)["pauseReason"] == "approval", "it asks", 60)
    assert room.read("/runs/plan1")["run"]["actions"][0] == "approve"
    assert detail(room)["config"]["maxRetries"] == 1
    (waiting,) = room.read("/inbox")["waiting"]
    assert waiting["run"] == "plan1"

    room.do("plan1", "approve")
    wait_for(lambda: detail(room)["completedSteps"] == 1, "it does the step", 60)
    wait_for(lambda: detail(room)["pauseReason"] == "approval", "it asks again", 60)
    room.do("plan1", "pause")
    assert detail(room)["status"] == "paused"
    assert detail(room)["pauseReason"] == "user"
    room.do("plan1", "skip")
    room.do("plan1", "resume")

    wait_for(lambda: room.read("/runs/plan1")["run"]["outcome"] == "done", "it ends", 60)
    assert (detail(room)["status"], detail(room)["skippedSteps"]) == ("idle", ["1.2"])


def test_p18_the_events_of_a_plan_are_the_same_in_the_api_and_in_the_stream(room):
    room.post("/runs", {"kind": "plan", "plan": PLAN, "name": "tidy"})
    wait_for(lambda: room.read("/runs/plan1")["run"]["outcome"] == "done", "it ends", 60)

    listed = room.read("/plans/plan1/events")["events"]
    named = [each["type"].removeprefix("autopilot:") for each in listed]
    with room.listen("?kinds=autopilot", "0.0") as stream:
        heard = stream.until(lambda event: event.data.get("type") == "autopilot:complete")
        streamed = [event.data for event in heard if event.kind == "autopilot"]

    step = ["step-start", "step-complete"]
    assert named == ["started", *step, *step, "complete"]
    assert (listed[0]["planId"], listed[0]["totalSteps"]) == ("tidy", 2)
    assert listed[2]["result"] == {"success": True, "stepId": "1.1", "output": "Done."}
    assert listed[-1]["completed"] == 2
    assert streamed == listed
    page = room.read(f"/plans/plan1/events?limit=2&after={listed[0]['seq']}")
    assert (page["events"], page["more"]) == (listed[1:3], True)


def test_p18_a_run_of_another_kind_has_no_events_of_a_plan(room):
    assert room.get("/plans/nothing/events").status == 404


def test_p1_a_plan_with_problems_is_refused_over_the_api(room):
    answer = room.post("/runs", {"kind": "plan", "plan": "- early\n"})

    assert (answer.status, answer.error) == (409, "plan_invalid")
    assert "plan.md:1: the step stands before the first heading" in answer.json["error"]["message"]
    unknown = room.post("/runs", {"kind": "plan", "plan": PLAN, "config": {"retries": 1}})
    assert unknown.status in (400, 422)
