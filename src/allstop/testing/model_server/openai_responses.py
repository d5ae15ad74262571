"""Encodes replies in the format of OpenAI's Responses API."""

import itertools
import json
from collections.abc import Iterator
from typing import Any

from allstop.testing.model_server.replies import Call, Fault, ReceivedRequest, Say
from allstop.testing.model_server.sse import CREATED, Json, new_id, sse, tokens


class Responses:
    def __init__(self, request: ReceivedRequest, say: Say) -> None:
        self._request, self._say = request, say
        self._id, self._message = new_id("resp"), new_id("msg")
        self._sequence = itertools.count()

    def events(self) -> Iterator[str]:
        say = self._say
        yield self._event("response.created", response=self._response("in_progress", []))
        yield self._event("response.in_progress", response=self._response("in_progress", []))
        if say.fault is Fault.ERROR_EVENT:
            error = {"code": "server_error", "message": "the zebra escaped"}
            failed = {**self._response("failed", []), "error": error}
            yield self._event("response.failed", response=failed)
            return
        if say.fault is not Fault.EMPTY and (say.deltas or not say.calls):
            yield from self._text(say)
        for index, call in enumerate(say.calls, start=1):
            yield from self._call(index, call)
        status = "incomplete" if say.fault is Fault.TRUNCATED else "completed"
        yield self._event(f"response.{status}", response=self.whole())

    def whole(self) -> Json:
        say = self._say
        output = [] if say.fault is Fault.EMPTY else [self._item("completed", say.whole)]
        status = "incomplete" if say.fault is Fault.TRUNCATED else "completed"
        return self._response(status, [*output, *map(_function_call, say.calls)])

    def _text(self, say: Say) -> Iterator[str]:
        at = {"item_id": self._message, "output_index": 0, "content_index": 0}
        kind = "refusal" if say.fault is Fault.REFUSAL else "output_text"
        yield self._event(
            "response.output_item.added", output_index=0, item=self._item("in_progress", None)
        )
        yield self._event("response.content_part.added", **at, part=self._part(""))
        for delta in say.deltas:
            yield self._event(f"response.{kind}.delta", **at, delta=delta)
        done = {"refusal" if kind == "refusal" else "text": say.whole}
        yield self._event(f"response.{kind}.done", **at, **done)
        yield self._event("response.content_part.done", **at, part=self._part(say.whole))
        item = self._item("completed", say.whole)
        yield self._event("response.output_item.done", output_index=0, item=item)

    def _call(self, index: int, call: Call) -> Iterator[str]:
        item = _function_call(call)
        if call.text:
            yield self._event("response.output_item.done", output_index=index, item=item)
            return
        at = {"item_id": item["id"], "output_index": index}
        start = {**item, "arguments": "", "status": "in_progress"}
        yield self._event("response.output_item.added", output_index=index, item=start)
        text = item["arguments"]
        yield self._event("response.function_call_arguments.delta", **at, delta=text)
        yield self._event("response.function_call_arguments.done", **at, arguments=text)
        yield self._event("response.output_item.done", output_index=index, item=item)

    def _event(self, kind: str, **fields: Any) -> str:
        data = {"type": kind, "sequence_number": next(self._sequence), **fields}
        return sse(data, kind)

    def _part(self, text: str) -> Json:
        if self._say.fault is Fault.REFUSAL:
            return {"type": "refusal", "refusal": text}
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

    def _item(self, status: str, text: str | None) -> Json:
        content = [] if text is None else [self._part(text)]
        return {
            "id": self._message,
            "type": "message",
            "status": status,
            "role": "assistant",
            "content": content,
        }

    def _response(self, status: str, output: list[Json]) -> Json:
        has_usage = status in ("completed", "incomplete") and self._say.fault is not Fault.NO_USAGE
        return {
            "id": self._id,
            "object": "response",
            "created_at": CREATED,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"}
            if status == "incomplete"
            else None,
            "instructions": None,
            "metadata": {},
            "model": self._request.model,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": self._usage() if has_usage else None,
        }

    def _usage(self) -> Json:
        input_, output = tokens(self._say)
        details = {"cached_tokens": self._say.cached, "cache_write_tokens": self._say.written}
        return {
            "input_tokens": input_,
            "input_tokens_details": details,
            "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": input_ + output,
        }


def _function_call(call: Call) -> Json:
    if call.text:
        return {
            "id": new_id("ctc"),
            "type": "custom_tool_call",
            "status": "completed",
            "call_id": new_id("call"),
            "name": call.name,
            "input": call.text,
        }
    return {
        "id": new_id("fc"),
        "type": "function_call",
        "status": "completed",
        "call_id": new_id("call"),
        "name": call.name,
        **({"namespace": call.group} if call.group else {}),
        "arguments": json.dumps(dict(call.arguments)),
    }
