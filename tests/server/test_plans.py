"""P2, P3, P13, P18: plans over the API: written, started, approved, paused and shown."""

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
    body = {
        "kind": "plan",
        "plan": PLAN,
        "mode": "step",
        "config": {"maxRetries": 1, "autoCommit": True},
    }
    assert room.post("/runs", body).json == {"run": "plan1"}
    wait_for(lambda: detail(room)["pauseReason"] == "approval", "it asks", 60)
    assert room.read("/runs/plan1")["run"]["actions"][0] == "approve"
    assert detail(room)["config"]["maxRetries"] == 1
    assert detail(room)["config"]["autoCommit"] is True
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


def test_p18_the_stream_has_the_text_of_the_running_turn(room):
    with room.listen("?kinds=autopilot") as stream:
        room.post("/runs", {"kind": "plan", "plan": PLAN, "name": "tidy"})
        heard = stream.until(lambda event: event.data.get("type") == "autopilot:complete")
    told = [event.data for event in heard if event.data.get("type") == "autopilot:output"]

    assert "".join(each["chunk"] for each in told) == "Done." * 2
    assert {each["planId"] for each in told} == {"tidy"}
    assert all(set(each) == {"type", "planId", "at", "chunk"} for each in told)


def test_p18_a_run_of_another_kind_has_no_events_of_a_plan(room):
    assert room.get("/plans/nothing/events").status == 404


def test_p1_a_plan_with_problems_is_refused_over_the_api(room):
    answer = room.post("/runs", {"kind": "plan", "plan": "- early\n"})

    assert (answer.status, answer.error) == (409, "plan_invalid")
    assert "plan.md:1: the step stands before the first heading" in answer.json["error"]["message"]
    unknown = room.post("/runs", {"kind": "plan", "plan": PLAN, "config": {"retries": 1}})
    assert unknown.status in (400, 422)


def test_p12_a_plan_is_listed_with_its_recorded_steps(room):
    room.post("/runs", {"kind": "plan", "plan": PLAN, "mode": "step"})

    assert [each["sessionId"] for each in room.read("/plans")["plans"]] == ["plan1"]
    (phase,) = room.read("/plans/plan1")["phases"]
    assert (phase["name"], [step["text"] for step in phase["steps"]]) == ("A", ["one", "two"])
    room.post("/runs", {"kind": "board"})
    assert room.read("/plans/board") == {}
    assert room.get("/plans/nothing").status == 404


def test_p1_a_plan_is_checked_over_the_api_without_a_start(room):
    right = room.post("/plans/check", {"plan": PLAN}).json
    wrong = room.post("/plans/check", {"plan": '{"phases": 3}', "format": "json"}).json

    assert (len(right["plan"]["phases"][0]["steps"]), right["problems"]) == (2, [])
    assert (wrong["problems"][0]["line"], wrong["problems"][0]["expected"]) == (1, "a list")
    assert room.read("/plans")["plans"] == []


def test_p12_a_plan_with_a_failed_step_can_be_resumed(room):
    room.person.script('[[turn]]\nsteps = [{ fail = "bad_request", message = "no" }]\n', RETRY)
    room.post("/runs", {"kind": "plan", "plan": PLAN, "mode": "manual", "config": {}})
    wait_for(lambda: detail(room)["pauseReason"] == "failed", "its step fails", 60)

    actions = room.read("/runs/plan1")["run"]["actions"]
    assert actions == ["retry", "skip", "resume", "stop", "abort"]


ASKS = (
    """
repeat = true
[[turn]]
when = "ask a person first"
steps = [{ say = "<questions>\\n1. Where?\\n2. When?\\n</questions>" }]
[[turn]]
when = "Answer: here"
steps = [{ say = """
    "'''<plan>\n# A\n\nAssumption: now.\n\n## B\n\n- one\n  - [ ] it holds\n  - check: true\n</plan>'''"
    " }]\n"
)


def test_p13_an_agent_writes_a_plan_with_a_person_over_the_api(room):
    room.person.script(ASKS, RETRY)
    assert room.post("/runs", {"kind": "draft", "goal": "Do B"}).json == {"run": "draft1"}
    wait_for(lambda: detail(room, "draft1")["questions"], "it asks", 60)
    wait_for(lambda: room.read("/inbox")["waiting"], "it waits", 60)
    (waiting,) = room.read("/inbox")["waiting"]
    actions = room.read("/runs/draft1")["run"]["actions"]

    room.do("draft1", "answer", texts=["here"])
    room.do("draft1", "skip")
    wait_for(lambda: detail(room, "draft1")["outcome"] == "done", "it ends", 60)
    found = detail(room, "draft1")

    assert (waiting["kind"], waiting["text"]) == ("pending", "Where?")
    assert actions == ["answer", "skip", "pause", "stop", "abort"]
    assert [each["answer"] for each in found["questions"]] == ["here", ""]
    assert (found["is_ready"], found["assumptions"]) == (True, ["Assumption: now."])
    assert room.post("/plans/check", {"plan": found["text"]}).json["problems"] == []
    assert room.read("/plans")["plans"] == []
