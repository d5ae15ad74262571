"""Encodes replies in the format of Gemini's generateContent."""

from collections.abc import Iterator

from allstop.testing.model_server.replies import Fault, ReceivedRequest, Say
from allstop.testing.model_server.sse import Json, new_id, sse, tokens


class Gemini:
    def __init__(self, request: ReceivedRequest, say: Say) -> None:
        self._request, self._say = request, say
        self._id = new_id("resp")

    def events(self) -> Iterator[str]:
        """Every chunk has the usage so far; the last one counts."""
        say = self._say
        if say.fault is Fault.ERROR_EVENT:
            error = {"code": 500, "message": "the zebra escaped", "status": "INTERNAL"}
            yield sse({"error": error})
            return
        if say.fault not in (Fault.EMPTY, Fault.REFUSAL):
            yield from (sse(self._chunk([{"text": delta}], 1)) for delta in say.deltas)
        calls = self._calls()
        for _ in range(2 if say.fault is Fault.DUPLICATE_USAGE else 1):
            yield sse(self._chunk(calls, tokens(say)[1], self._finish()))

    def whole(self) -> Json:
        text = [{"text": self._say.whole}] if self._say.deltas else []
        return self._chunk([*text, *self._calls()], tokens(self._say)[1], self._finish())

    def _finish(self) -> str:
        named = {Fault.TRUNCATED: "MAX_TOKENS", Fault.REFUSAL: "SAFETY"}
        return named.get(self._say.fault, "STOP") if self._say.fault else "STOP"

    def _calls(self) -> list[Json]:
        return [
            {"functionCall": {"name": call.name, "args": dict(call.arguments)}}
            for call in self._say.calls
        ]

    def _chunk(self, parts: list[Json], output: int, finish: str | None = None) -> Json:
        candidate: Json = {"content": {"parts": parts, "role": "model"}, "index": 0}
        if finish is not None:
            candidate["finishReason"] = finish
        chunk = {
            "candidates": [candidate],
            "modelVersion": self._request.model,
            "responseId": self._id,
        }
        if self._say.fault is Fault.NO_USAGE:
            return chunk
        input_ = tokens(self._say)[0]
        usage = {
            "promptTokenCount": input_,
            "cachedContentTokenCount": self._say.cached,
            "candidatesTokenCount": output,
            "totalTokenCount": input_ + output,
        }
        return {**chunk, "usageMetadata": usage}
