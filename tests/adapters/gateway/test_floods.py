"""G4: one box can't fill the memory of the process that serves it, nor keep it from others."""

import json
import socket
from contextlib import suppress

import anyio
import pytest

from allstop.adapters.gateway import box_server
from allstop.adapters.gateway.socket_stream import TcpStream, accept, connect_address
from support.open_gateway import loopback, open_gateway

CALL = json.dumps({"model": "m", "input": "Hello"}).encode()
NOWHERE = "http://127.0.0.1:9/v1"


def head(size):
    return b"POST /v1/files HTTP/1.1\r\nHost: box\r\nContent-Length: %d\r\n\r\n" % size


async def status_of(stream):
    answer = b""
    with anyio.fail_after(30):
        while b"\r\n\r\n" not in answer:
            answer += await stream.receive()
    return int(answer.split()[1])


async def pair():
    listening = loopback(socket.SOCK_STREAM)
    listening.setblocking(False)
    with listening:
        there = await connect_address(*listening.getsockname())
        return there, await accept(listening)


async def test_g4_what_nobody_reads_stays_with_its_sender():
    """G4: a client that always sends faster than it is read doesn't fill our memory."""
    there, here = await pair()
    size, sent = 64 * 1024 * 1024, 0

    async def send():
        nonlocal sent
        while sent < size:
            await there.send(b"x" * 65_536)
            sent += 65_536
        await there.send_eof()

    async with there, here, anyio.create_task_group() as group:
        group.start_soon(send)
        await anyio.wait_all_tasks_blocked()
        assert sent < size
        got = sum([len(data) async for data in here])
    assert got == size


async def test_g4_a_connection_that_breaks_or_is_closed_is_told():
    there, here = await pair()
    async with anyio.create_task_group() as group:

        async def receive():
            with pytest.raises(anyio.ClosedResourceError):
                await here.receive()

        group.start_soon(receive)
        await anyio.wait_all_tasks_blocked()
        await here.aclose()

    async def send_always():
        while True:
            await there.send(b"x" * 65_536)

    with pytest.raises(anyio.BrokenResourceError):
        await send_always()
    await there.aclose()
    with pytest.raises(anyio.ClosedResourceError):
        await there.send(b"x")


async def test_g10_an_address_where_nobody_listens_is_an_error():
    with loopback(socket.SOCK_STREAM) as listening:
        place = listening.getsockname()
    with pytest.raises(ConnectionRefusedError):
        await connect_address(*place)


async def test_g4_bytes_are_not_lost_when_a_wait_for_them_is_cancelled():
    there, here = await pair()
    assert isinstance(here, TcpStream)
    async with there, here:
        for number in range(100):
            with anyio.move_on_after(0):
                await here.receive(1)
            await there.send(b"%02d" % number)
        got = b""
        while len(got) < 200:
            got += await here.receive()

    assert got == b"".join(b"%02d" % number for number in range(100))


async def test_g4_many_large_requests_at_once_hold_little_memory(monkeypatch):
    monkeypatch.setattr(box_server, "MAX_HELD_BYTES", 1_000_000)
    async with open_gateway(NOWHERE) as gateway:
        streams = [await anyio.connect_tcp(*gateway.calls) for _ in range(4)]
        for stream in streams:
            await stream.send(head(300_000) + b" " * 299_999)
        statuses = []

        async def ask(stream):
            statuses.append(await status_of(stream))

        async with anyio.create_task_group() as group:
            for stream in streams:
                group.start_soon(ask, stream)
            with anyio.fail_after(30):
                while not statuses:
                    await anyio.sleep(0.01)
            for stream in streams:
                with suppress(anyio.BrokenResourceError):  # of the one that was refused
                    await stream.send(b" ")
        assert sorted(statuses) == [404, 404, 404, 413]
        for stream in streams:
            await stream.aclose()
        async with await anyio.connect_tcp(*gateway.calls) as stream:  # all of it is free again
            await stream.send(head(900_000) + b" " * 900_000)
            assert await status_of(stream) == 404


async def test_g4_a_body_of_many_small_values_needs_room_for_them(monkeypatch):
    monkeypatch.setattr(box_server, "MAX_HELD_BYTES", 1_000_000)
    async with open_gateway(NOWHERE) as gateway:
        answer = await gateway.client.post(
            "/v1/responses", json={"model": "m", "input": [{}] * 10_000}
        )

    assert answer.status_code == 413
    assert "at the same time" in answer.text


async def test_g4_a_box_that_asks_without_a_pause_is_slowed_down_and_no_other(monkeypatch):
    async with open_gateway(NOWHERE) as calm, open_gateway(NOWHERE) as hasty:
        monkeypatch.setattr(box_server, "REQUESTS_PER_S", 1e-6)
        async with await anyio.connect_tcp(*hasty.calls) as stream:
            await stream.send(head(2) + b"{}" + head(2) + b"{}")
            first = await status_of(stream)
            await anyio.wait_all_tasks_blocked()
            with anyio.move_on_after(0):
                assert b"HTTP/1.1" not in await stream.receive()
            other = await calm.client.post("/v1/files", content=CALL)

    assert (first, other.status_code) == (404, 404)
