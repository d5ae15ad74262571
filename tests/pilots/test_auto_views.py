"""F10: what the page shows of a thread besides its log."""

from allstop.core.auto_views import guards, stop_condition
from allstop.core.brakes import Limits
from allstop.core.commands import Allstop, Pause, Raise
from allstop.core.helm import Helm, Hold
from allstop.core.moves import FailureKind
from autos import Auto


def counts(auto):
    return {guard.name: (guard.count, guard.most) for guard in guards(auto.state)}


def test_f10_guards_count_towards_the_soft_stops_in_the_numbers_that_people_set():
    auto = Auto(no_progress_turns=3, repeated_errors=3)
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
    auto = Auto(repeated_errors=1)
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
