"""A turn that nobody watches, and in which nobody is there to ask."""

from __future__ import annotations

import anyio

from allstop.core.asks import NOBODY, Answer, Ask
from allstop.core.moves import Item
from allstop.ports import Live


class Unwatched:
    def live(self, live: Live) -> None:
        pass

    async def opened(self, thread: str) -> None:
        pass

    async def saw(self, item: Item) -> None:
        pass

    async def words(self) -> str:
        await anyio.sleep_forever()
        raise AssertionError("nobody says anything")

    async def reached(self) -> None:
        pass

    async def ask(self, ask: Ask) -> Answer:
        return NOBODY
