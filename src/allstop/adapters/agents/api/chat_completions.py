"""Chat completions: OpenAI's older API, and that of Ollama and everybody else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import openai

from allstop.adapters.agents.api.agent import field, read, told_in_words
from allstop.adapters.agents.api.call_usage import Reported
from allstop.adapters.agents.api.error_kinds import broken, refused
from allstop.adapters.agents.api.http_client import Endpoint, translated
from allstop.adapters.agents.api.json_schemas import strict
from allstop.adapters.agents.api.reply_stream import Reply
from allstop.adapters.agents.api.request import Question

if TYPE_CHECKING:
    from openai import AsyncOpenAI


async def events(
    client: AsyncOpenAI, path: str, body: dict[str, Any]
) -> openai.AsyncStream[object]:
    """The events as they came: to make the SDK's models of them takes ten times as long."""
    return await client.post(
        path,
        body={**body, "stream": True},
        cast_to=object,
        stream=True,
        stream_cls=openai.AsyncStream[object],
    )


class Chat:
    api = "chat"

    def __init__(
        self, client: AsyncOpenAI, endpoint: Endpoint, shaped_by: tuple[str, ...] = ()
    ) -> None:
        self._client = client
        self._model = endpoint.model
        self.shaped_by = shaped_by

    async def ask(self, question: Question, reply: Reply) -> None:
        with translated(openai):
            stream = await events(self._client, "/chat/completions", self._body(question))
            await read(stream, _take, reply)
            if reply.refusal:
                raise refused(f"the model refused: {reply.refusal}")

    def _body(self, question: Question) -> dict[str, Any]:
        system = told_in_words(question, self)
        content = [{"type": "text", "text": part.text} for part in question.parts]
        messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
        if system:
            messages.insert(0, {"role": "system", "content": system})
        body: dict[str, Any] = {
            "model": self._model,
            "messages": messages,
            "stream_options": {"include_usage": True},
        }
        if question.schema is not None and self.shaped_by:
            shape = {"name": "reply", "strict": True, "schema": strict(question.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        if question.max_output is not None:
            body["max_tokens"] = question.max_output
        return body


def _take(chunk: object, reply: Reply) -> None:
    if (usage := field(chunk, "usage")) is not None:
        reply.reported = _reported(usage)
    choices = field(chunk, "choices")
    for choice in choices if isinstance(choices, list) else ():
        if (content := field(choice, "delta", "content")) is not None:
            reply.add(content)
        reply.refuse(field(choice, "delta", "refusal"))
        if (finish := field(choice, "finish_reason")) is not None:
            _finish(finish, reply)


def _finish(reason: object, reply: Reply) -> None:
    match reason:
        case "stop":
            reply.complete = True
        case "length":
            raise refused("the reply was cut off: it used up all the tokens it may have")
        case "content_filter":
            raise refused("the provider's content filter stopped the reply")
        case _:
            raise broken(f"the reply ended for a reason that was not expected: {reason}")


def _reported(usage: object) -> Reported:
    return Reported(
        input=field(usage, "prompt_tokens"),
        cached=field(usage, "prompt_tokens_details", "cached_tokens"),
        written=field(usage, "prompt_tokens_details", "cache_write_tokens"),
        output=field(usage, "completion_tokens"),
    )
