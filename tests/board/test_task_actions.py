"""U2: the actions that a task offers are those that the board accepts."""

import itertools

import msgspec

from allstop.app.actions import Body, action_in
from allstop.board import graph
from allstop.board.graph import Board
from allstop.board.task_actions import task_actions
from allstop.board.task_commands import refusal
from allstop.core.commands import Assign, TaskCommand
from allstop.core.moves import Outcome
from allstop.core.tasks import Attempt, NewTask, Status
from support.strategies import NOW

EXTRA = {"edit_task": {"changes": {"title": "x"}}, "redo": {"text": "x"}, "say": {"text": "x"}}


def tasks():
    """A task in every status, before and after an attempt, with and without the rest of its facts."""
    new = graph.add(Board(), [NewTask(id="a", title="A")], NOW)
    ended = Attempt(run="board/a/1", began_at=NOW, outcome=Outcome.FAILED)
    crashed = Attempt(run="board/a/1", began_at=NOW, outcome=Outcome.CRASHED)
    at_work = Attempt(run="board/a/1", began_at=NOW)
    for status, attempts in itertools.product(Status, [(), (ended,), (crashed,), (at_work,)]):
        for verified, held, note in itertools.product(["", "tree"], [False, True], ["", "died"]):
            is_open = attempts == (at_work,) and status in (Status.ACTIVE, Status.WAITING)
            yield graph.update(
                new,
                new["a"],
                status=status,
                attempts=attempts,
                verified=verified,
                held=held,
                note=note,
                open="board/a/1" if is_open else "",
            )


def test_u2_the_board_accepts_every_action_that_a_task_offers():
    wrong = []
    for board in tasks():
        for name in task_actions(board["a"], waits=False):
            body = {"command": name, **EXTRA.get(name, {})}
            if name in ("answer", "comment", "split", "clean", "limit"):
                continue  # requests that become other commands
            command = action_in(msgspec.convert(body, Body), "a")
            if isinstance(command, TaskCommand) and (no := refusal(board, command)):
                wrong.append((board["a"].status.value, name, no.message))

    assert not wrong


def test_u2_a_task_that_a_person_can_move_on_offers_something():
    for board in tasks():
        task = board["a"]
        if task.status is not Status.MERGING and (task.attempts or task.status is not Status.DONE):
            assert task_actions(task, waits=False), task.status


def test_u2_remedies_come_first():
    board = graph.add(Board(), [NewTask(id="a", title="A")], NOW)
    timed_out = graph.update(board, board["a"], status=Status.TIMEOUT)

    assert task_actions(timed_out["a"], waits=False)[:2] == ("retry", "limit")


def test_u2_a_task_that_waits_for_another_can_not_be_started():
    new = [NewTask(id="a", title="A"), NewTask(id="b", title="B", needs=("a",))]
    board = graph.add(Board(), new, NOW)

    assert "assign" not in task_actions(board["b"], waits=True)
    assert refusal(board, Assign(task="b")) is not None
