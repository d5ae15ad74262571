"""Starts a process on three pipes.

Never call this on a pool thread: the kernel ties a child's life to the thread that started it, and
pool threads come and go.
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
        """Kill a process that was started but can't be managed."""
        for number in (self.stdin, self.stdout, self.stderr):
            os.close(number)
        self.process.kill()
        self.process.wait()


class DescriptorList(list[int]):
    """Descriptors that are closed together; an `ExitStack` takes several times as long."""

    def __enter__(self) -> DescriptorList:
        return self

    def __exit__(self, *_: object) -> None:
        while self:
            with suppress(OSError):  # the others must still be closed
                os.close(self.pop())


def spawn(argv: Sequence[str], *, env: Mapping[str, str], passed: Iterable[int]) -> Spawned:
    with DescriptorList() as theirs, DescriptorList() as ours:
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
            start_new_session=True,  # so that Ctrl-C in the terminal doesn't reach it
        )
        ours.clear()
        return Spawned(process=process, stdin=our_in, stdout=our_out, stderr=our_err)


def pipe(*, reading: DescriptorList, writing: DescriptorList) -> tuple[int, int]:
    """Create a pipe and add each end to its list."""
    read, write = os.pipe()
    reading.append(read)
    writing.append(write)
    return read, write


@contextmanager
def starting(program: str) -> Iterator[None]:
    """Turn an OSError into a LaunchError."""
    try:
        yield
    except OSError as error:
        message = f"{program} can't be started: {error.strerror}"
        raise LaunchError(message, code="spawn_failed") from error
