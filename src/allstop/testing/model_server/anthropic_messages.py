"""Encodes replies in the format of Anthropic's Messages API."""

import json
from collections.abc import Iterator
from typing import Any

from allstop.testing.model_server.replies import Call, Fault, ReceivedRequest, Say
from allstop.testing.model_server.sse import Json, new_id, sse, tokens


class Messages:
    def __init__(self, request: ReceivedRequest, say: Say) -> None:
        self._request, self._say = request, say

    def events(self) -> Iterator[str]:
        say = self._say
        start = {**self._message([]), "stop_reason": None, "usage": self._usage(1)}
        yield self._event("message_start", message=start)
        yield self._event("ping")
        if say.fault is Fault.ERROR_EVENT:
            error = {"type": "overloaded_error", "message": "the zebra escaped"}
            yield self._event("error", error=error)
            return
        for index, block in enumerate(self._blocks()):
            yield from self._block(index, block)
        stop: Json = {"stop_reason": self._stop(), "stop_sequence": None}
        if say.fault is Fault.REFUSAL:
            stop["stop_details"] = {"type": "refusal", "category": None, "explanation": say.whole}
        for _ in range(2 if say.fault is Fault.DUPLICATE_USAGE else 1):
            yield self._event("message_delta", delta=stop, usage=self._usage(tokens(say)[1]))
        yield self._event("message_stop")

    def whole(self) -> Json:
        usage = self._usage(tokens(self._say)[1])
        return {**self._message(self._blocks()), "stop_reason": self._stop(), "usage": usage}

    def _block(self, index: int, block: Json) -> Iterator[str]:
        is_text = block["type"] == "text"
        empty = {**block, "text": ""} if is_text else {**block, "input": {}}
        yield self._event("content_block_start", index=index, content_block=empty)
        pieces = self._say.deltas if is_text else (json.dumps(block["input"]),)
        for piece in pieces:
            delta = (
                {"type": "text_delta", "text": piece}
                if is_text
                else {"type": "input_json_delta", "partial_json": piece}
            )
            yield self._event("content_block_delta", index=index, delta=delta)
        yield self._event("content_block_stop", index=index)

    def _blocks(self) -> list[Json]:
        say = self._say
        forced = self._request.body.get("tool_choice") or {}
        if forced.get("type") == "tool" and not say.calls:
            return [_tool_use(Call(name=forced["name"], arguments=_arguments(say.whole)))]
        empty = say.fault in (Fault.EMPTY, Fault.REFUSAL) or not say.deltas
        text = [] if empty else [{"type": "text", "text": say.whole}]
        return [*text, *map(_tool_use, say.calls)]

    def _stop(self) -> str:
        named = {Fault.TRUNCATED: "max_tokens", Fault.REFUSAL: "refusal"}
        if self._say.fault in named:
            return named[self._say.fault]
        is_tool = any(block["type"] == "tool_use" for block in self._blocks())
        return "tool_use" if is_tool else "end_turn"

    def _message(self, content: list[Json]) -> Json:
        return {
            "id": new_id("msg"),
            "type": "message",
            "role": "assistant",
            "model": self._request.model,
            "content": content,
            "stop_sequence": None,
        }

    def _usage(self, output: int) -> Json:
        say = self._say
        if say.fault is Fault.NO_USAGE:
            return {}
        return {
            "input_tokens": tokens(say)[0] - say.cached - say.written,
            "cache_read_input_tokens": say.cached,
            "cache_creation_input_tokens": say.written,
            "output_tokens": output,
        }

    def _event(self, kind: str, **fields: Any) -> str:
        return sse({"type": kind, **fields}, kind)


def _tool_use(call: Call) -> Json:
    arguments = dict(call.arguments)
    return {"type": "tool_use", "id": new_id("toolu"), "name": call.name, "input": arguments}


def _arguments(text: str) -> Json:
    try:
        return dict(json.loads(text))
    except (ValueError, TypeError):
        return {"message": text}
