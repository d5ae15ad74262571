"""OpenAI's Responses API, and where a server has only chat completions, those."""

from __future__ import annotations

import re
from typing import Any

import openai
from openai import AsyncOpenAI

from allstop.adapters.agents.api.agent import ModelAgent, Way, field, read, told_in_words
from allstop.adapters.agents.api.call_usage import Reported
from allstop.adapters.agents.api.chat_completions import Chat, events
from allstop.adapters.agents.api.error_kinds import CallError, broken, refused, told
from allstop.adapters.agents.api.http_client import Bounds, Endpoint, http_client, translated
from allstop.adapters.agents.api.json_schemas import strict
from allstop.adapters.agents.api.reply_stream import Reply
from allstop.adapters.agents.api.request import Question
from allstop.adapters.agents.api.token_prices import Tariff
from allstop.core.prompt import CacheLifetime
from allstop.ports import Clock

MARKS = 4
"""Breakpoints that one request can write."""


def openai_agent(
    endpoint: Endpoint, *, name: str, tariff: Tariff, clock: Clock, bounds: Bounds | None = None
) -> ModelAgent:
    bounds = bounds or Bounds()
    client = _client(endpoint, bounds)
    ways: tuple[Way, ...] = (
        Responses(client, endpoint, shaped_by=("text.format", "json_schema")),
        Responses(client, endpoint),
    )
    if not endpoint.is_vendors:
        ways = (*ways, *_chat_ways(client, endpoint))
    return _agent(ways, client, endpoint, name=name, tariff=tariff, clock=clock, bounds=bounds)


def ollama_agent(
    endpoint: Endpoint, *, name: str, tariff: Tariff, clock: Clock, bounds: Bounds | None = None
) -> ModelAgent:
    """Any server that has chat completions."""
    bounds = bounds or Bounds()
    client = _client(endpoint, bounds)
    ways = _chat_ways(client, endpoint)
    return _agent(ways, client, endpoint, name=name, tariff=tariff, clock=clock, bounds=bounds)


def _client(endpoint: Endpoint, bounds: Bounds) -> AsyncOpenAI:
    return AsyncOpenAI(
        api_key=endpoint.key,
        base_url=endpoint.base_url,
        max_retries=0,
        http_client=http_client(endpoint, bounds),
        timeout=None,
    )


def _chat_ways(client: AsyncOpenAI, endpoint: Endpoint) -> tuple[Way, ...]:
    shaped = Chat(client, endpoint, shaped_by=("response_format", "json_schema"))
    return shaped, Chat(client, endpoint)


def _agent(
    ways: tuple[Way, ...],
    client: AsyncOpenAI,
    endpoint: Endpoint,
    *,
    name: str,
    tariff: Tariff,
    clock: Clock,
    bounds: Bounds,
) -> ModelAgent:
    return ModelAgent(
        ways,
        name=name,
        endpoint=endpoint,
        tariff=tariff,
        clock=clock,
        bounds=bounds,
        close=client.close,
    )


class Responses:
    api = "responses"

    def __init__(
        self, client: AsyncOpenAI, endpoint: Endpoint, shaped_by: tuple[str, ...] = ()
    ) -> None:
        self._client = client
        self._model = endpoint.model
        self._takes_marks = endpoint.is_vendors and takes_marks(endpoint.model)
        self.shaped_by = shaped_by

    async def ask(self, question: Question, reply: Reply) -> None:
        with translated(openai):
            await read(await events(self._client, "/responses", self._body(question)), _take, reply)
            if reply.refusal:
                raise refused(f"the model refused: {reply.refusal}")

    def _body(self, question: Question) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": self._model,
            "store": False,
            "prompt_cache_key": question.cache_key,
        }
        system = told_in_words(question, self)
        if self._takes_marks:
            body |= marked(question, system)
        else:
            content = [{"type": "input_text", "text": part.text} for part in question.parts]
            body["input"] = [{"role": "user", "content": content}]
            if system:
                body["instructions"] = system
        if question.schema is not None and self.shaped_by:
            shape = {"type": "json_schema", "name": "reply", "strict": True}
            body["text"] = {"format": {**shape, "schema": strict(question.schema)}}
        if question.max_output is not None:
            body["max_output_tokens"] = question.max_output
        return body


def takes_marks(model: str) -> bool:
    """GPT-5.6 and later remember the front of a prompt only up to a mark, and charge for it."""
    version = re.match(r"gpt-(\d+)(?:\.(\d+))?", model)
    return version is not None and (int(version[1]), int(version[2] or 0)) >= (5, 6)


def marked(question: Question, system: str) -> dict[str, Any]:
    """The prompt with our own marks only: without one, nothing is remembered or charged for."""
    remembered = question.lifetime is not CacheLifetime.NONE
    marks = question.marked(MARKS - 1 if system else MARKS)
    said = [_block(part.text, mark=place in marks) for place, part in enumerate(question.parts)]
    asked: list[dict[str, Any]] = [{"role": "user", "content": said}]
    if system:
        asked.insert(0, {"role": "developer", "content": [_block(system, mark=remembered)]})
    return {"input": asked, "prompt_cache_options": {"mode": "explicit"}}


def _block(text: str, *, mark: bool) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "input_text", "text": text}
    return {**block, "prompt_cache_breakpoint": {"mode": "explicit"}} if mark else block


def _take(event: object, reply: Reply) -> None:
    match field(event, "type"):
        case "response.output_text.delta":
            reply.add(field(event, "delta"))
        case "response.refusal.delta":
            reply.refuse(field(event, "delta"))
        case "response.completed":
            reply.reported = _reported(field(event, "response", "usage"))
            reply.complete = True
        case "response.incomplete":
            reply.reported = _reported(field(event, "response", "usage"))
            raise _incomplete(field(event, "response", "incomplete_details", "reason"))
        case "response.failed":
            error = field(event, "response", "error")
            raise CallError(told(0, {}, _error(error)))
        case "error":
            raise CallError(told(0, {}, _error(event)))
        case _:
            pass


def _incomplete(reason: object) -> CallError:
    if reason == "max_output_tokens":
        return refused("the reply was cut off: it used up all the tokens it may have")
    if reason == "content_filter":
        return refused("the provider's content filter stopped the reply")
    return broken(f"the reply is incomplete: {reason or 'no reason given'}")


def _error(error: object) -> dict[str, object]:
    return {"code": field(error, "code"), "message": field(error, "message")}


def _reported(usage: object) -> Reported:
    return Reported(
        input=field(usage, "input_tokens"),
        cached=field(usage, "input_tokens_details", "cached_tokens"),
        written=field(usage, "input_tokens_details", "cache_write_tokens"),
        output=field(usage, "output_tokens"),
    )
