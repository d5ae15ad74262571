"""Descriptors a child reads from: files of the host, texts, and arguments nobody else may see."""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import Enum
from types import TracebackType
from typing import NamedTuple, TypeAlias


class FileFeed(NamedTuple):
    path: str


class TextFeed(NamedTuple):
    data: bytes


class WordsFeed(NamedTuple):
    """Arguments, each ended by a zero byte; on the command line `ps` would show them to all."""

    words: tuple[Word, ...]


class Told(Enum):
    """The two ends of the pipe on which bwrap tells of itself."""

    WRITING = "writing"
    READING = "reading"


Feed: TypeAlias = FileFeed | TextFeed | WordsFeed | Told
Word: TypeAlias = str | Feed


class Feeds:
    """Opens them for one spawn and closes them after it."""

    def __init__(self, *, reading: int, writing: int) -> None:
        self._told = {Told.READING: reading, Told.WRITING: writing}
        self._open: list[int] = []
        self.numbers: list[int] = [reading, writing]

    def __enter__(self) -> Feeds:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number in self._open:
            os.close(number)

    def spelled(self, words: Iterable[Word]) -> list[str]:
        return [word if isinstance(word, str) else str(self._number(word)) for word in words]

    def _number(self, feed: Feed) -> int:
        match feed:
            case Told():
                return self._told[feed]
            case FileFeed(path):
                return self._keep(_open_or_empty(path))
            case TextFeed(data):
                return self._keep(_filled(data))
            case WordsFeed(words):
                lines = "\0".join((*self.spelled(words), ""))
                return self._keep(_filled(os.fsencode(lines)))

    def _keep(self, number: int) -> int:
        self._open.append(number)
        self.numbers.append(number)
        return number


def _open_or_empty(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # it was there a moment ago
        return _filled(b"")


def _filled(data: bytes) -> int:
    number = os.memfd_create("allstop")
    try:
        done = 0
        while done < len(data):  # the place to read from stays the beginning
            done += os.pwrite(number, data[done:], done)
    except OSError:
        os.close(number)
        raise
    return number
