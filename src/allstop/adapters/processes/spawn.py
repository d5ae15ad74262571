"""Starting a process on three pipes of our own.

Never on a thread of a pool: the kernel ties a child's life to the thread that started it, and
worker threads come and go.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from msgspec import Struct

from allstop.ports import LaunchError


class Spawned(Struct, frozen=True, kw_only=True):
    process: subprocess.Popen[bytes]
    stdin: int
    stdout: int
    stderr: int

    def abandon(self) -> None:
        """It was started, but nobody can look after it."""
        for number in (self.stdin, self.stdout, self.stderr):
            os.close(number)
        self.process.kill()
        self.process.wait()


class Handles(list[int]):
    """Descriptors that are closed together; a stack of callbacks would take several times as long."""

    def __enter__(self) -> Handles:
        return self

    def __exit__(self, *_: object) -> None:
        while self:
            with suppress(OSError):  # the others have to be closed all the same
                os.close(self.pop())


def spawn(argv: Sequence[str], *, env: Mapping[str, str], passed: Iterable[int]) -> Spawned:
    with Handles() as theirs, Handles() as ours:
        stdin, our_in = pipe(reading=theirs, writing=ours)
        our_out, stdout = pipe(reading=ours, writing=theirs)
        our_err, stderr = pipe(reading=ours, writing=theirs)
        process = subprocess.Popen(
            argv,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=env,
            cwd="/",
            pass_fds=tuple(passed),
            start_new_session=True,  # a key pressed in our terminal is not for it
        )
        ours.clear()
        return Spawned(process=process, stdin=our_in, stdout=our_out, stderr=our_err)


def pipe(*, reading: Handles, writing: Handles) -> tuple[int, int]:
    """Its ends, each closed with the others there."""
    read, write = os.pipe()
    reading.append(read)
    writing.append(write)
    return read, write


@contextmanager
def starting(program: str) -> Iterator[None]:
    """What the system refuses in here is said as a failed launch."""
    try:
        yield
    except OSError as error:
        raise LaunchError(f"{program} can't be started: {error.strerror}") from error
