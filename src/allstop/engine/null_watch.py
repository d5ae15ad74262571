"""Null watch: ignores all messages of a turn and answers no questions."""

import anyio

from allstop.core.asks import NOBODY, Answer, Ask
from allstop.core.moves import Item
from allstop.ports import Live


class NullWatch:
    def live(self, live: Live) -> None:
        pass

    async def opened(self, thread: str) -> None:
        pass

    async def saw(self, item: Item) -> None:
        pass

    async def words(self) -> str:
        await anyio.sleep_forever()
        raise AssertionError("unreachable")

    async def reached(self) -> None:
        pass

    async def ask(self, ask: Ask) -> Answer:
        return NOBODY
