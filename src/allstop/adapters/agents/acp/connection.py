"""A connection to one ACP agent's process: sends requests and reads its messages."""

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
from allstop.adapters.agents.rpc_peer import (
    Message,
    NoAnswerError,
    Peer,
    PeerGoneError,
    RequestFailedError,
    read,
)
from allstop.ports import Child, Stream
from allstop.programs import Tail

UPDATE = "session/update"

T = TypeVar("T")
Listener = Callable[[Message | OversizedLine], Awaitable[None]]


class Connection:
    def __init__(self, child: Child, answer_within_s: float) -> None:
        self._child = child
        self._answer_within_s = answer_within_s
        self._lines = LineSplitter()
        self._stderr = Tail(16 * 1024)
        self._sending = anyio.Lock(fast_acquire=True)
        self._started = anyio.Event()
        self.cwd = ""
        self.peer = Peer(self._send, {"jsonrpc": "2.0"})

    @property
    def gone(self) -> str:
        """Why the agent can't be used any more, or "" if it can."""
        return self.peer.gone

    async def read_messages(self, listener: Listener) -> None:
        """Read all messages to the end of the process, and pass on the answers.

        Updates in quick succession are read in batches. Slow ones are not: a pause after each would
        wake the process twice.
        """
        before = -math.inf
        while not self.gone and (chunk := await self._child.receive()) is not None:
            if chunk.stream is Stream.ERR:
                self._stderr.add(chunk.data)
                continue
            were_updates, came_at = set[bool](), anyio.current_time()
            for line in self._lines.feed(chunk.data):
                if (message := self._receive(line)) is not None:
                    were_updates.add(isinstance(message, Message) and message.method == UPDATE)
                    await listener(message)
            is_flowing = came_at - before < BATCH_S
            if is_flowing and were_updates == {True} and len(chunk.data) < BATCH_BYTES:
                await anyio.sleep(BATCH_S)
            before = anyio.current_time()
        self.lose(f"the agent ended with code {(await self._child.wait()).code}")

    def lose(self, why: str) -> None:
        """Mark it as unusable; its owner ends the process."""
        self.peer.lose(f"{why}\n{self._stderr.text().strip()}".strip())
        self._started.set()

    async def working_directory(self) -> str:
        """The folder that the agent was started in.

        Raises PeerGoneError or NoAnswerError if the agent did not start.
        """
        with anyio.move_on_after(self._answer_within_s):
            await self._started.wait()
        if self.gone:
            raise PeerGoneError(self.gone)
        if not self.cwd:
            raise NoAnswerError("the agent did not start")
        return self.cwd

    async def request(self, method: str, kind: type[T], params: Mapping[str, object]) -> T:
        """Raises RequestFailedError if the answer is an error, PeerGoneError if the agent ended
        before it answered, and NoAnswerError if the agent didn't answer in time.
        """
        with anyio.move_on_after(self._answer_within_s):
            return await self.request_untimed(method, kind, params)
        raise NoAnswerError(f"the agent did not answer {method} within {self._answer_within_s:g} s")

    async def request_untimed(self, method: str, kind: type[T], params: Mapping[str, object]) -> T:
        """Like `request`, without a time limit."""
        result = await self.peer.request(method, params)
        try:
            return msgspec.json.decode(result if bytes(result) != b"null" else b"{}", type=kind)
        except (msgspec.DecodeError, RecursionError) as error:
            raise RequestFailedError(f"{method}: unreadable answer: {error}") from error

    async def _send(self, line: bytes) -> None:
        async with self._sending:
            await self._child.send(line)

    def _receive(self, line: Line) -> Message | OversizedLine | None:
        if isinstance(line, OversizedLine):
            if UPDATE.encode() not in line.head + line.tail:
                # the line may be an answer that a request waits for
                self.lose(f"a line of {line.size:,} bytes was too long to read")
            return line
        if not self.cwd:
            self.cwd = line.decode(errors="replace")
            self._started.set()
            return None
        message = read(line)
        if message is not None and not message.method:
            self.peer.answered(message)
        return message
