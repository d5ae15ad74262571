"""G4, G5: clients and providers that stop in the middle, or read and send nothing any more."""

import json
import socket
from contextlib import asynccontextmanager
from types import SimpleNamespace

import anyio
import pytest

from allstop.adapters.gateway.http_events import CHUNK
from support.open_gateway import open_gateway
from support.sweeps import every

CALL = json.dumps({"model": "m", "stream": True, "input": "Hello"}).encode()
REQUEST = (
    b"POST /v1/responses HTTP/1.1\r\nhost: box\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
    % len(CALL)
    + CALL
)
WORDS = {"type": "response.output_text.delta", "delta": "nine words"}
USAGE = {"input_tokens": 40, "output_tokens": 9}
END = {"type": "response.completed", "response": {"status": "completed", "usage": USAGE}}
EVENTS = b"".join(b"data: %b\n\n" % json.dumps(each).encode() for each in (WORDS, WORDS, END))
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
WHOLE = HEAD + b"%x\r\n%b\r\n0\r\n\r\n" % (len(EVENTS), EVENTS)


@asynccontextmanager
async def provider(behave):
    async def serve(stream):
        try:
            async with stream:
                got = b""
                while b'"Hello"' not in got:
                    got += await stream.receive()
                await behave(stream)
        except (anyio.EndOfStream, anyio.BrokenResourceError):
            pass

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, serve)
            yield f"http://127.0.0.1:{port}/v1"
            group.cancel_scope.cancel()


async def read_all(stream):
    answer = b""
    try:
        with anyio.fail_after(30):
            while True:
                answer += await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError):
        return answer


async def test_g5_a_reply_may_break_at_any_byte():
    """G5: in a head, an event or a chunk: it is charged, by estimate or as reported, and ends."""
    cut = SimpleNamespace(at=0)

    async def break_off(stream):
        await stream.send(WHOLE[: cut.at])

    charged = []
    async with provider(break_off) as url:
        for cut.at in every(7):
            if cut.at >= len(WHOLE):
                break
            async with (
                open_gateway(url, max_tokens=10_000) as there,
                await anyio.connect_tcp(*there.calls) as client,
            ):
                await client.send(REQUEST)
                answer = await read_all(client)
            (record,) = there.metering.records
            charged.append(record.usage.tokens)
            assert record.status == (200 if cut.at >= len(HEAD) else 0)
            assert there.metering.account.used.tokens == record.usage.tokens
            assert not answer.endswith(b"\r\n0\r\n\r\n"), cut.at

    assert {tokens for tokens in charged if tokens < 400} == {0, 49}


async def test_g4_a_client_that_does_not_read_slows_the_provider_down_and_is_cut():
    """G4, K12: nothing piles up here, and the end of the turn doesn't wait for it."""
    sent, is_over = SimpleNamespace(bytes=0), anyio.Event()

    async def flood(stream):
        await stream.send(HEAD)
        piece = b"data: " + b" " * 65_000 + b"\n\n"
        try:
            while True:
                await stream.send(b"%x\r\n%b\r\n" % (len(piece), piece))
                sent.bytes += len(piece)
        finally:
            is_over.set()

    async with provider(flood) as url, open_gateway(url) as there:
        client = socket.create_connection(there.calls)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.sendall(REQUEST)
        with anyio.fail_after(30):
            before = -1
            while before != sent.bytes or not sent.bytes:  # until nothing more passes
                before = sent.bytes
                await anyio.sleep(0.3)
        there.gateway.end()
        with anyio.fail_after(30):
            await is_over.wait()
        client.close()

    assert sent.bytes < 32 * 1024 * 1024
    assert there.gateway.cut == 1


@pytest.mark.parametrize("at", [1, 20, len(REQUEST) - len(CALL), len(REQUEST) - 1])
async def test_g4_a_request_that_began_before_the_end_is_refused_after_it(at):
    """G4: an open connection is no capability that lasts."""
    reached = []

    async def answer(stream):
        reached.append(stream)
        await stream.send(WHOLE)

    async with provider(answer) as url, open_gateway(url) as there:
        async with await anyio.connect_tcp(*there.calls) as client:
            await client.send(REQUEST[:at])
            await anyio.wait_all_tasks_blocked()
            there.gateway.end()
            await client.send(REQUEST[at:])
            with anyio.fail_after(30):
                answered = await client.receive(CHUNK)
        assert there.gateway.late == 1

    assert answered.startswith(b"HTTP/1.1 410 ")
    assert reached == []


async def test_g4_the_loopback_of_a_closed_box_leads_nowhere():
    """G4: an old address is answered by nobody, and never by another box's gateway."""

    async def answer(stream):
        await stream.send(WHOLE)

    async with provider(answer) as url:
        async with open_gateway(url) as old:
            pass
        async with open_gateway(url) as new:
            with pytest.raises(OSError, match="connect"):
                await anyio.connect_tcp(*old.calls)
            assert new.gateway.late == 0
