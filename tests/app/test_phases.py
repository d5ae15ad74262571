"""Where the execution loop stands, as people see it."""

import pytest

from allstop.app.board import PILOT
from allstop.app.phases import Below, Phase, phase
from allstop.core import run as runs
from allstop.core.commands import AddTasks, Pause, SetMode, Skip
from allstop.core.events import Commanded, MoveStarted, Opened
from allstop.core.helm import Helm, Hold
from allstop.core.specs import Mode
from allstop.core.tasks import NewTask
from histories import NOW

STILL, MOVING = Below(), Below(moving=True)
TASKS = AddTasks(tasks=(NewTask(id="A", title="a"),))


def board(*commands, start=False):
    events = [Opened(at=NOW, kind="board", spec={"target": "main", "agents": ["x"]})]
    events += [Commanded(at=NOW, command=command) for command in commands]
    state = runs.fold(PILOT, events)
    if start:
        move = runs.choose(PILOT, state, NOW)
        state = runs.evolve(PILOT, state, MoveStarted(at=NOW, id=1, move=move))
    return state


@pytest.mark.parametrize(
    ("state", "helm", "under", "driven", "expected"),
    [
        (board(), Helm(), STILL, False, Phase.IDLE),
        (board(TASKS), Helm(), STILL, False, Phase.IDLE),
        (board(TASKS, start=True), Helm(), STILL, True, Phase.RUNNING),
        (board(TASKS, Pause()), Helm(), STILL, True, Phase.PAUSED),
        (board(TASKS, start=True), Helm(hold=Hold.PAUSED), MOVING, True, Phase.PAUSING),
        (board(TASKS, start=True), Helm(hold=Hold.PAUSED), STILL, True, Phase.PAUSED),
        (board(TASKS, start=True), Helm(hold=Hold.PAUSED), MOVING, False, Phase.PAUSED),
        (board(TASKS, start=True), Helm(hold=Hold.STOPPED), MOVING, True, Phase.STOPPED),
        (board(TASKS, SetMode(mode=Mode.SEMI)), Helm(), STILL, True, Phase.WAITING_USER),
        (board(TASKS, Skip(task="A")), Helm(), STILL, False, Phase.COMPLETED),
    ],
)
def test_b5_the_states_of_the_loop(state, helm, under, driven, expected):
    assert phase(state, helm, under, driven=driven) is expected
