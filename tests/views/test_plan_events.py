"""P4, P18: the events of a plan, derived from its journal."""

from datetime import timedelta

import msgspec

from allstop.core.commands import Abort, Approve, Pause, Resume, Skip
from allstop.core.events import Closed
from allstop.core.moves import Failed, FailureKind, Finish, Outcome
from allstop.kinds import KINDS
from allstop.views.plan_events import AutopilotEvent
from plans.test_pilot import BROKEN, DONE, PASSED, WRONG, PlanSteps, long, summed_up

PLAN = "# A\n- one\n- two\n"


def told(plan):
    """The events of the plan, as JSON has them, without those of its start."""
    live = KINDS["plan"].begin(plan.events[0])
    for event in plan.events[1:]:
        live.take(event)
    assert msgspec.convert(msgspec.to_builtins(live.events), list[AutopilotEvent]) == live.events
    return [msgspec.to_builtins(each) for each in live.events]


def names(plan):
    return [each["type"].removeprefix("autopilot:") for each in told(plan)]


def close(plan):
    end = plan.next()
    assert isinstance(end, Finish)
    plan._write(Closed(at=plan.now, outcome=end.outcome, note=end.note, failure=end.failure))


def test_p18_the_events_of_a_plan_that_succeeds():
    plan = PlanSteps(plan_id="tidy")
    plan.to_turn()
    plan.back(DONE)
    plan.back(DONE)
    plan.back(PASSED)
    plan.back(DONE)
    plan.back(PASSED)
    plan.merged()
    close(plan)
    found = told(plan)

    step = ["step-start", "step-complete"]
    assert names(plan) == ["started", *step, *step, *step, "complete"]
    assert {each["planId"] for each in found} == {"tidy"}
    assert (found[0]["totalSteps"], found[0]["mode"]) == (3, "autopilot")
    assert (found[1]["step"]["id"], found[1]["phase"], found[1]["agent"]) == ("1.1", "First", "cli")
    assert found[2]["result"] == {"success": True, "stepId": "1.1", "output": "Done."}
    assert found[-1]["completed"] == 3


def test_p4_every_retry_is_an_event_with_its_wait_and_then_the_plan_pauses():
    plan = PlanSteps(PLAN)
    plan.to_turn()
    for wait in (2, 4):
        plan.back(BROKEN)
        plan.wait(wait)
    plan.back(BROKEN)
    found = told(plan)
    retries = [each for each in found if each["type"] == "autopilot:retrying"]

    assert names(plan) == ["started", "step-start", "retrying", "retrying", "paused"]
    assert [(each["attempt"], each["backoffMs"]) for each in retries] == [(1, 2000), (2, 4000)]
    assert [each["step"]["id"] for each in retries] == ["1.1", "1.1"]
    assert "crashed: it died" in retries[0]["error"]
    assert (found[-1]["reason"], found[-1]["error"]) == (
        "failed",
        "step 1.1 failed: crashed: it died",
    )
    plan.told(Resume())
    assert names(plan)[-1] == "resumed"
    plan.back(DONE)
    assert names(plan)[-2:] == ["resumed", "step-complete"], "the step has been announced"


def test_p4_a_skip_names_the_step_and_the_reason_and_later_steps_name_the_skip():
    plan = PlanSteps(PLAN, on_error="skip")
    plan.to_turn()
    plan.back(BROKEN)
    plan.start()
    plan.told(Skip())
    plan.end(DONE)
    found = told(plan)

    skip = ["step-start", "step-skipped"]
    assert names(plan) == ["started", *skip, *skip]
    assert (found[2]["step"]["id"], found[2]["reason"]) == ("1.1", "crashed: it died")
    assert found[3]["afterSkipped"] == ("1.1",)
    assert found[4]["reason"] == "skipped by user"


def test_p4_abort_is_an_event_with_the_step_and_the_error():
    by_strategy, by_person = PlanSteps(PLAN, on_error="abort"), PlanSteps(PLAN)
    by_strategy.to_turn()
    by_strategy.back(BROKEN)
    close(by_strategy)
    by_person.to_turn()
    by_person.told(Abort())
    close(by_person)

    last = told(by_strategy)[-1]
    assert (last["type"], last["step"]["id"]) == ("autopilot:aborted", "1.1")
    assert (last["error"], last["outcome"]) == ("step 1.1 failed: crashed: it died", "failed")
    assert (told(by_person)[-1]["type"], told(by_person)[-1]["outcome"]) == (
        "autopilot:aborted",
        Outcome.ABORTED,
    )


def test_p18_a_limited_agent_is_replaced_and_taken_back():
    plan = PlanSteps(PLAN, agents=["cli", "other"])
    plan.to_turn()
    at = plan.now + timedelta(seconds=100)
    plan.back(Failed(kind=FailureKind.RATE_LIMITED, retry_at=at, message="429"))
    plan.back(DONE)
    plan.now = at + timedelta(seconds=30)
    plan.start()
    found = {each["type"].removeprefix("autopilot:"): each for each in told(plan)}
    switches = [each for each in told(plan) if each["type"] == "autopilot:agent-switched"]

    assert found["rate-limited"]["agent"] == "cli"
    assert found["rate-limited"]["backoffMs"] >= 100_000
    assert [(each["from"], each["to"], each["reason"]) for each in switches] == [
        ("cli", "other", "rate-limit"),
        ("other", "cli", "recovered"),
    ]


def test_p18_when_all_agents_are_limited_the_plan_pauses_until_a_time():
    plan = PlanSteps(PLAN)
    plan.to_turn()
    at = plan.now + timedelta(seconds=100)
    waits = plan.back(Failed(kind=FailureKind.USAGE_LIMITED, retry_at=at))
    found = told(plan)

    assert names(plan) == ["started", "step-start", "rate-limited", "all-limited", "paused"]
    assert (found[-1]["reason"], found[-1]["resumesAt"]) == ("limited", found[-2]["resumesAt"])
    plan.now = waits.until
    plan.start()
    assert names(plan)[5:] == ["resumed"]


def test_p18_pauses_of_a_person_and_for_approval():
    plan = PlanSteps(PLAN, mode="step")
    plan.told(Approve(task=""))
    plan.to_turn()
    plan.start()
    plan.told(Pause())
    plan.end(DONE)
    plan.told(Resume())
    found = [each for each in told(plan) if each["type"] != "autopilot:started"]

    assert [each.get("reason", each["type"].removeprefix("autopilot:")) for each in found] == [
        "approval",
        "resumed",
        "step-start",
        "step-complete",
        "user",
        "approval",
    ]


def test_p18_a_retry_of_the_gate_has_no_step():
    plan = PlanSteps("# A\n- one\n", gate={"checks": [{"name": "Tests", "run": "pytest"}]})
    plan.to_turn()
    plan.back(DONE)
    plan.back(WRONG)

    assert told(plan)[-1]["type"] == "autopilot:retrying"
    assert told(plan)[-1]["step"] is None


def test_p6_a_switch_names_the_failure_if_the_account_has_no_credit():
    plan = PlanSteps(PLAN, agents=["cli", "other"], patience={"recover": True})
    plan.to_turn()
    plan.back(Failed(kind=FailureKind.BILLING, message="no credit"))
    plan.start()
    switch = told(plan)[-1]

    assert (switch["type"], switch["reason"]) == ("autopilot:agent-switched", "billing")


def test_p5_a_short_limit_of_one_agent_does_not_limit_all():
    plan = PlanSteps(PLAN, agents=["cli", "other"], patience={"recover": True})
    plan.to_turn()
    plan.back(Failed(kind=FailureKind.RATE_LIMITED))

    assert names(plan)[2:] == ["rate-limited", "paused"]


def test_p10_a_compaction_is_an_event_with_the_sizes_before_and_after():
    """The step begins after it, and its result has the words of the step."""
    plan = PlanSteps(PLAN, compact_at=40_000)
    plan.to_turn()
    plan.back(long(50_000))
    plan.back(summed_up())
    plan.back(long(9_000))
    found = told(plan)

    step = ["step-start", "step-complete"]
    assert names(plan) == ["started", *step, "compacted", *step]
    expected = {"agent": "cli", "before": 50_000, "after": 4, "summary": True}
    assert {name: found[3][name] for name in expected} == expected
    assert found[5]["result"]["output"] == "Done."


def test_p10_the_log_tells_both_sizes():
    plan = PlanSteps(PLAN, compact_at=40_000)
    plan.to_turn()
    plan.back(long(50_000))
    plan.back(summed_up())
    log = KINDS["plan"].log()
    lines = [line.text for event in plan.events for line in log(event)]

    assert "cli compacts its conversation of 50,000 tokens" in lines
    assert "the conversation has about 4 tokens instead of 50,000" in lines
