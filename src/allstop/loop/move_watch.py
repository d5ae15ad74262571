"""What an agent says while it works, on its way to the drive."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from allstop.core.approvals import Answer, Ask
from allstop.core.events import Event, Reached, ThreadOpened
from allstop.core.ids import MoveId
from allstop.core.moves import Item
from allstop.ports import Live


class Listener(Protocol):
    """Whoever drives the run."""

    def show(self, live: Live) -> None: ...
    async def record(self, event_at: Callable[[datetime], Event]) -> None: ...
    async def note(self, move_id: MoveId, item: Item) -> None: ...
    async def words(self) -> str: ...
    async def ask(self, move_id: MoveId, ask: Ask) -> Answer: ...


class MoveWatch:
    """Lets an agent speak to the drive about one move only."""

    def __init__(self, drive: Listener, move_id: MoveId) -> None:
        self._drive = drive
        self._move_id = move_id

    def live(self, live: Live) -> None:
        self._drive.show(live)

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
