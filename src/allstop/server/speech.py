"""Words in flight, with the call of a room that they answer; of an envelope only its message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allstop.app.rooms import thread_of
from allstop.core.ids import RunId
from allstop.core.room_views import call_id
from allstop.core.streaming import MessageWords
from allstop.ports import Live

if TYPE_CHECKING:
    from allstop.app.station import Station
    from allstop.server.hub import Hub


class Speech:
    """Stands between the engine, which knows what is under way, and all who listen."""

    def __init__(self, station: Station, hub: Hub) -> None:
        self._engine = station.engine
        self._hub = hub
        self._spoken: dict[RunId, tuple[str, MessageWords]] = {}  # each room's latest call

    def show(self, run: RunId, live: Live) -> None:
        thread = thread_of(run)
        state = self._engine.state(run) if thread else None
        if thread is None or state is None or state.open_move is None:
            self._hub.show(run, live)
            return
        call = call_id(thread, state.open_move.id)
        text = self._words(run, call).feed(live.text) if live.kind == "text" else live.text
        if text:
            self._hub.show(run, Live(live.kind, text), call)

    def _words(self, run: RunId, call: str) -> MessageWords:
        if run not in self._spoken or self._spoken[run][0] != call:
            self._spoken[run] = (call, MessageWords())
        return self._spoken[run][1]
