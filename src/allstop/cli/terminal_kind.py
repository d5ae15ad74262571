"""A kind of run in the terminal: how its log looks, and how it is resumed here."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from allstop.cli.output import echo
from allstop.cli.record_lines import as_text
from allstop.core.text import one_line

if TYPE_CHECKING:
    from allstop.app.project import Project
    from allstop.app.runs.status import RunRecord
    from allstop.app.supervisor import RunKind
    from allstop.core.events import Event
    from allstop.core.ids import RunId
    from allstop.engine.local import LocalEngine
    from allstop.views.kind import Kind

Print = Callable[["Event"], Iterable[str]]


class TerminalKind:
    """Defaults that work for any kind. A subclass overrides what is different."""

    def log(self, kind: Kind) -> Print:
        """Takes the events of a record in order and returns the lines to print for each."""
        log = kind.log()
        return lambda event: map(as_text, log(event))

    async def check_resume(self, project: Project, recorded: RunRecord) -> None:
        """Raises AllstopError if runs of this kind are resumed by another command."""

    async def resume(
        self, project: Project, recorded: RunRecord, kind: RunKind, *, as_json: bool
    ) -> int:
        """Drive the run in this terminal until it rests; returns the exit code."""
        from allstop.cli.run_terminal import drive

        run_id = recorded.run
        agents = kind.agents(recorded.opened)
        if not as_json:
            title = one_line(recorded.opened.title)
            echo(f"{run_id}: {title}. Earlier events: allstop log {run_id}")

        async def take(engine: LocalEngine) -> RunId:
            await engine.take(run_id)
            return run_id

        known = len(recorded.events)
        return await drive(project, recorded.kind, agents, take, as_json=as_json, known=known)
