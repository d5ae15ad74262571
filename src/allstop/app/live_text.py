"""Live text of agents while they write: sent to viewers with the room call it answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

from allstop.adapters.live_text import LiveTextSender
from allstop.core.ids import RunId
from allstop.core.json_stream import MessageExtractor
from allstop.engine.local import LocalEngine
from allstop.ports import Live
from allstop.views.kind import Kind

if TYPE_CHECKING:
    from allstop.app.project import Project

LISTENERS_FOLDER = "ears"
"""The folder with the sockets of the processes that receive live text."""

SendText: TypeAlias = Callable[[RunId, Live, str], None]


class LiveText:
    """Sends the engine's live text on; of a room's envelope only its message."""

    def __init__(self, kinds: Mapping[str, Kind], engine: LocalEngine, send: SendText) -> None:
        self._kinds = kinds
        self._engine = engine
        self._send = send
        self._extractors: dict[RunId, tuple[str, MessageExtractor]] = {}  # of each latest call

    def show(self, run: RunId, live: Live) -> None:
        state = self._engine.state(run)
        call = self._kinds[state.opened.kind].call_id(state) if state else ""
        if not call:
            self._send(run, live, "")
            return
        text = self._extractor(run, call).feed(live.text) if live.kind == "text" else live.text
        if text:
            self._send(run, Live(live.kind, text), call)

    def _extractor(self, run: RunId, call: str) -> MessageExtractor:
        if run not in self._extractors or self._extractors[run][0] != call:
            self._extractors[run] = (call, MessageExtractor())
        return self._extractors[run][1]


@asynccontextmanager
async def sharing_live_text(project: Project, engine: LocalEngine) -> AsyncIterator[None]:
    """Send live text to other processes that show this project, until the block ends."""
    sender = LiveTextSender(project.folder / LISTENERS_FOLDER)
    live_text = LiveText(project.kinds, engine, sender.send)
    engine.view(lambda run, live: live_text.show(run, live) if sender.has_receivers else None)
    try:
        yield
    finally:
        sender.close()
