"""The program at the other end of JSON-RPC: who waits for which of its answers."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable, Mapping

import anyio
import msgspec
from msgspec import Raw

from allstop.adapters.agents.rpc_messages import Message, RequestId, RpcFault
from allstop.core.errors import AllstopError

NOT_KNOWN = -32601


class RefusedError(AllstopError):
    """The answer is an error, or none that is of use."""

    def __init__(self, message: str, fault: RpcFault | None = None) -> None:
        super().__init__(message)
        self.fault = fault or RpcFault(message=message)


class GoneError(AllstopError):
    """The program has ended, or can no longer be understood."""


class SilentError(AllstopError):
    """The program does not answer."""


class _Answer:
    def __init__(self) -> None:
        self.came = anyio.Event()
        self.message: Message | None = None


class Peer:
    """What is sent to it, and what it has still to answer."""

    def __init__(
        self, send: Callable[[bytes], Awaitable[None]], header: Mapping[str, str] | None = None
    ) -> None:
        """`header`: what every message begins with: the version, but Codex leaves it out."""
        self._send = send
        self._header = header or {}
        self._ids = itertools.count(1)
        self._latest = 0
        self._waiting: dict[RequestId, _Answer] = {}
        self.gone = ""  # why

    async def request(self, method: str, params: Mapping[str, object]) -> Raw:
        """
        Raises:
            RefusedError: the answer is an error.
            GoneError: there will be none.
        """
        number = self._latest = next(self._ids)
        answer = self._waiting[number] = _Answer()
        try:
            if not self.gone:
                await self._say(id=number, method=method, params=params)
                await answer.came.wait()
        finally:
            del self._waiting[number]
        if answer.message is None:
            raise GoneError(self.gone)
        if (fault := answer.message.error) is not None:
            raise RefusedError(f"{method}: {fault.message}", fault)
        return answer.message.result

    async def note(self, method: str, params: Mapping[str, object] | None = None) -> None:
        await self._say(method=method, **({} if params is None else {"params": params}))

    async def answer(self, request: RequestId, result: Mapping[str, object]) -> None:
        await self._say(id=request, result=result)

    async def refuse(self, request: RequestId, method: str) -> None:
        error = {"code": NOT_KNOWN, "message": f"{method} is not answered here"}
        await self._say(id=request, error=error)

    def answered(self, message: Message) -> None:
        """Wake whoever waits for it."""
        if answer := self._waiting.get(message.id or 0):
            answer.message = message
            answer.came.set()

    def is_latest(self, message: Message) -> bool:
        """Whether it answers what was requested last, although nobody may wait for it any more."""
        return not message.method and message.id == self._latest

    def lose(self, why: str) -> None:
        """Nothing more will come of it."""
        self.gone = self.gone or why
        for answer in self._waiting.values():
            answer.came.set()

    async def _say(self, **fields: object) -> None:
        await self._send(msgspec.json.encode({**self._header, **fields}) + b"\n")
