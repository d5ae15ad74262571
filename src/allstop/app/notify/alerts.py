"""Alerts about the runs that this process drives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from allstop.adapters.notify import Delivery
from allstop.app.notify.channels import CurrentChannels, quiet_hours
from allstop.app.runs.follow import Reader
from allstop.core import run as runs
from allstop.core.events import Closed, Event, Halted, Opened
from allstop.core.ids import HELM, RunId, root_of
from allstop.core.run import RunState
from allstop.engine.local import LocalEngine
from allstop.ports import Live, Record
from allstop.views import alerts
from allstop.views.alerts import Alert, EventContext, SentAlerts

if TYPE_CHECKING:
    from allstop.app.project import Project


@asynccontextmanager
async def sending_alerts(
    project: Project, engine: LocalEngine, name: str, show: Callable[[str], None]
) -> AsyncIterator[Callable[[RunId], None]]:
    """Send alerts until the block ends. Only the process that drives a run alerts about it.

    `name` is the engine's name in its receipts. The function that it gives takes a run of this
    process that is not driven: a queued start.
    """
    log = project.folder / "logs" / "notify.log"
    async with Delivery(
        CurrentChannels(project),
        log,
        clock=project.clock,
        show=show,
        quiet=lambda: quiet_hours(project),
    ) as delivery:
        watch = _Watch(project, engine, name, delivery, show)
        await watch.begin()
        engine.view(watch.live)
        async with watch.reader.listening(watch.on_write):
            yield watch.reader.want


class _Watch:
    """Finds the alerts of each event of the runs that this process drives."""

    def __init__(
        self,
        project: Project,
        engine: LocalEngine,
        name: str,
        delivery: Delivery,
        show: Callable[[str], None],
    ) -> None:
        self._journal = project.journal
        self._clock = project.clock
        self._kinds = project.kinds
        self._engine = engine
        self._name = name
        self._delivery = delivery
        self.reader = Reader(
            project.journal, self._look, lambda trouble: show(f"notify: {trouble}")
        )
        self._without_secrets = lambda text: project.secrets.redact_all(text)
        self._project_name = project.root.name if project.root else ""
        self._sent = SentAlerts()
        self._states: dict[RunId, RunState[Any]] = {}
        self._troubles: set[tuple[RunId, str]] = set()

    async def begin(self) -> None:
        """Skip all earlier events."""
        self.reader.seqs = {head.run: head.seq for head in await self._journal.heads()}
        helm = await self._journal.read(HELM)
        self.reader.seqs[HELM] = helm[-1].seq if helm else 0

    def on_write(self, run: RunId, seq: int) -> None:
        """Keep the state of a run until its events are read: the engine drops it at the run's end.

        Without a channel no event is read.
        """
        if not self._delivery.reaches_anybody:
            self.reader.seqs[run] = max(seq, self.reader.seqs.get(run, 0))
            return
        state = self._engine.state(run)
        if state is not None:
            self._states[run] = state
        is_own = root_of(run) in self._states or self._engine.has_claimed(root_of(run))
        if state is not None or run == HELM or is_own:
            self.reader.want(run)

    def _look(self, record: Record) -> None:
        event = record.event
        if isinstance(event, Halted) and event.by != self._name:
            return
        self._sent, found = alerts.alerts_for(self._sent, event, self._context(record.run, event))
        for alert in found:
            self._tell(alert)
        if isinstance(event, Closed):
            self._states.pop(record.run, None)

    def _context(self, run: RunId, event: Event) -> EventContext:
        state = self._engine.state(run) or self._states.get(run)
        if state is None and isinstance(event, Opened):  # the engine begins to drive it
            state = runs.begin(self._kinds[event.kind].pilot, event)
        if state is None:
            return EventContext(run)
        self._states[run] = state
        kind = self._kinds[state.opened.kind]
        board = kind.board(state)
        return EventContext(
            run,
            state,
            kind,
            self._engine.helm,
            board.board if board else None,
            is_braked=board is not None and board.is_braked,
        )

    def live(self, run: RunId, live: Live) -> None:
        """Alert about unrecorded trouble (once each), and about a shared limit that is near."""
        if live.kind == "budget":
            self._tell(alerts.near_limit(run, live.text, self._clock.now()))
        if live.kind == "trouble" and (run, live.text) not in self._troubles:
            self._troubles.add((run, live.text))
            self._tell(alerts.error_alert(run, live.text, self._clock.now()))

    def _tell(self, alert: Alert) -> None:
        self._delivery.tell(alerts.presentable(alert, self._project_name, self._without_secrets))
