"""What has been said in turns that are under way, for whoever comes in the middle of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from allstop.core.ids import RunId
from allstop.server.wire_types import LiveText

LONGEST = 20_000
"""Characters kept of each; the beginning of more is forgotten."""

MOST = 1000

MOMENTARY = frozenset({"status", "retry"})
"""Kinds that say what happens now: each takes the place of the one before it."""


class Source(NamedTuple):
    """A run, the kind of its words, in a room their call."""

    run: RunId
    kind: str
    call: str


class Spoken:
    """Numbers say what comes after what. They only grow, so the ones of a new turn, or of a server
    that was started anew, are higher than those before: they begin at the time."""

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us
        self._said: dict[Source, LiveText] = {}

    def add(self, source: Source, text: str) -> LiveText:
        """The same text, with its place."""
        if len(self._said) >= MOST and source not in self._said:
            self._said.clear()
        before = self._said.get(source)
        start = before.end if before else self._now_us()
        piece = _piece(source, text, start)
        whole = joined(source, before.text if before else "", text)[-LONGEST:]
        self._said[source] = _piece(source, whole, piece.end - len(whole))
        return piece

    def forget(self, run: RunId, kind: str = "") -> None:
        """Its turn is over: the record has what became of it. With a kind, only what is of that."""
        for source in list(self._said):
            if source.run == run and kind in ("", source.kind):
                del self._said[source]

    def of(self, run: RunId) -> list[LiveText]:
        return [said for source, said in self._said.items() if source.run == run]


def joined(source: Source, before: str, text: str) -> str:
    return text if source.kind in MOMENTARY else before + text


def _piece(source: Source, text: str, start: int) -> LiveText:
    return LiveText(
        run=source.run,
        kind=source.kind,
        text=text,
        call=source.call,
        start=start,
        end=start + len(text),
    )
