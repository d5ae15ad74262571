"""Move watch: passes an agent's messages during one move to the drive."""

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from allstop.core.asks import Answer, Ask
from allstop.core.events import Event, Reached, ThreadOpened
from allstop.core.ids import MoveId
from allstop.core.moves import Item
from allstop.ports import LATE_CALLS, Live


class MoveRecorder(Protocol):
    """The part of the drive that receives an agent's messages."""

    def show(self, live: Live) -> None: ...
    async def record(self, event_at: Callable[[datetime], Event]) -> None: ...
    async def note(self, move_id: MoveId, item: Item) -> None: ...
    async def words(self) -> str: ...
    async def ask(self, move_id: MoveId, ask: Ask) -> Answer: ...


class TextStream(Protocol):
    """Filters streamed text; holds back pieces that may become a secret."""

    def feed(self, text: str) -> str: ...
    def end(self) -> str: ...


MAX_SAID_CHARS = 20_000
"""Characters kept of the text of a turn that is under way."""


class MoveWatch(Struct):
    _drive: MoveRecorder
    _move_id: MoveId
    _new_stream: Callable[[], TextStream] | None
    _words: dict[str, TextStream] = {}  # by kind
    _said: list[str] = []
    _room: int = MAX_SAID_CHARS
    late_calls: str = ""

    @property
    def said(self) -> str:
        """The start of the agent's text so far."""
        return "".join(self._said)

    def _show(self, live: Live) -> None:
        if live.kind == "text" and self._room > 0:
            self._said.append(live.text[: self._room])
            self._room -= len(live.text)
        self._drive.show(live)

    def live(self, live: Live) -> None:
        if live.kind == LATE_CALLS:
            self.late_calls = live.text
            return
        if self._new_stream is None:
            self._show(live)
            return
        words = self._words.get(live.kind)
        if words is None:
            words = self._words[live.kind] = self._new_stream()
        if shown := words.feed(live.text):
            self._show(Live(live.kind, shown))

    @property
    def has_spoken(self) -> bool:
        return bool(self._words)

    def end(self) -> None:
        """Show the held-back text after the last piece."""
        for kind, words in self._words.items():
            if rest := words.end():
                self._drive.show(Live(kind, rest))

    async def opened(self, thread: str) -> None:
        await self._drive.record(lambda now: ThreadOpened(at=now, id=self._move_id, thread=thread))

    async def saw(self, item: Item) -> None:
        await self._drive.note(self._move_id, item)

    async def words(self) -> str:
        return await self._drive.words()

    async def reached(self) -> None:
        await self._drive.record(lambda now: Reached(at=now, id=self._move_id))

    async def ask(self, ask: Ask) -> Answer:
        return await self._drive.ask(self._move_id, ask)
