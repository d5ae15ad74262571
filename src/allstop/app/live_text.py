"""Words in flight, with the call of a room that they answer; of an envelope only its message."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeAlias

from allstop.adapters.live_text import Mouth
from allstop.core.ids import RunId
from allstop.core.json_stream import MessageExtractor
from allstop.engine.local import LocalEngine
from allstop.ports import Live
from allstop.rooms.session import RoomState
from allstop.views.rooms import call_id

if TYPE_CHECKING:
    from allstop.app.project import Project

EARS = "ears"
"""The folder in which the control room of a store listens."""

Utter: TypeAlias = Callable[[RunId, Live, str], None]


class LiveText:
    """Stands between the engine, which knows what is under way, and all who listen."""

    def __init__(self, engine: LocalEngine, utter: Utter) -> None:
        self._engine = engine
        self._utter = utter
        self._spoken: dict[RunId, tuple[str, MessageExtractor]] = {}  # each room's latest call

    def show(self, run: RunId, live: Live) -> None:
        state = self._engine.state(run)
        room = state.pilot if state else None
        if state is None or not isinstance(room, RoomState) or state.open_move is None:
            self._utter(run, live, "")
            return
        call = call_id(room.spec.thread, state.open_move.id)
        text = self._words(run, call).feed(live.text) if live.kind == "text" else live.text
        if text:
            self._utter(run, Live(live.kind, text), call)

    def _words(self, run: RunId, call: str) -> MessageExtractor:
        if run not in self._spoken or self._spoken[run][0] != call:
            self._spoken[run] = (call, MessageExtractor())
        return self._spoken[run][1]


@asynccontextmanager
async def overheard(project: Project, engine: LocalEngine) -> AsyncIterator[None]:
    """If another process has the control room of this store, it shows words as they are said."""
    mouth = Mouth(project.folder / EARS)
    speech = LiveText(engine, mouth.say)
    engine.view(lambda run, live: speech.show(run, live) if mouth.is_heard else None)
    try:
        yield
    finally:
        mouth.close()
