"""How far a program says it is, in lines of its own words, while it works."""

from __future__ import annotations

from functools import cached_property

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from allstop.core.moves import Item
from allstop.core.signals import Signal, read_signal
from allstop.ports import Watch
from allstop.programs import Tail

MOST_WAITING = 100
LINE_BYTES = 4096


class SpokenTail(Tail):
    """The last of what was said; whole lines of PROGRESS in it are told at once.

    What stands in the prompt is not the program's own word: it may only be echoed.
    """

    def __init__(self, prompt: str, watch: Watch, group: TaskGroup) -> None:
        super().__init__()
        self._prompt = prompt
        self._watch = watch
        self._group = group
        self._begun = b""  # of a line
        self._to: MemoryObjectSendStream[str] | None = None  # most programs say nothing of it

    def add(self, data: bytes) -> None:
        super().add(data)
        whole, newline, rest = (self._begun + data).rpartition(b"\n")
        self._begun = rest[-LINE_BYTES:]
        if newline and b"PROGRESS" in whole:
            for line in whole.decode(errors="replace").splitlines():
                self._read(line.strip())

    def close(self) -> None:
        """Nothing more will be said; what was is told before the group ends."""
        if self._to is not None:
            self._to.close()

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(map(str.strip, self._prompt.splitlines()))

    def _read(self, line: str) -> None:
        said = read_signal(line)
        if said.signal is not Signal.PROGRESS or line in self._known:
            return
        if self._to is None:
            self._to, told = anyio.create_memory_object_stream[str](MOST_WAITING)
            self._group.start_soon(self._tell, told)
        if self._to.statistics().current_buffer_used < MOST_WAITING:
            self._to.send_nowait(said.text)

    async def _tell(self, told: MemoryObjectReceiveStream[str]) -> None:
        with told:
            async for text in told:
                await self._watch.saw(Item(kind="progress", text=text))
