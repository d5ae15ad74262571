"""A person's own commands, run on this machine when something happens on a board.

They never hold the loop up, and what becomes of them changes nothing: it is logged, and a
failure is shown.
"""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack, ExitStack, suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from allstop.board.hook_events import Facts, variables
from allstop.core.text import plain
from allstop.open_files import give_back
from allstop.ports import Clock
from allstop.programs import Tail

PATIENCE_S = 30.0
GRACE_S = 2.0
"""How long hooks have where all is called off."""

SILENT_S = 1.0
"""How long they are waited for without a word."""

AT_ONCE, MOST_WAITING = 4, 100
KEPT_BYTES = 16 * 1024
LARGEST_LOG_BYTES = 4 * 1024**2
CHUNK_BYTES = 64 * 1024
CHUNKS_AT_ONCE, PACE_S = 64, 0.05
DIES_WITHIN_S = 1.0

KEPT_VARIABLES = ("PATH", "HOME", "LANG", "USER", "TERM")


class Ran(NamedTuple):
    """How a hook ended."""

    how: str
    output: str = ""
    fine: bool = False


class _Due(NamedTuple):
    command: str
    facts: Facts


class HookRunner:
    """Within `async with`, `fire` starts the command of a hook and returns at once."""

    def __init__(
        self,
        commands: Callable[[], Mapping[str, str]],
        cwd: Path,
        log: Path,
        *,
        clock: Clock,
        host: Mapping[str, str] | None = None,
        show: Callable[[str], None] = lambda line: None,
        patience_s: float = PATIENCE_S,
        clean: Callable[[str], str] = lambda text: text,
    ) -> None:
        """`commands` are those of the moment, by the hook's name; `host` is the environment to
        take from.
        """
        self._commands = commands
        self._cwd = cwd
        self._log = log
        self._clock = clock
        self._host = os.environ if host is None else host
        self._show = show
        self._patience_s = patience_s
        self._clean = clean  # of what must not be in a log
        self._stack = AsyncExitStack()
        self._scope: anyio.CancelScope
        self._idle: anyio.Event
        self._queue: MemoryObjectSendStream[_Due]

    async def __aenter__(self) -> HookRunner:
        self._scope = anyio.CancelScope(shield=True)
        self._idle = anyio.Event()
        self._queue, waiting = anyio.create_memory_object_stream[_Due](MOST_WAITING)
        group = await self._stack.enter_async_context(anyio.create_task_group())
        group.start_soon(self._work, waiting)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """What is under way has its time to end, or a moment where all is called off."""
        self._queue.close()
        try:
            await self._wait(self._patience_s if kind is None else GRACE_S)
        finally:
            self._scope.cancel()
            await self._stack.aclose()  # what the block raises is not the hooks'

    def hurry(self) -> None:
        """All is stopped: what is under way is ended at once."""
        self._scope.cancel()

    async def _wait(self, most_s: float) -> None:
        with anyio.move_on_after(most_s, shield=True):
            with anyio.move_on_after(SILENT_S):
                await self._idle.wait()
            if not self._idle.is_set():
                self._show(f"waiting for hooks to end, {most_s:g} s at most")
            await self._idle.wait()

    def fire(self, facts: Facts) -> None:
        command = self._commands().get(facts.hook)
        if command is None:
            return
        if self._scope.cancel_called:
            self._report(facts, Ran("not run: all is stopped"))
            return
        try:
            self._queue.send_nowait(_Due(command, facts))
        except anyio.WouldBlock:
            self._report(facts, Ran(f"not run: {MOST_WAITING} others wait already"))

    async def _work(self, waiting: MemoryObjectReceiveStream[_Due]) -> None:
        try:
            with self._scope, waiting:
                async with anyio.create_task_group() as group:
                    for _ in range(AT_ONCE):
                        group.start_soon(self._work_off, waiting.clone())
        finally:
            self._idle.set()

    async def _work_off(self, waiting: MemoryObjectReceiveStream[_Due]) -> None:
        with waiting:
            async for due in waiting:
                self._report(due.facts, await self._run(*due))

    # --- one hook ---

    async def _run(self, command: str, facts: Facts) -> Ran:
        try:
            process, output = self._start(command, facts)
        except (OSError, ValueError) as error:
            return Ran(f"can't be started: {error}")
        tail = Tail(KEPT_BYTES)
        cut_off = True
        try:
            with anyio.move_on_after(self._patience_s) as deadlines:
                await _until_it_ends(process, output, tail)
            cut_off = False
        finally:
            await _end(process)
            _read(output, tail)
            os.close(output)
            if cut_off:
                self._report(facts, Ran("ended with the program", tail.text()))
        if deadlines.cancelled_caught:
            return Ran(f"ended after {self._patience_s:g} s", tail.text())
        code = process.returncode
        return Ran(f"exit code {code}", tail.text(), fine=code == 0)

    def _start(self, command: str, facts: Facts) -> tuple[subprocess.Popen[bytes], int]:
        """In a group of its own, so that all of it can be ended."""
        kept = {name: self._host[name] for name in KEPT_VARIABLES if name in self._host}
        with ExitStack() as ours:
            output, theirs = os.pipe()
            ours.callback(os.close, output)
            os.set_blocking(output, False)
            try:
                process = subprocess.Popen(
                    ["/bin/sh", "-c", command],
                    stdin=subprocess.DEVNULL,
                    stdout=theirs,
                    stderr=theirs,
                    env={**kept, **variables(facts)},
                    cwd=self._cwd,
                    start_new_session=True,
                )
            finally:
                os.close(theirs)
            ours.pop_all()
            give_back(process.pid)
            return process, output

    # --- what became of it ---

    def _report(self, facts: Facts, ran: Ran) -> None:
        line = " ".join(filter(None, (facts.hook, facts.task, ran.how)))
        at = self._clock.now().isoformat(timespec="seconds")
        said = "".join(f"    {each}\n" for each in plain(self._clean(ran.output)).splitlines())
        try:
            self._write(f"{at} {line}\n{said}")
        except OSError as error:
            self._show(f"hook {line}; the log can't be written: {error.strerror}")
            return
        if not ran.fine:
            self._show(f"hook {line}; its output is in {self._log}")

    def _write(self, text: str) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            if self._log.stat().st_size > LARGEST_LOG_BYTES:
                self._log.replace(self._log.with_suffix(".1"))
        descriptor = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "ab") as file:
            file.write(text.encode(errors="replace"))


async def _until_it_ends(process: subprocess.Popen[bytes], output: int, tail: Tail) -> None:
    """Until the shell does: what it left in the background may hold the pipe for ever."""
    async with anyio.create_task_group() as group:
        group.start_soon(_drain, output, tail)
        await anyio.to_thread.run_sync(_wait, process, abandon_on_cancel=True, limiter=_threads())
        group.cancel_scope.cancel()


def _threads() -> anyio.CapacityLimiter:
    """Not of those that others wait for."""
    return anyio.CapacityLimiter(1)


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Where it can be, the dead is left unburied: until then nobody else is given its number."""
    if sys.platform == "linux":
        with suppress(ChildProcessError):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    else:
        process.wait()


async def _drain(output: int, tail: Tail) -> None:
    """A flood is let in at a walking pace: reading it must not keep the loop busy."""
    for chunk in itertools.count():
        await anyio.wait_readable(output)
        if not _read(output, tail):
            return
        if chunk >= CHUNKS_AT_ONCE:
            await anyio.sleep(PACE_S)


def _read(output: int, tail: Tail) -> bool:
    """Once, whatever there is; False at its end."""
    try:
        data = os.read(output, CHUNK_BYTES)
    except BlockingIOError:
        return True
    if data:
        tail.add(data)
    return bool(data)


async def _end(process: subprocess.Popen[bytes]) -> None:
    """All of its group, and it is buried."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with anyio.move_on_after(DIES_WITHIN_S, shield=True):
        await anyio.to_thread.run_sync(process.wait, abandon_on_cancel=True, limiter=_threads())
