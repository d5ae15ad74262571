"""P1, P2, P4, P14, P18: plans from the command line, with a scripted agent and a real repository."""

import json
from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from support.person import wait_for

SETTINGS = """
[agents.coder]
driver = "scripted"
script = "coder.toml"

[[verification.commands]]
name = "Tests"
run = "test -f three.txt"

[retry]
base_ms = 10
step_delay_ms = 10
"""
CODER = """
[[turn]]
steps = [{ write = "one.txt", text = "1" }, { say = "One." }]
[[turn]]
steps = [{ write = "two.txt", text = "wrong" }, { say = "Two." }]
[[turn]]
steps = [{ write = "two.txt", text = "2" }, { say = "Two again." }]
[[turn]]
steps = [{ write = "three.txt", text = "3" }, { say = "Three." }]
"""
PLAN = """\
# Count to three

## Begin

- Write one
- P2: Write two
  - [ ] the file has the number
  - check: grep -q 2 two.txt

## End

- Write three
"""
STATE = {
    "status", "sessionId", "currentIteration", "currentStep", "completedSteps", "failedSteps",
    "skippedSteps", "startedAt", "activeAgent", "fallbackReason", "planId", "currentPhaseIndex",
    "currentStepIndex", "updatedAt", "config",
}  # fmt: skip


@pytest.fixture
def coder(person):
    def make(script=CODER, plan=PLAN, settings=SETTINGS):
        person.write("allstop.toml", settings)
        person.write("coder.toml", script)
        person.write("PLAN.md", plan)
        person.commit()
        person.allstop("trust", "--yes")
        return person

    return make


def shown(person, run="plan1"):
    return json.loads(person.allstop("plan", "show", run, "--json"))


def test_p1_a_plan_is_done_step_by_step_checked_and_merged_once(coder):
    person = coder()

    said = person.allstop("plan", "run", "PLAN.md")
    state = shown(person)

    assert "step 1.1 is done (1 of 3): Write one" in said
    assert "retry 1 of 2; step P2 failed: its check fails" in said
    assert "step 2.1 is done (3 of 3): Write three" in said
    assert "ended: done (merged)" in said
    assert [(person.repository / f"{name}.txt").read_text() for name in ("one", "two", "three")] == [
        "1", "2", "3",
    ]  # fmt: skip
    assert person.git("log", "-1", "--format=%s") == "Merge plan1: Count to three"
    assert set(state) >= STATE
    assert (state["status"], state["sessionId"], state["planId"]) == ("idle", "plan1", "PLAN")
    assert (state["completedSteps"], state["failedSteps"], state["skippedSteps"]) == (3, 0, [])
    assert state["config"]["errorStrategy"] == "retry"
    assert person.allstop("plan", "list") == "plan1  done  3 of 3 steps  Count to three\n"
    assert "come out the same" in person.allstop("replay", "plan1")


def test_p2_in_step_mode_each_step_waits_for_approval(coder):
    person = coder(
        script='[[turn]]\nsteps = [{ write = "three.txt", text = "3" }]\n',
        plan="# A\n- Write three\n",
    )

    said = person.allstop("plan", "run", "PLAN.md", "--mode", "step", code=3)
    waits = shown(person)
    approved = person.allstop("plan", "approve", "plan1")
    done = person.allstop("plan", "resume", "plan1")

    assert "step 1.1 waits for your approval (`allstop plan approve plan1`): Write three" in said
    assert (waits["status"], waits["pauseReason"]) == ("paused", "approval")
    assert "it takes effect after `allstop plan resume plan1`" in approved
    assert "ended: done (merged)" in done


def test_p2_manual_stops_at_the_first_error_and_names_plan_resume(coder):
    person = coder(
        script='repeat = true\n[[turn]]\nwhen = "Step 1.1"\n'
        'steps = [{ fail = "crashed", message = "no" }]\n'
        '[[turn]]\nwhen = "Step 1.2"\nsteps = [{ write = "three.txt", text = "3" }]\n',
        plan="# A\n- Try\n- Do three\n",
    )

    said = person.allstop("plan", "run", "PLAN.md", "--mode", "manual", code=3)
    listed = json.loads(person.allstop("plan", "list", "--json"))["plans"]
    person.allstop("plan", "skip", "plan1")
    done = person.allstop("plan", "resume", "plan1")

    assert "step 1.1 failed: crashed: no" in said
    assert "allstop plan resume plan1" in said
    assert [(each["status"], each["pauseReason"]) for each in listed] == [("paused", "failed")]
    assert "ended: done (merged)" in done
    assert shown(person)["skippedSteps"] == ["1.1"]
    assert person.allstop("plan", "list") == "plan1  done  1 of 2 steps, 1 skipped  PLAN\n"
    assert "steps:    1 of 2 steps, 1 skipped" in person.allstop("plan", "show", "plan1")


def test_p1_a_plan_with_problems_does_not_start(coder):
    person = coder(plan="- early\n")

    done = person.try_allstop("plan", "run", "PLAN.md")

    assert done.returncode == 2
    assert "PLAN.md:1: the step stands before the first heading" in done.stderr
    assert person.allstop("plan", "list") == "No plan was started here: allstop plan run FILE\n"


def test_a_command_for_plans_refuses_other_runs(coder):
    person = coder()

    assert "nothing" in person.try_allstop("plan", "show", "nothing").stderr


def test_p17_a_paused_plan_says_what_a_person_can_do(coder):
    person = coder(
        script='[[turn]]\nsteps = [{ fail = "billing", message = "no credit" }]\n',
        plan="# A\n- Try\n",
    )
    person.allstop("plan", "run", "PLAN.md", "--mode", "manual", code=3)
    listed = json.loads(person.allstop("failures", "billing", "--json"))["failures"]

    assert "you can:  Pay or raise the limit" in person.allstop("plan", "show", "plan1")
    assert shown(person)["failure"]["command"] == "allstop resume plan1"
    assert [each["kind"] for each in listed] == ["billing"]
    assert "auth: The agent is not logged in" in person.allstop("failures")


def test_p7_without_an_interrupted_plan_a_bare_resume_says_so(coder):
    done = coder().try_allstop("plan", "resume")

    assert done.returncode == 2
    assert "no plan was interrupted" in done.stderr


WAITS = """
repeat = true
[[turn]]
when = "Step 1.1"
steps = [{ run = "echo 1 >>one.txt" }, { say = "One." }]
[[turn]]
when = "Step 1.2"
steps = [{ run = "test -f half.txt || { touch half.txt; sleep 600; }; echo 3 >three.txt" }]
"""


@pytest.mark.slow
def test_p7_an_interrupted_plan_is_offered_and_goes_on_where_it_was(coder):
    person = coder(script=WAITS, plan="# A\n- Write one\n- Write three\n")
    process = person.start("plan", "run", "PLAN.md")
    half = person.repository / ".allstop/workspaces/plan1/tree/half.txt"
    wait_for(half.exists, "the second step has begun")
    process.kill()
    process.wait()

    other = person.run_process("plan", "run", "PLAN.md", "--mode", "step")
    declined, _ = person.at_terminal("plan", "resume", keys=[("session?", "n\n")])
    said, code = person.at_terminal("plan", "resume", keys=[("session?", "y\n")])

    assert "plan1 was interrupted: allstop plan resume plan1" in other.stderr
    assert "Resume interrupted session? plan1, 1 of 2 steps: PLAN" in declined
    assert "ended" not in declined
    assert code == 0, said
    assert (person.repository / "one.txt").read_text() == "1\n", "the first step was done once"
    assert shown(person)["completedSteps"] == 2


@pytest.mark.slow
def test_nc22_p5_the_end_of_a_wait_is_shown_as_local_time(coder):
    person = coder(script="[[turn]]\nsteps = [{ rate_limit = 7200 }]\n", plan="# A\n- Write\n")
    person.variables["TZ"] = "Asia/Kolkata"
    process = person.start("plan", "run", "PLAN.md")

    def until():
        done = person.run_process("plan", "show", "plan1", "--json")
        return done.returncode == 0 and json.loads(done.stdout)["resumesAt"]

    wait_for(until, "the plan waits for the limit")
    at = datetime.fromisoformat(until()).astimezone(ZoneInfo("Asia/Kolkata"))
    told = person.run_process("plan", "show", "plan1").stdout
    process.kill()
    process.communicate()

    assert f"resumes:  {at:%Y-%m-%d %H:%M:%S}\n" in told


FAILS = """
repeat = true
[[turn]]
when = "Step 1.1"
steps = [{ write = "one.txt", text = "1" }]
[[turn]]
steps = [{ fail = "crashed", message = "no luck" }]
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("waits", "said"),
    [
        ("base_ms = 600000\nstep_delay_ms = 0", "retry 1 of 2; step 1.2 failed"),
        ("step_delay_ms = 600000", "step 1.1 is done"),
    ],
    ids=["retry", "delay"],
)
def test_p7_a_plan_killed_while_it_waits_is_offered(coder, waits, said):
    settings = SETTINGS.partition("[retry]")[0] + f"[retry]\n{waits}\n"
    person = coder(script=FAILS, plan="# A\n- Write one\n- Write two\n", settings=settings)
    process = person.start("plan", "run", "PLAN.md")
    for line in process.stdout:
        if said in line:
            break
    process.kill()
    process.communicate()

    declined, _ = person.at_terminal("plan", "resume", keys=[("session?", "n\n")])

    assert shown(person)["status"] == "running"
    assert "Resume interrupted session? plan1, 1 of 2 steps: PLAN" in declined


def test_p10_between_two_phases_a_long_conversation_is_compacted(coder):
    """The agent of the script can't compact, so its summary begins the next conversation."""
    script = """
[[turn]]
when = "Write the summary"
steps = [{ say = "One and two are there." }]
[[turn]]
when = "Step P2"
steps = [{ write = "two.txt", text = "2" }, { context = 90000 }]
[[turn]]
when = "Your summary of it:\\nOne and two are there."
steps = [{ write = "three.txt", text = "3" }]
[[turn]]
when = "Step 1.1"
steps = [{ write = "one.txt", text = "1" }, { context = 30000 }]
"""
    person = coder(f"repeat = true\n{script}")

    said = person.allstop("plan", "run", "PLAN.md")

    assert said.count("compacts its conversation") == 1
    assert "coder compacts its conversation of 90,000 tokens" in said
    assert "tokens instead of 90,000" in said
    assert "ended: done (merged)" in said
    assert "come out the same" in person.allstop("replay", "plan1")
