"""A program in a box, from the spawn of bwrap until nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import anyio
import msgspec

from allstop.adapters.processes.child_inputs import Feeds
from allstop.adapters.processes.live_registry import Kind
from allstop.adapters.processes.orphaned_boxes import tag
from allstop.adapters.processes.pipes import Inlet, Outlet
from allstop.adapters.processes.program import Death, Program
from allstop.adapters.processes.sandbox.bubblewrap import command, recipe_of
from allstop.adapters.processes.sandbox.file_owner import hand_over_box
from allstop.adapters.processes.sandbox.host_tools import Host
from allstop.adapters.processes.sandbox.landlock import fenced
from allstop.adapters.processes.sandbox.launch_plan import scene_of
from allstop.adapters.processes.spawn import Handles, Spawned, pipe, spawn, starting
from allstop.ports import Exit, Launch, LaunchError

BWRAP_ENV = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
COMPLAINT = 4096
SIGNALS = frozenset(map(int, signal.valid_signals()))
READY_WITHIN_S = 60.0  # a mount of a dead server may hang
INFO_WITHIN_S = 3.0


class _Info(msgspec.Struct, frozen=True):
    child_pid: int = msgspec.field(name="child-pid")


def boxed(host: Host) -> Callable[[Launch], BoxedTree]:
    recipe = recipe_of(host, tag())

    def start(launch: Launch) -> BoxedTree:
        scene = scene_of(launch, host)
        hand_over_box(launch.box, host)
        with Handles() as theirs, Handles() as ours, starting(launch.argv[0]):
            info, written = pipe(reading=ours, writing=theirs)
            with Feeds(reading=info, writing=written) as feeds:
                argv = feeds.spelled(command(scene, launch.box, recipe))
                spawned = fenced(partial(spawn, argv, env=BWRAP_ENV, passed=feeds.numbers))
            try:
                tree = BoxedTree(spawned, info, errors_late=launch.errors_late)
            except BaseException:
                spawned.abandon()
                raise
            ours.clear()
            return tree

    return start


class BoxedTree:
    """Its root is the first process of the namespace: when that is gone, all are."""

    kind = Kind.BOX

    def __init__(self, spawned: Spawned, info: int, *, errors_late: bool) -> None:
        self._process = spawned.process
        self._stderr = spawned.stderr
        self._bwrap = Death(os.pidfd_open(spawned.process.pid))
        self._inlet = Inlet(spawned.stdin)
        ended = self._bwrap.handle
        self._outlet = Outlet(spawned.stdout, spawned.stderr, ended, errors_late=errors_late)
        os.set_blocking(info, False)
        self._info: int | None = info
        self._said = b""
        self._root: Death | None = None
        self._root_pid = 0

    async def ready(self) -> int:
        with anyio.move_on_after(READY_WITHIN_S):
            stands = await self._outlet.first_byte()
            await self._learn_root()
            if not stands or not self._root:
                raise await self._failure()
            return self._root_pid
        raise LaunchError(f"the box was not made within {READY_WITHIN_S:g} s")

    async def go(self) -> Program:
        self._inlet.say(b"\n")
        return Program(self._root_pid, self._inlet, self._outlet, self._bwrap, self._exit)

    def has_ended(self) -> bool:
        return self._bwrap.has_come()

    def strike(self) -> None:
        if self._root:
            _kill(self._root.handle)

    async def put_down(self) -> None:
        """Wait for the root and not only for bwrap: what it kept may write a little longer."""
        self._inlet.close()
        if self._info is not None:
            with anyio.move_on_after(INFO_WITHIN_S):
                await self._learn_root()
        self.strike()
        if self._root:
            await self._root.wait()
        _kill(self._bwrap.handle)
        await self._bwrap.wait()

    def close(self) -> None:
        self._inlet.close()
        self._outlet.close()
        if self._info is not None:
            os.close(self._info)
        if self._root:
            with suppress(ChildProcessError):  # ours to bury only where we are everyone's parent
                os.waitid(os.P_PIDFD, self._root.handle, os.WEXITED | os.WNOHANG)
            os.close(self._root.handle)
        os.close(self._bwrap.handle)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(0)

    async def _learn_root(self) -> None:
        """It is written in pieces; once the box stands, all are there."""
        while self._info is not None:
            try:
                self._hear(self._info, os.read(self._info, 4096))
            except BlockingIOError:
                await anyio.wait_readable(self._info)

    def _hear(self, info: int, data: bytes) -> None:
        self._said += data
        if data and b"}" not in self._said:
            return
        os.close(info)
        self._info = None
        if data:
            self._root_pid = msgspec.json.decode(self._said, type=_Info).child_pid
            with suppress(ProcessLookupError):
                self._root = Death(os.pidfd_open(self._root_pid))

    async def _failure(self) -> LaunchError:
        await self._bwrap.wait()
        said = ""
        with suppress(BlockingIOError):
            said = os.read(self._stderr, COMPLAINT).decode(errors="replace").strip()
        return LaunchError(f"the box can't be made: {said or 'bwrap gave no reason'}")

    def _exit(self) -> Exit:
        """bwrap tells of a signal as shells do."""
        code = self._process.wait()
        return Exit(128 - code if code - 128 in SIGNALS else code)


def _kill(handle: int) -> None:
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, signal.SIGKILL)
