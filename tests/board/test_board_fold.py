"""Q7: folding a board's events at once gives the same board as one by one."""

from datetime import timedelta
from random import Random

from msgspec import to_builtins

from allstop.board.board_pilot import BoardPilot
from allstop.core import run
from allstop.core.board_specs import BoardSpec
from allstop.core.commands import AddTasks, Pause
from allstop.core.events import Commanded, Opened
from allstop.testing.virtual_clock import EPOCH
from board.random_boards import some_command, some_task
from support.cases import for_each

PILOT = BoardPilot()
OPENED = Opened(at=EPOCH, kind="board", spec=to_builtins(BoardSpec(target="main")))
IDS = [f"t{number}" for number in range(40)]


def additions(chance):
    """Some of them are refused: the task exists already, or a need is missing."""
    names = chance.sample(IDS, chance.randint(1, 6))
    return AddTasks(tasks=tuple(some_task(chance, name, IDS[:10]) for name in names))


@for_each("seed", range(60))
def test_q7_many_events_at_once_come_to_the_same_as_one_by_one(seed):
    chance = Random(seed)
    state, events = run.begin(PILOT, OPENED), [OPENED]
    for number in range(chance.randint(1, 120)):
        board = state.pilot.board
        said = chance.choice([additions(chance), additions(chance), some_command(chance, board)])
        command = Pause() if chance.random() < 0.05 else said
        events.append(Commanded(at=EPOCH + timedelta(seconds=number), command=command))
        state = run.evolve(PILOT, state, events[-1])

    half = chance.randrange(1, len(events))
    began = run.fold(PILOT, events[:half])

    assert run.fold(PILOT, events) == state
    assert run.fold_more(PILOT, began, events[half:]) == state
    assert len(state.pilot.board.nodes) == state.pilot.board.added
