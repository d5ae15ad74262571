"""The messages that Claude Code writes; unknown types and fields are ignored."""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

import msgspec
from msgspec import Raw, Struct


class _Message(Struct, frozen=True, kw_only=True):
    pass


class Block(_Message, frozen=True):
    """A part of a message: text, a tool call or a tool's result."""

    type: str = ""
    text: str | None = None
    id: str = ""
    name: str = ""
    input: dict[str, Any] | None = None
    tool_use_id: str = ""
    content: Any = None
    is_error: bool | None = None


class MessageContent(_Message, frozen=True):
    content: str | list[Block] | None = None

    @property
    def blocks(self) -> list[Block]:
        if isinstance(self.content, str):
            return [Block(type="text", text=self.content)]
        return self.content or []


class Assistant(_Message, frozen=True):
    message: MessageContent
    parent_tool_use_id: str | None = None  # set if a subagent wrote this
    error: str | None = None  # set if Claude Code itself reports a failure
    api_error: str | None = None
    api_error_type: str | None = None


class User(_Message, frozen=True):
    message: MessageContent
    parent_tool_use_id: str | None = None


class Tokens(_Message, frozen=True):
    input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    output_tokens: int | None = None


class Delta(_Message, frozen=True):
    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    stop_reason: str | None = None


class Event(_Message, frozen=True):
    type: str = ""
    content_block: Block | None = None
    delta: Delta | None = None
    usage: Tokens | None = None


class StreamEvent(_Message, frozen=True):
    event: Event
    parent_tool_use_id: str | None = None


class CompactMetadata(_Message, frozen=True):
    post_tokens: int | None = None  # the size of the conversation afterwards


class System(_Message, frozen=True):
    subtype: str = ""
    retry_delay_ms: float | None = None
    error_status: int | None = None
    error: Any = None
    tool_name: str | None = None
    content: Any = None
    message: Any = None
    description: str | None = None
    api_refusal_explanation: str | None = None
    compact_metadata: CompactMetadata = CompactMetadata()


class ToolProgress(_Message, frozen=True):
    """How long a tool has been running."""

    tool_name: str = ""
    elapsed_time_seconds: float = 0.0


class ModelUsage(_Message, frozen=True, rename="camel"):
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_input_tokens: int = 0
    cache_creation_input_tokens: int = 0


class Result(_Message, frozen=True):
    """The end of a turn. After an API failure, its subtype is still "success"."""

    subtype: str = ""
    is_error: bool = False
    api_error_status: int | None = None
    result: str | None = None
    errors: list[str] | None = None
    terminal_reason: str | None = None
    structured_output: Any = None
    total_cost_usd: float = 0.0
    model_usage: dict[str, ModelUsage] = msgspec.field(name="modelUsage", default_factory=dict)


class Permission(_Message, frozen=True):
    subtype: str = ""
    tool_name: str = ""
    input: dict[str, Any] = {}
    message: Any = None


class ControlRequest(_Message, frozen=True):
    request_id: str
    request: Permission


class ControlCancel(_Message, frozen=True):
    request_id: str


class Answer(_Message, frozen=True):
    request_id: str = ""
    subtype: str = ""
    response: Raw = Raw(b"null")


class ControlResponse(_Message, frozen=True):
    response: Answer


class RateLimit(_Message, frozen=True, rename="camel"):
    status: str = ""
    resets_at: float | None = None
    rate_limit_type: str | None = None
    utilization: float | None = None  # the used share, from 0 to 1


class RateLimitEvent(_Message, frozen=True):
    rate_limit_info: RateLimit


class Lifecycle(_Message, frozen=True):
    """The state of a message that was sent to Claude Code."""

    command_uuid: str = ""
    state: str = ""


class Session(_Message, frozen=True):
    total_cost_usd: float = 0.0
    model_usage: dict[str, ModelUsage] = {}


class UsageSoFar(_Message, frozen=True):
    """The answer to `get_usage`."""

    session: Session = Session()


class Unreadable(_Message, frozen=True):
    """A line that is not a valid message."""

    line: str


Message: TypeAlias = (
    Assistant
    | User
    | StreamEvent
    | System
    | ToolProgress
    | Result
    | ControlRequest
    | ControlCancel
    | ControlResponse
    | RateLimitEvent
    | Lifecycle
    | Unreadable
)

_TYPES: Mapping[str, type[Message]] = {
    "assistant": Assistant,
    "user": User,
    "stream_event": StreamEvent,
    "system": System,
    "tool_progress": ToolProgress,
    "result": Result,
    "control_request": ControlRequest,
    "control_cancel_request": ControlCancel,
    "control_response": ControlResponse,
    "rate_limit_event": RateLimitEvent,
    "command_lifecycle": Lifecycle,
}


class _Kind(_Message, frozen=True):
    type: str = ""


DECODE_ERRORS = (msgspec.DecodeError, ValueError, RecursionError)
"""The exceptions that decoding an invalid line can raise."""

_kind = msgspec.json.Decoder(_Kind)
_decoders = {name: msgspec.json.Decoder(type_) for name, type_ in _TYPES.items()}


def read(line: bytes) -> Message | None:
    """The message of a line; None for a type that this driver ignores."""
    try:
        return _decode(line)
    except DECODE_ERRORS:
        pass
    try:
        return _decode(_repair(line))
    except DECODE_ERRORS as error:
        return Unreadable(line=f"{error}: {line[:200].decode(errors='replace')}")


def _decode(line: bytes) -> Message | None:
    decoder = _decoders.get(_kind.decode(line).type)
    message: Message | None = decoder.decode(line) if decoder else None
    return message


def _repair(line: bytes) -> bytes:
    """Replace invalid UTF-8 and lone surrogates."""
    value = json.loads(line.decode(errors="replace"))
    return json.dumps(value, ensure_ascii=False).encode(errors="replace")
