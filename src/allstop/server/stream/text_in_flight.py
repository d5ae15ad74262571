"""Keeps the text of running turns, for listeners that connect in the middle of a turn."""

from collections.abc import Callable
from typing import NamedTuple

from allstop.core.ids import RunId
from allstop.server.wire_types import LiveText

MAX_CHARS = 20_000
"""Characters kept for each source; the beginning of a longer text is dropped."""

MAX_SOURCES = 1000

REPLACING_KINDS = frozenset({"status", "retry"})
"""Kinds of text that describe the present: each replaces the previous one."""


class Source(NamedTuple):
    """The origin of a text: a run, the kind of text and, in a room, the call it answers."""

    run: RunId
    kind: str
    call: str


class LiveTexts:
    """Numbers the characters of each source.

    The first number of a source is the time in microseconds. So the numbers of a later turn, or of
    a restarted server, are always higher.
    """

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us
        self._texts: dict[Source, LiveText] = {}

    def add(self, source: Source, text: str) -> LiveText:
        """Append a text and return it with the numbers of its characters."""
        if len(self._texts) >= MAX_SOURCES and source not in self._texts:
            self._texts.clear()
        before = self._texts.get(source)
        start = before.end if before else self._now_us()
        piece = _live_text(source, text, start)
        whole = join_text(source, before.text if before else "", text)[-MAX_CHARS:]
        self._texts[source] = _live_text(source, whole, piece.end - len(whole))
        return piece

    def forget(self, run: RunId, kind: str = "") -> None:
        """Drop the texts of a run whose turn has ended, or only those of one kind."""
        for source in list(self._texts):
            if source.run == run and kind in ("", source.kind):
                del self._texts[source]

    def of(self, run: RunId) -> list[LiveText]:
        return [text for source, text in self._texts.items() if source.run == run]


def join_text(source: Source, before: str, text: str) -> str:
    return text if source.kind in REPLACING_KINDS else before + text


def _live_text(source: Source, text: str, start: int) -> LiveText:
    return LiveText(
        run=source.run,
        kind=source.kind,
        text=text,
        call=source.call,
        start=start,
        end=start + len(text),
    )
