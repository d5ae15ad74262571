"""Passes on what is said while a move is carried out; each word is a sign of life."""

from __future__ import annotations

from msgspec import Struct

from allstop.core.asks import Answer, Ask
from allstop.core.moves import Item
from allstop.engine.deadlines import Deadlines
from allstop.ports import Live, Watch


class Heard(Struct):
    _watch: Watch
    deadlines: Deadlines

    def live(self, live: Live) -> None:
        self.deadlines.touch()
        self._watch.live(live)

    async def opened(self, thread: str) -> None:
        await self._watch.opened(thread)

    async def saw(self, item: Item) -> None:
        self.deadlines.touch()
        await self._watch.saw(item)

    async def words(self) -> str:
        return await self._watch.words()

    async def reached(self) -> None:
        await self._watch.reached()

    async def ask(self, ask: Ask) -> Answer:
        self.deadlines.hold()  # a person's time to think is not the agent's silence
        try:
            return await self._watch.ask(ask)
        finally:
            self.deadlines.release()
