"""What JSON-RPC says in a line, as agents' programs speak it."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

RequestId = int | str
T = TypeVar("T")


class RpcFault(Struct, frozen=True):
    message: str = ""
    code: int = 0
    data: Any = None


class Message(Struct, frozen=True):
    """One line: an answer has no method, a note no id, a request both."""

    id: RequestId | None = None
    method: str = ""
    params: Raw = Raw(b"{}")
    result: Raw = Raw(b"null")
    error: RpcFault | None = None


_message = msgspec.json.Decoder(Message)


def read(line: bytes) -> Message | None:
    """The message; None for what is none. Bytes that are no UTF-8 are shown as such."""
    try:
        return _message.decode(line.decode(errors="replace"))
    except (msgspec.DecodeError, RecursionError):
        return None


def decoded(text: Raw | str, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, RecursionError):
        return None
