"""Reports the PROGRESS lines of a program's output while it works."""

from functools import cached_property

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from allstop.core.moves import Item
from allstop.core.signals import Signal, read_signal
from allstop.ports import Watch
from allstop.programs import Tail

MAX_QUEUED = 100
LINE_BYTES = 4096


class ProgressTail(Tail):
    """Keeps the end of the output, and reports each complete PROGRESS line at once.

    A line that also stands in the prompt is ignored, because the program may just echo it.
    """

    def __init__(self, prompt: str, watch: Watch, group: TaskGroup) -> None:
        super().__init__()
        self._prompt = prompt
        self._watch = watch
        self._group = group
        self._unfinished = b""
        self._queue: MemoryObjectSendStream[str] | None = (
            None  # created on demand: few programs report progress
        )

    def add(self, data: bytes) -> None:
        super().add(data)
        whole, newline, rest = (self._unfinished + data).rpartition(b"\n")
        self._unfinished = rest[-LINE_BYTES:]
        if newline and b"PROGRESS" in whole:
            for line in whole.decode(errors="replace").splitlines():
                self._read(line.strip())

    def close(self) -> None:
        """End the queue; queued lines are still reported before the task group ends."""
        if self._queue is not None:
            self._queue.close()

    @cached_property
    def _prompt_lines(self) -> frozenset[str]:
        return frozenset(map(str.strip, self._prompt.splitlines()))

    def _read(self, line: str) -> None:
        said = read_signal(line)
        if said.signal is not Signal.PROGRESS or line in self._prompt_lines:
            return
        if self._queue is None:
            self._queue, lines = anyio.create_memory_object_stream[str](MAX_QUEUED)
            self._group.start_soon(self._report, lines)
        if self._queue.statistics().current_buffer_used < MAX_QUEUED:
            self._queue.send_nowait(said.text)

    async def _report(self, lines: MemoryObjectReceiveStream[str]) -> None:
        with lines:
            async for text in lines:
                await self._watch.saw(Item(kind="progress", text=text))
