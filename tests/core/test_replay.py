"""F7, Q20: a replay makes each decision again and compares it with the journal."""

import msgspec
import pytest
from hypothesis import given
from msgspec.structs import replace

from allstop.board.board_pilot import BoardPilot
from allstop.core.brakes import Limits
from allstop.core.commands import Assign
from allstop.core.events import Closed, MoveEnded, MoveStarted, Opened
from allstop.core.moves import (
    Change,
    Failed,
    FailureKind,
    Finish,
    OpenWorkspace,
    Outcome,
    RunChecks,
    TakeTurn,
    TurnDone,
    WorkspaceOpen,
)
from allstop.core.prompt import Prompt
from allstop.core.replay import differences, receipts
from support.pilot_steps import BoardSteps
from support.random_runs import SCENARIOS
from support.strategies import NOW, histories


def pilot_of(events):
    return SCENARIOS[events[0].kind].pilot


def decisions(events):
    return [event for event in events if isinstance(event, MoveStarted | Closed)]


@given(histories())
def test_q20_replaying_any_recorded_run_gives_byte_equal_decisions(events):
    written = receipts(pilot_of(events), events)

    recorded = [
        Finish(outcome=event.outcome, note=event.note, facts=event.facts)
        if isinstance(event, Closed)
        else event.move
        for event in decisions(events)
    ]
    assert differences(pilot_of(events), events) == []
    assert msgspec.json.encode([r.move for r in written]) == msgspec.json.encode(recorded)
    assert all(receipt.same for receipt in written)


@given(histories())
def test_f7_every_decision_has_a_receipt_that_says_when_and_from_what(events):
    written = receipts(pilot_of(events), events)

    assert [events[receipt.seq - 1] for receipt in written] == decisions(events)
    assert [receipt.at for receipt in written] == [event.at for event in decisions(events)]


@given(histories())
def test_q20_a_record_that_was_written_and_read_again_replays_the_same(events):
    stored = [msgspec.json.decode(msgspec.json.encode(e), type=type(e)) for e in events]

    assert receipts(pilot_of(events), stored) == receipts(pilot_of(events), events)


@given(histories())
def test_q20_a_tampered_decision_is_reported(events):
    pilot = pilot_of(events)
    for number, event in enumerate(events):
        if isinstance(event, Closed):
            forged = replace(event, note=f"{event.note} (forged)")
        elif isinstance(event, MoveStarted) and isinstance(event.move, TakeTurn):
            move = replace(event.move, prompt=Prompt(digest="0" * 32, chars=1))
            forged = replace(event, move=move)
        else:
            continue
        record = [*events[:number], forged, *events[number + 1 :]]

        assert number + 1 in [difference.seq for difference in differences(pilot, record)]


def task_record(*events, **spec):
    opened = Opened(at=NOW, kind="task", spec={"task": "t", "goal": "g", "agents": ["a"], **spec})
    record = [opened]
    pilot = SCENARIOS["task"].pilot
    from allstop.core import run
    from allstop.core.moves import without_prompt_text

    for number, result in enumerate(events, start=1):
        move = run.choose(pilot, run.fold(pilot, record), NOW)
        record.append(MoveStarted(at=NOW, id=number, move=without_prompt_text(move)))
        record.append(MoveEnded(at=NOW, id=number, result=result))
    return record


def test_q20_a_reply_that_was_changed_afterwards_shows_in_the_next_decision():
    record = task_record(
        TurnDone(text="more"), TurnDone(text="<promise>BLOCKED: no</promise>"), target=None
    )
    record.append(Closed(at=NOW, outcome=Outcome.BLOCKED, note="no"))
    honest = differences(SCENARIOS["task"].pilot, record)
    record[4] = replace(record[4], result=TurnDone(text="<promise>COMPLETE</promise>"))

    (difference,) = differences(SCENARIOS["task"].pilot, record)
    assert honest == []
    assert difference.recorded == Finish(outcome=Outcome.BLOCKED, note="no")
    assert difference.again == Finish(outcome=Outcome.DONE)


def test_f7_another_policy_shows_every_decision_it_would_have_made_otherwise():
    record = task_record(TurnDone(text="more"), TurnDone(text="more"))
    record[0] = replace(record[0], spec={**record[0].spec, "agents": ["b"]})

    found = differences(SCENARIOS["task"].pilot, record)
    assert [(d.recorded.agent, d.again.agent) for d in found] == [("a", "b")] * 2


def test_f7_a_receipt_tells_what_was_used_what_was_near_and_what_came_of_it():
    limited = Failed(kind=FailureKind.RATE_LIMITED, message="429")
    record = task_record(TurnDone(text="more"))
    record[0] = replace(record[0], limits=Limits(turns=1))
    record += task_record(TurnDone(text="more"), limited)[3:]
    (first, second) = receipts(SCENARIOS["task"].pilot, record)

    assert (first.tally.turns, first.warning, first.overridden) == (0, "", "")
    assert (second.tally.turns, second.warning) == (1, "turns: 1 of 1")
    assert (second.result, second.overridden) == (limited, "rate_limited")
    assert second.again == Finish(outcome=Outcome.BRAKED, note="turns: 1 of 1")


def test_a_move_that_is_still_open_has_a_receipt_without_a_result():
    record = task_record(TurnDone(text="more"))[:-1]
    (receipt,) = receipts(SCENARIOS["task"].pilot, record)

    assert (receipt.result, receipt.same) == (None, True)


def test_a_record_must_begin_at_the_beginning():
    record = task_record(TurnDone(text="more"))

    with pytest.raises(AssertionError, match="starts with Opened"):
        receipts(SCENARIOS["task"].pilot, record[1:])


def test_checks_and_turns_are_decisions_alike():
    record = task_record(
        TurnDone(text="<promise>COMPLETE</promise>"), checks=[{"name": "T", "run": "t"}]
    )
    from allstop.core import run

    pilot = SCENARIOS["task"].pilot
    move = run.choose(pilot, run.fold(pilot, record), NOW)
    record.append(MoveStarted(at=NOW, id=2, move=move))

    assert isinstance(move, RunChecks)
    assert [type(r.move) for r in receipts(pilot, record)] == [TakeTurn, RunChecks]


def finished_record(facts):
    record = task_record(
        WorkspaceOpen(base="c0"),
        TurnDone(text="<promise>COMPLETE</promise>", change=Change(head="c1", commits=1, files=1)),
        target="main",
    )
    return [*record, Closed(at=NOW, outcome=Outcome.DONE, facts=facts)]


def test_q20_a_record_from_before_facts_were_kept_decides_as_it_did():
    assert differences(SCENARIOS["task"].pilot, finished_record({})) == []


def test_q20_facts_that_were_changed_afterwards_are_reported():
    honest = {"commit": "c1", "tree": "", "clean": "yes"}

    assert differences(SCENARIOS["task"].pilot, finished_record(honest)) == []
    forged = finished_record({**honest, "tree": "another"})
    assert [d.seq for d in differences(SCENARIOS["task"].pilot, forged)] == [len(forged)]


def test_q20_a_record_from_before_work_was_stashed_decides_as_it_did():
    record = task_record(
        WorkspaceOpen(base="c0"), Failed(kind=FailureKind.CANCELLED), target="main"
    )
    reopened = MoveStarted(at=NOW, id=3, move=OpenWorkspace(workspace="t", target="main"))
    stashing = replace(reopened, move=replace(reopened.move, stash=True))

    for event in (reopened, stashing):
        assert differences(SCENARIOS["task"].pilot, [*record, event]) == []
    elsewhere = replace(reopened, move=replace(reopened.move, target="other"))
    assert len(differences(SCENARIOS["task"].pilot, [*record, elsewhere])) == 1


def test_q20_b21_a_board_from_before_attempts_were_stashed_or_remembered_decides_as_it_did():
    flight = BoardSteps()
    flight.add("a")
    flight.ends("a.1", Outcome.ABORTED)
    flight.tell(Assign(task="a"))
    spawn = flight.spawned[-1]
    later = {"stash", "before", "edition"}
    assert later < set(spawn.spec)

    then = replace(spawn, spec={k: v for k, v in spawn.spec.items() if k not in later})
    otherwise = replace(then, spec={**then.spec, "goal": "another"})
    events = flight.events[:-2]
    for move, count in ((spawn, 0), (then, 0), (otherwise, 1)):
        record = [*events, MoveStarted(at=NOW, id=2, move=move)]
        assert len(differences(BoardPilot(), record)) == count
