"""A way to the desk for an agent whose own connection has none: a socket in its box, for one turn.

In the box there is a program `allstop` that leads to it (`relay`). Whoever can see the folder can
come in; where words were given, only the first who knows one of them.
"""

from __future__ import annotations

import hmac
import os
import secrets
import shlex
import shutil
import socket
import sys
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack, aclosing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

import anyio
import msgspec
from anyio.abc import TaskGroup
from msgspec import Struct
from msgspec.structs import replace

from allstop.adapters.agents.box_command import GOODBYE
from allstop.adapters.agents.output_lines import Lines, LineTooLongError
from allstop.adapters.agents.socket_clients import Caller, next_caller, on_first_knock
from allstop.adapters.agents.turn_tools import SERVER, Desk, is_open
from allstop.core.mcp import PARSE, Message, ToolCall, error, respond
from allstop.ports import DESK, Isolation, Launch, Turn

PROGRAM = "allstop"
SOCKET = "socket"
WORD = "ALLSTOP_WORD"
LONGEST = 256 * 1024
MOST_VISITORS = 20
MOST_AT_ONCE = 20
"""Requests of one visitor; what comes on top is not read."""
BEING_MADE_S = 60.0
"""A folder so young with nobody behind its door may be another process's, who is not yet there."""
PYTHON = os.path.realpath(sys.executable)


class Way(Struct, frozen=True, kw_only=True):
    """How an agent comes to the desk of its turn."""

    folder: str
    words: tuple[str, ...] = ()  # who comes first and knows one is the agent; without, all may come

    def shown(self, launch: Launch) -> Launch:
        return replace(launch, desk=self.folder, behind=(*launch.behind, PYTHON))

    def program(self, isolation: Isolation) -> str:
        """Its whole path, as the agent sees it."""
        return f"{DESK if isolation.boxed else self.folder}/{PROGRAM}"


class Place(NamedTuple):
    """A folder with a door in it, for one turn at a time."""

    folder: Path
    socket: socket.socket

    def forget_callers(self) -> None:
        """Nobody who knocked in an earlier turn is heard in a later one."""
        with suppress(BlockingIOError, ConnectionAbortedError):
            while True:
                self.socket.accept()[0].close()

    def remove(self) -> None:
        self.socket.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Doors:
    """All of one agent, in the folder of the whole store, which nobody else can enter.

    A place is used again when its turn, and all that ran in its box, is over: to make one and to
    remove it takes as much time as all else that a turn costs us.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._is_swept = False
        self._unused: list[Place] = []

    @contextmanager
    def opened(self, group: TaskGroup, desk: Desk, words: tuple[str, ...] = ()) -> Iterator[Way]:
        """For as long as the block lasts; whoever comes is heard in the group.

        Raises:
            OSError: there is no place for it.
        """
        place = self._unused_one() or self._made()
        visits = anyio.CancelScope()
        users = 1  # the block, and whoever serves; the last one gives the place back

        async def receive() -> None:
            try:
                with visits:
                    await Door(desk, words).serve(place.socket)
            finally:
                leave()

        def serve() -> None:
            nonlocal users
            users += 1
            group.start_soon(receive)

        def leave() -> None:
            nonlocal users
            users -= 1
            if not users:
                self._unused.append(place)

        try:
            place.forget_callers()
            with on_first_knock(place.socket, serve):  # most turns never have one
                yield Way(folder=str(place.folder), words=words)
        finally:
            visits.cancel()
            leave()

    def close(self) -> None:
        while self._unused:
            self._unused.pop().remove()

    def _unused_one(self) -> Place | None:
        while self._unused:
            place = self._unused.pop()
            if os.path.exists(f"{place.folder}/{SOCKET}"):  # noqa: PTH110 - asked in each turn
                return place
            place.remove()  # somebody has begun to
        return None

    def _made(self) -> Place:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        place = self._folder / secrets.token_hex(8)
        place.mkdir()
        try:
            self._sweep(place.stat().st_mtime)
            place.chmod(0o755)  # in a box it may be another user's
            program = place / PROGRAM
            program.write_text(_program())
            program.chmod(0o755)
            return Place(place, _bound(place))
        except OSError:
            for name in (PROGRAM, SOCKET):  # by name: to look what is there may be too much to ask
                (place / name).unlink(missing_ok=True)
            place.rmdir()
            raise

    def _sweep(self, now: float) -> None:
        """Away with what killed processes have left behind."""
        if self._is_swept:
            return
        self._is_swept = True
        for place in self._folder.iterdir():
            with suppress(OSError), _through(place) as at, _socket() as knock:
                if place.stat().st_mtime > now - BEING_MADE_S:
                    continue
                knock.settimeout(0)  # else we would stand in line where nobody lets anybody in
                try:
                    knock.connect(f"{at}/{SOCKET}")
                except (ConnectionRefusedError, FileNotFoundError):
                    shutil.rmtree(place, ignore_errors=True)


@contextmanager
def way_to(
    desk: Desk, doors: Doors | None, turn: Turn, group: TaskGroup, words: tuple[str, ...] = ()
) -> Iterator[Way | None]:
    """None where there can be no door, or nobody has a use for it: a last line does as well."""
    with ExitStack() as stack:
        way = None
        if doors is not None and is_open(turn):
            with suppress(OSError):
                way = stack.enter_context(doors.opened(group, desk, words))
        yield way


class Door:
    def __init__(self, desk: Desk, words: tuple[str, ...]) -> None:
        self._desk = desk
        self._is_for_all = not words
        self._words = words  # with which nobody has come yet
        self._visitors = 0

    async def serve(self, door: socket.socket) -> None:
        async with anyio.create_task_group() as visits:
            while True:
                visits.start_soon(self._receive, await next_caller(door))

    async def _receive(self, visitor: Caller) -> None:
        self._visitors += 1
        try:
            with visitor:
                if self._visitors <= MOST_VISITORS:
                    await self._hear(visitor)
        finally:
            self._visitors -= 1

    async def _hear(self, visitor: Caller) -> None:
        """To its end. Who has gone wants no answers; who has said goodbye is given them first."""
        seats, sending = anyio.Semaphore(MOST_AT_ONCE), anyio.Lock()

        async def answer(line: bytes) -> None:
            try:
                await self._answer(visitor, sending, line)
            finally:
                seats.release()

        async def show_out() -> None:
            for _ in range(MOST_AT_ONCE):
                await seats.acquire()
            group.cancel_scope.cancel()

        async with aclosing(_lines(visitor)) as lines, anyio.create_task_group() as group:
            if self._is_for_all or self._admits(await anext(lines, b"")):
                async for line in lines:
                    if line == GOODBYE.strip():
                        group.start_soon(show_out)
                        continue
                    await seats.acquire()
                    group.start_soon(answer, line)
            group.cancel_scope.cancel()

    def _admits(self, word: bytes) -> bool:
        known = [each for each in self._words if hmac.compare_digest(word, each.encode())]
        self._words = tuple(each for each in self._words if each not in known)
        if known:
            self._desk.met = True
        return bool(known)

    async def _answer(self, visitor: Caller, sending: anyio.Lock, line: bytes) -> None:
        said = _said_to(line)
        answer = await self._desk.used(said) if isinstance(said, ToolCall) else said
        if answer is not None:
            async with sending:
                await visitor.send(msgspec.json.encode(answer) + b"\n")


def _said_to(line: bytes) -> Message | ToolCall | None:
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return error(None, PARSE, "this is no JSON")
    return respond(SERVER, message)


async def _lines(visitor: Caller) -> AsyncGenerator[bytes, None]:
    lines = Lines(LONGEST)
    with suppress(LineTooLongError):
        while data := await visitor.receive():
            for line in lines.whole(data):
                yield line


def _bound(place: Path) -> socket.socket:
    with ExitStack() as stack:
        own = stack.enter_context(_socket())
        with _through(place) as at:
            own.bind(f"{at}/{SOCKET}")
        (place / SOCKET).chmod(0o666)
        own.listen()
        own.settimeout(0)
        stack.pop_all()
        return own


def _socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)


@contextmanager
def _through(place: Path) -> Iterator[str]:
    """A short path to it: a socket's may have 107 bytes only."""
    handle = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
    try:
        through = f"/proc/self/fd/{handle}"
        yield through if os.path.isdir(through) else str(place)  # noqa: PTH112
    finally:
        os.close(handle)


@cache
def _program() -> str:
    """A script for the shell, whose rest is for Python."""
    start = f'exec {shlex.quote(PYTHON)} -I -S "$0" "$@"'
    source = Path(__file__).with_name("box_command.py").read_text(encoding="utf-8")
    return f"#!/bin/sh\n''':'\n{start}\n'''\n{source}"
