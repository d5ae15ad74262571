"""A TCP connection that is read only when somebody asks for its bytes.

anyio's own stream reads ahead until it waits for bytes for the first time. A client that always
sends faster than it is read would fill this process's memory.
"""

import errno
import os
import socket

import anyio
from anyio.abc import ByteStream
from anyio.lowlevel import checkpoint, checkpoint_if_cancelled

CHUNK = 64 * 1024


class TcpStream(ByteStream):
    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)  # noqa: FBT003 - the standard library's form
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket = connected

    async def receive(self, max_bytes: int = CHUNK) -> bytes:
        await checkpoint()
        while True:
            try:
                data = self._socket.recv(max_bytes)
            except (BlockingIOError, InterruptedError):
                await anyio.wait_readable(self._socket)
            except OSError as error:
                raise self._broken(error) from error
            else:
                if not data:
                    raise anyio.EndOfStream
                return data

    async def send(self, item: bytes) -> None:
        await checkpoint_if_cancelled()
        rest = memoryview(item)
        while rest:
            try:
                rest = rest[self._socket.send(rest) :]
            except (BlockingIOError, InterruptedError):
                await anyio.wait_writable(self._socket)
            except OSError as error:
                raise self._broken(error) from error

    async def send_eof(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError as error:
            raise self._broken(error) from error

    async def aclose(self) -> None:
        if self._socket.fileno() >= 0:
            anyio.notify_closing(self._socket)
            self._socket.close()
        await checkpoint()

    def _broken(self, error: OSError) -> Exception:
        is_closed = self._socket.fileno() < 0
        return anyio.ClosedResourceError() if is_closed else anyio.BrokenResourceError(str(error))


async def accept(listening: socket.socket) -> TcpStream:
    """Raises OSError if the client is gone, or this process has no free descriptor."""
    while True:
        try:
            return TcpStream(listening.accept()[0])
        except (BlockingIOError, InterruptedError):
            await anyio.wait_readable(listening)


async def connect_address(address: str, port: int) -> TcpStream:
    """Connect to an address, which is no name. Raises OSError."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    connected = socket.socket(family, socket.SOCK_STREAM)
    try:
        failed = await _connect(connected, (address, port))
    except BaseException:
        connected.close()
        raise
    if failed:
        connected.close()
        raise OSError(failed, os.strerror(failed))
    return TcpStream(connected)


async def _connect(end: socket.socket, place: tuple[str, int]) -> int:
    """The number of the error; 0 if it is connected."""
    end.setblocking(False)  # noqa: FBT003 - the standard library's form
    failed = end.connect_ex(place)
    if failed != errno.EINPROGRESS:
        return failed
    await anyio.wait_writable(end)
    return end.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
