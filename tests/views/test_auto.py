"""F10: the views of a Full Auto thread."""

from allstop.auto.state import Action
from allstop.core.brakes import AtLimit, Limits
from allstop.core.commands import Allstop, Pause, Raise
from allstop.core.helm import Helm, Hold
from allstop.core.moves import Failed, FailureKind
from allstop.views.auto import (
    AutoLog,
    decisions,
    describe_decision,
    describe_inputs,
    guards,
    run_plan,
    stop_condition,
)
from support.auto_runs import AutoSteps


def stops(auto):
    """What each receipt says, from the record alone."""
    made = [each.decision for each in decisions(auto.pilot, auto.events)]
    return [(each.action, each.overridden, each.condition) for each in made]


WENT_ON = (Action.CONTINUE, None, "")


def test_f3_a_budget_that_stops_it_is_in_its_receipts():
    """F3, F7: the decision was to go on; the receipt says what it was overridden by."""
    auto = AutoSteps()
    auto.say(Raise(limits=Limits(turns=2, at_limit=AtLimit.PAUSE)))
    auto.turn()
    auto.turn()

    stopped = (Action.PAUSE, Action.CONTINUE, "hard stop: budget: turns: 2 of 2")
    assert stops(auto) == [WENT_ON, stopped]
    last = decisions(auto.pilot, auto.events)[-1].decision
    assert "overridden by hard stop: budget: turns: 2 of 2" in describe_decision(last)
    condition = stop_condition(auto.run, Helm(), auto.now)
    assert run_plan(auto.state, condition).next == "a person: budget: turns: 2 of 2"


def test_f3_so_is_a_turn_that_no_longer_fits():
    auto = AutoSteps()
    auto.turn()
    auto.fail(FailureKind.OUT_OF_BUDGET, "auto1: tokens 90 + 20 of 100")

    why = "hard stop: out of budget: auto1: tokens 90 + 20 of 100"
    assert stops(auto) == [WENT_ON, (Action.PAUSE, Action.CONTINUE, why)]


def test_f3_a_stop_of_the_user_is_in_its_receipts():
    auto = AutoSteps()
    auto.turn()
    auto.begin()
    auto.say(Allstop())
    auto.ended(Failed(kind=FailureKind.CANCELLED))

    why = "hard stop: user: allstop"
    assert stops(auto) == [WENT_ON, (Action.STOP, Action.CONTINUE, why)]


def test_f3_a_stop_of_everything_is_in_its_receipts():
    auto = AutoSteps()
    auto.turn()
    auto.begin()
    auto.ended(Failed(kind=FailureKind.CANCELLED))

    assert stops(auto) == [WENT_ON, (Action.PAUSE, Action.CONTINUE, "hard stop: allstop")]


def counts(auto):
    return {guard.name: (guard.count, guard.most) for guard in guards(auto.state)}


def test_f10_guards_count_towards_the_soft_stops_in_the_numbers_that_people_set():
    auto = AutoSteps(no_progress_turns=3, repeated_errors=3)
    auto.turn(changes=True)
    assert counts(auto)["turns without progress"] == (0, 3)
    auto.turn(changes=False)
    assert counts(auto)["turns without progress"] == (2, 3)
    auto.fail(FailureKind.CRASHED)
    auto.fail(FailureKind.CRASHED)
    assert counts(auto)["the same error"] == (2, 3)
    assert not auto.state.paused

    auto.fail(FailureKind.CRASHED)

    assert counts(auto)["the same error"] == (3, 3)
    assert auto.state.paused.startswith("soft stop: the same error 3 times")


def test_f4_the_stop_condition_in_force_is_the_one_that_wins():
    """F4, F10: all runs, then the user, then the budget, then the decision."""
    auto = AutoSteps(repeated_errors=1)
    auto.turn()
    assert stop_condition(auto.run, Helm(), auto.now) == ""

    auto.fail(FailureKind.CRASHED)
    assert stop_condition(auto.run, Helm(), auto.now).startswith("soft stop: the same error")
    auto.say(Raise(limits=Limits(turns=1)))
    assert stop_condition(auto.run, Helm(), auto.now) == "budget: turns: 1 of 1"
    auto.say(Pause())
    assert stop_condition(auto.run, Helm(), auto.now) == "the user: paused"
    auto.say(Allstop())
    assert stop_condition(auto.run, Helm(), auto.now) == "the user: stopped"
    stopped = Helm(hold=Hold.STOPPED, by="somebody")
    assert stop_condition(auto.run, stopped, auto.now) == "everything is stopped, by somebody"


def told(auto):
    story = AutoLog(auto.pilot)
    return [line.text for event in auto.events for line in story.take(event) if line.mark == "◆"]


def test_f7_the_log_says_what_won_over_a_decision():
    """F7: where nothing more happens, the last line must not be that it goes on."""
    auto = AutoSteps()
    auto.say(Raise(limits=Limits(turns=2, at_limit=AtLimit.PAUSE)))
    auto.turn("one")
    auto.turn("two")
    assert "turn 2: pause (was continue)" in told(auto)[-1]
    assert "overridden by hard stop: budget: turns: 2 of 2" in told(auto)[-1]

    auto.say(Raise(limits=Limits(turns=9)))
    auto.turn("three")
    auto.say(Pause())

    assert "turn 3: pause (was continue)" in told(auto)[-1]
    assert "overridden by hard stop: user: pause" in told(auto)[-1]


def test_f7_a_receipt_says_what_was_known_in_a_line():
    auto = AutoSteps(name="a", target="main")
    auto.turn(items=[("denied", "sudo ls (never)"), ("compaction", "")])
    (receipt,) = decisions(auto.pilot, auto.events)

    assert (
        describe_inputs(receipt)
        == "completed · 1 file changed · 100 tokens · denied 1 time · 1 compaction"
    )
