"""Decodes JSON-RPC messages, one per line, from agents' programs."""

from typing import Any, TypeVar

import msgspec
from msgspec import Raw, Struct

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
