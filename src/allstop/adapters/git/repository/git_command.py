"""Git as a program on the host, started and waited for with little of our own time.

What it reads and writes are files in memory instead of pipes: nobody has to feed it or to listen
while it works, and what it may have started itself can't keep us waiting.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, NamedTuple

import anyio

from allstop.open_files import give_back

_QUIET = (
    "--no-optional-locks",
    "--no-replace-objects",
    "-c", "core.hooksPath=/dev/null",
    "-c", "core.fsmonitor=false",
    "-c", "core.quotePath=false",
    "-c", "gc.auto=0",
    "-c", "maintenance.auto=false",
    "-c", "submodule.recurse=false",
    "-c", "merge.autoStash=false",
    "-c", "advice.detachedHead=false",
)  # fmt: skip
"""Reading somebody's commits must run nothing and tidy nothing up."""

_SETTINGS_FILES = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM")

REPOSITORY_SETTINGS_ONLY = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_ATTR_NOSYSTEM": "1",
}
"""For a command whose result must not depend on filters and merge drivers of the machine."""


class Done(NamedTuple):
    code: int
    out: bytes
    said: str


async def run_git(
    arguments: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    stdin: bytes | IO[bytes] = b"",
    stdout: IO[bytes] | None = None,
) -> Done:
    """Whatever its exit code is. Cut off, it is killed, and gone when this returns.

    Raises:
        OSError: there is no git, or no such folder.
    """
    with ExitStack() as files:
        out = files.enter_context(_scratch()) if stdout is None else stdout
        said = files.enter_context(_scratch())
        fed = files.enter_context(_filled(stdin)) if isinstance(stdin, bytes) else stdin
        words = {**environment(), **(env or {})}
        process = _started(arguments, cwd, words, stdin=fed, stdout=out, stderr=said)
        try:
            await _end_of(process)
        finally:
            if process.poll() is None:
                process.kill()
                with anyio.CancelScope(shield=True):
                    await _end_of(process)
        told = _content(said).decode(errors="replace").strip()
        return Done(process.returncode, b"" if stdout else _content(out), told)


def _started(
    arguments: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    *,
    stdin: IO[bytes],
    stdout: IO[bytes],
    stderr: IO[bytes],
) -> subprocess.Popen[bytes]:
    """Without a thread: it takes a third of a millisecond."""
    process = subprocess.Popen(
        spelled(arguments), cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr
    )
    give_back(process.pid)
    return process


def spelled(arguments: Sequence[str]) -> list[str]:
    return ["git", *_QUIET, *arguments]


def environment() -> dict[str, str]:
    """The user's own, without what would point git at another repository or ask questions."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or name in _SETTINGS_FILES
    }
    return {**kept, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


async def _end_of(process: subprocess.Popen[bytes]) -> None:
    handle = _handle(process.pid)
    if handle is None:
        await anyio.to_thread.run_sync(process.wait, abandon_on_cancel=True)
        return
    try:
        await anyio.wait_readable(handle)
    finally:
        os.close(handle)
    process.wait()


def _handle(pid: int) -> int | None:
    """Becomes readable when the process ends; None where the system has no such thing."""
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def _scratch() -> IO[bytes]:
    if sys.platform != "linux":
        return tempfile.TemporaryFile(buffering=0)
    return os.fdopen(os.memfd_create("allstop"), "w+b", buffering=0)


def _filled(data: bytes) -> IO[bytes]:
    if not data:
        return Path(os.devnull).open("rb", buffering=0)
    file = _scratch()
    rest = memoryview(data)
    while rest:
        rest = rest[file.write(rest) :]
    file.seek(0)
    return file


def _content(file: IO[bytes]) -> bytes:
    file.seek(0)
    return file.read()
