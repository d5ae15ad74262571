"""Follows in this terminal a board that another process drives, and sends it commands."""

from __future__ import annotations

import signal
from collections.abc import Collection, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Any

import anyio

from allstop.adapters.live_text import LiveTextReceiver, receive_live_text
from allstop.app.board import commands, driver, overview
from allstop.app.live_runs import LiveRuns
from allstop.app.live_text import LISTENERS_FOLDER
from allstop.app.runs.commands import refuse_if_stopped
from allstop.board.state import BoardState
from allstop.cli.board.run_board import (
    exit_code,
    limit_of,
    next_steps,
    sprint_lines,
    sprint_tasks,
    take_over,
)
from allstop.cli.board.screen import BoardScreen, make_board_screen
from allstop.cli.output import STOPPED
from allstop.core import run as runs
from allstop.core.board_specs import BoardSpec
from allstop.core.brakes import Limits
from allstop.core.helm import Hold
from allstop.core.ids import BOARD, RunId, child_of, root_of
from allstop.core.moves import Wait
from allstop.core.run import RunState
from allstop.core.tasks import Status, Task
from allstop.ports import Clock, HeldError, Holder, Live, PositionedRecord

if TYPE_CHECKING:
    from allstop.app.project import Project

HOW_TO_LEAVE = "Ctrl-C only ends this view"
DRIVER_CHECK_S = 1.0
"""How often to check that a process drives the board: a killed one leaves no event."""


async def start_tasks(
    project: Project,
    decide: driver.Decide,
    *,
    only: Collection[str],
    holder: Holder | None,
    as_json: bool,
) -> int:
    """Let the driving process work on tasks; return the exit code for these tasks."""
    await refuse_if_stopped(project)
    followed = await _start_following(project, only)
    await commands.send_commands(project, decide)
    return await _follow_to_end(project, followed, holder, as_json=as_json)


async def continue_board(
    project: Project,
    spec: BoardSpec,
    decide: driver.Decide = lambda state: (),
    *,
    allowance: Limits,
    holder: Holder | None,
    as_json: bool,
) -> int:
    """Let the driving process continue the whole board; without an allowance its limits stay."""
    await refuse_if_stopped(project)
    followed = await _start_following(project, ())
    read = await commands.read(project)
    await driver.equip(project, spec, decide, read, read.run.limits, allowance=allowance)
    return await _follow_to_end(project, followed, holder, as_json=as_json)


async def _start_following(
    project: Project, only: Collection[str], since: datetime | None = None
) -> FollowedBoard:
    live_runs = LiveRuns(project)
    await live_runs.begin()
    return FollowedBoard(project, live_runs, only, since or project.clock.now())


async def _follow_to_end(
    project: Project, followed: FollowedBoard, holder: Holder | None, *, as_json: bool
) -> int:
    """Follow the board until it rests. If its process ends, this one drives it."""
    while (code := await _watch(project, followed, holder, as_json=as_json)) is None:
        with suppress(HeldError):
            return await take_over(project, followed.only, followed.since, as_json=as_json)
        holder = project.journal.holders().get(BOARD)
        followed = await _start_following(project, followed.only, followed.since)
    return code


class FollowedBoard:
    """The state of a board from its journal, since this object was created."""

    def __init__(
        self, project: Project, live_runs: LiveRuns, only: Collection[str], since: datetime
    ) -> None:
        self.clock: Clock = project.clock
        self.since = since
        self.seqs = {head.run: head.seq for head in live_runs.heads}
        self.only = only
        self.live_runs = live_runs
        self.before: BoardState | None = None  # when it was first read
        self._journal = project.journal
        self._states: dict[RunId, RunState[Any]] = {}
        self._changed = anyio.Event()

    def run(self) -> RunState[BoardState]:
        return self._states[BOARD]

    def child(self, run: RunId) -> RunState[Any] | None:
        return self._states.get(run)

    def notice(self, placed: Sequence[PositionedRecord]) -> None:
        self._changed.set()

    async def refresh(self) -> None:
        """Update the states of all open runs of the board."""
        await self.live_runs.catch_up()
        mine = [head for head in self.live_runs.heads if root_of(head.run) == BOARD]
        names = [head.run for head in mine if not head.closed]
        self._states = {name: (await self.live_runs.run(name)).state for name in names}
        self.before = self.before or self.run().pilot

    async def wait_until_at_rest(self) -> bool:
        """Wait until only a person can continue it; False if no process drives the board."""
        was_driven = True
        while True:
            self._changed = anyio.Event()
            await self.refresh()
            if self._is_at_rest():
                return True
            is_driven = BOARD in self._journal.holders()
            if not is_driven and not was_driven:  # it may be changing its driver
                return False
            was_driven = is_driven
            with anyio.move_on_after(DRIVER_CHECK_S):
                await self._changed.wait()

    def is_held(self) -> bool:
        return self.live_runs.helm.hold is not Hold.NONE or self.run().hold is not Hold.NONE

    def requested_tasks(self) -> list[Task]:
        tasks = self.run().pilot.board.tasks()
        return [task for task in tasks if not self.only or task.id in self.only]

    def children(self) -> dict[RunId, str]:
        """The open runs of the requested tasks, each with its task."""
        refs = self.run().pilot.refs.items()
        return {
            child_of(BOARD, ref): task for ref, task in refs if not self.only or task in self.only
        }

    def _is_at_rest(self) -> bool:
        # Runs are read one after the other: a missing one was just opened or closed.
        if not all(self._is_open(child_of(BOARD, ref)) for ref in self.run().pilot.refs):
            return False
        mine = self.children()
        begun = set(mine.values())
        upcoming = any(
            _is_upcoming(task) and task.id not in begun for task in self.requested_tasks()
        )
        looked_at = self._states if upcoming or not self.only else mine
        return all(self._is_run_at_rest(run) for run in looked_at)

    def _is_open(self, run: RunId) -> bool:
        state = self._states.get(run)
        return state is not None and state.closed is None

    def _is_run_at_rest(self, run: RunId) -> bool:
        state = self._states.get(run)
        if state is None or state.closed is not None:
            return True
        if state.open_move is not None:
            return False
        pilot, helm = self.live_runs.kind(run).pilot, self.live_runs.helm
        move = runs.expected_move(pilot, state, self.clock.now(), helm)
        return isinstance(move, Wait) and (move.until is None or move.for_person)


def _is_upcoming(task: Task) -> bool:
    return task.status is Status.MERGING or (task.status is Status.PENDING and task.assigned)


async def _watch(
    project: Project, followed: FollowedBoard, holder: Holder | None, *, as_json: bool
) -> int | None:
    """Show the board until it rests and return the exit code; None if nobody drives it."""
    who = f"process {holder.pid}" if holder else "another process"
    await followed.refresh()
    with (
        make_board_screen(as_json=as_json) as screen,
        receive_live_text(project.folder / LISTENERS_FOLDER) as receiver,
    ):
        screen.begin(followed, HOW_TO_LEAVE)
        screen.note(f"The board is driven by {who}. {HOW_TO_LEAVE}.")
        followed.live_runs.subscribe(lambda placed: _show(placed, screen, followed))
        async with anyio.create_task_group() as group:
            group.start_soon(_leave_at_signal, group.cancel_scope)
            group.start_soon(_show_live_text, receiver, screen)
            group.start_soon(_catch_up, project, followed, screen)
            group.start_soon(followed.live_runs.follow)
            driven = await followed.wait_until_at_rest()
            await _catch_up(project, followed, screen)
            group.cancel_scope.cancel()
            if not driven and not followed.is_held():
                screen.note(
                    f"{who.capitalize()} has ended: this terminal drives the board now. Ctrl-C pauses it."
                )
                return None
            return _print_summary(followed, screen)
        screen.note("The board continues: allstop watch, allstop pause, allstop stop.")
        return STOPPED


def _show(placed: Sequence[PositionedRecord], screen: BoardScreen, followed: FollowedBoard) -> None:
    screen.records([each.record for each in placed if root_of(each.record.run) == BOARD])
    followed.notice(placed)


async def _catch_up(project: Project, followed: FollowedBoard, screen: BoardScreen) -> None:
    """Show records that were written before the screen followed the journal."""
    for head in followed.live_runs.heads:
        if root_of(head.run) == BOARD and head.seq > screen.seqs.get(head.run, 0):
            screen.records(await project.journal.read(head.run, after=screen.seqs.get(head.run, 0)))


async def _show_live_text(receiver: LiveTextReceiver, screen: BoardScreen) -> None:
    while True:
        for run, kind, _, text in await receiver.receive():
            screen.live(run, Live(kind, text))


async def _leave_at_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            scope.cancel()


def _print_summary(followed: FollowedBoard, screen: BoardScreen) -> int:
    run, now = followed.run(), followed.clock.now()
    tasks = followed.requested_tasks()
    touched = overview.changed_since(tasks, followed.since)
    for line in next_steps(tasks, touched):
        screen.note(line)
    if not followed.only and followed.before is not None:
        for line in sprint_lines(run.pilot, followed.before, now):
            screen.note(line)
        own = sprint_tasks(run.pilot, followed.before)
        if own is not None:
            tasks = touched = [task for task in tasks if task.id in own]
    held = followed.is_held()
    limits = [limit_of(run, now)]
    limits += [
        limit_of(state, now) for each in followed.children() if (state := followed.child(each))
    ]
    if reached := [limit for limit in limits if limit]:
        screen.note(f"limit reached: {reached[-1]}")
    if held:
        everything = followed.live_runs.helm.hold is not Hold.NONE
        screen.note(f"Held. Continue: allstop resume{'' if everything else ' board'}")
    return exit_code(tasks, touched, held=held, at_limit=bool(reached))
