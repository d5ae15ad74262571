"""A program without a sandbox, where the settings allow that, under a supervisor process."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path

import anyio
import msgspec
from anyio.lowlevel import checkpoint

from allstop import open_files
from allstop.adapters.processes.live_registry import TreeKind
from allstop.adapters.processes.pipes import InputPipe, OutputPipes
from allstop.adapters.processes.proc import kill_family
from allstop.adapters.processes.program import ProcessEnd, Program
from allstop.adapters.processes.sandbox.box_paths import on_host
from allstop.adapters.processes.sandbox.bubblewrap import USER
from allstop.adapters.processes.sandbox.host_tools import STANDARD_PATH, Host
from allstop.adapters.processes.sandbox.launch_plan import program_of, read_path, refuse_malformed
from allstop.adapters.processes.spawn import DescriptorList, Spawned, pipe, spawn, starting
from allstop.ports import Caps, Exit, Isolation, Launch, LaunchError, UnsafeError

SUPERVISOR_COMMAND = (
    "import sys; sys.path.append(sys.argv.pop(1)); "
    "from allstop.adapters.processes.unboxed.unboxed_supervisor import main; main()"
)
PACKAGES = str(Path(__file__).parents[4])
SUPERVISOR_TIMEOUT_S = 5.0
CLOSE_TIMEOUT_S = 1.0  # its pipe closes a moment before it ends


class _Report(msgspec.Struct, frozen=True):
    """A line from the supervisor."""

    ready: bool = False
    started: int = 0
    error: str = ""
    code: int | None = None


def unboxed(host: Host, isolation: Isolation) -> Callable[[Launch], UnboxedTree]:
    def start(launch: Launch) -> UnboxedTree:
        if not (isolation.allowed or launch.trusted):
            raise UnsafeError(f"{launch.label} needs a sandbox, and none works", isolation.hint)
        refuse_malformed(launch)
        temp = tempfile.mkdtemp(prefix="allstop-")
        with ExitStack() as theirs, ExitStack() as ours, starting(launch.argv[0]):
            ours.callback(shutil.rmtree, temp, ignore_errors=True)
            own, inherited = (
                ours.enter_context(DescriptorList()),
                theirs.enter_context(DescriptorList()),
            )
            plan = theirs.enter_context(tempfile.TemporaryFile())
            plan.write(json.dumps(plan_of(launch, host, temp)).encode())
            plan.seek(0)
            lease_end, lease = pipe(reading=inherited, writing=own)
            report, report_end = pipe(reading=own, writing=inherited)
            passed = (plan.fileno(), lease_end, report_end)
            argv = (
                sys.executable,
                "-I",
                "-S",
                "-c",
                SUPERVISOR_COMMAND,
                PACKAGES,
                *map(str, passed),
            )
            spawned = spawn(argv, env={}, passed=passed)
            ours.callback(spawned.abandon)
            tree = UnboxedTree(spawned, lease, report, temp, errors_late=launch.errors_late)
            ours.pop_all()
            return tree

    return start


def plan_of(launch: Launch, host: Host, temp: str) -> dict[str, object]:
    """Return the plan for the supervisor; all paths are paths of the host."""
    box = launch.box
    path = (*read_path(box), *(box.path or host.path), *STANDARD_PATH)
    program = program_of(launch.argv[0], box, path)
    real = on_host(str(Path(box.at, program)), box)
    turn_tools = (launch.turn_tools,) if launch.turn_tools else ()
    folders = (*read_path(box), str(Path(real).parent), *path, *turn_tools)
    env = {
        "PATH": os.pathsep.join(dict.fromkeys(folders)),
        "HOME": box.home,
        "TMPDIR": temp,
        "LANG": "C.UTF-8",
        "USER": USER,
        **launch.env,
    }
    return {
        "argv": [real, *launch.argv[1:]],
        "env": env,
        "cwd": box.workspace or box.home,
        "temp": temp,
        "limits": _limits(box.caps),
        "files": open_files.given(),
    }


class UnboxedTree:
    """Its root is the supervisor, which ends the processes that the program leaves behind."""

    kind = TreeKind.UNBOXED

    def __init__(
        self, spawned: Spawned, lease: int, report: int, temp: str, *, errors_late: bool
    ) -> None:
        self._process = spawned.process
        self._lease: int | None = lease
        self._temp = temp
        self._end = ProcessEnd(report)
        self._input = InputPipe(spawned.stdin)
        self._output = OutputPipes(spawned.stdout, spawned.stderr, report, errors_late=errors_late)
        self._code: int | None = None

    async def ready(self) -> int:
        await self._expect_success()
        return self._process.pid

    async def start_program(self) -> Program:
        assert self._lease is not None
        os.write(self._lease, b"g")
        await self._expect_success()
        return Program(self._process.pid, self._input, self._output, self._end, self._exit)

    def has_ended(self) -> bool:
        return self._code is not None or self._end.is_over()

    def kill(self) -> None:
        self._process.send_signal(signal.SIGCONT)
        self._end_lease()

    async def kill_and_wait(self) -> None:
        self._input.close()
        self.kill()
        with anyio.move_on_after(SUPERVISOR_TIMEOUT_S) as scope:
            await self._wait_for_supervisor()
        if scope.cancelled_caught:
            while kill_family(self._process.pid):
                await checkpoint()
            self._process.kill()
            await self._wait_for_supervisor()
        remove = partial(shutil.rmtree, self._temp, ignore_errors=True)
        await anyio.to_thread.run_sync(remove)  # in case the supervisor was killed

    def close(self) -> None:
        self._input.close()
        self._output.close()
        self._end_lease()
        os.close(self._end.handle)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(CLOSE_TIMEOUT_S)

    async def _expect_success(self) -> None:
        report = await self._next_report()
        if report is None or report.error:
            reason = report.error if report else "its supervisor ended"
            raise LaunchError(f"the program can't be started: {reason}", code="spawn_failed")

    async def _next_report(self) -> _Report | None:
        await self._end.wait()
        return self._read_report()

    def _read_report(self) -> _Report | None:
        """Read exactly one line: a later line must stay in the pipe, which then stays readable."""
        line = b""
        while not line.endswith(b"\n"):
            byte = os.read(self._end.handle, 1)
            if not byte:
                return None
            line += byte
        report = msgspec.json.decode(line, type=_Report)
        self._code = report.code if report.code is not None else self._code
        return report

    async def _wait_for_supervisor(self) -> None:
        while await self._next_report():
            pass

    def _end_lease(self) -> None:
        if self._lease is not None:
            os.close(self._lease)
            self._lease = None

    def _exit(self) -> Exit:
        if self._code is None:
            self._read_report()
        return Exit(-signal.SIGKILL if self._code is None else self._code)


def _limits(caps: Caps) -> dict[str, int]:
    """Return the resource limits, without one on processes: it would count all of the user's."""
    limits = {"RLIMIT_CORE": 0}
    if caps.memory_mb is not None:
        limits["RLIMIT_DATA"] = caps.memory_mb << 20
    if caps.file_mb is not None:
        limits["RLIMIT_FSIZE"] = caps.file_mb << 20
    return limits
