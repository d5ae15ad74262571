"""Where the execution loop stands, as people see it."""

import pytest

from allstop.app.board.commands import PILOT
from allstop.core import run
from allstop.core.board_specs import Mode
from allstop.core.commands import AddTasks, Pause, SetMode, Skip
from allstop.core.events import ChildRested, Commanded, MoveStarted, Opened
from allstop.core.helm import Helm, Hold
from allstop.core.tasks import NewTask
from allstop.views.board_phase import ChildRuns, Phase, counts, phase, stopped
from support.strategies import NOW

STILL, MOVING = ChildRuns(), ChildRuns(moving=True)
TASKS = AddTasks(tasks=(NewTask(id="A", title="a"),))


def board(*commands, start=False):
    events = [Opened(at=NOW, kind="board", spec={"target": "main", "agents": ["x"]})]
    events += [Commanded(at=NOW, command=command) for command in commands]
    state = run.fold(PILOT, events)
    if start:
        move = run.choose(PILOT, state, NOW)
        state = run.evolve(PILOT, state, MoveStarted(at=NOW, id=1, move=move))
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


@pytest.mark.parametrize(
    ("helm", "under", "names"),
    [
        (Helm(), STILL, set()),
        (Helm(), ChildRuns(stopped=frozenset({"A"})), {"A"}),
        (Helm(), ChildRuns(stopped=frozenset({"gone"})), set()),
        (Helm(hold=Hold.STOPPED), STILL, {"A"}),
        (Helm(hold=Hold.PAUSED), STILL, set()),
    ],
)
def test_b13_a_task_that_is_stopped_counts_as_pending(helm, under, names):
    state = board(TASKS, start=True).pilot

    found = stopped(state, helm, under)

    assert found == names
    assert counts(state.board, found) == ({"pending": 1} if names else {"active": 1})


def test_b5_a_loop_whose_only_task_is_held_by_itself_waits_for_a_person():
    state = board(TASKS, start=True)
    rested = ChildRested(at=NOW, ref="A.1", run="board/A.1", reason="stopped", until=None)

    assert phase(run.evolve(PILOT, state, rested), Helm(), STILL, driven=True) is Phase.WAITING_USER
