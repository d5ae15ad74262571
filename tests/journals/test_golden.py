"""Journals of every version that was ever released are read for ever."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from allstop.core import helm, run
from allstop.core.events import Event, MoveStarted, Opened
from allstop.core.helm import Hold
from allstop.core.moves import Outcome, TakeTurn
from allstop.core.prompt import prompt
from allstop.core.replay import differences, redecided
from allstop.core.tasks import Status
from allstop.kinds import PILOTS
from allstop.views.log import lines

FILES = sorted(Path(__file__).parent.glob("v*/*.jsonl"))


def events_of(file):
    return [msgspec.json.decode(line, type=Event) for line in file.read_bytes().splitlines()]


def told(move):
    """A move without its words: prompts may be put better, decisions may not change."""
    return replace(move, prompt=prompt("")) if isinstance(move, TakeTurn) else move


def ended_well(state):
    if state.opened.kind == "board":
        return {task.status for task in state.pilot.board.tasks()} == {Status.DONE}
    if state.opened.kind == "merge":
        return state.closed.outcome in (Outcome.DONE, Outcome.CONFLICT)
    return state.closed.outcome is Outcome.DONE


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_q20_an_old_journal_folds_and_decides_as_it_did(file):
    """Q20: the same decisions, from what another version wrote."""
    events = events_of(file)

    assert all(lines(event) for event in events)
    if isinstance(events[0], Opened):
        pilot = PILOTS[events[0].kind]
        assert ended_well(run.fold(pilot, events))
        assert [d for d in differences(pilot, events) if told(d.recorded) != told(d.again)] == []
        assert redecided(pilot, events) == []
    else:
        assert helm.fold(events).hold is Hold.NONE


def test_q20_a_model_is_asked_again_what_it_was_asked():
    """Q20, F12: down to the digest of the question, by either edition of the rules."""
    files = [file for file in FILES if file.stem in ("auto.auto1", "auto_second.auto1")]
    assert len(files) == 2
    for events in map(events_of, files):
        moves = [event.move for event in events if isinstance(event, MoveStarted)]
        turns = [move.agent for move in moves if isinstance(move, TakeTurn)]

        assert turns.count("judge") > 5
        assert differences(PILOTS["auto"], events) == []


def test_there_are_some():
    assert {file.parent.name for file in FILES} >= {"v1", "v2"}
    assert len(FILES) >= 15
