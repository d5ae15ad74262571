"""Encodes replies in the format of chat completions."""

import json
from collections.abc import Iterator

from allstop.testing.model_server.replies import Fault, ReceivedRequest, Say
from allstop.testing.model_server.sse import CREATED, Json, new_id, sse, tokens


class Chat:
    def __init__(self, request: ReceivedRequest, say: Say) -> None:
        self._request, self._say = request, say
        self._id = new_id("chatcmpl")

    def events(self) -> Iterator[str]:
        say = self._say
        key = "refusal" if say.fault is Fault.REFUSAL else "content"
        yield self._chunk({"role": "assistant", "content": ""})
        if say.fault is Fault.ERROR_EVENT:
            yield sse({"error": {"message": "the zebra escaped", "type": "server_error"}})
            return
        if say.fault is not Fault.EMPTY:
            yield from (self._chunk({key: delta}) for delta in say.deltas)
        if say.calls:
            yield self._chunk({"tool_calls": self._calls()})
        yield self._chunk({}, self._finish())
        wants_usage = (self._request.body.get("stream_options") or {}).get("include_usage")
        if wants_usage and say.fault is not Fault.NO_USAGE:
            for _ in range(2 if say.fault is Fault.DUPLICATE_USAGE else 1):
                yield sse({**self._base("chat.completion.chunk"), "choices": [], **self._usage()})
        yield sse("[DONE]")

    def whole(self) -> Json:
        message: Json = {"role": "assistant", "content": self._say.whole, "refusal": None}
        if self._say.calls:
            message["tool_calls"] = self._calls()
        choice = {"index": 0, "message": message, "finish_reason": self._finish()}
        return {**self._base("chat.completion"), "choices": [choice], **self._usage()}

    def _finish(self) -> str:
        if self._say.fault is Fault.TRUNCATED:
            return "length"
        return "tool_calls" if self._say.calls else "stop"

    def _calls(self) -> list[Json]:
        return [
            {
                "index": index,
                "id": new_id("call"),
                "type": "function",
                "function": {"name": call.name, "arguments": json.dumps(dict(call.arguments))},
            }
            for index, call in enumerate(self._say.calls)
        ]

    def _base(self, kind: str) -> Json:
        return {"id": self._id, "object": kind, "created": CREATED, "model": self._request.model}

    def _chunk(self, delta: Json, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        return sse({**self._base("chat.completion.chunk"), "choices": [choice]})

    def _usage(self) -> Json:
        input_, output = tokens(self._say)
        usage = {
            "prompt_tokens": input_,
            "completion_tokens": output,
            "total_tokens": input_ + output,
            "prompt_tokens_details": {"cached_tokens": self._say.cached},
        }
        return {"usage": usage}
