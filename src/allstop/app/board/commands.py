"""The board of a repository: what is told to it, checked before it is written."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from allstop.board import task_commands
from allstop.board.board_pilot import BoardPilot, BoardState
from allstop.board.dependencies import cancelled_needs
from allstop.board.graph import Board
from allstop.core import run as runs
from allstop.core.board_specs import BoardSpec
from allstop.core.brakes import AtLimit, Limits
from allstop.core.commands import AddTasks, Command, EditTask, RemoveTask, TaskCommand
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
OWN = "allstop:"
"""How the source of a task begins that was exported from a board."""

LONGEST_TITLE = 120
"""Of a task that is made for a prompt."""

AT_ONCE = 1000
"""So many new tasks are one event."""


class Read(NamedTuple):
    """A board as it was when it was read."""

    run: RunState[BoardState]
    cursor: Cursor
    exists: bool

    @property
    def state(self) -> BoardState:
        return self.run.pilot

    @property
    def folded(self) -> FoldedRun[BoardState]:
        return FoldedRun(self.run, self.cursor.seq)


async def read(project: Project) -> Read:
    helm = await project.records.read(HELM) if project.has_store else []
    records = await project.records.read(BOARD) if project.has_store else []
    events: list[Event] = [record.event for record in records] or [_opened(project)]
    seq = records[-1].seq if records else 0
    return Read(
        runs.fold(PILOT, events),
        Cursor(BOARD, seq, helm[-1].seq if helm else 0),
        exists=bool(records),
    )


def _opened(project: Project) -> Opened:
    """A board has no limits that would close it: it is never over."""
    spec = msgspec.to_builtins(BoardSpec(target=""))
    limits = Limits(at_limit=AtLimit.PAUSE)
    return Opened(at=project.clock.now(), kind="board", spec=spec, title="the board", limits=limits)


async def tell(
    project: Project, decide: Callable[[BoardState], Sequence[Command]], known: Read | None = None
) -> Read:
    """Write what `decide` says for the board as it is; nothing is written that it refuses.

    The board as it is then.

    Who has read it just now says so: a big board takes its time to be read again.

    Raises:
        AllstopError: the board refuses one of the commands, or there is no repository to work in.
    """
    project.repository  # noqa: B018 - asking for it is what is wanted
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
        return Read(state, Cursor(BOARD, seq, board.cursor.helm), exists=True)


def _as_recorded(project: Project, event: Commanded) -> Event:
    """As it will be read again: what is folded here must be what is folded from the record."""
    kept = project.as_recorded(event)
    return msgspec.json.decode(msgspec.json.encode(kept), type=Commanded)


def _refuse(state: BoardState, command: Command) -> None:
    if isinstance(command, TaskCommand):
        refusal = task_commands.refusal(state.board, command) or task_commands.out_of_bounds(
            command
        )
        if refusal is not None:
            raise AllstopError(refusal.message, refusal.hint, code=refusal.code)


async def add(project: Project, new: NewTask, then: Callable[[Task], Sequence[Command]]) -> Task:
    """A new task, whose id is made up where it has none; and what else is said of it."""
    made: list[str] = []

    def decide(state: BoardState) -> Sequence[Command]:
        task = new if new.id else msgspec.structs.replace(new, id=free_ids(state.board)[0])
        made[:] = [task.id]
        board = task_commands.carried_out(
            state.board, AddTasks(tasks=(task,)), project.clock.now(), merge=False
        )
        more = then(board[task.id]) if task.id in board.nodes else ()
        return [AddTasks(tasks=(task,)), *more]

    board = (await tell(project, decide)).state.board
    return board[made[0]]


def free_ids(board: Board, count: int = 1) -> list[str]:
    """Ids that no task has yet."""
    names = (f"T{number}" for number in itertools.count(board.added + 1))
    free = (name for name in names if name not in board.nodes)
    return list(itertools.islice(free, count))


def for_prompt(task_id: str, prompt: str, agent: AgentName | None) -> NewTask:
    """A task of its own; what is too long for a title is its body.

    Raises:
        AllstopError: nothing is to be done.
    """
    title, _, rest = prompt.strip().partition("\n")
    if not title:
        raise AllstopError("the prompt is empty", "say what is to be done")
    return NewTask(
        id=task_id,
        title=one_line(title, LONGEST_TITLE),
        body=prompt.strip() if len(title) > LONGEST_TITLE else rest.strip(),
        agent=agent,
    )


async def split(project: Project, task_id: str, titles: Sequence[str]) -> list[str]:
    """New tasks in the place of one: they need what it needed, and are needed where it was."""
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
            )
            for number, title in enumerate(titles, start=1)
        ]
        made[:] = [part.id for part in parts]
        edits = [
            EditTask(task=other, changes=Changes(needs=_instead(board[other].needs, task_id, made)))
            for other in board.nodes[task_id].needed_by
            if board[other].status not in OVER
        ]
        return [AddTasks(tasks=tuple(parts)), *edits, RemoveTask(task=task_id)]

    await tell(project, decide)
    return made


def _instead(needs: Sequence[str], old: str, new: Sequence[str]) -> tuple[str, ...]:
    return tuple(each for need in needs for each in (new if need == old else [need]))


class Imported(NamedTuple):
    added: list[NewTask]
    known: int  # that were there already


async def bring_in(project: Project, found: Sequence[NewTask]) -> Imported:
    """Tasks of a file; what was imported before is left as it is."""
    added: list[NewTask] = []

    def decide(state: BoardState) -> Sequence[Command]:
        board = state.board
        new = [task for task in found if not _is_known(board, task)]
        ordered = task_commands.in_order(new)
        if isinstance(ordered, task_commands.Refusal):
            raise AllstopError(ordered.message, ordered.hint, code=ordered.code)
        added[:] = ordered
        return [
            AddTasks(tasks=tuple(ordered[start : start + AT_ONCE]))
            for start in range(0, len(ordered), AT_ONCE)
        ]

    await tell(project, decide)
    return Imported(added, len(found) - len(added))


def _is_known(board: Board, task: NewTask) -> bool:
    """Whether the same thing was imported before, or comes from this board's own export."""
    if task.source in board.sources:
        return True
    return task.source == f"{OWN}{task.id}" and task.id in board.nodes


async def find(project: Project, task_id: str) -> Task:
    """Raises AllstopError where there is none of that name."""
    board = (await read(project)).state.board
    task = board.get(task_id)
    if task is None:
        raise NotFoundError(
            f"there is no task {task_id!r}", task_commands.what_else(board, task_id)
        )
    return task


async def waiting_for(project: Project, task_id: str) -> list[str]:
    """The pending tasks that need one which was given up."""
    return cancelled_needs((await read(project)).state.board.tasks()).get(task_id, [])
