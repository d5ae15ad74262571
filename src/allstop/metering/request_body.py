"""Reads the body of a model call, and writes it again with an output cap."""

import json
from collections.abc import Iterator
from typing import Any, NoReturn

from msgspec import Struct

from allstop.metering.model_routes import Route
from allstop.metering.provider_fetches import fetched
from allstop.metering.wire_formats import WireFormat

MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_VALUES = 500_000
"""Parsing more values than that would block the event loop, and with it a stop."""

BYTES_PER_VALUE = 160
"""Of memory, while a body is parsed: about the most that a small object takes."""

MIN_OUTPUT = 16
"""The least output cap that OpenAI accepts."""

LEAST_THINKING = 1024
"""The least thinking budget that Anthropic accepts."""

MAX_OUTPUT = 10**9


_REFERENCES = (b'"previous_response_id"', b'"file_id"', b'"fileUri"', b'"image_url"', b'"url"')
"""Names of content that the provider fetches or remembers, with more tokens than the body shows."""

_REMEMBERED = frozenset({"conversation", "prompt", "cachedContent", "container"})
"""The same, at the top of a body."""

_USUAL = {
    "servicetier": ("auto", "default", "standard", "standard_only", "flex"),
    "speed": ("standard",),
    "inferencegeo": ("global",),
}
"""Options that cost more than the listed price, and their values that don't."""

_OWN_TOOLS = (None, "function", "custom")
"""Types of tools that the agent runs itself."""


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


_NAMES = {
    _plain(name): name
    for name in (
        *("model", "stream", "stream_options", "n", "background", "thinking"),
        *("max_tokens", "max_completion_tokens", "max_output_tokens"),
    )
}
_GEMINI_NAMES = {
    _plain(name): name
    for name in ("generationConfig", "candidateCount", "maxOutputTokens", "thinkingConfig")
}
"""Names that some servers read in other spellings, too: a cap there would go unseen."""


class BodyError(Exception):
    """A body that can't be metered, in words for the client."""


class FetchError(BodyError):
    """The provider would fetch something from another host for the box."""


class ModelCall(Struct, frozen=True, kw_only=True):
    """A model call that a box asks for."""

    wire: WireFormat
    model: str
    is_stream: bool
    wanted: int | None  # the output cap in the body
    size: int  # of the body in bytes
    has_references: bool = False  # to content that isn't in the body
    has_hosted_tools: bool = False  # whose results the provider adds to the input
    dearer: str = ""  # the option by which it costs more than the listed price
    body: dict[str, Any]


def parsed_bytes(data: bytes) -> int:
    """The memory that a body needs while it is parsed, at most."""
    return min(_values_in(data), MAX_VALUES) * BYTES_PER_VALUE


def read_call(route: Route, data: bytes) -> ModelCall:
    """Raises BodyError, and its kind FetchError."""
    assert route.wire is not None, "only calls that are charged have a body to read"
    body = _parsed(data)
    _refuse_unmeterable(route.wire, body)
    _refuse_fetches(route.wire, data, body)
    model = route.model or body.get("model")
    if not isinstance(model, str) or not model:
        raise BodyError("the body names no model")
    return ModelCall(
        wire=route.wire,
        model=model,
        is_stream=route.is_stream or body.get("stream") is True,
        wanted=_wanted(route.wire, body),
        size=len(data),
        has_references=any(name in data for name in _REFERENCES)
        or not _REMEMBERED.isdisjoint(body),
        has_hosted_tools=_has_hosted_tools(route.wire, body),
        dearer=next(_dearer(body), ""),
        body=body,
    )


def check_free(data: bytes) -> None:
    """Check the body of a request that costs nothing. Raises BodyError."""
    if data:
        _refuse_fetches(None, data, _parsed(data))


def write_body(call: ModelCall, cap: int | None, *, is_vendors: bool = True) -> bytes:
    """The body with the output cap, and with a request for usage; None adds no cap.

    `is_vendors`: the server is OpenAI's own, whose newer models refuse `max_tokens`.
    Raises BodyError.
    """
    body = dict(call.body)
    match call.wire:
        case WireFormat.RESPONSES:
            if cap is not None:
                body["max_output_tokens"] = cap
        case WireFormat.CHAT:
            _cap_chat(body, cap, is_vendors=is_vendors)
        case WireFormat.MESSAGES:
            if cap is not None:
                _cap_messages(body, cap)
        case WireFormat.GEMINI:
            if cap is not None:
                _cap_gemini(body, cap)
    try:
        return json.dumps(body, separators=(",", ":")).encode()
    except RecursionError:
        raise BodyError("the body is nested too deeply") from None


def _parsed(data: bytes) -> dict[str, Any]:
    if len(data) > MAX_BODY_BYTES:
        raise BodyError(f"the body is larger than {MAX_BODY_BYTES:,} bytes")
    if _values_in(data) > MAX_VALUES:
        raise BodyError("the body has too many values")
    try:
        body = json.loads(data, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise BodyError("the body is not valid JSON") from None
    if not isinstance(body, dict):
        raise BodyError("the body is not a JSON object")
    return body


def _values_in(data: bytes) -> int:
    """At most so many values: a comma in a text counts, too."""
    return data.count(b",") + data.count(b"[") + data.count(b"{")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _dearer(body: dict[str, Any]) -> Iterator[str]:
    for name, value in body.items():
        usual = _USUAL.get(_plain(name))
        if (
            usual
            and value is not None
            and (not isinstance(value, str) or value.lower() not in usual)
        ):
            yield f"{name} = {json.dumps(value)[:40]}"


def _has_hosted_tools(wire: WireFormat, body: dict[str, Any]) -> bool:
    if "web_search_options" in body:
        return True
    tools = body.get("tools")
    known = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    if wire is WireFormat.GEMINI:
        return any(_plain(name) != "functiondeclarations" for tool in known for name in tool)
    return any(tool.get("type") not in _OWN_TOOLS for tool in known)


def _refuse_unmeterable(wire: WireFormat, body: dict[str, Any]) -> None:
    """Refuse options by which a call would cost more than one reply with one cap."""
    copies = body.get("n")
    if wire is WireFormat.GEMINI:
        copies = _gemini_settings(body).get("candidateCount")
    if copies not in (None, 1):
        raise BodyError("several replies to one call can't be metered")
    if body.get("background"):
        raise BodyError("a call in the background can't be metered")
    if not isinstance(body.get("stream"), bool | None):
        raise BodyError("stream is neither true nor false")
    known = _GEMINI_NAMES if wire is WireFormat.GEMINI else _NAMES
    for table in (body, body.get("generationConfig")):
        for name in table if isinstance(table, dict) else ():
            if (proper := known.get(_plain(name), name)) != name:
                raise BodyError(f"{name} must be written {proper}")


def _refuse_fetches(wire: WireFormat | None, data: bytes, body: dict[str, Any]) -> None:
    if found := fetched(wire, data, body):
        raise FetchError(f"the provider would go to another host for this agent: {found}")


def _wanted(wire: WireFormat, body: dict[str, Any]) -> int | None:
    match wire:
        case WireFormat.RESPONSES:
            return _cap_of(body, "max_output_tokens")
        case WireFormat.CHAT:
            caps = (_cap_of(body, name) for name in ("max_completion_tokens", "max_tokens"))
            return min((cap for cap in caps if cap is not None), default=None)
        case WireFormat.MESSAGES:
            return _cap_of(body, "max_tokens")
        case WireFormat.GEMINI:
            return _cap_of(_gemini_settings(body), "maxOutputTokens")


def _gemini_settings(body: dict[str, Any]) -> dict[str, Any]:
    settings = body.get("generationConfig") or {}
    if not isinstance(settings, dict):
        raise BodyError("generationConfig is not an object")
    return settings


def _cap_of(body: dict[str, Any], name: str) -> int | None:
    """A cap that is zero or negative means "no limit" to some servers, so it counts as none."""
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) <= MAX_OUTPUT:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int):
        raise BodyError(f"{name} is not a whole number")
    return min(value, MAX_OUTPUT) if value > 0 else None


def _cap_chat(body: dict[str, Any], cap: int | None, *, is_vendors: bool) -> None:
    if cap is not None:
        names = [n for n in ("max_completion_tokens", "max_tokens") if body.get(n) is not None]
        default = "max_completion_tokens" if is_vendors else "max_tokens"
        for name in names or [default]:
            body[name] = cap
    if body.get("stream") is True:
        options = body.get("stream_options")
        options = options if isinstance(options, dict) else {}
        body["stream_options"] = {**options, "include_usage": True}


def _cap_messages(body: dict[str, Any], cap: int) -> None:
    """A thinking budget must be smaller than the cap; where none fits, thinking is left out."""
    body["max_tokens"] = cap
    thinking = body.get("thinking")
    if not isinstance(thinking, dict) or not isinstance(
        budget := thinking.get("budget_tokens"), int
    ):
        return
    if cap <= LEAST_THINKING:
        del body["thinking"]
    elif budget >= cap:
        body["thinking"] = {**thinking, "budget_tokens": max(LEAST_THINKING, cap // 2)}


def _cap_gemini(body: dict[str, Any], cap: int) -> None:
    settings = dict(_gemini_settings(body))
    settings["maxOutputTokens"] = cap
    thinking = settings.get("thinkingConfig")
    if isinstance(thinking, dict) and isinstance(budget := thinking.get("thinkingBudget"), int):
        settings["thinkingConfig"] = {**thinking, "thinkingBudget": min(budget, cap)}
    body["generationConfig"] = settings
