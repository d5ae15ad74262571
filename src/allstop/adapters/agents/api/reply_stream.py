"""A reply as it comes in: shown at once, kept within bounds."""

from __future__ import annotations

from collections.abc import Callable

from allstop.adapters.agents.api.call_usage import Reported
from allstop.adapters.agents.api.error_kinds import broken
from allstop.core.json_stream import MessageExtractor
from allstop.ports import Live
from allstop.programs import Tail

KEPT_BYTES = 128 * 1024
REASON_CHARS = 2000


class Reply:
    def __init__(self, live: Callable[[Live], None], *, is_envelope: bool) -> None:
        self._live = live
        self._words = MessageExtractor() if is_envelope else None
        self._tail = Tail(KEPT_BYTES)
        self._half = ""
        self.chars = 0
        self.refusal = ""
        self.reported = Reported()
        self.begun = False  # the provider has begun to answer, and so to charge
        self.complete = False  # it said so itself

    def add(self, delta: object) -> None:
        """A further piece of its text."""
        if not isinstance(delta, str):
            raise broken("the answer has something else where its text should be")
        text = self._joined(delta)
        self.chars += len(text)
        self._tail.add(text.encode())
        shown = self._words.feed(text) if self._words else text
        if shown:
            self._live(Live("text", shown))

    def refuse(self, delta: object) -> None:
        """A further piece of why it won't; as much as people are shown."""
        if isinstance(delta, str) and len(self.refusal) < REASON_CHARS:
            self.refusal += delta

    def text(self) -> str:
        return self._tail.text()

    def _joined(self, delta: str) -> str:
        """Some servers cut between the two halves of a character."""
        text, self._half = self._half + delta, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        if text.isascii():
            return text
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
