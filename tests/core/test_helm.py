"""K1, K2: holds of all runs, and the commands that set and end them."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from allstop.core import helm as helms
from allstop.core.commands import Allstop, Answer, Freeze, Pause, Resume, Retry, Say, Thaw
from allstop.core.events import Commanded
from allstop.core.helm import Helm, Hold, hold_after, steer
from support.strategies import COMMANDS, EVENTS, NOW, many_events

HOLDS = st.sampled_from(Hold)


def said(command, seconds=0, by="user"):
    return Commanded(at=NOW + timedelta(seconds=seconds), command=command, by=by)


@pytest.mark.parametrize(
    ("before", "command", "after"),
    [
        (Hold.NONE, Pause(), Hold.PAUSED),
        (Hold.NONE, Freeze(), Hold.FROZEN),
        (Hold.NONE, Thaw(), Hold.NONE),
        (Hold.PAUSED, Pause(), Hold.PAUSED),
        (Hold.PAUSED, Freeze(), Hold.FROZEN),
        (Hold.PAUSED, Thaw(), Hold.PAUSED),
        (Hold.FROZEN, Pause(), Hold.FROZEN),
        (Hold.FROZEN, Thaw(), Hold.NONE),
        (Hold.STOPPED, Pause(), Hold.STOPPED),
        (Hold.STOPPED, Freeze(), Hold.STOPPED),
        (Hold.STOPPED, Thaw(), Hold.STOPPED),
        (Hold.STOPPED, Say(text="allstop off"), Hold.STOPPED),
        (Hold.STOPPED, Retry(), Hold.STOPPED),
        (Hold.STOPPED, Answer(text="yes"), Hold.STOPPED),
    ],
)
def test_k1_what_each_brake_makes_of_what_held_before(before, command, after):
    assert hold_after(before, command) is after


@given(HOLDS)
def test_k1_allstop_stops_whatever_held_before_and_resume_lifts_everything(hold):
    assert hold_after(hold, Allstop()) is Hold.STOPPED
    assert hold_after(hold, Resume()) is Hold.NONE


@given(COMMANDS)
def test_k2_only_resume_leaves_an_allstop(command):
    after = hold_after(Hold.STOPPED, command)

    assert (after is not Hold.STOPPED) == isinstance(command, Resume)


@given(HOLDS)
def test_k1_thaw_lifts_a_freeze_and_nothing_else(hold):
    assert hold_after(hold, Thaw()) is (Hold.NONE if hold is Hold.FROZEN else hold)


@given(HOLDS, COMMANDS)
def test_only_a_brake_or_what_lifts_one_changes_the_hold(hold, command):
    if not isinstance(command, Allstop | Freeze | Pause | Resume | Thaw):
        assert hold_after(hold, command) is hold


@given(many_events(20))
def test_k2_the_epoch_counts_allstops_and_never_goes_back(events):
    epochs = [helms.fold(events[:n]).stops for n in range(len(events) + 1)]

    stops = [isinstance(e, Commanded) and isinstance(e.command, Allstop) for e in events]
    assert epochs == [sum(stops[:n]) for n in range(len(events) + 1)]


@given(EVENTS)
def test_only_what_people_say_moves_the_helm(event):
    if not isinstance(event, Commanded):
        assert steer(Helm(), event) == Helm()


def test_k4_a_second_allstop_is_a_new_epoch_and_keeps_the_time_of_the_first():
    helm = helms.fold([said(Allstop(), 1, "anna"), said(Allstop(), 5, "ben")])

    assert (helm.hold, helm.stops, helm.by) == (Hold.STOPPED, 2, "ben")
    assert helm.since == NOW + timedelta(seconds=1)


def test_the_helm_tells_who_holds_everything_and_since_when():
    helm = helms.fold([said(Pause(), 1, "anna"), said(Say(text="hm"), 2), said(Pause(), 3)])

    assert helm == Helm(hold=Hold.PAUSED, since=NOW + timedelta(seconds=1), by="anna")


def after(*commands):
    return helms.fold([said(command, n) for n, command in enumerate(commands)])


@pytest.mark.parametrize(
    ("commands", "hold"),
    [
        ([Pause(), Freeze(), Thaw()], Hold.PAUSED),
        ([Freeze(), Pause(), Thaw()], Hold.PAUSED),
        ([Pause(), Freeze(), Freeze(), Thaw()], Hold.PAUSED),
        ([Pause(), Freeze(), Say(text="hm"), Thaw(), Thaw()], Hold.PAUSED),
        ([Pause(), Freeze(), Resume()], Hold.NONE),
        ([Pause(), Freeze(), Resume(), Freeze(), Thaw()], Hold.NONE),
        ([Pause(), Freeze(), Thaw(), Resume(), Freeze(), Thaw()], Hold.NONE),
        ([Pause(), Freeze(), Allstop(), Resume(), Freeze(), Thaw()], Hold.NONE),
    ],
)
def test_k1_a_thaw_leaves_the_pause_beneath_the_freeze(commands, hold):
    assert after(*commands).hold is hold


@given(st.lists(COMMANDS, max_size=8))
def test_k1_what_was_paused_goes_on_after_a_resume_only(commands):
    helm = after(Pause(), *(each for each in commands if not isinstance(each, Resume)))

    assert helm.hold is not Hold.NONE


def test_a_resumed_helm_is_at_ease_and_remembers_the_epoch():
    helm = helms.fold([said(Allstop()), said(Resume(), 9, "anna")])

    assert (helm.hold, helm.stops, helm.since, helm.by) == (Hold.NONE, 1, None, "anna")
