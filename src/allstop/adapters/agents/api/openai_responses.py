"""Calls models over OpenAI's Responses API, or chat completions if the server has only those."""

import re
from functools import partial
from typing import Any

from allstop.adapters.agents.api.agent import (
    ApiVariant,
    Connected,
    ModelAgent,
    get,
    read_stream,
    system_text,
)
from allstop.adapters.agents.api.call_usage import ReportedUsage
from allstop.adapters.agents.api.chat_completions import Chat
from allstop.adapters.agents.api.error_kinds import (
    CallError,
    invalid_reply,
    rejected_reply,
)
from allstop.adapters.agents.api.http_client import CallLimits, Endpoint, ModelClient
from allstop.adapters.agents.api.json_schemas import require_all
from allstop.adapters.agents.api.reply_stream import Reply
from allstop.adapters.agents.api.request import ModelRequest
from allstop.adapters.agents.provider_errors import read_fault
from allstop.core.prompt import CacheLifetime

MAX_BREAKPOINTS = 4
"""Cache breakpoints that one request can write."""


def _connect_responses(endpoint: Endpoint, limits: CallLimits) -> Connected:
    client = ModelClient(endpoint, limits)
    variants: tuple[ApiVariant, ...] = (
        Responses(client, endpoint, schema_parameters=("text.format", "json_schema")),
        Responses(client, endpoint),
    )
    if not endpoint.is_vendors:
        variants = (*variants, *_chat_variants(client, endpoint))
    return variants, client


def _connect_chat(endpoint: Endpoint, limits: CallLimits) -> Connected:
    client = ModelClient(endpoint, limits)
    return _chat_variants(client, endpoint), client


openai_agent = partial(ModelAgent, _connect_responses)
ollama_agent = partial(ModelAgent, _connect_chat)
"""For any server with the chat completions API."""


def _chat_variants(client: ModelClient, endpoint: Endpoint) -> tuple[ApiVariant, ...]:
    shaped = Chat(client, endpoint, schema_parameters=("response_format", "json_schema"))
    return shaped, Chat(client, endpoint)


class Responses:
    api = "responses"

    def __init__(
        self, client: ModelClient, endpoint: Endpoint, schema_parameters: tuple[str, ...] = ()
    ) -> None:
        self._client = client
        self._model = endpoint.model
        self._takes_breakpoints = endpoint.is_vendors and takes_breakpoints(endpoint.model)
        self.schema_parameters = schema_parameters

    async def send(self, request: ModelRequest, reply: Reply) -> None:
        await read_stream(self._client.stream("/responses", self._body(request)), _take, reply)
        if reply.refusal:
            raise rejected_reply(f"the model refused: {reply.refusal}")

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "store": False,
            "prompt_cache_key": request.cache_key,
        }
        system = system_text(request, self)
        if self._takes_breakpoints:
            body |= prompt_body(request, system)
        else:
            content = [{"type": "input_text", "text": part.text} for part in request.parts]
            body["input"] = [{"role": "user", "content": content}]
            if system:
                body["instructions"] = system
        if request.schema is not None and self.schema_parameters:
            shape = {"type": "json_schema", "name": "reply", "strict": True}
            body["text"] = {"format": {**shape, "schema": require_all(request.schema)}}
        if request.max_output is not None:
            body["max_output_tokens"] = request.max_output
        return body


def takes_breakpoints(model: str) -> bool:
    """GPT-5.6 and later cache a prompt only up to a breakpoint, and charge for it."""
    version = re.match(r"gpt-(\d+)(?:\.(\d+))?", model)
    return version is not None and (int(version[1]), int(version[2] or 0)) >= (5, 6)


def prompt_body(request: ModelRequest, system: str) -> dict[str, Any]:
    """The prompt with explicit breakpoints only; without one, nothing is cached or charged for."""
    is_cached = request.lifetime is not CacheLifetime.NONE
    marked = request.breakpoints(MAX_BREAKPOINTS - 1 if system else MAX_BREAKPOINTS)
    content = [_block(p.text, is_breakpoint=i in marked) for i, p in enumerate(request.parts)]
    messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
    if system:
        messages.insert(
            0, {"role": "developer", "content": [_block(system, is_breakpoint=is_cached)]}
        )
    return {"input": messages, "prompt_cache_options": {"mode": "explicit"}}


def _block(text: str, *, is_breakpoint: bool) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "input_text", "text": text}
    return {**block, "prompt_cache_breakpoint": {"mode": "explicit"}} if is_breakpoint else block


def _take(event: object, reply: Reply) -> None:
    match get(event, "type"):
        case "response.output_text.delta":
            reply.add(get(event, "delta"))
        case "response.refusal.delta":
            reply.refuse(get(event, "delta"))
        case "response.completed":
            reply.reported = _reported(get(event, "response", "usage"))
            reply.complete = True
        case "response.incomplete":
            reply.reported = _reported(get(event, "response", "usage"))
            raise _incomplete(get(event, "response", "incomplete_details", "reason"), reply)
        case "response.failed":
            error = get(event, "response", "error")
            raise CallError(read_fault(0, {}, _error(error)))
        case "error":
            raise CallError(read_fault(0, {}, _error(event)))
        case _:
            pass


def _incomplete(reason: object, reply: Reply) -> CallError:
    if reason == "max_output_tokens":
        return reply.cut()
    if reason == "content_filter":
        return rejected_reply("the provider's content filter stopped the reply")
    return invalid_reply(f"the reply is incomplete: {reason or 'no reason given'}")


def _error(error: object) -> dict[str, object]:
    return {"code": get(error, "code"), "message": get(error, "message")}


def _reported(usage: object) -> ReportedUsage:
    return ReportedUsage(
        input=get(usage, "input_tokens"),
        cached=get(usage, "input_tokens_details", "cached_tokens"),
        written=get(usage, "input_tokens_details", "cache_write_tokens"),
        output=get(usage, "output_tokens"),
        reasoning=get(usage, "output_tokens_details", "reasoning_tokens"),
    )
