"""Follows the driven board: runs a person's own commands, and keeps the record of sprints."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from allstop.adapters.git.repository.safe_names import folder_name
from allstop.adapters.hooks import HookRunner
from allstop.app.board import commands, ended_sprints, hook_files
from allstop.app.runs.follow import follow_some
from allstop.app.runs.status import runs_below
from allstop.board import hook_events
from allstop.board.sprint import Sprint
from allstop.core import run
from allstop.core.events import Event
from allstop.core.ids import BOARD, HELM
from allstop.ports import Record

if TYPE_CHECKING:
    from allstop.app.project import Project


@asynccontextmanager
async def run_hooks(
    project: Project, known: commands.BoardSnapshot, show: Callable[[str], None]
) -> AsyncIterator[Callable[[], None]]:
    """Run the commands of [hooks] on the board's events, until the block ends.

    Yields a function that ends running commands at once.
    """
    log = project.folder / "logs" / "hooks.log"
    log.parent.mkdir(mode=0o700, exist_ok=True)
    with hook_files.no_files(project) as empty:
        async with (
            HookRunner(
                lambda: hook_files.hooks(project),
                lambda: hook_files.hook_folder(project, empty),
                log,
                clock=project.clock,
                show=show,
                clean=lambda text: project.secrets.redact_all(text),
                refusal=lambda command: hook_files.refusal(project, command),
            ) as runner,
            anyio.create_task_group() as group,
        ):
            group.start_soon(_follow, project, known, runner.fire)
            yield runner.hurry
            group.cancel_scope.cancel()


async def _follow(
    project: Project, known: commands.BoardSnapshot, fire: Callable[[hook_events.Facts], None]
) -> None:
    watch = _HookWatch(project, known, fire)
    await watch.begin()
    seqs = {BOARD: known.cursor.seq, HELM: known.cursor.helm}
    async with follow_some(project.journal, seqs) as batches:
        async for batch in batches:
            for record in batch:
                watch.look(record)
            await watch.write_sprints()


class _HookWatch:
    """Folds the board and the helm, and fires a hook for each event that has one."""

    def __init__(
        self,
        project: Project,
        known: commands.BoardSnapshot,
        fire: Callable[[hook_events.Facts], None],
    ) -> None:
        self._project = project
        self._known = known
        self._run = known.run
        self._seq = known.cursor.seq
        self._board_hooks = self._helm_hooks = hook_events.HookState()
        self._fire = fire
        self._written: tuple[Sprint, ...] | None = None  # the sprints of the last sprints.jsonl

    async def begin(self) -> None:
        """Fold earlier events, without firing hooks for them."""
        children = (await runs_below(self._project, self._known.state)).values()
        named = {each.opened.ref: hook_events.child(each.opened) for each in children}
        self._board_hooks = hook_events.HookState(named, self._run.hold, self._run.pauses)
        for record in await self._project.journal.read(HELM):
            if record.seq <= self._known.cursor.helm:
                self._helm_hooks = hook_events.evolve(self._helm_hooks, record.event)

    def look(self, record: Record) -> None:
        if record.run == HELM:
            self._look_at_helm(record.event)
        else:
            self._seq = record.seq
            self._look_at_board(record.event)

    async def write_sprints(self) -> None:
        """Write sprints.jsonl again if a sprint has ended, or a person decided about its work."""
        sprints = self._run.pilot.sprints
        if sprints is self._written:
            return
        if await ended_sprints.write_sprints(self._project, self._run.pilot, self._seq):
            self._written = sprints

    def _look_at_helm(self, event: Event) -> None:
        """A pause of all runs also pauses the board."""
        facts = hook_events.hook_facts(self._helm_hooks, event, self._context())
        self._helm_hooks = hook_events.evolve(self._helm_hooks, event)
        for each in facts:
            self._fire(each)

    def _look_at_board(self, event: Event) -> None:
        was_braked = self._run.pilot.is_braked
        self._run = run.evolve(commands.PILOT, self._run, event)
        state = self._run.pilot
        facts = hook_events.hook_facts(self._board_hooks, event, self._context())
        self._board_hooks = hook_events.evolve(self._board_hooks, event)
        for each in facts:
            self._fire(each)
        if state.is_braked and not was_braked:
            self._fire(hook_events.pause_facts(self._context(), state.brake_reason))

    def _context(self) -> hook_events.HookContext:
        state, workspaces = self._run.pilot, self._project.folder / "workspaces"
        return hook_events.HookContext(
            BOARD,
            state.spec.target,
            state.board.get,
            lambda task: str(workspaces / folder_name(task)),
        )
