"""Reads the usage of a model call from the provider's reply, streamed or whole."""

import json
import math
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from allstop.metering.wire_formats import WireFormat

MAX_COUNT = 10**9
END_OF_STREAM = b"[DONE]"

CHARS_PER_TOKEN = 3.0
"""Of a reply whose usage is unknown."""


def as_count(value: object) -> int | None:
    """The value if it is a plausible token count, else None."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_COUNT:
        return None
    return value


class CallUsage(Struct, frozen=True, kw_only=True):
    """The tokens of one call."""

    input: int = 0  # includes `cached` and `written`
    cached: int = 0
    written: int = 0  # into the provider's cache
    output: int = 0  # includes `reasoning`
    reasoning: int = 0
    for_hour: bool = False  # `written` tokens stay in the cache for an hour

    @property
    def tokens(self) -> int:
        return self.input + self.output


class Reported(Struct, frozen=True, kw_only=True):
    """What a provider reported; None where it reported no plausible number."""

    input: int | None = None  # includes `cached` and `written`
    cached: int | None = None
    written: int | None = None
    output: int | None = None
    reasoning: int | None = None
    for_hour: bool = False


class UsageReader:
    """Reads one reply. The last report counts: providers repeat it, and never send parts of it."""

    def __init__(self, wire: WireFormat) -> None:
        self._wire = wire
        self._usage: dict[str, Any] = {}
        self.model = ""
        self.chars = 0  # of the model's words so far, tool calls and visible reasoning included
        self.finish = ""  # why the model ended, in the provider's word
        self.is_complete = False
        self.error: dict[str, Any] | None = None  # that the provider sent within the reply

    def event(self, data: bytes) -> None:
        """Read the data of one server-sent event."""
        if data == END_OF_STREAM:
            self.is_complete = True
            return
        value = decoded(data)
        if isinstance(value, dict):
            self._event(value)

    def whole(self, body: bytes) -> None:
        """Read a reply that is one JSON document, or Gemini's list of them."""
        value = decoded(body)
        for each in value if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                self._whole(each)
                self.is_complete = True

    @property
    def reported(self) -> Reported:
        reported = _REPORTS[self._wire](self._usage)
        if self.is_complete or self._wire is not WireFormat.GEMINI or reported.output is None:
            return reported
        # Gemini reports with each piece, and may have said more since
        return replace(reported, output=max(reported.output, tokens_of(self.chars)))

    @property
    def was_cut(self) -> bool:
        """Whether the reply ended at its output cap."""
        return self.finish in _CUT

    def _event(self, event: dict[str, Any]) -> None:
        self._read_error(event)
        match self._wire:
            case WireFormat.RESPONSES:
                self._responses_event(event)
            case WireFormat.CHAT:
                self._chat(event)
            case WireFormat.MESSAGES:
                self._messages_event(event)
            case WireFormat.GEMINI:
                self._gemini(event)

    def _whole(self, reply: dict[str, Any]) -> None:
        self._read_error(reply)
        match self._wire:
            case WireFormat.RESPONSES:
                self.chars += _chars(reply.get("output"))
                self._responses(reply)
            case WireFormat.MESSAGES:
                self._whole_message(reply)
            case WireFormat.CHAT:
                self._chat(reply)
            case WireFormat.GEMINI:
                self._gemini(reply)

    def _read_error(self, event: dict[str, Any]) -> None:
        """OpenAI's failed response has it inside; all others send it as `error`."""
        for each in (event, event.get("response")):
            if isinstance(each, dict) and isinstance(error := each.get("error"), dict):
                self.error = error

    def _responses_event(self, event: dict[str, Any]) -> None:
        kind = event.get("type")
        if isinstance(kind, str) and kind.endswith(".delta"):
            self.chars += _chars(event.get("delta"))
        response = event.get("response")
        if isinstance(response, dict):
            self._responses(response)

    def _responses(self, response: dict[str, Any]) -> None:
        self._replace_usage(response.get("usage"))
        self._name(response.get("model"))
        status = response.get("status")
        if status in ("completed", "incomplete", "failed", "cancelled"):
            self.is_complete = True
            details = response.get("incomplete_details")
            reason = details.get("reason") if isinstance(details, dict) else None
            self.finish = str(reason or status)

    def _chat(self, chunk: dict[str, Any]) -> None:
        self._replace_usage(chunk.get("usage"))
        self._name(chunk.get("model"))
        for choice in _dicts(chunk.get("choices")):
            self.chars += _chars(choice.get("delta") or choice.get("message"))
            if isinstance(reason := choice.get("finish_reason"), str):
                self.finish = reason

    def _messages_event(self, event: dict[str, Any]) -> None:
        match event.get("type"):
            case "message_start":
                message = event.get("message")
                if isinstance(message, dict):
                    self._name(message.get("model"))
                    self._merge_usage(message.get("usage"))
                    self._usage.pop("output_tokens", None)  # a number that doesn't count yet
            case "content_block_delta":
                self.chars += _chars(event.get("delta"))
            case "message_delta":
                self._merge_usage(event.get("usage"))
                self._stop(event.get("delta"))
            case "message_stop":
                self.is_complete = True
            case _:
                pass

    def _whole_message(self, message: dict[str, Any]) -> None:
        self._name(message.get("model"))
        self._merge_usage(message.get("usage"))
        self.chars += _chars(message.get("content"))
        self._stop(message)

    def _stop(self, delta: object) -> None:
        if isinstance(delta, dict) and isinstance(reason := delta.get("stop_reason"), str):
            self.finish = reason

    def _gemini(self, chunk: dict[str, Any]) -> None:
        self._replace_usage(chunk.get("usageMetadata"))
        self._name(chunk.get("modelVersion"))
        for candidate in _dicts(chunk.get("candidates")):
            self.chars += _chars(candidate.get("content"))
            if isinstance(reason := candidate.get("finishReason"), str):
                self.finish, self.is_complete = reason, True

    def _name(self, model: object) -> None:
        if isinstance(model, str) and model:
            self.model = model

    def _replace_usage(self, usage: object) -> None:
        if isinstance(usage, dict):
            self._usage = usage

    def _merge_usage(self, usage: object) -> None:
        """Anthropic's later reports leave out what hasn't changed."""
        if isinstance(usage, dict):
            known = {name: value for name, value in usage.items() if value is not None}
            self._usage = {**self._usage, **known}


_CUT = frozenset({"max_output_tokens", "length", "max_tokens", "MAX_TOKENS"})


def _reported_responses(usage: Mapping[str, Any]) -> Reported:
    details = _dict(usage.get("input_tokens_details"))
    return Reported(
        input=as_count(usage.get("input_tokens")),
        cached=as_count(details.get("cached_tokens")),
        written=as_count(details.get("cache_write_tokens")),
        output=as_count(usage.get("output_tokens")),
        reasoning=as_count(_dict(usage.get("output_tokens_details")).get("reasoning_tokens")),
    )


def _reported_chat(usage: Mapping[str, Any]) -> Reported:
    details = _dict(usage.get("prompt_tokens_details"))
    return Reported(
        input=as_count(usage.get("prompt_tokens")),
        cached=as_count(details.get("cached_tokens")),
        output=as_count(usage.get("completion_tokens")),
        reasoning=as_count(_dict(usage.get("completion_tokens_details")).get("reasoning_tokens")),
    )


def _reported_messages(usage: Mapping[str, Any]) -> Reported:
    """Anthropic's `input_tokens` leaves out the tokens of the cache."""
    fresh = as_count(usage.get("input_tokens"))
    cached = as_count(usage.get("cache_read_input_tokens"))
    written = as_count(usage.get("cache_creation_input_tokens"))
    lifetimes = _dict(usage.get("cache_creation"))
    return Reported(
        input=None if fresh is None else fresh + (cached or 0) + (written or 0),
        cached=cached,
        written=written,
        output=as_count(usage.get("output_tokens")),
        for_hour=bool(as_count(lifetimes.get("ephemeral_1h_input_tokens"))),
    )


def _reported_gemini(usage: Mapping[str, Any]) -> Reported:
    """Gemini counts thoughts apart from the candidates, and tool results apart from the prompt."""
    said, thoughts = (
        as_count(usage.get(n)) for n in ("candidatesTokenCount", "thoughtsTokenCount")
    )
    prompt = as_count(usage.get("promptTokenCount"))
    tools = as_count(usage.get("toolUsePromptTokenCount")) or 0
    return Reported(
        input=None if prompt is None else prompt + tools,
        cached=as_count(usage.get("cachedContentTokenCount")),
        output=None if said is None and thoughts is None else (said or 0) + (thoughts or 0),
        reasoning=thoughts,
    )


_REPORTS = {
    WireFormat.RESPONSES: _reported_responses,
    WireFormat.CHAT: _reported_chat,
    WireFormat.MESSAGES: _reported_messages,
    WireFormat.GEMINI: _reported_gemini,
}


def tokens_of(chars: int) -> int:
    """The tokens of a reply whose usage is unknown."""
    return math.ceil(chars / CHARS_PER_TOKEN)


def decoded(data: bytes) -> object:
    """The JSON value, or None. `msgspec` is fast, but rejects half a surrogate pair."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value


def _chars(value: object) -> int:
    """The length of all texts in a value, without the names and types of its parts."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list):
        return sum(map(_chars, value))
    if isinstance(value, dict):
        return sum(_chars(each) for name, each in value.items() if name not in _NO_WORDS)
    return 0


_NO_WORDS = frozenset({"type", "role", "id", "index", "call_id", "status", "object"})


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
