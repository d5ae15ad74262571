"""File descriptors that a child reads from: files of the host, texts, and secret arguments."""

from __future__ import annotations

import os
from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple, TypeAlias


class FileInput(NamedTuple):
    path: str


class TextInput(NamedTuple):
    data: bytes


class ArgumentsInput(NamedTuple):
    """Arguments, each ended by a zero byte; `ps` would show them on the command line."""

    words: tuple[Word, ...]


class InfoPipe(Enum):
    """The two ends of the pipe on which bwrap reports its child's pid."""

    WRITING = "writing"
    READING = "reading"


ChildInput: TypeAlias = FileInput | TextInput | ArgumentsInput | InfoPipe
Word: TypeAlias = str | ChildInput


class ChildInputs:
    """Opens the inputs for one spawn and closes them after it."""

    def __init__(self, *, reading: int, writing: int) -> None:
        self._info_pipe = {InfoPipe.READING: reading, InfoPipe.WRITING: writing}
        self._open: list[int] = []
        self.numbers: list[int] = [reading, writing]

    def __enter__(self) -> ChildInputs:
        return self

    def __exit__(self, *_: object) -> None:
        for number in self._open:
            os.close(number)

    def as_arguments(self, words: Iterable[Word]) -> list[str]:
        return [word if isinstance(word, str) else str(self._number(word)) for word in words]

    def _number(self, child_input: ChildInput) -> int:
        match child_input:
            case InfoPipe():
                return self._info_pipe[child_input]
            case FileInput(path):
                return self._keep(_open_or_empty(path))
            case TextInput(data):
                return self._keep(_memory_file(data))
            case ArgumentsInput(words):
                lines = "\0".join((*self.as_arguments(words), ""))
                return self._keep(_memory_file(os.fsencode(lines)))

    def _keep(self, number: int) -> int:
        self._open.append(number)
        self.numbers.append(number)
        return number


def _open_or_empty(path: str) -> int:
    try:
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # deleted in the meantime
        return _memory_file(b"")


def _memory_file(data: bytes) -> int:
    number = os.memfd_create("allstop")
    try:
        done = 0
        while done < len(data):  # pwrite leaves the read position at the start
            done += os.pwrite(number, data[done:], done)
    except OSError:
        os.close(number)
        raise
    return number
