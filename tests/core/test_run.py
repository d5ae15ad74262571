"""The state of a run is the fold of its journal; limits are checked before the pilot decides."""

import itertools
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from allstop.core import helm as helms
from allstop.core import run
from allstop.core.asks import Answer, Ask, Permission
from allstop.core.brakes import AtLimit, Limits, Tally
from allstop.core.commands import Abort, Allstop, Freeze, Pause, Permit, Raise, Resume, Say, Thaw
from allstop.core.events import (
    Asked,
    ChildClosed,
    Closed,
    Commanded,
    MoveEnded,
    MoveStarted,
    Opened,
    ThreadOpened,
)
from allstop.core.helm import Helm, Hold
from allstop.core.moves import (
    RESUMABLE,
    Failed,
    FailureKind,
    Finish,
    Outcome,
    TakeTurn,
    TurnDone,
    Usage,
    Wait,
)
from allstop.core.prompt import prompt
from allstop.core.run import PilotContext
from support.cases import for_each
from support.random_runs import SCENARIOS
from support.strategies import NOW, RESULTS, histories, many_events, opening, some

TURN = TakeTurn(agent="a", prompt=prompt("go"))
STARTED = MoveStarted(at=NOW, id=1, move=TURN)
LATER = replace(STARTED, helm_stops=1)


class Eager:
    """A pilot that always takes a turn."""

    kind = "eager"
    ends_when_stopped = False

    def __init__(self, move=TURN):
        self._move = move

    def begin(self, spec):
        return 0

    def evolve(self, state, event):
        return state + 1

    def next_move(self, state, context: PilotContext):
        return self._move


def after(seconds):
    return NOW + timedelta(seconds=seconds)


def said(command, seconds=0):
    return Commanded(at=after(seconds), command=command)


def ended(result, seconds=0):
    return MoveEnded(at=after(seconds), id=1, result=result)


def folded(*events, limits=Limits(), pilot=None):  # noqa: B008 - it is frozen
    opened = Opened(at=NOW, kind="eager", spec={}, limits=limits)
    return run.fold(pilot or Eager(), [opened, *events])


@given(histories())
def test_any_history_folds_and_can_be_taken_up_at_any_point(events):
    """Q16: the state is the fold of the journal, so a restart folds it again."""
    pilot = SCENARIOS[events[0].kind].pilot
    state = run.begin(pilot, events[0])
    for number, event in enumerate(events[1:], start=2):
        state = run.evolve(pilot, state, event)

        assert run.fold(pilot, events[:number]) == state


@given(st.sampled_from(sorted(SCENARIOS)), st.integers(0, 999), many_events(30))
def test_even_a_history_that_makes_no_sense_folds(kind, seed, events):
    pilot = SCENARIOS[kind].pilot
    state = run.fold(pilot, [opening(kind, seed), *events])

    assert run.choose(pilot, state, after(10**6)) is not None


@given(histories(), st.sampled_from([Allstop(), Pause(), Freeze()]), st.integers(0, 10**6))
def test_k2_a_run_that_is_held_starts_nothing_whatever_happened_before(events, brake, seconds):
    pilot = SCENARIOS[events[0].kind].pilot
    state = run.fold(pilot, [*events, said(brake, seconds)])

    assert isinstance(run.choose(pilot, state, after(seconds)), Wait | Finish)


@given(histories(), st.sampled_from([Allstop(), Pause(), Freeze()]), st.integers(0, 10**6))
def test_k2_a_helm_that_holds_lets_no_run_start_or_end_anything(events, brake, seconds):
    pilot = SCENARIOS[events[0].kind].pilot
    helm = helms.fold([said(brake)])

    assert isinstance(run.choose(pilot, run.fold(pilot, events), after(seconds), helm), Wait)


@given(histories(), many_events(10))
def test_a_run_that_is_closed_stays_closed_and_starts_nothing(events, more):
    pilot = SCENARIOS[events[0].kind].pilot
    closed = Closed(at=NOW, outcome=Outcome.DONE)
    later = [event for event in more if not isinstance(event, Closed)]
    state = run.fold(pilot, [*events, closed, *later])

    assert state.closed == closed
    assert run.choose(pilot, state, NOW) == Wait(reason="closed")


@given(histories(), st.lists(some(Say) | some(Pause) | some(Resume) | some(Thaw), max_size=5))
def test_a_run_that_is_aborted_can_only_end(events, commands):
    pilot = SCENARIOS[events[0].kind].pilot
    state = run.fold(pilot, [*events, said(Abort()), *map(said, commands)])

    assert run.choose(pilot, state, after(10**6)) in (
        Finish(outcome=Outcome.ABORTED),
        Wait(reason="closed"),
    )


@given(histories())
def test_what_was_used_never_becomes_less(events):
    pilot = SCENARIOS[events[0].kind].pilot
    tallies = [run.fold(pilot, events[:n]).tally for n in range(1, len(events) + 1)]

    for before, then in itertools.pairwise(tallies):
        assert then.turns >= before.turns
        assert then.tokens >= before.tokens
        assert then.cost_microusd >= before.cost_microusd
        assert then.busy_s >= before.busy_s


@given(histories())
def test_every_event_reaches_the_pilot(events):
    state = run.fold(Eager(), [replace(events[0], kind="eager"), *events[1:]])

    assert state.pilot == len(events) - 1


@for_each(
    ("events", "helm", "move"),
    [
        ([], Helm(), TURN),
        ([said(Pause())], Helm(), Wait(reason="paused")),
        ([said(Freeze())], Helm(), Wait(reason="frozen")),
        ([said(Freeze()), said(Thaw())], Helm(), TURN),
        ([said(Pause()), said(Freeze()), said(Thaw())], Helm(), Wait(reason="paused")),
        ([said(Freeze()), said(Pause()), said(Thaw())], Helm(), Wait(reason="paused")),
        ([said(Pause()), said(Freeze()), said(Resume())], Helm(), TURN),
        *(
            ([said(c) for c in (Pause(), Freeze(), over, Resume(), Freeze(), Thaw())], Helm(), TURN)
            for over in (Allstop(), Resume(), Thaw())
        ),
        ([said(Allstop())], Helm(), Wait(reason="stopped")),
        ([said(Allstop()), said(Thaw()), said(Say(text="go on"))], Helm(), Wait(reason="stopped")),
        ([said(Allstop()), said(Resume())], Helm(), TURN),
        ([], Helm(hold=Hold.PAUSED), Wait(reason="all paused")),
        ([], Helm(hold=Hold.FROZEN), Wait(reason="all frozen")),
        ([], Helm(hold=Hold.STOPPED), Wait(reason="allstop")),
        ([said(Abort())], Helm(hold=Hold.STOPPED), Wait(reason="allstop")),
        ([said(Pause()), said(Abort())], Helm(), Finish(outcome=Outcome.ABORTED)),
        ([said(Abort()), said(Allstop())], Helm(), Finish(outcome=Outcome.ABORTED)),
    ],
)
def test_k1_the_helm_comes_first_then_the_end_then_the_runs_own_brake(events, helm, move):
    assert run.choose(Eager(), folded(*events), NOW, helm) == move


def test_k6_at_a_limit_it_ends_or_asks_as_it_was_told():
    stop = folded(STARTED, ended(TurnDone(text="")), limits=Limits(turns=1))
    pause = folded(
        STARTED, ended(TurnDone(text="")), limits=Limits(turns=1, at_limit=AtLimit.PAUSE)
    )

    assert run.choose(Eager(), stop, NOW) == Finish(outcome=Outcome.BRAKED, note="turns: 1 of 1")
    assert run.choose(Eager(), pause, NOW) == Wait(
        reason="limit reached: turns: 1 of 1", for_person=True, at_limit=True
    )


def test_k6_raised_limits_take_the_place_of_the_old_ones():
    state = folded(
        STARTED,
        ended(TurnDone(text="")),
        said(Raise(limits=Limits(turns=2))),
        limits=Limits(turns=1),
    )

    assert run.choose(Eager(), state, NOW) == TURN


def test_k5_a_shared_budget_that_is_used_up_brakes_until_somebody_says_otherwise():
    limit_reached = Failed(kind=FailureKind.OUT_OF_BUDGET, message="day: tokens 9 + 1 of 9")
    state = folded(STARTED, ended(limit_reached))

    assert run.choose(Eager(), state, NOW) == Finish(
        outcome=Outcome.BRAKED, note=limit_reached.message
    )
    for command in (Raise(limits=Limits()), Resume()):
        again = run.evolve(Eager(), state, said(command))
        assert run.choose(Eager(), again, NOW) == TURN


def test_k5_a_turn_is_not_begun_when_what_it_may_use_does_not_fit():
    capped = Eager(TakeTurn(agent="a", prompt=prompt("go"), max_tokens=40))
    state = folded(
        STARTED, ended(TurnDone(text="", usage=Usage(output=61))), limits=Limits(tokens=100)
    )

    assert run.choose(capped, state, NOW) == Finish(
        outcome=Outcome.BRAKED, note="tokens: 61 used, 40 reserved, 100 allowed"
    )


def test_what_comes_back_is_counted_the_failed_and_the_childrens_included():
    child = Tally(turns=3, input=5, output=5, busy_s=9.0)
    state = folded(
        STARTED,
        ended(TurnDone(text="", usage=Usage(input=10, cached=4, output=2)), 7),
        replace(STARTED, at=after(10)),
        ended(Failed(kind=FailureKind.CRASHED, usage=Usage(input=1, cost_microusd=8)), 12),
        ChildClosed(at=after(13), ref="c", run="r/c", outcome=Outcome.DONE, tally=child),
    )

    counted = Tally(turns=4, input=16, cached=4, output=7, cost_microusd=8, busy_s=18.0)
    assert state.tally == replace(counted, failed_turns=1)


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        (TurnDone(text=""), 0),
        (Failed(kind=FailureKind.NETWORK), 1),
        (Failed(kind=FailureKind.RATE_LIMITED), 1),
        (Failed(kind=FailureKind.TIMED_OUT), 1),
        (Failed(kind=FailureKind.CAPPED), 0),
        (Failed(kind=FailureKind.CANCELLED), 0),
        (Failed(kind=FailureKind.DISCARDED), 0),
        (Failed(kind=FailureKind.INTERRUPTED), 0),
    ],
)
def test_nb18_k7_turns_that_fail_by_themselves_are_counted_apart(result, failed):
    """K7: a person sees how many turns failed; no limit counts them."""
    child = Tally(failed_turns=2)
    closed = ChildClosed(at=after(13), ref="c", run="r/c", outcome=Outcome.DONE, tally=child)

    state = folded(STARTED, ended(result), closed, limits=Limits(turns=100))

    assert state.tally.failed_turns == failed + 2
    assert state.tally.turns == (0 if isinstance(result, Failed) and result.kind != "capped" else 1)


@given(RESULTS)
def test_k2_nothing_that_came_back_after_a_stop_counts(result):
    stopped = folded(STARTED, said(Allstop()))
    aborted = folded(STARTED, said(Abort()))
    under_way = folded(STARTED)

    for taken in (
        run.accepted_result(stopped, Helm(), result),
        run.accepted_result(aborted, Helm(), result),
        run.accepted_result(under_way, Helm(stops=1), result),
    ):
        assert isinstance(taken, Failed)
        assert taken.kind in RESUMABLE
    assert run.accepted_result(folded(LATER), Helm(stops=1), result) == result


@given(RESULTS)
def test_k2_what_a_discarded_reply_used_is_still_counted(result):
    taken = run.accepted_result(folded(STARTED, said(Allstop())), Helm(), result)

    assert taken.usage == getattr(result, "usage", Usage())


@pytest.mark.parametrize("lift", [Resume(), Thaw(), Pause(), Say(text="x")])
def test_k2_an_epoch_is_over_for_good_even_when_the_stop_was_lifted(lift):
    """A reply from before the stop is refused after Resume too."""
    state = folded(STARTED, said(Allstop()), said(lift))

    assert run.cancelled_by(state, Helm()) == "a stop of this run"
    assert isinstance(run.accepted_result(state, Helm(), TurnDone(text="")), Failed)


@pytest.mark.parametrize(
    ("events", "helm", "brake"),
    [
        ([STARTED], Helm(), ""),
        ([STARTED, said(Pause())], Helm(), ""),
        ([STARTED, said(Freeze())], Helm(), ""),
        ([STARTED, said(Allstop())], Helm(), "a stop of this run"),
        ([STARTED, said(Abort())], Helm(), "an abort"),
        ([LATER], Helm(stops=2, hold=Hold.STOPPED), "Allstop"),
        ([LATER], Helm(stops=2), "Allstop"),
        ([LATER], Helm(stops=1, hold=Hold.PAUSED), ""),
        ([said(Allstop()), said(Resume()), STARTED], Helm(), ""),
        ([said(Allstop())], Helm(stops=2), ""),
    ],
)
def test_k1_only_a_stop_and_an_end_cut_a_move_short(events, helm, brake):
    assert run.cancelled_by(folded(*events), helm) == brake


def test_k4_the_record_says_which_brake_cut_a_move_off():
    by_all = run.accepted_result(folded(LATER), Helm(stops=2), Failed(kind=FailureKind.CRASHED))
    by_itself = run.accepted_result(folded(STARTED, said(Abort())), Helm(), TurnDone(text="late"))

    assert by_all == Failed(kind=FailureKind.CANCELLED, message="cut off by Allstop")
    assert by_itself == Failed(kind=FailureKind.DISCARDED, message="it came after an abort")


@pytest.mark.parametrize(
    ("events", "helm", "frozen"),
    [
        ([], Helm(), False),
        ([said(Freeze())], Helm(), True),
        ([], Helm(hold=Hold.FROZEN), True),
        ([said(Pause())], Helm(hold=Hold.FROZEN), True),
        ([said(Freeze()), said(Allstop())], Helm(), False),
    ],
)
def test_k1_a_run_is_frozen_by_itself_or_with_all_others(events, helm, frozen):
    assert run.is_frozen(folded(*events), helm) is frozen


def test_an_answer_is_kept_until_the_move_ends():
    asked = Asked(at=NOW, id=1, ask=Ask(id="7", argv=("rm",)))
    waiting = folded(STARTED, asked)
    answered = folded(STARTED, asked, said(Permit(ask="7", allow=True)))
    over = folded(STARTED, asked, said(Permit(ask="7", allow=True)), ended(TurnDone(text="")))

    assert (waiting.asks, waiting.permits) == ({"7": asked.ask}, {})
    assert (answered.asks, answered.permits) == (
        {},
        {"7": Answer(leave=Permission.ALLOW, by="user")},
    )
    assert (over.asks, over.permits) == ({}, {})


def test_k18_an_answer_does_not_count_for_a_second_question_of_the_same_name():
    """A permission for one request does not apply to another with the same id."""
    harmless = Asked(at=NOW, id=1, ask=Ask(id="7", argv=("ls",)))
    other = Asked(at=NOW, id=1, ask=Ask(id="7", argv=("rm", "-rf", "/")))
    state = folded(STARTED, harmless, said(Permit(ask="7", allow=True)), other)

    assert state.permits == {}
    assert state.asks == {"7": other.ask}


def test_k18_an_answer_that_nobody_asked_for_is_not_kept_for_later():
    early = said(Permit(ask="7", allow=True))
    asked = Asked(at=NOW, id=1, ask=Ask(id="7", argv=("rm",)))

    assert folded(STARTED, early, asked).permits == {}


def test_an_open_move_knows_its_conversation():
    state = folded(STARTED, ThreadOpened(at=NOW, id=1, thread="t-1"))

    assert state.open_move.thread == "t-1"
    assert folded(ThreadOpened(at=NOW, id=1, thread="t-1")).open_move is None


def test_what_is_said_to_a_run_that_is_over_changes_nothing():
    closed = Closed(at=NOW, outcome=Outcome.DONE)
    commands = [said(c) for c in (Allstop(), Abort(), Pause(), Raise(limits=Limits(turns=1)))]
    state = folded(closed, *commands)

    assert replace(state, pilot=1) == folded(closed)


def test_a_warning_reaches_the_pilot_when_a_limit_is_near():
    briefs = []

    class Told(Eager):
        def next_move(self, state, context):
            briefs.append(context)
            return TURN

    state = folded(*[STARTED, ended(TurnDone(text=""))] * 4, limits=Limits(turns=5))
    run.choose(Told(), state, after(3))

    assert [(context.now, context.warning) for context in briefs] == [(after(3), "turns: 4 of 5")]
    assert (briefs[0].tally.turns, briefs[0].limits) == (4, Limits(turns=5))
