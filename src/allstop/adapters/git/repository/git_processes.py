"""Long-lived git processes that answer line by line, because starting git per request is slow.

Git rereads refs and packs when they change. A process is still replaced after a while: it may
hold a deleted pack open, and it caches every commit it has seen. When this program dies, git sees
the end of its input and exits.
"""

from __future__ import annotations

import os
import subprocess
import weakref
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import anyio

from allstop.adapters.git.repository.git_command import environment, git_argv
from allstop.open_files import restore_limit

MAX_BYTES = 4096
"""The largest request: it fits into an empty pipe at once, and so does its answer."""

MAX_REQUESTS = 500
MAX_AGE_S = 60.0
EXIT_TIMEOUT_S = 1.0

EndProcess = Callable[[subprocess.Popen[bytes]], None]


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that only reads; that is safe at any time."""
    process.kill()
    _close(process)
    with suppress(subprocess.TimeoutExpired):
        process.wait(EXIT_TIMEOUT_S)


def close_and_wait(process: subprocess.Popen[bytes]) -> None:
    """End a process that writes, after its last request: killed, it would leave a lock file."""
    _close(process)
    try:
        process.wait(EXIT_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        kill(process)


def _close(process: subprocess.Popen[bytes]) -> None:
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


class GitProcess:
    def __init__(self, root: Path, words: Sequence[str], end: EndProcess) -> None:
        self._root = root
        self._words = tuple(words)
        self._end = end
        self._lock = anyio.Lock(fast_acquire=True)
        self._running: _RunningGit | None = None

    async def ask(self, request: bytes, count: int) -> list[str] | None:
        """Send a request and return `count` lines, or None if the process ended before.

        A process whose answer wasn't read to the end is closed, so that the rest can't be taken for
        the answer to the next request.
        """
        assert len(request) <= MAX_BYTES, "the request must fit into an empty pipe"
        async with self._lock:
            running = self._ready()
            ask: list[str] | None = None
            try:
                ask = await running.ask(request, count)
            finally:
                if ask is None:
                    self.close()
            return ask

    def close(self) -> None:
        """End the process; the next request starts another one."""
        if self._running is not None:
            self._running.end()
            self._running = None

    def _ready(self) -> _RunningGit:
        if self._running is not None and self._running.is_spent(anyio.current_time()):
            self.close()
        if self._running is None:
            self._running = _RunningGit(self._root, self._words, self._end, anyio.current_time())
        return self._running


class _RunningGit:
    def __init__(self, root: Path, words: Sequence[str], end: EndProcess, now: float) -> None:
        self._process = subprocess.Popen(
            git_argv(words),
            cwd=root,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,  # so that Ctrl-C in the terminal doesn't reach it
        )
        restore_limit(self._process.pid)
        assert self._process.stdin is not None, "it is a pipe"
        assert self._process.stdout is not None, "it is a pipe"
        self._in = self._process.stdin.fileno()
        self._out = self._process.stdout.fileno()
        os.set_blocking(self._in, False)
        os.set_blocking(self._out, False)
        self._until = now + MAX_AGE_S
        self._left = MAX_REQUESTS
        self.end = weakref.finalize(self, end, self._process)

    def is_spent(self, now: float) -> bool:
        return self._left <= 0 or now > self._until

    async def ask(self, request: bytes, count: int) -> list[str] | None:
        self._left -= count
        try:
            os.write(self._in, request)
        except OSError:
            return None
        output = b""
        while output.count(b"\n") < count:
            await anyio.wait_readable(self._out)
            with suppress(BlockingIOError):
                data = os.read(self._out, 2 * MAX_BYTES)
                if not data:
                    return None
                output += data
        return output.decode(errors="replace").split("\n")[:count]


class ObjectLookup:
    """Looks up git objects through one long-lived `git cat-file` process."""

    def __init__(self, root: Path) -> None:
        self._git = GitProcess(root, ("cat-file", "--batch-check"), kill)

    async def look_up(self, revisions: Sequence[str]) -> list[str] | None:
        """Return one line of `git cat-file --batch-check` per revision, or None.

        None means that the request is too long or git doesn't answer; the caller starts git itself
        then.
        """
        request = os.fsencode("".join(f"{revision}\n" for revision in revisions))
        if len(request) > MAX_BYTES:
            return None
        for _ in range(2):  # an idle process may have been killed in the meantime
            lines = await self._git.ask(request, len(revisions))
            if lines is not None:
                return lines
        return None

    def close(self) -> None:
        self._git.close()


OWN_PREFIX = "refs/allstop/"
UPDATE_REFS = ("update-ref", "--create-reflog", "--stdin")
APPLIED = ["start: ok", "commit: ok"]


class RefWriter:
    """Writes refs below `refs/allstop/` through one long-lived `git update-ref` process.

    The user's branches are written by a separate git each time: a long-lived process would put the
    time of its first write into every reflog entry.
    """

    def __init__(self, root: Path) -> None:
        self._git = GitProcess(root, UPDATE_REFS, close_and_wait)

    async def write(self, lines: Sequence[str]) -> bool:
        """Run these update-ref commands in one transaction; False if none of them was applied."""
        text = "".join(f"{line}\n" for line in ("start", *lines, "commit")).encode()
        if len(text) > MAX_BYTES or not all(ref_of(line).startswith(OWN_PREFIX) for line in lines):
            return False
        return await self._git.ask(text, len(APPLIED)) == APPLIED

    def close(self) -> None:
        self._git.close()


def ref_of(line: str) -> str:
    """Return the ref that a command of `git update-ref --stdin` names."""
    return line.split()[1]
