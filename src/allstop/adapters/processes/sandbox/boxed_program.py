"""A program in a box, from starting bwrap to the end of its last process."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import anyio
import msgspec

from allstop.adapters.processes.child_inputs import ChildInputs
from allstop.adapters.processes.live_registry import TreeKind
from allstop.adapters.processes.orphaned_boxes import tag
from allstop.adapters.processes.pipes import InputPipe, OutputPipes
from allstop.adapters.processes.program import ProcessEnd, Program
from allstop.adapters.processes.sandbox.box_ownership import hand_over_box
from allstop.adapters.processes.sandbox.box_sockets import make_sockets
from allstop.adapters.processes.sandbox.bubblewrap import command, make_template
from allstop.adapters.processes.sandbox.host_tools import Host
from allstop.adapters.processes.sandbox.landlock import run_restricted
from allstop.adapters.processes.sandbox.launch_plan import plan_launch
from allstop.adapters.processes.spawn import DescriptorList, Spawned, pipe, spawn, starting
from allstop.ports import BoxGateway, Exit, Launch, LaunchError

BWRAP_ENV = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
MAX_ERROR_BYTES = 4096
SIGNALS = frozenset(map(int, signal.valid_signals()))
READY_TIMEOUT_S = 60.0  # a mount of a dead file server may hang
INFO_TIMEOUT_S = 3.0


class _Info(msgspec.Struct, frozen=True):
    child_pid: int = msgspec.field(name="child-pid")


def boxed(host: Host) -> Callable[[Launch], BoxedTree]:
    template = make_template(host, tag())

    def start(launch: Launch) -> BoxedTree:
        plan = plan_launch(launch, host)
        hand_over_box(launch.box, host)
        with DescriptorList() as theirs, DescriptorList() as ours, starting(launch.argv[0]):
            info, written = pipe(reading=ours, writing=theirs)
            with ChildInputs(reading=info, writing=written) as inputs:
                argv = inputs.as_arguments(command(plan, launch.box, template))
                spawned = run_restricted(partial(spawn, argv, env=BWRAP_ENV, passed=inputs.numbers))
            try:
                tree = BoxedTree(spawned, info, launch.box.gateway, errors_late=launch.errors_late)
            except BaseException:
                spawned.abandon()
                raise
            ours.clear()
            return tree

    return start


class BoxedTree:
    """Its root is the first process of the pid namespace: all others end with it."""

    kind = TreeKind.BOX

    def __init__(
        self, spawned: Spawned, info: int, gateway: BoxGateway | None, *, errors_late: bool
    ) -> None:
        self._gateway = gateway
        self._process = spawned.process
        self._stderr = spawned.stderr
        self._bwrap = ProcessEnd(os.pidfd_open(spawned.process.pid))
        self._input = InputPipe(spawned.stdin)
        ended = self._bwrap.handle
        self._output = OutputPipes(spawned.stdout, spawned.stderr, ended, errors_late=errors_late)
        os.set_blocking(info, False)
        self._info: int | None = info
        self._info_text = b""
        self._root: ProcessEnd | None = None
        self._root_pid = 0

    async def ready(self) -> int:
        with anyio.move_on_after(READY_TIMEOUT_S):
            is_ready = await self._output.first_byte()
            await self._read_root_pid()
            if not is_ready or not self._root:
                raise await self._failure()
            if self._gateway is not None:
                sockets = await make_sockets(self._root_pid, self._gateway.port)
                self._gateway.serve(sockets)
            return self._root_pid
        message = f"the box was not ready within {READY_TIMEOUT_S:g} s"
        raise LaunchError(message, code="box_timeout")

    async def start_program(self) -> Program:
        self._input.write_word(b"\n")
        return Program(self._root_pid, self._input, self._output, self._bwrap, self._exit)

    def has_ended(self) -> bool:
        return self._bwrap.is_over()

    def kill(self) -> None:
        if self._root:
            _kill(self._root.handle)

    async def kill_and_wait(self) -> None:
        """Wait for the root and not only for bwrap.

        The box's processes may write a little longer.
        """
        self._input.close()
        if self._info is not None:
            with anyio.move_on_after(INFO_TIMEOUT_S):
                await self._read_root_pid()
        self.kill()
        if self._root:
            await self._root.wait()
        _kill(self._bwrap.handle)
        await self._bwrap.wait()

    def close(self) -> None:
        self._input.close()
        self._output.close()
        if self._info is not None:
            os.close(self._info)
        if self._root:
            with suppress(ChildProcessError):  # only an init process or a subreaper can reap it
                os.waitid(os.P_PIDFD, self._root.handle, os.WEXITED | os.WNOHANG)
            os.close(self._root.handle)
        os.close(self._bwrap.handle)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0)

    async def _read_root_pid(self) -> None:
        """Read the root's pid. bwrap writes it in pieces; once the box is ready, all are there."""
        while self._info is not None:
            try:
                self._parse_info(self._info, os.read(self._info, 4096))
            except BlockingIOError:
                await anyio.wait_readable(self._info)

    def _parse_info(self, info: int, data: bytes) -> None:
        self._info_text += data
        if data and b"}" not in self._info_text:
            return
        os.close(info)
        self._info = None
        if data:
            self._root_pid = msgspec.json.decode(self._info_text, type=_Info).child_pid
            with suppress(ProcessLookupError):
                self._root = ProcessEnd(os.pidfd_open(self._root_pid))

    async def _failure(self) -> LaunchError:
        await self._bwrap.wait()
        error_output = ""
        with suppress(BlockingIOError):
            error_output = os.read(self._stderr, MAX_ERROR_BYTES).decode(errors="replace").strip()
        reason = error_output or "bwrap gave no reason"
        return LaunchError(f"the box can't be created: {reason}", code="box_failed")

    def _exit(self) -> Exit:
        """bwrap reports a signal as shells do: 128 plus its number."""
        code = self._process.wait()
        return Exit(128 - code if code - 128 in SIGNALS else code)


def _kill(handle: int) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
