"""Anthropic's Messages API."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import anthropic
from anthropic import AsyncAnthropic
from msgspec.structs import replace

from allstop.adapters.agents.api.agent import ModelAgent, field, read, told_in_words
from allstop.adapters.agents.api.call_usage import Reported, total
from allstop.adapters.agents.api.error_kinds import CallError, Fault, broken, refused
from allstop.adapters.agents.api.http_client import Bounds, Endpoint, http_client, translated
from allstop.adapters.agents.api.json_schemas import closed
from allstop.adapters.agents.api.reply_stream import Reply
from allstop.adapters.agents.api.request import Question
from allstop.adapters.agents.api.token_prices import Tariff
from allstop.core.moves import FailureKind
from allstop.core.prompt import CacheLifetime
from allstop.ports import Clock

MARKS = 4
"""Breakpoints that one request can have."""

MAX_OUTPUT = 32_000
"""The API wants a number; what a model thinks before it speaks counts too."""

TOOL = "reply"


class Shape(StrEnum):
    """How the reply is given its shape."""

    FORMAT = "output_config"
    TOOL = "tool_choice"  # for models that have no such format; newer ones can't be forced
    WORDS = ""


def anthropic_agent(
    endpoint: Endpoint, *, name: str, tariff: Tariff, clock: Clock, bounds: Bounds | None = None
) -> ModelAgent:
    bounds = bounds or Bounds()
    older_header = {} if endpoint.is_vendors else {"x-api-key": endpoint.key}
    client = AsyncAnthropic(
        api_key=endpoint.key,
        base_url=endpoint.base_url,
        default_headers=older_header,
        max_retries=0,
        http_client=http_client(endpoint, bounds),
        timeout=None,
        open_telemetry=False,
    )
    return ModelAgent(
        tuple(Messages(client, endpoint, shape) for shape in Shape),
        name=name,
        endpoint=endpoint,
        tariff=tariff,
        clock=clock,
        bounds=bounds,
        close=client.close,
    )


class Messages:
    api = "messages"

    def __init__(self, client: AsyncAnthropic, endpoint: Endpoint, shape: Shape) -> None:
        self._client = client
        self._model = endpoint.model
        self._shape = shape
        self.shaped_by = {
            Shape.FORMAT: ("output_config", "output_format", "structured output"),
            Shape.TOOL: ("tool_choice", "tools", "tool use"),
            Shape.WORDS: (),
        }[shape]

    async def ask(self, question: Question, reply: Reply) -> None:
        with translated(anthropic):
            stream = await self._client.post(
                "/v1/messages",
                body={**self._body(question), "stream": True},
                cast_to=object,  # as it came: the SDK's models take several times as long
                stream=True,
                stream_cls=anthropic.AsyncStream[object],
            )
            await read(stream, _Events().take, reply)

    def _body(self, question: Question) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": min(question.max_output or MAX_OUTPUT, MAX_OUTPUT),
            **prompted(question, told_in_words(question, self)),
        }
        if question.schema is not None:
            body |= self._shaped(closed(question.schema))
        return body

    def _shaped(self, schema: dict[str, Any]) -> dict[str, Any]:
        match self._shape:
            case Shape.FORMAT:
                return {"output_config": {"format": {"type": "json_schema", "schema": schema}}}
            case Shape.TOOL:
                tool = {"name": TOOL, "description": "Give your reply.", "input_schema": schema}
                return {"tools": [tool], "tool_choice": {"type": "tool", "name": TOOL}}
            case Shape.WORDS:
                return {}


def prompted(question: Question, system: str) -> dict[str, Any]:
    """The prompt, marked at the end of what will be the same next time."""
    remembered = question.lifetime is not CacheLifetime.NONE
    marks = question.marked(MARKS - 1 if system else MARKS)
    content = [
        _block(part.text, question.lifetime if place in marks else CacheLifetime.NONE)
        for place, part in enumerate(question.parts)
    ]
    prompt: dict[str, Any] = {"messages": [{"role": "user", "content": content}]}
    if system:
        lifetime = question.lifetime if remembered else CacheLifetime.NONE
        prompt["system"] = [_block(system, lifetime)]
    return prompt


def _block(text: str, lifetime: CacheLifetime) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": text}
    if lifetime is CacheLifetime.NONE:
        return block
    return {**block, "cache_control": {"type": "ephemeral", "ttl": lifetime.value}}


class _Events:
    """A stream says first why it stops, and only then that it is over."""

    def __init__(self) -> None:
        self._stop: object = None
        self._explanation = ""

    def take(self, event: object, reply: Reply) -> None:
        match field(event, "type"):
            case "message_start":
                begun = _reported(field(event, "message", "usage"), Reported())
                reply.reported = replace(begun, output=None)
            case "content_block_delta":
                _add(field(event, "delta"), reply)
            case "message_delta":
                reply.reported = _reported(field(event, "usage"), reply.reported)
                self._stop = field(event, "delta", "stop_reason") or self._stop
                why = field(event, "delta", "stop_details", "explanation")
                self._explanation = why or self._explanation
            case "message_stop":
                _finish(self._stop, self._explanation, reply)
            case _:
                pass


def _add(delta: object, reply: Reply) -> None:
    match field(delta, "type"):
        case "text_delta":
            reply.add(field(delta, "text"))
        case "input_json_delta":
            reply.add(field(delta, "partial_json"))
        case _:
            pass


def _finish(reason: object, explanation: str, reply: Reply) -> None:
    match reason:
        case "end_turn" | "stop_sequence" | "tool_use":
            reply.complete = True
        case "max_tokens":
            raise refused("the reply was cut off: it used up all the tokens it may have")
        case "refusal":
            raise refused(f"the model refused: {explanation or 'it gave no reason'}")
        case "model_context_window_exceeded":
            why = "the conversation no longer fits the model"
            raise CallError(Fault(message=why, kind=FailureKind.CONTEXT))
        case _:
            raise broken(f"the reply ended for a reason that was not expected: {reason}")


def _reported(usage: object, before: Reported) -> Reported:
    """The counts of a stream are of all of it so far; a later one stands for an earlier one."""
    read, written = (
        field(usage, "cache_read_input_tokens"),
        field(usage, "cache_creation_input_tokens"),
    )
    fresh = field(usage, "input_tokens")
    later = Reported(
        input=total((fresh, read or 0, written or 0)),
        cached=read,
        written=written,
        output=field(usage, "output_tokens"),
    )
    if fresh is None:
        return replace(before, output=later.output)
    return later
