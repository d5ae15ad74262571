"""P9: with `[loop] auto_execute = false`, every start waits for a person's approval."""

import json

import pytest

from support.room_models import person_with_models, says

SETTINGS = """
[loop]
auto_execute = false

[agents.coder]
driver = "scripted"
script = "coder.toml"

[[verification.commands]]
name = "Tests"
run = "test -f one.txt"

[retry]
base_ms = 10
step_delay_ms = 10
"""
CODER = """
[[turn]]
steps = [{ write = "one.txt", text = "1" }, { say = "One.\\n<promise>COMPLETE</promise>" }]
"""
PLAN = "# Count\n\n## Begin\n\n- Write one\n"


@pytest.fixture
def gated(person):
    person.write("allstop.toml", SETTINGS)
    person.write("coder.toml", CODER)
    person.write("PLAN.md", PLAN)
    person.commit()
    person.allstop("trust", "--yes")
    return person


def refusal(person, *words):
    done = person.try_allstop(*words)
    assert done.returncode == 2, done.stdout
    return done.stderr


def kinds_of_runs(person):
    status = json.loads(person.allstop("status", "--json"))
    return {run["id"]: run["kind"] for run in status["runs"]}


STARTS = [
    ("run", "Write one"),
    ("run",),
    ("plan", "run", "PLAN.md"),
    ("auto", "Write one"),
]


@pytest.mark.parametrize("start", STARTS, ids=" ".join)
def test_p9_a_start_is_queued_and_shown_and_nothing_runs(gated, start):
    said = gated.allstop(*start, code=3)

    assert "allstop approve start1" in said
    assert kinds_of_runs(gated) == {"start1": "start"}
    assert "allstop approve start1" in gated.allstop("status")
    assert "decisions come out the same" in gated.allstop("replay", "start1")


def test_p9_an_approved_plan_is_done_and_can_be_approved_only_once(gated):
    gated.allstop("plan", "run", "PLAN.md", code=3)

    said = gated.allstop("approve", "start1")
    again = refusal(gated, "approve", "start1")

    assert "start1: approved; it starts plan1" in said
    assert "was approved already" in again
    assert gated.git("show", "HEAD:one.txt") == "1"
    assert kinds_of_runs(gated)["plan1"] == "plan"
    assert "decisions come out the same" in gated.allstop("replay", "start1")


def test_p9_an_approved_prompt_becomes_a_task_that_waits_for_review(gated):
    gated.allstop("run", "Write one", code=3)

    gated.allstop("approve", "start1", code=3)

    assert "T1" in gated.allstop("list")
    assert "+1" in gated.allstop("diff", "T1")


FAILS = "[[turn]]\nsteps = [{ say = '<promise>BLOCKED: no</promise>' }]\n"


def test_p9_an_approved_prompt_that_fails_has_the_exit_code_of_run(gated):
    gated.write("coder.toml", FAILS)
    gated.commit()
    gated.allstop("run", "Write one", code=3)

    said = gated.allstop("approve", "start1", code=1)

    assert "start1: approved; it starts board" in said
    assert "blocked" in gated.allstop("list")


def test_p9_a_queued_session_of_a_room_begins_when_it_is_approved(tmp_path):
    person = person_with_models(tmp_path)
    more = "[loop]\nauto_execute = false\n"
    person.scripts(more, gpt=[says("hello from gpt", final=True)], claude=[says("no")])
    try:
        person.allstop("room", "Talk.", code=3)
        before = kinds_of_runs(person)
        said = person.allstop("approve", "start1")
    finally:
        person.close()

    assert before == {"start1": "start"}
    assert "start1: approved; it starts room:default" in said
    assert "hello from gpt" in said


def test_p9_a_rejected_start_is_dropped(gated):
    gated.allstop("auto", "Write one", code=3)

    said = gated.allstop("reject", "start1")
    late = refusal(gated, "approve", "start1")

    assert "start1: rejected" in said
    assert "was rejected already" in late
    assert "auto1" not in kinds_of_runs(gated)


def test_p9_an_allstop_refuses_starts_and_approvals(gated):
    gated.allstop("auto", "Write one", code=3)
    gated.allstop("stop")

    assert "Allstop is in force" in refusal(gated, "approve", "start1")
    assert "Allstop is in force" in refusal(gated, "auto", "Write two")
    assert "auto1" not in kinds_of_runs(gated)
