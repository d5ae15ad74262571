"""Stop receipts of this process, and waiting for them."""

import anyio

from allstop.core.events import Halted


class StopReceipts:
    def __init__(self) -> None:
        self._written: dict[int, Halted] = {}  # by number of stops
        self._more = anyio.Event()

    def add(self, stops: int, halted: Halted) -> None:
        self._written[stops] = halted
        self._more.set()
        self._more = anyio.Event()

    async def after(self, stops: int) -> Halted:
        """Wait for the receipt of this stop or a later one."""
        while not (done := [number for number in self._written if number >= stops]):
            await self._more.wait()
        return self._written[min(done)]
