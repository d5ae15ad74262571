"""A running program, as its user sees it."""

from __future__ import annotations

import select
from collections.abc import Callable

import anyio

from allstop.adapters.processes.pipes import Inlet, Outlet
from allstop.ports import Chunk, Exit


class Death:
    """The end of something, for any number of waiters: a descriptor that becomes readable."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self._turn: anyio.Lock | None = None  # mostly it has come before anybody waits

    async def wait(self) -> None:
        if self.has_come():
            return
        self._turn = self._turn or anyio.Lock(fast_acquire=True)
        async with self._turn:
            if not self.has_come():
                await anyio.wait_readable(self.handle)

    def has_come(self) -> bool:
        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        return bool(poll.poll(0))


class Program:
    def __init__(
        self, pid: int, inlet: Inlet, outlet: Outlet, death: Death, exit_of: Callable[[], Exit]
    ) -> None:
        self._pid = pid
        self._inlet = inlet
        self._outlet = outlet
        self._death = death
        self._exit_of = exit_of

    @property
    def pid(self) -> int:
        return self._pid

    async def send(self, data: bytes) -> None:
        await self._inlet.send(data)

    async def close_input(self) -> None:
        self._inlet.close()

    async def receive(self) -> Chunk | None:
        return await self._outlet.receive()

    async def wait(self) -> Exit:
        await self._death.wait()
        return self._exit_of()
