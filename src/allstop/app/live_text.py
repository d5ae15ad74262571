"""Words in flight, with the call of a room that they answer; of an envelope only its message."""

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
"""The folder in which the control room of a store listens."""

SendText: TypeAlias = Callable[[RunId, Live, str], None]


class LiveText:
    """Stands between the engine, which knows what is under way, and all who listen."""

    def __init__(self, kinds: Mapping[str, Kind], engine: LocalEngine, utter: SendText) -> None:
        self._kinds = kinds
        self._engine = engine
        self._utter = utter
        self._spoken: dict[RunId, tuple[str, MessageExtractor]] = {}  # each room's latest call

    def show(self, run: RunId, live: Live) -> None:
        state = self._engine.state(run)
        call = self._kinds[state.opened.kind].call_id(state) if state else ""
        if not call:
            self._utter(run, live, "")
            return
        text = self._words(run, call).feed(live.text) if live.kind == "text" else live.text
        if text:
            self._utter(run, Live(live.kind, text), call)

    def _words(self, run: RunId, call: str) -> MessageExtractor:
        if run not in self._spoken or self._spoken[run][0] != call:
            self._spoken[run] = (call, MessageExtractor())
        return self._spoken[run][1]


@asynccontextmanager
async def sharing_live_text(project: Project, engine: LocalEngine) -> AsyncIterator[None]:
    """If another process has the control room of this store, it shows words as they are said."""
    sender = LiveTextSender(project.folder / LISTENERS_FOLDER)
    speech = LiveText(project.kinds, engine, sender.send)
    engine.view(lambda run, live: speech.show(run, live) if sender.has_receivers else None)
    try:
        yield
    finally:
        sender.close()
