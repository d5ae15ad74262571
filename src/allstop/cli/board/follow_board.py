"""Work on a board that another process drives: it is told what to do, and watched from here."""

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
from allstop.board.board_pilot import BoardState
from allstop.cli.board.run_board import exit_code, left, limit_of, take_over
from allstop.cli.board.screen import BoardScreen, make_board_screen
from allstop.cli.output import STOPPED
from allstop.core import run as runs
from allstop.core.board_specs import BoardSpec
from allstop.core.helm import Hold
from allstop.core.ids import BOARD, RunId, child_of, root_of
from allstop.core.moves import Wait
from allstop.core.run import RunState
from allstop.core.tasks import Status, Task
from allstop.ports import Clock, HeldError, Holder, Live, PositionedRecord

if TYPE_CHECKING:
    from allstop.app.project import Project

HOW_TO_LEAVE = "Ctrl-C ends the watch and nothing else"
LOOK_S = 1.0
"""So often it is seen whether anybody drives the board at all: a process that was killed says nothing."""


async def start_tasks(
    project: Project,
    decide: driver.Decide,
    *,
    only: Collection[str],
    holder: Holder | None,
    as_json: bool,
) -> int:
    """Have tasks worked on, whatever else the board does; the exit code is about these."""
    await refuse_if_stopped(project)
    joined = await _beginning(project, only)
    await commands.send_commands(project, decide)
    return await _seen_to_its_end(project, joined, holder, as_json=as_json)


async def go_on(
    project: Project,
    spec: BoardSpec,
    *,
    budget_usd: float | None,
    holder: Holder | None,
    as_json: bool,
) -> int:
    """Have the whole board go on in this way; within its limits if no budget is named."""
    await refuse_if_stopped(project)
    joined = await _beginning(project, ())
    read = await commands.read(project)
    await driver.equip(
        project, spec, lambda state: [], read, read.run.limits, budget_usd=budget_usd
    )
    return await _seen_to_its_end(project, joined, holder, as_json=as_json)


async def _beginning(
    project: Project, only: Collection[str], since: datetime | None = None
) -> Joined:
    live_runs = LiveRuns(project)
    await live_runs.begin()
    return Joined(project, live_runs, only, since or project.clock.now())


async def _seen_to_its_end(
    project: Project, joined: Joined, holder: Holder | None, *, as_json: bool
) -> int:
    """By whoever drives it; by ourselves where that process is gone and no other was quicker."""
    while (code := await _watch(project, joined, holder, as_json=as_json)) is None:
        with suppress(HeldError):
            return await take_over(project, joined.only, joined.since, as_json=as_json)
        holder = project.journal.holders().get(BOARD)
        joined = await _beginning(project, joined.only, joined.since)
    return code


class Joined:
    """The board as its record tells, from the moment of being made."""

    def __init__(
        self, project: Project, live_runs: LiveRuns, only: Collection[str], since: datetime
    ) -> None:
        self.clock: Clock = project.clock
        self.since = since
        self.seqs = {head.run: head.seq for head in live_runs.heads}
        self.only = only
        self.live_runs = live_runs
        self._journal = project.journal
        self._states: dict[RunId, RunState[Any]] = {}
        self._stir = anyio.Event()

    def run(self) -> RunState[BoardState]:
        return self._states[BOARD]

    def child(self, run: RunId) -> RunState[Any] | None:
        return self._states.get(run)

    def hear(self, placed: Sequence[PositionedRecord]) -> None:
        self._stir.set()

    async def renew(self) -> None:
        """Every run of the board that is open, as it stands now."""
        await self.live_runs.catch_up()
        mine = [head for head in self.live_runs.heads if root_of(head.run) == BOARD]
        names = [head.run for head in mine if not head.closed]
        self._states = {name: (await self.live_runs.run(name)).state for name in names}

    async def rested(self) -> bool:
        """Wait until nothing of it goes on unless a person does something; false if nobody drives
        the board any more.
        """
        was_driven = True
        while True:
            self._stir = anyio.Event()
            await self.renew()
            if self._is_at_rest():
                return True
            is_driven = BOARD in self._journal.holders()
            if not is_driven and not was_driven:  # it may just have changed hands
                return False
            was_driven = is_driven
            with anyio.move_on_after(LOOK_S):
                await self._stir.wait()

    def is_held(self) -> bool:
        return self.live_runs.helm.hold is not Hold.NONE or self.run().hold is not Hold.NONE

    def asked(self) -> list[Task]:
        tasks = self.run().pilot.board.tasks()
        return [task for task in tasks if not self.only or task.id in self.only]

    def children(self) -> dict[RunId, str]:
        """The open runs of what was asked for, and of which task each is."""
        refs = self.run().pilot.refs.items()
        return {
            child_of(BOARD, ref): task for ref, task in refs if not self.only or task in self.only
        }

    def _is_at_rest(self) -> bool:
        # Records are read one after the other: what doesn't fit was just born, or has just ended.
        if not all(self._lives(child_of(BOARD, ref)) for ref in self.run().pilot.refs):
            return False
        mine = self.children()
        begun = set(mine.values())
        to_come = any(_is_to_come(task) and task.id not in begun for task in self.asked())
        looked_at = self._states if to_come or not self.only else mine
        return all(self._rests(run) for run in looked_at)

    def _lives(self, run: RunId) -> bool:
        state = self._states.get(run)
        return state is not None and state.closed is None

    def _rests(self, run: RunId) -> bool:
        state = self._states.get(run)
        if state is None or state.closed is not None:
            return True
        if state.open_move is not None:
            return False
        pilot, helm = self.live_runs.kind(run).pilot, self.live_runs.helm
        move = runs.expected_move(pilot, state, self.clock.now(), helm)
        return isinstance(move, Wait) and (move.until is None or move.for_person)


def _is_to_come(task: Task) -> bool:
    return task.status is Status.MERGING or (task.status is Status.PENDING and task.assigned)


async def _watch(
    project: Project, joined: Joined, holder: Holder | None, *, as_json: bool
) -> int | None:
    """None where nobody drives the board any more."""
    who = f"process {holder.pid}" if holder else "another process"
    await joined.renew()
    with (
        make_board_screen(as_json=as_json) as screen,
        receive_live_text(project.folder / LISTENERS_FOLDER) as receiver,
    ):
        screen.begin(joined, HOW_TO_LEAVE)
        screen.note(f"The board is driven by {who}, which does this. {HOW_TO_LEAVE}.")
        joined.live_runs.subscribe(lambda placed: _show(placed, screen, joined))
        async with anyio.create_task_group() as group:
            group.start_soon(_leave_at_signal, group.cancel_scope)
            group.start_soon(_overhear, receiver, screen)
            group.start_soon(_catch_up, project, joined, screen)
            group.start_soon(joined.live_runs.follow)
            driven = await joined.rested()
            await _catch_up(project, joined, screen)
            group.cancel_scope.cancel()
            if not driven and not joined.is_held():
                screen.note(
                    f"{who.capitalize()} is gone: the board goes on here, and Ctrl-C pauses it."
                )
                return None
            return _goodbye(joined, screen)
        screen.note("It goes on without you: allstop watch, allstop pause, allstop stop.")
        return STOPPED


def _show(placed: Sequence[PositionedRecord], screen: BoardScreen, joined: Joined) -> None:
    screen.records([each.record for each in placed if root_of(each.record.run) == BOARD])
    joined.hear(placed)


async def _catch_up(project: Project, joined: Joined, screen: BoardScreen) -> None:
    """What was written before the watch began, or is just being read."""
    for head in joined.live_runs.heads:
        if root_of(head.run) == BOARD and head.seq > screen.seqs.get(head.run, 0):
            screen.records(await project.journal.read(head.run, after=screen.seqs.get(head.run, 0)))


async def _overhear(receiver: LiveTextReceiver, screen: BoardScreen) -> None:
    while True:
        for run, kind, _, text in await receiver.receive():
            screen.live(run, Live(kind, text))


async def _leave_at_signal(scope: anyio.CancelScope) -> None:
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async for _ in signals:
            scope.cancel()


def _goodbye(joined: Joined, screen: BoardScreen) -> int:
    run, now = joined.run(), joined.clock.now()
    tasks = joined.asked()
    touched = overview.changed_since(tasks, joined.since)
    for line in left(tasks, touched):
        screen.note(line)
    held = joined.is_held()
    limits = [limit_of(run, now)]
    limits += [limit_of(state, now) for each in joined.children() if (state := joined.child(each))]
    if reached := [limit for limit in limits if limit]:
        screen.note(f"limit reached: {reached[-1]}")
    if held:
        everything = joined.live_runs.helm.hold is not Hold.NONE
        screen.note(f"Held. Go on: allstop resume{'' if everything else ' board'}")
    return exit_code(tasks, touched, held=held, at_limit=bool(reached))
