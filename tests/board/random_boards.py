"""Random boards, and properties of a board computed from all its tasks."""

from collections import Counter
from datetime import timedelta
from random import Random

from msgspec import UNSET

from allstop.board import graph, task_commands
from allstop.board.graph import Board
from allstop.core.board_specs import Filters, SprintSpec, Target, TargetKind
from allstop.core.brakes import AtLimit
from allstop.core.commands import (
    AddTasks,
    Approve,
    Assign,
    CancelSprint,
    EditTask,
    Give,
    Order,
    PauseSprint,
    Pin,
    Redo,
    Reject,
    RemoveTask,
    ResumeSprint,
    Retry,
    RollBack,
    Skip,
    StartSprint,
    Take,
)
from allstop.core.tasks import Changes, NewTask, Status
from allstop.testing.virtual_clock import EPOCH

IDS = [f"t{number}" for number in range(8)]
TAGS = ("critical", "quick-win", "docs")
OPERATIONS = ("", "north", "south")


def some_task(chance, name, known):
    return NewTask(
        id=name,
        title=name,
        operation=chance.choice(OPERATIONS),
        needs=tuple(chance.choices(known, k=chance.randint(0, 3))) if known else (),
        tags=tuple(chance.sample(TAGS, chance.randint(0, 2))),
        priority=chance.choice([0, 0, 1, 5]),
        done=chance.random() < 0.1,
    )


def some_command(chance, board, ids=IDS):
    name = chance.choice(ids)
    known = [task.id for task in board.tasks()]
    return chance.choice(
        [
            AddTasks(tasks=(some_task(chance, name, known),)),
            AddTasks(tasks=(some_task(chance, name, known),)),
            EditTask(task=name, changes=some_changes(chance, ids)),
            EditTask(task=name, changes=some_changes(chance, ids)),
            Pin(task=name, on=chance.random() < 0.7),
            Order(tasks=(name, chance.choice(ids))),
            Assign(task=name),
            Retry(task=name),
            Redo(task=name, text="again"),
            Skip(task=name),
            RemoveTask(task=name),
            Reject(task=name),
            Approve(task=name),
            RollBack(task=name),
            Take(task=name),
            Give(task=name, commit="by hand"),
        ]
    )


def some_sprint(chance, now):
    """A sprint by any target, most without filters."""
    kind = chance.choice(list(TargetKind))
    value = {TargetKind.COUNT: chance.randint(1, 4), TargetKind.DURATION: 0.1}.get(kind)
    is_timed = kind in (TargetKind.DURATION, TargetKind.UNTIL_TIME)
    filters = chance.choice(
        [
            Filters(),
            Filters(),
            Filters(include_tags=("docs", "critical")),
            Filters(exclude_operations=("north",)),
        ]
    )
    return SprintSpec(
        target=Target(type=kind, value=value),
        ends_at=now + timedelta(seconds=chance.choice([1, 60, 900])) if is_timed else None,
        filters=filters,
        checkpoint_before=chance.random() < 0.3,
        pause_on_error=chance.random() < 0.3,
        pause_on_stuck=chance.random() < 0.3,
        batch_review=chance.choice([None, True, False]),
        at_limit=chance.choice(list(AtLimit)),
    )


def some_sprint_command(chance, now):
    return chance.choice(
        [
            StartSprint(sprint=some_sprint(chance, now)),
            StartSprint(sprint=some_sprint(chance, now)),
            StartSprint(sprint=some_sprint(chance, now)),
            PauseSprint(),
            ResumeSprint(),
            ResumeSprint(),
            CancelSprint(),
        ]
    )


def some_changes(chance, ids):
    return Changes(
        operation=chance.choice([UNSET, *OPERATIONS]),
        needs=chance.choice([UNSET, tuple(chance.choices(ids, k=chance.randint(0, 3)))]),
        tags=chance.choice([UNSET, tuple(chance.sample(TAGS, chance.randint(0, 2)))]),
        priority=chance.choice([UNSET, 0, 5]),
    )


def some_turn_of_fate(chance, board):
    """Changes of a task by agents and merges."""
    task = board.get(chance.choice(IDS))
    if task is None:
        return board
    changes = {"status": chance.choice(list(Status)), "held": chance.random() < 0.2}
    return graph.update(board, task, retries=task.retries + (chance.random() < 0.2), **changes)


def some_board(seed, steps):
    """The board after each change."""
    chance = Random(seed)
    board = Board()
    yield board
    for _ in range(steps):
        if chance.random() < 0.3:
            board = some_turn_of_fate(chance, board)
        else:
            command = some_command(chance, board)
            board = task_commands.carried_out(board, command, EPOCH, merge=chance.random() < 0.5)
        yield board


# --- properties, computed from all tasks ---


def ready(board):
    tasks = {task.id: task for task in board.tasks()}
    met = (Status.DONE, Status.SKIPPED)
    return [
        task
        for task in tasks.values()
        if task.status is Status.PENDING
        and not task.held
        and all(tasks[need].status in met for need in task.needs)
    ]


def score(board, task):
    tasks = board.tasks()
    over = (Status.DONE, Status.SKIPPED, Status.CANCELLED)
    total = 10 * sum(task.id in other.needs and other.status not in over for other in tasks)
    total += 50 * ("critical" in task.tags) + 30 * ("quick-win" in task.tags)
    siblings = [
        other
        for other in tasks
        if other.operation == task.operation and other.status is not Status.CANCELLED
    ]
    done = sum(other.status is Status.DONE for other in siblings)
    if task.operation and done * 2 > len(siblings):
        total += 20
    return total - 15 * task.retries


def in_order(board):
    """Ready tasks, best first."""
    return sorted(
        ready(board),
        key=lambda task: (
            not task.assigned,
            not board.favors.takes(task.operation, task.tags),
            -task.pin,
            -score(board, task),
            -task.priority,
            task.number,
        ),
    )


def counts(board):
    return Counter(task.status for task in board.tasks())
