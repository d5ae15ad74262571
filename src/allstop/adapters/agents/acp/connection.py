"""Talking with one agent's process: requests and their answers, notes, and what it asks."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import anyio
import msgspec

from allstop.adapters.agents.output_lines import (
    BATCH_BYTES,
    BATCH_S,
    Line,
    LineSplitter,
    OversizedLine,
)
from allstop.adapters.agents.rpc_messages import Message, read
from allstop.adapters.agents.rpc_peer import NoAnswerError, Peer, PeerGoneError, RequestFailedError
from allstop.ports import Child, Stream
from allstop.programs import Tail

UPDATE = "session/update"

T = TypeVar("T")
Ear = Callable[[Message | OversizedLine], Awaitable[None]]


class Connection:
    def __init__(self, child: Child, answer_within_s: float) -> None:
        self._child = child
        self._answer_within_s = answer_within_s
        self._lines = LineSplitter()
        self._last_words = Tail(16 * 1024)
        self._sending = anyio.Lock(fast_acquire=True)
        self._where = anyio.Event()
        self.cwd = ""
        self.peer = Peer(self._send, {"jsonrpc": "2.0"})

    @property
    def gone(self) -> str:
        """Why it is, if it is."""
        return self.peer.gone

    async def pump(self, hear: Ear) -> None:
        """Hear all that it says, to its end; answers wake who waits for them.

        Words that come quickly are let gather; to wait after each of those that come one by one
        would be to wake up twice for it.
        """
        before = -math.inf
        while not self.gone and (chunk := await self._child.receive()) is not None:
            if chunk.stream is Stream.ERR:
                self._last_words.add(chunk.data)
                continue
            were_updates, came_at = set[bool](), anyio.current_time()
            for line in self._lines.feed(chunk.data):
                if (message := self._taken(line)) is not None:
                    were_updates.add(isinstance(message, Message) and message.method == UPDATE)
                    await hear(message)
            is_flowing = came_at - before < BATCH_S
            if is_flowing and were_updates == {True} and len(chunk.data) < BATCH_BYTES:
                await anyio.sleep(BATCH_S)
            before = anyio.current_time()
        self.lose(f"the agent ended with code {(await self._child.wait()).code}")

    def lose(self, why: str) -> None:
        """It is of no more use; whoever holds it ends it."""
        self.peer.lose(f"{why}\n{self._last_words.text().strip()}".strip())
        self._where.set()

    async def where(self) -> str:
        """The folder it was started in.

        Raises:
            GoneError, SilentError: it never said so.
        """
        with anyio.move_on_after(self._answer_within_s):
            await self._where.wait()
        if self.gone:
            raise PeerGoneError(self.gone)
        if not self.cwd:
            raise NoAnswerError("the agent did not start")
        return self.cwd

    async def request(self, method: str, kind: type[T], params: Mapping[str, object]) -> T:
        """
        Raises:
            RefusedError: the answer is an error.
            GoneError: the agent ended before it answered.
            SilentError: there is no answer in time.
        """
        with anyio.move_on_after(self._answer_within_s):
            return await self.asked(method, kind, params)
        raise NoAnswerError(f"no answer to {method} within {self._answer_within_s:g} s")

    async def asked(self, method: str, kind: type[T], params: Mapping[str, object]) -> T:
        """The same, for an answer that may take any time."""
        result = await self.peer.request(method, params)
        try:
            return msgspec.json.decode(result if bytes(result) != b"null" else b"{}", type=kind)
        except (msgspec.DecodeError, RecursionError) as error:
            raise RequestFailedError(f"{method}: an answer that can't be read: {error}") from error

    async def _send(self, line: bytes) -> None:
        async with self._sending:
            await self._child.send(line)

    def _taken(self, line: Line) -> Message | OversizedLine | None:
        if isinstance(line, OversizedLine):
            if UPDATE.encode() not in line.head + line.tail:
                self.lose(f"a line of {line.size:,} bytes was thrown away")  # who waits for it?
            return line
        if not self.cwd:
            self.cwd = line.decode(errors="replace")
            self._where.set()
            return None
        message = read(line)
        if message is not None and not message.method:
            self.peer.answered(message)
        return message
