"""Starting a process on three pipes of our own.

Never on a thread of a pool: the kernel ties a child's life to the thread that started it, and
worker threads come and go.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager

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


def spawn(argv: Sequence[str], *, env: Mapping[str, str], passed: Iterable[int]) -> Spawned:
    with ExitStack() as theirs, ExitStack() as ours:
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
        ours.pop_all()
        return Spawned(process=process, stdin=our_in, stdout=our_out, stderr=our_err)


def pipe(*, reading: ExitStack, writing: ExitStack) -> tuple[int, int]:
    """Its ends, each closed with its stack."""
    read, write = os.pipe()
    reading.callback(os.close, read)
    writing.callback(os.close, write)
    return read, write


@contextmanager
def starting(program: str) -> Iterator[None]:
    """What the system refuses in here is said as a failed launch."""
    try:
        yield
    except OSError as error:
        raise LaunchError(f"{program} can't be started: {error.strerror}") from error
