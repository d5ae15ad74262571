"""Activity watch: forwards an agent's messages and resets the idle deadline with each of them."""

from msgspec import Struct

from allstop.core.asks import Answer, Ask
from allstop.core.moves import Item
from allstop.engine.deadlines import Deadlines
from allstop.ports import Live, Watch


class ActivityWatch(Struct):
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
        self.deadlines.hold()  # the agent isn't idle while a person decides
        try:
            return await self._watch.ask(ask)
        finally:
            self.deadlines.release()
