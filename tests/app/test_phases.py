"""Where the execution loop stands, as people see it."""

import pytest

from allstop.app.board import PILOT
from allstop.app.phases import Phase, phase
from allstop.core import run as runs
from allstop.core.commands import AddTasks, Pause, SetMode, Skip
from allstop.core.events import Commanded, MoveStarted, Opened
from allstop.core.helm import Helm, Hold
from allstop.core.specs import Mode
from allstop.core.tasks import NewTask
from histories import NOW

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
    ("state", "helm", "driven", "expected"),
    [
        (board(), Helm(), False, Phase.IDLE),
        (board(TASKS), Helm(), False, Phase.IDLE),
        (board(TASKS, start=True), Helm(), True, Phase.RUNNING),
        (board(TASKS, Pause()), Helm(), True, Phase.PAUSED),
        (board(TASKS, start=True), Helm(hold=Hold.PAUSED), True, Phase.PAUSING),
        (board(TASKS, start=True), Helm(hold=Hold.PAUSED), False, Phase.PAUSED),
        (board(TASKS, start=True), Helm(hold=Hold.STOPPED), True, Phase.STOPPED),
        (board(TASKS, SetMode(mode=Mode.SEMI)), Helm(), True, Phase.WAITING_USER),
        (board(TASKS, Skip(task="A")), Helm(), False, Phase.COMPLETED),
    ],
)
def test_b5_the_states_of_the_loop(state, helm, driven, expected):
    assert phase(state, helm, driven=driven) is expected
