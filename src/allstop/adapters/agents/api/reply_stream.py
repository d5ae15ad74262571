"""Collects a streamed reply: shows it live and keeps the end of it."""

from collections.abc import Callable

from allstop.adapters.agents.api.call_usage import ReportedUsage
from allstop.adapters.agents.api.error_kinds import CallError, invalid_reply, rejected_reply
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
        self._half_pair = ""
        self.chars = 0
        self.refusal = ""
        self.reported = ReportedUsage()
        self.started = False  # the provider has begun to respond, and so to charge
        self.complete = False  # reported by the provider
        self.is_cut = False  # at the cap of its tokens
        self.first_at: float | None = None  # when the first event came

    def add(self, delta: object) -> None:
        if not isinstance(delta, str):
            raise invalid_reply("the response has no text where text should be")
        text = self._join_surrogates(delta)
        self.chars += len(text)
        self._tail.add(text.encode())
        shown = self._words.feed(text) if self._words else text
        if shown:
            self._live(Live("text", shown))

    def cut(self) -> CallError:
        """The error of a reply that ended at the cap of its tokens."""
        self.is_cut = True
        return rejected_reply("the reply was cut off at its token limit")

    def refuse(self, delta: object) -> None:
        """Add a piece of the reason why the model refuses."""
        if isinstance(delta, str) and len(self.refusal) < REASON_CHARS:
            self.refusal += delta

    def text(self) -> str:
        return self._tail.text()

    def _join_surrogates(self, delta: str) -> str:
        """Join surrogate pairs, because some servers split them between two pieces."""
        text, self._half_pair = self._half_pair + delta, ""
        if text and "\ud800" <= text[-1] <= "\udbff":
            text, self._half_pair = text[:-1], text[-1]
        if text.isascii():
            return text
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
