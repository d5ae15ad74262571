"""A running program, as the caller of a launch sees it."""

import select
from collections.abc import Callable

import anyio

from allstop.adapters.processes.pipes import InputPipe, OutputPipes
from allstop.ports import Chunk, Exit


class ProcessEnd:
    """The end of a process, for any number of waiters: a descriptor that becomes readable."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self._lock: anyio.Lock | None = None  # usually the process has ended before anybody waits

    async def wait(self) -> None:
        if self.is_over():
            return
        self._lock = self._lock or anyio.Lock(fast_acquire=True)
        async with self._lock:
            if not self.is_over():
                await anyio.wait_readable(self.handle)

    def is_over(self) -> bool:
        poll = select.poll()
        poll.register(self.handle, select.POLLIN)
        return bool(poll.poll(0))


class Program:
    def __init__(
        self,
        pid: int,
        input_pipe: InputPipe,
        output_pipes: OutputPipes,
        end: ProcessEnd,
        exit_of: Callable[[], Exit],
    ) -> None:
        self._pid = pid
        self._input = input_pipe
        self._output = output_pipes
        self._end = end
        self._exit_of = exit_of

    @property
    def pid(self) -> int:
        return self._pid

    async def send(self, data: bytes) -> None:
        await self._input.send(data)

    async def close_input(self) -> None:
        self._input.close()

    async def receive(self) -> Chunk | None:
        return await self._output.receive()

    async def wait(self) -> Exit:
        await self._end.wait()
        return self._exit_of()
