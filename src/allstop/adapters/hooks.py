"""Runs the person's hook commands on this machine when something happens on a board.

Hooks never delay the loop, and their result changes nothing: it is logged, and a failure is shown.
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
from allstop.open_files import restore_limit
from allstop.ports import Clock
from allstop.programs import Tail

TIMEOUT_S = 30.0
CANCEL_TIMEOUT_S = 2.0
"""How long running hooks may take when the program is cancelled."""

SILENT_S = 1.0
"""How long to wait for hooks before a message is shown."""

WORKERS, MAX_WAITING = 4, 100
KEPT_BYTES = 16 * 1024
LARGEST_LOG_BYTES = 4 * 1024**2
CHUNK_BYTES = 64 * 1024
CHUNKS_AT_ONCE, PACE_S = 64, 0.05
KILL_TIMEOUT_S = 1.0

KEPT_VARIABLES = ("PATH", "HOME", "LANG", "USER", "TERM")


class HookResult(NamedTuple):
    how: str
    output: str = ""
    succeeded: bool = False


class _DueHook(NamedTuple):
    command: str
    facts: Facts


class HookRunner:
    """Inside `async with`, `fire` starts the command of a hook and returns at once."""

    def __init__(
        self,
        commands: Callable[[], Mapping[str, str]],
        folder: Callable[[], Path],
        log: Path,
        *,
        clock: Clock,
        host: Mapping[str, str] | None = None,
        show: Callable[[str], None] = lambda line: None,
        timeout_s: float = TIMEOUT_S,
        clean: Callable[[str], str] = lambda text: text,
        refusal: Callable[[str], str] = lambda command: "",
    ) -> None:
        """`commands` returns the current commands by hook name, `folder` the folder to run them in,
        `refusal` why a command must not run. `host` is the environment to take variables from.
        """
        self._commands = commands
        self._folder = folder
        self._refusal = refusal
        self._log = log
        self._clock = clock
        self._host = os.environ if host is None else host
        self._show = show
        self._timeout_s = timeout_s
        self._clean = clean  # removes secrets, which must not be logged
        self._stack = AsyncExitStack()
        self._scope: anyio.CancelScope
        self._idle: anyio.Event
        self._queue: MemoryObjectSendStream[_DueHook]

    async def __aenter__(self) -> HookRunner:
        self._scope = anyio.CancelScope(shield=True)
        self._idle = anyio.Event()
        self._queue, waiting = anyio.create_memory_object_stream[_DueHook](MAX_WAITING)
        group = await self._stack.enter_async_context(anyio.create_task_group())
        group.start_soon(self._work, waiting)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give running hooks time to end, or only a moment if the block was cancelled."""
        self._queue.close()
        try:
            await self._wait(self._timeout_s if kind is None else CANCEL_TIMEOUT_S)
        finally:
            self._scope.cancel()
            await self._stack.aclose()  # the block's own exception isn't passed to the hooks

    def hurry(self) -> None:
        """End running hooks at once, because everything is stopped."""
        self._scope.cancel()

    async def _wait(self, limit_s: float) -> None:
        with anyio.move_on_after(limit_s, shield=True):
            with anyio.move_on_after(SILENT_S):
                await self._idle.wait()
            if not self._idle.is_set():
                self._show(f"waiting at most {limit_s:g} s for hooks to end")
            await self._idle.wait()

    def fire(self, facts: Facts) -> None:
        command = self._commands().get(facts.hook)
        if command is None:
            return
        if self._scope.cancel_called:
            self._report(facts, HookResult("not run: everything is stopped"))
            return
        if refusal := self._refusal(command):
            self._report(facts, HookResult(refusal))
            return
        try:
            self._queue.send_nowait(_DueHook(command, facts))
        except anyio.WouldBlock:
            self._report(facts, HookResult(f"not run: {MAX_WAITING} others are waiting"))

    async def _work(self, waiting: MemoryObjectReceiveStream[_DueHook]) -> None:
        try:
            with self._scope, waiting:
                async with anyio.create_task_group() as group:
                    for _ in range(WORKERS):
                        group.start_soon(self._run_due, waiting.clone())
        finally:
            self._idle.set()

    async def _run_due(self, waiting: MemoryObjectReceiveStream[_DueHook]) -> None:
        with waiting:
            async for due in waiting:
                self._report(due.facts, await self._run(*due))

    # --- one hook ---

    async def _run(self, command: str, facts: Facts) -> HookResult:
        try:
            process, output = self._start(command, facts)
        except (OSError, ValueError) as error:
            return HookResult(f"can't be started: {error}")
        tail = Tail(KEPT_BYTES)
        cut_off = True
        try:
            with anyio.move_on_after(self._timeout_s) as deadlines:
                await _wait_and_read(process, output, tail)
            cut_off = False
        finally:
            await _end(process)
            _read(output, tail)
            os.close(output)
            if cut_off:
                self._report(facts, HookResult("killed at the end of the program", tail.text()))
        if deadlines.cancelled_caught:
            return HookResult(f"killed after {self._timeout_s:g} s", tail.text())
        code = process.returncode
        return HookResult(f"exit code {code}", tail.text(), succeeded=code == 0)

    def _start(self, command: str, facts: Facts) -> tuple[subprocess.Popen[bytes], int]:
        """Start it in its own session, so that all of its processes can be killed."""
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
                    cwd=self._folder(),
                    start_new_session=True,
                )
            finally:
                os.close(theirs)
            ours.pop_all()
            restore_limit(process.pid)
            return process, output

    # --- reporting ---

    def _report(self, facts: Facts, result: HookResult) -> None:
        line = " ".join(filter(None, (facts.hook, facts.task, result.how)))
        at = self._clock.now().isoformat(timespec="seconds")
        indented = "".join(
            f"    {each}\n" for each in plain(self._clean(result.output)).splitlines()
        )
        try:
            self._write(f"{at} {line}\n{indented}")
        except OSError as error:
            self._show(f"hook {line}; the log can't be written: {error.strerror}")
            return
        if not result.succeeded:
            self._show(f"hook {line}; its output is in {self._log}")

    def _write(self, text: str) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):
            if self._log.stat().st_size > LARGEST_LOG_BYTES:
                self._log.replace(self._log.with_suffix(".1"))
        descriptor = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        with os.fdopen(descriptor, "ab") as file:
            file.write(text.encode(errors="replace"))


async def _wait_and_read(process: subprocess.Popen[bytes], output: int, tail: Tail) -> None:
    """Wait for the shell only: processes it left in the background may hold the pipe forever."""
    async with anyio.create_task_group() as group:
        group.start_soon(_drain, output, tail)
        await anyio.to_thread.run_sync(_wait, process, abandon_on_cancel=True, limiter=_threads())
        group.cancel_scope.cancel()


def _threads() -> anyio.CapacityLimiter:
    """Use a separate limiter, so that other work doesn't wait for these threads."""
    return anyio.CapacityLimiter(1)


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end without reaping, if possible: until then the pid can't be reused."""
    if sys.platform == "linux":
        with suppress(ChildProcessError):
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    else:
        process.wait()


async def _drain(output: int, tail: Tail) -> None:
    """Read slowly after the first chunks: a flood of output must not keep the loop busy."""
    for chunk in itertools.count():
        await anyio.wait_readable(output)
        if not _read(output, tail):
            return
        if chunk >= CHUNKS_AT_ONCE:
            await anyio.sleep(PACE_S)


def _read(output: int, tail: Tail) -> bool:
    """Read available output once; False at its end."""
    try:
        data = os.read(output, CHUNK_BYTES)
    except BlockingIOError:
        return True
    if data:
        tail.add(data)
    return bool(data)


async def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill its process group and reap it."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with anyio.move_on_after(KILL_TIMEOUT_S, shield=True):
        await anyio.to_thread.run_sync(process.wait, abandon_on_cancel=True, limiter=_threads())
