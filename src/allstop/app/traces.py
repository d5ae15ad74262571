"""Traces of the runs that this process drives, sent if [traces] is on."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from allstop.adapters.tracing import MISSING, is_installed
from allstop.app.runs.follow import Reader
from allstop.core.events import Closed, Opened
from allstop.core.ids import BOARD, HELM, AgentName, RunId, root_of
from allstop.engine.local import LocalEngine
from allstop.ports import Record
from allstop.views import trace_spans
from allstop.views.trace_spans import AgentInfo, Span, TracedRun, TraceOptions

if TYPE_CHECKING:
    from allstop.app.project import Project


@asynccontextmanager
async def tracing(
    project: Project, engine: LocalEngine, note: Callable[[str], None]
) -> AsyncIterator[None]:
    """Send traces until the block ends; OpenTelemetry is loaded only if they are on."""
    traces = project.settings.traces
    if not traces.on:
        yield
        return
    if not is_installed():
        note(MISSING)
        yield
        return
    from allstop.adapters.tracing.otlp import sending

    with sending(traces.endpoint, project.folder / "logs" / "traces.log") as send:
        watch = _Watch(project, engine, send, note)
        await watch.begin()
        async with watch.reader.listening(watch.on_write):
            yield


class _Watch:
    """Folds the runs that this process drives, and sends each span when it ends.

    The board has no spans: it never ends, and each task it starts is a run of its own.
    """

    def __init__(
        self,
        project: Project,
        engine: LocalEngine,
        send: Callable[[Span], None],
        note: Callable[[str], None],
    ) -> None:
        self.reader = Reader(project.journal, self._look, lambda why: note(f"traces: {why}"))
        self._project = project
        self._engine = engine
        self._send = send
        self._before: dict[RunId, int] = {}  # events up to these are not sent again
        self._known: dict[RunId, TracedRun] = {}
        self._roots: set[RunId] = set()

    async def begin(self) -> None:
        self._before = {head.run: head.seq for head in await self._project.journal.heads()}

    def on_write(self, run: RunId, seq: int) -> None:
        if self._engine.state(run) is not None:
            self._roots.add(root_of(run))
        if run not in (BOARD, HELM) and root_of(run) in self._roots:
            self.reader.want(run)

    def _look(self, record: Record) -> None:
        run, seq, event = record
        if isinstance(event, Opened):
            above = self._known.get(event.parent) if event.parent else None
            self._known[run] = trace_spans.begin(run, self._project.kinds[event.kind], event, above)
            return
        known = self._known.get(run)
        if known is None:
            return
        kind = self._project.kinds[known.state.opened.kind]
        self._known[run], found = trace_spans.follow(run, kind, known, event, self._options)
        if seq > self._before.get(run, 0):
            for span in found:
                self._send(self._project.secrets.redact_all_in(span))
        if isinstance(event, Closed):
            del self._known[run]

    @property
    def _options(self) -> TraceOptions:
        return TraceOptions(self._agent_info, self._project.settings.traces.content)

    def _agent_info(self, name: AgentName) -> AgentInfo:
        agent = self._project.settings.agents.get(name)
        return (
            AgentInfo(agent.driver.value, agent.model or "") if agent else AgentInfo("unknown", "")
        )
