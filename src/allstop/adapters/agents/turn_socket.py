"""A Unix socket in an agent's box, through which the agent calls the tools of its turn.

For agents whose own connection has no tools. The program `allstop` in the box connects to it
(`box_command`). Every process that sees the folder can connect; if tokens are given, only the
first client that presents one of them.
"""

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

from allstop.adapters.agents.box_command import END_OF_INPUT
from allstop.adapters.agents.offered_tools import SERVER, TurnTools, has_turn_tools
from allstop.adapters.agents.output_lines import LineSplitter, LineTooLongError
from allstop.adapters.agents.socket_server import SocketClient, accept_client, on_first_connection
from allstop.core.mcp import PARSE, Message, ToolCall, error, respond
from allstop.ports import TURN_TOOLS, Isolation, Launch, Turn

PROGRAM = "allstop"
SOCKET = "socket"
ADMISSION_VARIABLE = "ALLSTOP_WORD"
MAX_LINE_BYTES = 256 * 1024
MAX_CLIENTS = 20
MAX_REQUESTS = 20
"""Open requests of one client; further ones are not read until one is answered."""
SETUP_GRACE_S = 60.0
"""Another process may still be setting up a folder this young, although nothing listens in it."""
PYTHON = os.path.realpath(sys.executable)


class SocketAccess(Struct, frozen=True, kw_only=True):
    """How an agent connects to the tools of its turn."""

    folder: str
    tokens: tuple[str, ...] = ()  # each admits one client; without tokens, all may connect

    def add_to(self, launch: Launch) -> Launch:
        return replace(launch, turn_tools=self.folder, behind=(*launch.behind, PYTHON))

    def program(self, isolation: Isolation) -> str:
        """The path of `allstop` as the agent sees it."""
        return f"{TURN_TOOLS if isolation.boxed else self.folder}/{PROGRAM}"


class SocketFolder(NamedTuple):
    """A folder with a listening socket, for one turn at a time."""

    path: Path
    socket: socket.socket

    def drop_pending(self) -> None:
        """Close connections that were made during an earlier turn."""
        with suppress(BlockingIOError, ConnectionAbortedError):
            while True:
                self.socket.accept()[0].close()

    def remove(self) -> None:
        self.socket.close()
        shutil.rmtree(self.path, ignore_errors=True)


class TurnSockets:
    """All sockets of one agent, in a folder of the store that only its user can enter.

    A later turn uses a folder again after the box of the earlier turn has ended: creating and
    removing one takes as long as everything else that a turn costs.
    """

    def __init__(self, parent: Path) -> None:
        self._parent = parent
        self._is_swept = False
        self._free: list[SocketFolder] = []

    @contextmanager
    def open(
        self, group: TaskGroup, tools: TurnTools, tokens: tuple[str, ...] = ()
    ) -> Iterator[SocketAccess]:
        """Serve clients in the task group until the block ends.

        Raises OSError if the folder or its socket can't be created.
        """
        folder = self._take_free() or self._create()
        serving = anyio.CancelScope()
        users = 1  # the block and the server; the last one frees the folder

        async def receive() -> None:
            try:
                with serving:
                    await SocketServer(tools, tokens).serve(folder.socket)
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
                self._free.append(folder)

        try:
            folder.drop_pending()
            with on_first_connection(folder.socket, serve):  # most turns never have one
                yield SocketAccess(folder=str(folder.path), tokens=tokens)
        finally:
            serving.cancel()
            leave()

    def close(self) -> None:
        while self._free:
            self._free.pop().remove()

    def _take_free(self) -> SocketFolder | None:
        while self._free:
            folder = self._free.pop()
            if os.path.exists(f"{folder.path}/{SOCKET}"):  # noqa: PTH110 - asked in each turn
                return folder
            folder.remove()  # another process has begun to remove it
        return None

    def _create(self) -> SocketFolder:
        self._parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = self._parent / secrets.token_hex(8)
        folder.mkdir()
        try:
            self._sweep(folder.stat().st_mtime)
            folder.chmod(0o755)  # a box may run as another user
            program = folder / PROGRAM
            program.write_text(_program())
            program.chmod(0o755)
            return SocketFolder(folder, _listen(folder))
        except OSError:
            for name in (PROGRAM, SOCKET):  # by name: listing the folder may fail too
                (folder / name).unlink(missing_ok=True)
            folder.rmdir()
            raise

    def _sweep(self, now: float) -> None:
        """Remove, once, the folders that killed processes left behind."""
        if self._is_swept:
            return
        self._is_swept = True
        for folder in self._parent.iterdir():
            with suppress(OSError), _short_path(folder) as path, _socket() as probe:
                if folder.stat().st_mtime > now - SETUP_GRACE_S:
                    continue
                probe.settimeout(0)  # else connecting waits where nothing accepts
                try:
                    probe.connect(f"{path}/{SOCKET}")
                except (ConnectionRefusedError, FileNotFoundError):
                    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def open_turn_socket(
    tools: TurnTools,
    sockets: TurnSockets | None,
    turn: Turn,
    group: TaskGroup,
    tokens: tuple[str, ...] = (),
) -> Iterator[SocketAccess | None]:
    """None if the turn offers no tools or no socket can be made; the agent can then signal in text."""
    with ExitStack() as stack:
        access = None
        if sockets is not None and has_turn_tools(turn):
            with suppress(OSError):
                access = stack.enter_context(sockets.open(group, tools, tokens))
        yield access


class SocketServer:
    """Serves the tools of one turn over MCP to the clients of a socket."""

    def __init__(self, tools: TurnTools, tokens: tuple[str, ...]) -> None:
        self._tools = tools
        self._is_for_all = not tokens
        self._tokens = tokens  # not used yet
        self._clients = 0

    async def serve(self, listener: socket.socket) -> None:
        async with anyio.create_task_group() as group:
            while True:
                group.start_soon(self._receive, await accept_client(listener))

    async def _receive(self, client: SocketClient) -> None:
        self._clients += 1
        try:
            with client:
                if self._clients <= MAX_CLIENTS:
                    await self._serve_client(client)
        finally:
            self._clients -= 1

    async def _serve_client(self, client: SocketClient) -> None:
        """Answer until the client closes; after END_OF_INPUT, answer the open requests first."""
        slots, sending = anyio.Semaphore(MAX_REQUESTS), anyio.Lock()

        async def answer(line: bytes) -> None:
            try:
                await self._answer(client, sending, line)
            finally:
                slots.release()

        async def finish() -> None:
            for _ in range(MAX_REQUESTS):
                await slots.acquire()
            group.cancel_scope.cancel()

        async with aclosing(_lines(client)) as lines, anyio.create_task_group() as group:
            if self._is_for_all or self._admits(await anext(lines, b"")):
                async for line in lines:
                    if line == END_OF_INPUT.strip():
                        group.start_soon(finish)
                        continue
                    await slots.acquire()
                    group.start_soon(answer, line)
            group.cancel_scope.cancel()

    def _admits(self, token: bytes) -> bool:
        known = [each for each in self._tokens if hmac.compare_digest(token, each.encode())]
        self._tokens = tuple(each for each in self._tokens if each not in known)
        if known:
            self._tools.agent_connected = True
        return bool(known)

    async def _answer(self, client: SocketClient, sending: anyio.Lock, line: bytes) -> None:
        request = _read_request(line)
        answer = await self._tools.answer(request) if isinstance(request, ToolCall) else request
        if answer is not None:
            async with sending:
                await client.send(msgspec.json.encode(answer) + b"\n")


def _read_request(line: bytes) -> Message | ToolCall | None:
    """The tool call to run, the answer to any other request, or None."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return error(None, PARSE, "this is no JSON")
    return respond(SERVER, message)


async def _lines(client: SocketClient) -> AsyncGenerator[bytes, None]:
    lines = LineSplitter(MAX_LINE_BYTES)
    with suppress(LineTooLongError):
        while data := await client.receive():
            for line in lines.feed_strict(data):
                yield line


def _listen(folder: Path) -> socket.socket:
    with ExitStack() as stack:
        listener = stack.enter_context(_socket())
        with _short_path(folder) as path:
            listener.bind(f"{path}/{SOCKET}")
        (folder / SOCKET).chmod(0o666)
        listener.listen()
        listener.settimeout(0)
        stack.pop_all()
        return listener


def _socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)


@contextmanager
def _short_path(folder: Path) -> Iterator[str]:
    """A short path to the folder, because a socket's path is limited to 107 bytes."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        path = f"/proc/self/fd/{handle}"
        yield path if os.path.isdir(path) else str(folder)  # noqa: PTH112
    finally:
        os.close(handle)


@cache
def _program() -> str:
    """A shell script that runs the rest of itself with Python."""
    start = f'exec {shlex.quote(PYTHON)} -I -S "$0" "$@"'
    source = Path(__file__).with_name("box_command.py").read_text(encoding="utf-8")
    return f"#!/bin/sh\n''':'\n{start}\n'''\n{source}"
