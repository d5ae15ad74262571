"""Calls models over the chat completions API of OpenAI, Ollama and other servers."""

from typing import Any

from allstop.adapters.agents.api.agent import get, read_stream, system_text
from allstop.adapters.agents.api.call_usage import ReportedUsage
from allstop.adapters.agents.api.error_kinds import invalid_reply, rejected_reply
from allstop.adapters.agents.api.http_client import Endpoint, ModelClient
from allstop.adapters.agents.api.json_schemas import require_all
from allstop.adapters.agents.api.reply_stream import Reply
from allstop.adapters.agents.api.request import ModelRequest


class Chat:
    api = "chat"

    def __init__(
        self, client: ModelClient, endpoint: Endpoint, schema_parameters: tuple[str, ...] = ()
    ) -> None:
        self._client = client
        self._model = endpoint.model
        self.schema_parameters = schema_parameters

    async def send(self, request: ModelRequest, reply: Reply) -> None:
        events = self._client.stream("/chat/completions", self._body(request))
        await read_stream(events, _take, reply)
        if reply.refusal:
            raise rejected_reply(f"the model refused: {reply.refusal}")

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        system = system_text(request, self)
        content = [{"type": "text", "text": part.text} for part in request.parts]
        messages: list[dict[str, Any]] = [{"role": "user", "content": content}]
        if system:
            messages.insert(0, {"role": "system", "content": system})
        body: dict[str, Any] = {
            "model": self._model,
            "messages": messages,
            "stream_options": {"include_usage": True},
        }
        if request.schema is not None and self.schema_parameters:
            shape = {"name": "reply", "strict": True, "schema": require_all(request.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": shape}
        if request.max_output is not None:
            body["max_tokens"] = request.max_output
        return body


def _take(chunk: object, reply: Reply) -> None:
    if (usage := get(chunk, "usage")) is not None:
        reply.reported = _reported(usage)
    choices = get(chunk, "choices")
    for choice in choices if isinstance(choices, list) else ():
        if (content := get(choice, "delta", "content")) is not None:
            reply.add(content)
        reply.refuse(get(choice, "delta", "refusal"))
        if (finish := get(choice, "finish_reason")) is not None:
            _finish(finish, reply)


def _finish(reason: object, reply: Reply) -> None:
    match reason:
        case "stop":
            reply.complete = True
        case "length":
            raise reply.cut()
        case "content_filter":
            raise rejected_reply("the provider's content filter stopped the reply")
        case _:
            raise invalid_reply(f"the reply ended for an unknown reason: {reason}")


def _reported(usage: object) -> ReportedUsage:
    return ReportedUsage(
        input=get(usage, "prompt_tokens"),
        cached=get(usage, "prompt_tokens_details", "cached_tokens"),
        written=get(usage, "prompt_tokens_details", "cache_write_tokens"),
        output=get(usage, "completion_tokens"),
        reasoning=get(usage, "completion_tokens_details", "reasoning_tokens"),
    )
