"""An agent that is any program: it gets the prompt, and its standard output is its reply."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from msgspec.structs import replace

from allstop import ports
from allstop.adapters.agents.box_files import writing
from allstop.adapters.agents.exception_groups import first_error
from allstop.adapters.agents.launch_failure import failed_launch
from allstop.adapters.agents.limit_patterns import find_limit_line
from allstop.adapters.agents.no_conversations import CANNOT_FORK
from allstop.adapters.agents.offered_tools import TurnTools
from allstop.adapters.agents.provider_errors import failure_of
from allstop.adapters.agents.reset_times import LocalTime, SystemZone
from allstop.adapters.agents.turn_socket import TurnSockets, open_turn_socket
from allstop.core.moves import LIMITED, Failed, FailureKind, Item, TurnDone, Usage
from allstop.core.signals import Signal, read_signal
from allstop.programs import Tail, run_to_end

MAX_QUEUED = 100
LINE_BYTES = 4096


class ProgressTail(Tail):
    """Keeps the end of the output, and reports each complete PROGRESS line at once.

    A line that also stands in the prompt is ignored, because the program may just echo it.
    """

    def __init__(self, prompt: str, watch: ports.Watch, group: TaskGroup) -> None:
        super().__init__()
        self._prompt = prompt
        self._watch = watch
        self._group = group
        self._unfinished = b""
        # created on demand: few programs report progress
        self._queue: MemoryObjectSendStream[str] | None = None

    def add(self, data: bytes) -> None:
        super().add(data)
        whole, newline, rest = (self._unfinished + data).rpartition(b"\n")
        self._unfinished = rest[-LINE_BYTES:]
        if newline and b"PROGRESS" in whole:
            for line in whole.decode(errors="replace").splitlines():
                self._read(line.strip())

    def close(self) -> None:
        """End the queue; queued lines are still reported before the task group ends."""
        if self._queue is not None:
            self._queue.close()

    @cached_property
    def _prompt_lines(self) -> frozenset[str]:
        return frozenset(map(str.strip, self._prompt.splitlines()))

    def _read(self, line: str) -> None:
        said = read_signal(line)
        if said.signal is not Signal.PROGRESS or line in self._prompt_lines:
            return
        if self._queue is None:
            self._queue, lines = anyio.create_memory_object_stream[str](MAX_QUEUED)
            self._group.start_soon(self._report, lines)
        if self._queue.statistics().current_buffer_used < MAX_QUEUED:
            self._queue.send_nowait(said.text)

    async def _report(self, lines: MemoryObjectReceiveStream[str]) -> None:
        with lines:
            async for text in lines:
                await self._watch.saw(Item(kind="progress", text=text))


PromptBy = Literal["stdin", "arg", "file"]

_FILE = 'f=$(mktemp) && cat >"$f" && exec "$@" "$f" </dev/null'
"""Writes the prompt's file inside the box: the host never writes where an agent can."""


class CommandAgent:
    abilities = ports.Abilities(needs_box=True)

    def __init__(
        self,
        argv: Sequence[str],
        *,
        launcher: ports.Launcher,
        fallback_box: ports.Box,
        clock: ports.Clock,
        prompt: PromptBy = "stdin",
        env: Mapping[str, str] | None = None,
        files: Mapping[str, str] | None = None,
        limit_patterns: Sequence[str] = (),
        sockets: TurnSockets | None = None,
    ) -> None:
        self._argv = tuple(argv)
        self._launcher = launcher
        self._fallback_box = fallback_box  # for turns without a workspace
        self._clock = clock
        self._prompt = prompt
        self._env = dict(env or {})
        self._files = dict(files or {})  # written in the box before it starts
        self._limit_patterns = limit_patterns
        self._sockets = sockets

    async def take_turn(self, turn: ports.Turn, watch: ports.Watch) -> TurnDone | Failed:
        if turn.fork:
            return CANNOT_FORK
        try:
            async with anyio.create_task_group() as group:
                out = ProgressTail(turn.prompt.whole, watch, group)
                try:
                    result = await self._run(turn, watch, group, out)
                finally:
                    out.close()
        except ExceptionGroup as errors:
            raise first_error(errors) from errors
        return result

    async def _run(
        self, turn: ports.Turn, watch: ports.Watch, group: TaskGroup, out: Tail
    ) -> TurnDone | Failed:
        launch, stdin = self._launch(turn)
        tools, err = TurnTools(watch), Tail()
        try:
            with open_turn_socket(tools, self._sockets, turn, group) as access:
                launch = access.add_to(launch) if access else launch
                code = await run_to_end(self._launcher, launch, stdin, out, watch.live, err)
        except (ports.LaunchError, ports.UnsafeError) as error:
            return failed_launch(error)
        if code == 0:
            return TurnDone(text=out.text(), signals=tools.signals, usage=Usage(partial=True))
        return self._failed(code, err.text().strip(), out.text().strip())

    async def close(self) -> None:
        if self._sockets is not None:
            self._sockets.close()

    def _launch(self, turn: ports.Turn) -> tuple[ports.Launch, bytes]:
        text = turn.prompt.whole
        box = turn.place or self._fallback_box
        argv, stdin = self._argv, text.encode(errors="replace")
        if self._prompt == "arg":
            argv, stdin = (*argv, text), b""
        elif self._prompt == "file":
            argv = ("sh", "-c", _FILE, "sh", *argv)
        launch = ports.Launch(
            argv=writing(self._files, argv),
            box=box,
            label=turn.run,
            env={**box.env, **self._env},
            programs=(self._argv[0],),
        )
        return launch, stdin

    def _failed(self, code: int, errors: str, output: str) -> Failed:
        if (found := find_limit_line(errors, output, self._limit_patterns)) is not None:
            now = self._clock.now()
            at = LocalTime(now=now, local=SystemZone())
            failed = failure_of(replace(found.fault, kind=found.kind), at)
            return replace(failed, guessed=found.kind in LIMITED)
        last_output = errors or output
        signal = _signal_of(code)
        how = f"signal {signal}" if signal else f"exit code {code}"
        return Failed(
            kind=FailureKind.CRASHED if signal else FailureKind.EXITED,
            message=f"{how}\n{last_output[-4000:]}".strip(),
        )


def _signal_of(code: int) -> int:
    """The signal that ended the program, or 0; shells and boxes report it as 128 + signal."""
    if code < 0:
        return -code
    return code - 128 if 128 < code < 160 else 0
