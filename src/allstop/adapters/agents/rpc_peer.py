"""A JSON-RPC connection to a program: sends requests and matches the answers to them."""

import itertools
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import anyio
import msgspec
from msgspec import Raw, Struct

from allstop.core.errors import AllstopError

RequestId = int | str
T = TypeVar("T")


class RpcError(Struct, frozen=True):
    message: str = ""
    code: int = 0
    data: Any = None


class Message(Struct, frozen=True):
    """One message: an answer has no method, a notification no id, a request both."""

    id: RequestId | None = None
    method: str = ""
    params: Raw = Raw(b"{}")
    result: Raw = Raw(b"null")
    error: RpcError | None = None


_message = msgspec.json.Decoder(Message)


def read(line: bytes) -> Message | None:
    """The message, or None if the line is not one. Invalid UTF-8 becomes U+FFFD."""
    try:
        return _message.decode(line.decode(errors="replace"))
    except (msgspec.DecodeError, RecursionError):
        return None


def decoded(text: Raw | str, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, RecursionError):
        return None


NOT_KNOWN = -32601


class RequestFailedError(AllstopError):
    """The answer to a request is an error or unusable."""

    default_code = "agent_request_failed"

    def __init__(self, message: str, fault: RpcError | None = None) -> None:
        super().__init__(message)
        self.fault = fault or RpcError(message=message)


class PeerGoneError(AllstopError):
    """The agent's program has ended, or its output can't be read."""

    default_code = "agent_program_ended"


class NoAnswerError(AllstopError):
    """The agent's program does not answer."""

    default_code = "agent_no_answer"


class _Answer:
    def __init__(self) -> None:
        self.arrived = anyio.Event()
        self.message: Message | None = None


class Peer:
    """Sends messages to the program and holds its outstanding requests."""

    def __init__(
        self, send: Callable[[bytes], Awaitable[None]], header: Mapping[str, str] | None = None
    ) -> None:
        """`header`: fields of every message, such as the version, which Codex leaves out."""
        self._send = send
        self._header = header or {}
        self._ids = itertools.count(1)
        self._latest = 0
        self._waiting: dict[RequestId, _Answer] = {}
        self.gone = ""  # why the program can't be used any more

    async def request(self, method: str, params: Mapping[str, object]) -> Raw:
        """Raises RequestFailedError if the answer is an error, and PeerGoneError if the program
        ended first.
        """
        number = self._latest = next(self._ids)
        answer = self._waiting[number] = _Answer()
        try:
            if not self.gone:
                await self._say(id=number, method=method, params=params)
                await answer.arrived.wait()
        finally:
            del self._waiting[number]
        if answer.message is None:
            raise PeerGoneError(self.gone)
        if (fault := answer.message.error) is not None:
            raise RequestFailedError(f"{method}: {fault.message}", fault)
        return answer.message.result

    async def note(self, method: str, params: Mapping[str, object] | None = None) -> None:
        await self._say(method=method, **({} if params is None else {"params": params}))

    async def answer(self, request: RequestId, result: Mapping[str, object]) -> None:
        await self._say(id=request, result=result)

    async def refuse(self, request: RequestId, method: str) -> None:
        error = {"code": NOT_KNOWN, "message": f"{method} is not answered here"}
        await self._say(id=request, error=error)

    def answered(self, message: Message) -> None:
        """Give the answer to the request that waits for it."""
        if answer := self._waiting.get(message.id or 0):
            answer.message = message
            answer.arrived.set()

    def is_latest(self, message: Message) -> bool:
        """Whether it answers the last request, even one that was given up."""
        return not message.method and message.id == self._latest

    def lose(self, why: str) -> None:
        """End all outstanding requests: the program can't answer any more."""
        self.gone = self.gone or why
        for answer in self._waiting.values():
            answer.arrived.set()

    async def _say(self, **fields: object) -> None:
        await self._send(msgspec.json.encode({**self._header, **fields}) + b"\n")
