"""The scripted replies and faults of the model server, and the requests that it receives."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeAlias

from msgspec import Struct


class Protocol(StrEnum):
    RESPONSES = "responses"  # OpenAI
    CHAT = "chat"  # OpenAI's older API, and compatible servers
    MESSAGES = "messages"  # Anthropic
    GEMINI = "gemini"  # generateContent


class Fault(StrEnum):
    UNAUTHORIZED = "unauthorized"  # 401
    RATE_LIMITED = "rate_limited"  # 429 with retry-after
    QUOTA = "quota"  # 429; waiting doesn't help
    SERVER_ERROR = "server_error"  # 500
    OVERLOADED = "overloaded"  # 503, 529
    BAD_REQUEST = "bad_request"  # 400
    TOO_LONG = "too_long"  # 400: the prompt is too long
    NO_MODEL = "no_model"  # 404
    REDIRECT = "redirect"  # 307 to another address
    CLOSED = "closed"  # the connection, before any response
    CUT = "cut"  # off in the middle of the reply
    SILENCE = "silence"  # after the headers
    DRIP = "drip"  # a byte at a time
    GARBAGE = "garbage"  # random bytes instead of events
    BROKEN_JSON = "broken_json"  # events with invalid JSON
    WRONG_TYPES = "wrong_types"  # events with fields of other types
    NESTED = "nested"  # events nested too deeply
    BAD_UTF8 = "bad_utf8"  # within a delta
    ENDLESS_LINE = "endless_line"  # 256 MB of one line
    ENDLESS_WORDS = "endless_words"  # 256 MB of deltas
    ENDLESS_ERROR = "endless_error"  # 500 with 256 MB
    HTML = "html"  # a web page with status 200
    ERROR_EVENT = "error_event"  # within the stream
    EMPTY = "empty"  # a reply without text
    TRUNCATED = "truncated"  # at the token limit
    REFUSAL = "refusal"
    NO_USAGE = "no_usage"
    NEGATIVE_USAGE = "negative_usage"
    DUPLICATE_USAGE = "duplicate_usage"  # reported twice; counts once
    NO_STRUCTURE = "no_structure"  # 400 if the request has a schema, else a reply


class Call(Struct, frozen=True, kw_only=True):
    """A tool call of the model."""

    name: str
    arguments: Mapping[str, Any] = {}
    text: str = ""  # instead of arguments, for a tool that takes plain text (Responses)
    group: str = ""  # the tool's namespace (Responses)


class ErrorReply(Struct, frozen=True):
    """An error response instead of a reply."""

    status: int
    body: Mapping[str, Any]
    headers: Mapping[str, str] = {}


class Say(Struct, frozen=True, kw_only=True):
    """A reply, and how it is sent."""

    text: str = ""
    pieces: tuple[str, ...] = ()  # its deltas, if they matter
    calls: tuple[Call, ...] = ()
    fault: Fault | None = None
    error: ErrorReply | None = None  # a custom error response
    headers: Mapping[str, str] = {}  # of a successful response
    delay_s: float = 0.0  # before the headers
    pause_s: float = 0.0  # before each delta
    input: int = 100  # tokens, including the cached and written ones
    cached: int = 0
    written: int = 0
    output: int = 20

    @property
    def deltas(self) -> tuple[str, ...]:
        if self.pieces:
            return self.pieces
        size = max(1, min(4096, len(self.text) // 4))
        return tuple(self.text[i : i + size] for i in range(0, len(self.text), size))

    @property
    def whole(self) -> str:
        return "".join(self.deltas)


class ReceivedRequest(Struct, frozen=True, kw_only=True):
    """A request as the server received it."""

    protocol: Protocol
    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]

    @property
    def model(self) -> str:
        in_path = self.path.rpartition("/")[2].partition(":")[0]
        return in_path if self.protocol is Protocol.GEMINI else str(self.body.get("model", ""))

    @property
    def is_streamed(self) -> bool:
        return bool(self.body.get("stream")) or self.path.endswith(":streamGenerateContent")

    @property
    def wants_structure(self) -> bool:
        forced = isinstance(choice := self.body.get("tool_choice"), dict) and "name" in choice
        in_text = "format" in (self.body.get("text") or {})
        in_config = "format" in (self.body.get("output_config") or {})
        in_generation = "responseMimeType" in (self.body.get("generationConfig") or {})
        is_asked = in_text or in_config or in_generation
        return forced or is_asked or "response_format" in self.body

    @property
    def system(self) -> str:
        body = self.body
        given = body.get("system") or body.get("instructions") or body.get("systemInstruction")
        texts = _texts(given or "")
        roles = ("system", "developer")
        return "\n\n".join([*texts, *(t for m in self._messages(roles) for t in _texts(m))])

    @property
    def blocks(self) -> tuple[str, ...]:
        """The texts of the user's messages, block by block."""
        return tuple(text for content in self._messages(("user",)) for text in _texts(content))

    @property
    def user(self) -> str:
        return "\n\n".join(self.blocks)

    def _messages(self, roles: Sequence[str]) -> Iterator[object]:
        body = self.body
        messages = body.get("messages") or body.get("input") or body.get("contents") or ()
        if isinstance(messages, str):
            messages = ({"role": "user", "content": messages},)
        for each in messages:
            if each.get("role") in roles:
                yield each.get("content") or each.get("parts")


def _texts(content: object) -> tuple[str, ...]:
    if isinstance(content, str):
        return (content,) if content else ()
    if isinstance(content, dict):
        content = content.get("parts")
    blocks = content if isinstance(content, list) else []
    return tuple(block["text"] for block in blocks if "text" in block)


Answer: TypeAlias = "Say | Fault | str"
Answers: TypeAlias = "Sequence[Answer] | Callable[[ReceivedRequest], Answer]"


def envelope(message: str, **more: object) -> str:
    """The text of a reply in a room's format."""
    return json.dumps({"message": message, **more})


def as_say(answer: Answer) -> Say:
    if isinstance(answer, Fault):
        return Say(pieces=("the zebra ", "crosses ", "the road"), fault=answer)
    return Say(text=answer) if isinstance(answer, str) else answer
