"""The receipts of stops, and whoever waits for one."""

from __future__ import annotations

import anyio

from allstop.core.events import Halted


class Receipts:
    def __init__(self) -> None:
        self._written: dict[int, Halted] = {}  # by how many stops there were
        self._more = anyio.Event()

    def add(self, stops: int, halted: Halted) -> None:
        self._written[stops] = halted
        self._more.set()
        self._more = anyio.Event()

    async def after(self, stops: int) -> Halted:
        """Of so many stops, or more."""
        while not (done := [number for number in self._written if number >= stops]):
            await self._more.wait()
        return self._written[min(done)]
