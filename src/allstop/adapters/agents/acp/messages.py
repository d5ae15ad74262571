"""What an agent says over ACP, as far as it is looked at; everything else in it is passed over."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw, Struct, field

RequestId = int | str


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


class _Told(Struct, frozen=True, rename="camel"):
    pass


class SessionOffers(_Told, frozen=True):
    """What is offered is there, whatever is in it."""

    resume: Any = None
    fork: Any = None


class Offers(_Told, frozen=True):
    load_session: bool = False
    session_capabilities: SessionOffers = SessionOffers()


class AuthMethod(_Told, frozen=True):
    name: str = ""


class Hello(_Told, frozen=True):
    protocol_version: int = 0
    agent_capabilities: Offers = Offers()
    auth_methods: tuple[AuthMethod, ...] = ()


class ConfigOption(_Told, frozen=True):
    id: str = ""
    category: str | None = None


class Opened(_Told, frozen=True):
    session_id: str = ""
    config_options: tuple[ConfigOption, ...] | None = None


class Tokens(_Told, frozen=True):
    """As they came: anything may be missing or no number."""

    total_tokens: Any = None
    input_tokens: Any = None
    output_tokens: Any = None
    thought_tokens: Any = None
    cached_read_tokens: Any = None


class Ended(_Told, frozen=True):
    stop_reason: str = ""
    usage: Tokens | None = None


class Cost(_Told, frozen=True):
    amount: float = 0.0
    currency: str = ""


class Location(_Told, frozen=True):
    path: str = ""


class PlanEntry(_Told, frozen=True):
    content: str = ""
    status: str = ""


class ToolCall(_Told, frozen=True):
    """Something that is done with a tool. A later word on it has only what has changed."""

    tool_call_id: str = ""
    title: str | None = None
    kind: str | None = None
    status: str | None = None
    content: Any = None
    locations: tuple[Location, ...] | None = None
    raw_input: Any = None
    raw_output: Any = None


class Update(ToolCall, frozen=True):
    """Something said or done, of any kind."""

    session_update: str = ""
    message_id: str | None = None
    entries: tuple[PlanEntry, ...] = ()
    cost: Cost | None = None
    meta: Any = field(default=None, name="_meta")


class UpdateNote(_Told, frozen=True):
    session_id: str = ""
    update: Update = Update()


class Option(_Told, frozen=True):
    option_id: str = ""
    kind: str = ""


class Permission(_Told, frozen=True):
    """What leave is wanted for, and the answers there are."""

    tool_call: ToolCall = ToolCall()
    options: tuple[Option, ...] = ()


class TakenBack(_Told, frozen=True):
    request_id: RequestId = ""


def read(line: bytes) -> Message | None:
    """The message; None for what is none. Bytes that are no UTF-8 are shown as such."""
    try:
        return msgspec.json.decode(line.decode(errors="replace"), type=Message)
    except (msgspec.DecodeError, RecursionError):
        return None


def update_in(message: Message) -> Update | None:
    try:
        return msgspec.json.decode(message.params, type=UpdateNote).update
    except (msgspec.DecodeError, RecursionError):
        return None


def permission_in(message: Message) -> Permission | None:
    try:
        return msgspec.json.decode(message.params, type=Permission)
    except (msgspec.DecodeError, RecursionError):
        return None


def taken_back_in(message: Message) -> RequestId:
    """Which request is no longer to be answered."""
    try:
        return msgspec.json.decode(message.params, type=TakenBack).request_id
    except msgspec.DecodeError:
        return ""


def written(**fields: object) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", **fields}) + b"\n"
