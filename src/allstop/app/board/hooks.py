"""A person's own commands, at hand while a board is driven in this process."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from allstop.adapters.git.repository.safe_names import folder_name
from allstop.adapters.hooks import HookRunner
from allstop.app.board import board_spec, commands
from allstop.app.runs.follow import follow_some
from allstop.app.runs.status import runs_below
from allstop.board import hook_events
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
    """The commands run when something happens on the board, within the block.

    What it gives ends them at once.
    """
    log = project.folder / "logs" / "hooks.log"
    log.parent.mkdir(mode=0o700, exist_ok=True)
    async with (
        HookRunner(
            lambda: board_spec.hooks(project),
            project.repository,
            log,
            clock=project.clock,
            show=show,
            clean=lambda text: project.secrets.redact_all(text),
        ) as runner,
        anyio.create_task_group() as group,
    ):
        group.start_soon(_follow, project, known, runner.fire)
        yield runner.hurry
        group.cancel_scope.cancel()


async def _follow(
    project: Project, known: commands.BoardSnapshot, fire: Callable[[hook_events.Facts], None]
) -> None:
    lookout = _HookWatch(project, known, fire)
    await lookout.begin()
    places = {BOARD: known.cursor.seq, HELM: known.cursor.helm}
    async with follow_some(project.journal, places) as batches:
        async for batch in batches:
            for record in batch:
                lookout.look(record)


class _HookWatch:
    """Knows the board and what was said to all as they are after each event."""

    def __init__(
        self,
        project: Project,
        known: commands.BoardSnapshot,
        fire: Callable[[hook_events.Facts], None],
    ) -> None:
        self._project = project
        self._known = known
        self._run = known.run
        self._watch = self._of_all = hook_events.HookState()
        self._fire = fire

    async def begin(self) -> None:
        """Nothing that was before is told."""
        children = (await runs_below(self._project, self._known.state)).values()
        named = {each.opened.ref: hook_events.child(each.opened) for each in children}
        self._watch = hook_events.HookState(named, self._run.hold, self._run.pauses)
        for record in await self._project.journal.read(HELM):
            if record.seq <= self._known.cursor.helm:
                self._of_all = hook_events.evolve(self._of_all, record.event)

    def look(self, record: Record) -> None:
        if record.run == HELM:
            self._look_at_helm(record.event)
        else:
            self._look_at_board(record.event)

    def _look_at_helm(self, event: Event) -> None:
        """A pause of everything is one of the board."""
        facts = hook_events.hook_facts(self._of_all, event, self._ground())
        self._of_all = hook_events.evolve(self._of_all, event)
        if facts is not None:
            self._fire(facts)

    def _look_at_board(self, event: Event) -> None:
        was_braked = self._run.pilot.is_braked
        self._run = run.evolve(commands.PILOT, self._run, event)
        state = self._run.pilot
        facts = hook_events.hook_facts(self._watch, event, self._ground())
        self._watch = hook_events.evolve(self._watch, event)
        if facts is not None:
            self._fire(facts)
        if state.is_braked and not was_braked:
            self._fire(hook_events.pause_facts(self._ground(), state.brake_reason))

    def _ground(self) -> hook_events.HookContext:
        state, workspaces = self._run.pilot, self._project.folder / "workspaces"
        return hook_events.HookContext(
            BOARD,
            state.spec.target,
            state.board.get,
            lambda task: str(workspaces / folder_name(task)),
        )
