"""Commands to the board, checked before they are written."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from allstop.app.board.ended_sprints import write_sprints
from allstop.board import task_commands
from allstop.board.board_pilot import BoardPilot
from allstop.board.dependencies import cancelled_needs
from allstop.board.graph import Board
from allstop.board.state import BoardState
from allstop.core import run as runs
from allstop.core.board_specs import BoardSpec
from allstop.core.brakes import AtLimit, Limits
from allstop.core.commands import AddTasks, Assign, Command, EditTask, RemoveTask, TaskCommand
from allstop.core.errors import AllstopError, NotFoundError
from allstop.core.events import Commanded, Event, Opened
from allstop.core.ids import BOARD, HELM, AgentName
from allstop.core.run import FoldedRun, RunState
from allstop.core.tasks import OVER, Changes, NewTask, Task
from allstop.core.text import one_line
from allstop.ports import Cursor, Entry, StaleError

if TYPE_CHECKING:
    from allstop.app.project import Project

PILOT = BoardPilot()
EXPORT_PREFIX = "allstop:"
"""The prefix of a task's source if it was exported from a board."""

LONGEST_TITLE = 120
"""For tasks made from a prompt."""

TASKS_PER_EVENT = 1000
"""How many imported tasks one event adds."""


class BoardSnapshot(NamedTuple):
    """The board at the moment it was read."""

    run: RunState[BoardState]
    cursor: Cursor
    exists: bool

    @property
    def state(self) -> BoardState:
        return self.run.pilot

    @property
    def folded(self) -> FoldedRun[BoardState]:
        return FoldedRun(self.run, self.cursor.seq)


async def read(project: Project) -> BoardSnapshot:
    helm = await project.records.read(HELM) if project.has_store else []
    records = await project.records.read(BOARD) if project.has_store else []
    events: list[Event] = [record.event for record in records] or [_opened(project)]
    seq = records[-1].seq if records else 0
    return BoardSnapshot(
        runs.fold(PILOT, events),
        Cursor(BOARD, seq, helm[-1].seq if helm else 0),
        exists=bool(records),
    )


def _opened(project: Project) -> Opened:
    """A limit pauses the board and never closes it."""
    spec = msgspec.to_builtins(BoardSpec(target=""))
    limits = Limits(at_limit=AtLimit.PAUSE)
    return Opened(at=project.clock.now(), kind="board", spec=spec, title="the board", limits=limits)


async def send_commands(
    project: Project,
    decide: Callable[[BoardState], Sequence[Command]],
    known: BoardSnapshot | None = None,
) -> BoardSnapshot:
    """Write the commands that `decide` returns for the current board; returns the new board.

    A caller that has just read the board passes it as `known`, to save a second read.

    Raises AllstopError if the board refuses one of the commands (then none is written), or there is
    no repository.
    """
    project.repository  # noqa: B018 - raises without a repository
    while True:
        board = known or await read(project)
        known = None
        commands = decide(board.state)
        state = board.run
        entries = [] if board.exists else [Entry(BOARD, state.opened)]
        for command in commands:
            _refuse(state.pilot, command)
            event = _as_recorded(project, Commanded(at=project.clock.now(), command=command))
            state = runs.evolve(PILOT, state, event)
            entries.append(Entry(BOARD, event))
        try:
            await project.journal.append(*entries, expect=board.cursor)
        except StaleError:
            continue
        seq = board.cursor.seq + len(entries)
        sent = BoardSnapshot(state, Cursor(BOARD, seq, board.cursor.helm), exists=True)
        if sent.state.sprints is not board.state.sprints:
            await write_sprints(project, state.pilot, seq)
        return sent


def _as_recorded(project: Project, event: Commanded) -> Event:
    """The event as a reader decodes it, so that both fold the same."""
    redacted = project.as_recorded(event)
    return msgspec.json.decode(msgspec.json.encode(redacted), type=Commanded)


def _refuse(state: BoardState, command: Command) -> None:
    if isinstance(command, TaskCommand):
        refusal = (
            task_commands.refusal(state.board, command)
            or task_commands.out_of_bounds(command)
            or task_commands.unconfirmed(state.board, command)
        )
        if refusal is not None:
            raise AllstopError(refusal.message, refusal.hint, code=refusal.code)


async def add(project: Project, new: NewTask, then: Callable[[Task], Sequence[Command]]) -> Task:
    """Add a task, with a generated id if it has none, and send the commands of `then` for it."""
    made: list[str] = []

    def decide(state: BoardState) -> Sequence[Command]:
        task = new if new.id else msgspec.structs.replace(new, id=free_ids(state.board)[0])
        made[:] = [task.id]
        board = task_commands.carried_out(
            state.board, AddTasks(tasks=(task,)), project.clock.now(), merge=False
        )
        more = then(board[task.id]) if task.id in board.nodes else ()
        return [AddTasks(tasks=(task,)), *more]

    board = (await send_commands(project, decide)).state.board
    return board[made[0]]


def free_ids(board: Board, count: int = 1) -> list[str]:
    """Ids that no task has yet."""
    names = (f"T{number}" for number in itertools.count(board.added + 1))
    free = (name for name in names if name not in board.nodes)
    return list(itertools.islice(free, count))


def start_commands(
    state: BoardState,
    tasks: Sequence[str],
    prompts: Sequence[str],
    agent: AgentName | None,
    *,
    assignee: AgentName | None = None,
) -> list[Command]:
    """The commands that start tasks, and new tasks for prompts. `agent` works on new tasks.

    `assignee` works on the tasks that exist; None leaves that to the board.
    """
    at_rest = [task for task in tasks if not state.board[task].open]  # open ones continue anyway
    commands: list[Command] = [Assign(task=task, agent=assignee) for task in at_rest]
    for task_id, prompt in zip(free_ids(state.board, len(prompts)), prompts, strict=True):
        new = task_for_prompt(task_id, prompt, agent)
        commands += [AddTasks(tasks=(new,)), Assign(task=new.id)]
    return commands


def task_for_prompt(task_id: str, prompt: str, agent: AgentName | None) -> NewTask:
    """A new task; a prompt that is too long for a title becomes the body.

    Raises AllstopError if the prompt is empty.
    """
    title, _, rest = prompt.strip().partition("\n")
    if not title:
        raise AllstopError("the prompt is empty", "say what is to be done", code="prompt_empty")
    return NewTask(
        id=task_id,
        title=one_line(title, LONGEST_TITLE),
        body=prompt.strip() if len(title) > LONGEST_TITLE else rest.strip(),
        agent=agent,
    )


async def split(project: Project, task_id: str, titles: Sequence[str]) -> list[str]:
    """Replace a task by smaller ones, which inherit its needs and the tasks that need it."""
    made: list[str] = []

    def decide(state: BoardState) -> Sequence[Command]:
        board = state.board
        _refuse(state, RemoveTask(task=task_id))
        task = board[task_id]
        parts = [
            NewTask(
                id=f"{task_id}-{number}",
                title=title,
                operation=task.operation,
                needs=task.needs,
                tags=task.tags,
                priority=task.priority,
                agent=task.agent,
                may_change=task.may_change,
                labels=task.labels,
            )
            for number, title in enumerate(titles, start=1)
        ]
        made[:] = [part.id for part in parts]
        edits = [
            EditTask(
                task=other, changes=Changes(needs=_replaced(board[other].needs, task_id, made))
            )
            for other in board.nodes[task_id].needed_by
            if board[other].status not in OVER
        ]
        return [AddTasks(tasks=tuple(parts)), *edits, RemoveTask(task=task_id)]

    await send_commands(project, decide)
    return made


def _replaced(needs: Sequence[str], old: str, new: Sequence[str]) -> tuple[str, ...]:
    return tuple(each for need in needs for each in (new if need == old else [need]))


class Imported(NamedTuple):
    added: list[NewTask]
    known: int  # imported before


async def import_tasks(project: Project, found: Sequence[NewTask]) -> Imported:
    """Add the tasks of a file; tasks that were imported before are left unchanged."""
    added: list[NewTask] = []

    def decide(state: BoardState) -> Sequence[Command]:
        board = state.board
        new = [task for task in found if not _is_known(board, task)]
        ordered = task_commands.in_order(new)
        if isinstance(ordered, task_commands.Refusal):
            raise AllstopError(ordered.message, ordered.hint, code="import_refused")
        added[:] = ordered
        return [
            AddTasks(tasks=tuple(ordered[start : start + TASKS_PER_EVENT]))
            for start in range(0, len(ordered), TASKS_PER_EVENT)
        ]

    await send_commands(project, decide)
    return Imported(added, len(found) - len(added))


def _is_known(board: Board, task: NewTask) -> bool:
    """Whether it was imported before, or exported from this board."""
    if task.source in board.sources:
        return True
    return task.source == f"{EXPORT_PREFIX}{task.id}" and task.id in board.nodes


async def find_task(project: Project, task_id: str) -> Task:
    """Raises NotFoundError if there is no such task."""
    board = (await read(project)).state.board
    task = board.get(task_id)
    if task is None:
        raise NotFoundError(
            f"there is no task {task_id!r}", task_commands.what_else(board, task_id)
        )
    return task


async def tasks_waiting_for(project: Project, task_id: str) -> list[str]:
    """The pending tasks that need this cancelled task."""
    return cancelled_needs((await read(project)).state.board.tasks()).get(task_id, [])
