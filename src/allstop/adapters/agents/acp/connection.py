"""Talking with one agent's process: requests and their answers, notes, and what it asks."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

import anyio
import msgspec

from allstop.adapters.agents.acp import messages as told
from allstop.adapters.agents.lines import Line, Lines, TooLong
from allstop.core.errors import AllstopError
from allstop.ports import Child, Stream
from allstop.programs import Tail

NOT_KNOWN = -32601
UPDATE = "session/update"

T = TypeVar("T")
Ear = Callable[[told.Message | TooLong], Awaitable[None]]


class RefusedError(AllstopError):
    """The agent answered with an error."""

    def __init__(self, fault: told.RpcFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class GoneError(AllstopError):
    """The agent has ended, or can no longer be understood."""


class SilentError(AllstopError):
    """The agent does not answer."""


class _Answer:
    def __init__(self) -> None:
        self.came = anyio.Event()
        self.message: told.Message | None = None


class Connection:
    def __init__(self, child: Child, answer_within_s: float) -> None:
        self._child = child
        self._answer_within_s = answer_within_s
        self._lines = Lines()
        self._last_words = Tail(16 * 1024)
        self._ids = itertools.count(1)
        self._latest = 0
        self._waiting: dict[told.RequestId, _Answer] = {}
        self._sending = anyio.Lock()
        self._where = anyio.Event()
        self.cwd = ""
        self.gone = ""  # why

    async def pump(self, hear: Ear) -> None:
        """Hear all that it says, to its end; answers wake who waits for them."""
        while not self.gone and (chunk := await self._child.receive()) is not None:
            if chunk.stream is Stream.ERR:
                self._last_words.add(chunk.data)
                continue
            for line in self._lines.feed(chunk.data):
                if (message := self._taken(line)) is not None:
                    await hear(message)
        self.lose(f"the agent ended with code {(await self._child.wait()).code}")

    def lose(self, why: str) -> None:
        """It is of no more use; whoever holds it ends it."""
        self.gone = self.gone or f"{why}\n{self._last_words.text().strip()}".strip()
        self._where.set()
        for answer in self._waiting.values():
            answer.came.set()

    async def where(self) -> str:
        """The folder it was started in.

        Raises:
            GoneError, SilentError: it never said so.
        """
        with anyio.move_on_after(self._answer_within_s):
            await self._where.wait()
        if self.gone:
            raise GoneError(self.gone)
        if not self.cwd:
            raise SilentError("the agent did not start")
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
        raise SilentError(f"no answer to {method} within {self._answer_within_s:g} s")

    async def asked(self, method: str, kind: type[T], params: Mapping[str, object]) -> T:
        """The same, for an answer that may take any time."""
        number = self._latest = next(self._ids)
        answer = self._waiting[number] = _Answer()
        try:
            if not self.gone:
                await self._send(told.written(id=number, method=method, params=params))
                await answer.came.wait()
        finally:
            del self._waiting[number]
        if answer.message is None:
            raise GoneError(self.gone)
        if answer.message.error is not None:
            raise RefusedError(answer.message.error)
        return _decoded(method, answer.message, kind)

    def is_latest(self, message: told.Message) -> bool:
        """Whether it answers what was requested last, although nobody may wait for it any more."""
        return not message.method and message.id == self._latest

    async def note(self, method: str, params: Mapping[str, object]) -> None:
        await self._send(told.written(method=method, params=params))

    async def answer(self, request: told.RequestId, result: Mapping[str, object]) -> None:
        await self._send(told.written(id=request, result=result))

    async def refuse(self, request: told.RequestId, method: str) -> None:
        error = {"code": NOT_KNOWN, "message": f"{method} is not answered here"}
        await self._send(told.written(id=request, error=error))

    async def _send(self, line: bytes) -> None:
        async with self._sending:
            await self._child.send(line)

    def _taken(self, line: Line) -> told.Message | TooLong | None:
        if isinstance(line, TooLong):
            if UPDATE.encode() not in line.head + line.tail:
                self.lose(f"a line of {line.size:,} bytes was thrown away")  # who waits for it?
            return line
        if not self.cwd:
            self.cwd = line.decode(errors="replace")
            self._where.set()
            return None
        message = told.read(line)
        if message is None or message.method:
            return message
        if answer := self._waiting.get(message.id or 0):
            answer.message = message
            answer.came.set()
        return message


def _decoded(method: str, message: told.Message, kind: type[T]) -> T:
    try:
        result = message.result if bytes(message.result) != b"null" else b"{}"
        return msgspec.json.decode(result, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        why = f"{method}: an answer that can't be read: {error}"
        raise RefusedError(told.RpcFault(message=why)) from error
