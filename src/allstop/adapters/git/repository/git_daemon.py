"""A git that stays and answers line by line: to start one for each question is slow.

It reads refs and packs anew as they change, but it is let go after a while all the same: it may
hold a pack that was deleted, and remembers every commit it has seen. It ends with us in any case,
for nobody holds the other end of its input then.
"""

from __future__ import annotations

import os
import subprocess
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import anyio

from allstop.adapters.git.repository.git_command import environment, spelled
from allstop.open_files import give_back

MOST_BYTES = 4096
"""A question that an empty pipe takes at once, and whose answer fits into one as well."""

MOST_QUESTIONS = 500
MOST_AGE_S = 60.0
END_WITHIN_S = 1.0

End = Callable[[subprocess.Popen[bytes]], None]


def kill(process: subprocess.Popen[bytes]) -> None:
    """End one that only reads: that can be done at any time."""
    process.kill()
    _close(process)
    with suppress(subprocess.TimeoutExpired):
        process.wait(END_WITHIN_S)


def let_go(process: subprocess.Popen[bytes]) -> None:
    """End one that writes, after what it was told: killed, it would leave a lock behind."""
    _close(process)
    try:
        process.wait(END_WITHIN_S)
    except subprocess.TimeoutExpired:
        kill(process)


def _close(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


class Lasting:
    def __init__(self, root: Path, words: Sequence[str], end: End) -> None:
        self._root = root
        self._words = tuple(words)
        self._end = end
        self._turn = anyio.Lock(fast_acquire=True)
        self._answering: _Answering | None = None

    async def answer(self, question: bytes, count: int) -> list[str] | None:
        """So many lines; None where it has ended before it said all of them.

        Cut off, its answer would be taken for the next one's: so it is let go.
        """
        assert len(question) <= MOST_BYTES, "an empty pipe takes it at once"
        async with self._turn:
            answering = self._ready()
            answer: list[str] | None = None
            try:
                answer = await answering.answer(question, count)
            finally:
                if answer is None:
                    self.close()
            return answer

    def close(self) -> None:
        """End it; it is started again when something is asked."""
        if self._answering is not None:
            self._answering.end()
            self._answering = None

    def _ready(self) -> _Answering:
        if self._answering is not None and self._answering.is_spent(anyio.current_time()):
            self.close()
        if self._answering is None:
            self._answering = _Answering(self._root, self._words, self._end, anyio.current_time())
        return self._answering


class _Answering:
    def __init__(self, root: Path, words: Sequence[str], end: End, now: float) -> None:
        self._process = subprocess.Popen(
            spelled(words),
            cwd=root,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,  # a key pressed in our terminal is not for it
        )
        give_back(self._process.pid)
        assert self._process.stdin is not None, "it is a pipe"
        assert self._process.stdout is not None, "it is a pipe"
        self._in = self._process.stdin.fileno()
        self._out = self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self._until = now + MOST_AGE_S
        self._left = MOST_QUESTIONS
        self.end = weakref.finalize(self, end, self._process)

    def is_spent(self, now: float) -> bool:
        return self._left <= 0 or now > self._until

    async def answer(self, question: bytes, count: int) -> list[str] | None:
        self._left -= count
        try:
            os.write(self._in, question)
        except OSError:
            return None
        told = b""
        while told.count(b"\n") < count:
            await anyio.wait_readable(self._out)
            with suppress(BlockingIOError):
                data = os.read(self._out, 2 * MOST_BYTES)
                if not data:
                    return None
                told += data
        return told.decode(errors="replace").split("\n")[:count]
