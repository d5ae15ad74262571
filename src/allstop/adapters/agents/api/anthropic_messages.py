"""Calls models over Anthropic's Messages API."""

from enum import StrEnum
from functools import partial
from typing import Any

from msgspec.structs import replace

from allstop.adapters.agents.api.agent import Connected, ModelAgent, get, read_stream, system_text
from allstop.adapters.agents.api.call_usage import ReportedUsage, total
from allstop.adapters.agents.api.error_kinds import CallError, invalid_reply, rejected_reply
from allstop.adapters.agents.api.http_client import CallLimits, Endpoint, ModelClient
from allstop.adapters.agents.api.json_schemas import close_objects
from allstop.adapters.agents.api.reply_stream import Reply
from allstop.adapters.agents.api.request import ModelRequest
from allstop.adapters.agents.provider_errors import Fault
from allstop.core.moves import FailureKind
from allstop.core.prompt import CacheLifetime

API_VERSION = "2026-10-21"

MAX_BREAKPOINTS = 4
"""Cache breakpoints that one request can have."""

MAX_OUTPUT = 32_000
"""The API requires a maximum; the model's thinking counts too."""

TOOL = "reply"


class Shape(StrEnum):
    """How the request asks for a structured reply."""

    FORMAT = "output_config"
    TOOL = "tool_choice"  # for older models without the format; newer ones can't be forced to use a tool
    WORDS = ""


def _connect(endpoint: Endpoint, limits: CallLimits) -> Connected:
    headers = {"anthropic-version": API_VERSION}
    if not endpoint.is_vendors:
        headers["x-api-key"] = endpoint.key  # compatible servers may know only this header
    client = ModelClient(endpoint, limits, headers)
    return tuple(Messages(client, endpoint, shape) for shape in Shape), client


anthropic_agent = partial(ModelAgent, _connect)


class Messages:
    api = "messages"

    def __init__(self, client: ModelClient, endpoint: Endpoint, shape: Shape) -> None:
        self._client = client
        self._model = endpoint.model
        self._shape = shape
        self.schema_parameters = {
            Shape.FORMAT: ("output_config", "output_format", "structured output"),
            Shape.TOOL: ("tool_choice", "tools", "tool use"),
            Shape.WORDS: (),
        }[shape]

    async def send(self, request: ModelRequest, reply: Reply) -> None:
        await read_stream(
            self._client.stream("/v1/messages", self._body(request)), _Events().take, reply
        )

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": min(request.max_output or MAX_OUTPUT, MAX_OUTPUT),
            **prompt_body(request, system_text(request, self)),
        }
        if request.schema is not None:
            body |= self._schema_body(close_objects(request.schema))
        return body

    def _schema_body(self, schema: dict[str, Any]) -> dict[str, Any]:
        match self._shape:
            case Shape.FORMAT:
                return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
            case Shape.TOOL:
                tool = {"name": TOOL, "description": "Give your reply.", "input_schema": schema}
                return {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL}}
            case Shape.WORDS:
                return {}


def prompt_body(request: ModelRequest, system: str) -> dict[str, Any]:
    """The prompt, with cache breakpoints after the parts that later calls repeat."""
    is_cached = request.lifetime is not CacheLifetime.NONE
    marked = request.breakpoints(MAX_BREAKPOINTS - 1 if system else MAX_BREAKPOINTS)
    content = [
        _block(part.text, request.lifetime if index in marked else CacheLifetime.NONE)
        for index, part in enumerate(request.parts)
    ]
    prompt: dict[str, Any] = {"messages": [{"role": "user", "content": content}]}
    if system:
        lifetime = request.lifetime if is_cached else CacheLifetime.NONE
        prompt["system"] = [_block(system, lifetime)]
    return prompt


def _block(text: str, lifetime: CacheLifetime) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": text}
    if lifetime is CacheLifetime.NONE:
        return block
    return {**block, "cache_control": {"type": "ephemeral", "ttl": lifetime.value}}


class _Events:
    """Reads the events of a stream, which reports the stop reason before the end."""

    def __init__(self) -> None:
        self._stop: object = None
        self._explanation = ""

    def take(self, event: object, reply: Reply) -> None:
        match get(event, "type"):
            case "message_start":
                begun = _reported(get(event, "message", "usage"), ReportedUsage())
                reply.reported = replace(begun, output=None)
            case "content_block_delta":
                _add(get(event, "delta"), reply)
            case "message_delta":
                reply.reported = _reported(get(event, "usage"), reply.reported)
                self._stop = get(event, "delta", "stop_reason") or self._stop
                why = get(event, "delta", "stop_details", "explanation")
                self._explanation = why or self._explanation
            case "message_stop":
                _finish(self._stop, self._explanation, reply)
            case _:
                pass


def _add(delta: object, reply: Reply) -> None:
    match get(delta, "type"):
        case "text_delta":
            reply.add(get(delta, "text"))
        case "input_json_delta":
            reply.add(get(delta, "partial_json"))
        case _:
            pass


def _finish(reason: object, explanation: str, reply: Reply) -> None:
    match reason:
        case "end_turn" | "stop_sequence" | "tool_use":
            reply.complete = True
        case "max_tokens":
            raise reply.cut()
        case "refusal":
            raise rejected_reply(f"the model refused: {explanation or 'it gave no reason'}")
        case "model_context_window_exceeded":
            why = "the conversation is longer than the model's context window"
            raise CallError(Fault(message=why, kind=FailureKind.CONTEXT))
        case _:
            raise invalid_reply(f"the reply ended for an unknown reason: {reason}")


def _reported(usage: object, before: ReportedUsage) -> ReportedUsage:
    """The usage so far; counts in a stream are cumulative, so later ones replace earlier ones."""
    read, written = (
        get(usage, "cache_read_input_tokens"),
        get(usage, "cache_creation_input_tokens"),
    )
    fresh = get(usage, "input_tokens")
    later = ReportedUsage(
        input=total((fresh, read or 0, written or 0)),
        cached=read,
        written=written,
        output=get(usage, "output_tokens"),
    )
    if fresh is None:
        return replace(before, output=later.output)
    return later
