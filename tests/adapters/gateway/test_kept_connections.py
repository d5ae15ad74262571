"""G4: the provider's connection is kept for the turn's next call, and only if that is safe."""

import json
from contextlib import asynccontextmanager
from types import SimpleNamespace

import anyio
import pytest

from support.open_gateway import open_gateway

CALL = {"model": "m", "input": "Hello"}
REPLY = json.dumps({"id": "r", "usage": {"input_tokens": 10, "output_tokens": 2}}).encode()
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%b\r\n"


@asynccontextmanager
async def provider(*behaviours):
    """Each connection behaves in turn as the next of these; the last one repeats."""
    made = SimpleNamespace(connections=0, requests=0, closed=0)

    async def serve(stream):
        behave = behaviours[min(made.connections, len(behaviours) - 1)]
        made.connections += 1
        number = 0
        try:
            async with stream:
                while True:
                    got = await stream.receive()
                    while b'"Hello"}' not in got:
                        got += await stream.receive()
                    made.requests += 1
                    number += 1
                    await behave(stream, number)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            made.closed += 1

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, serve)
            made.url = f"http://127.0.0.1:{port}/v1"
            yield made
            group.cancel_scope.cancel()


async def answers(stream, number, more=b"", behind=b""):
    await stream.send(HEAD % (len(REPLY), more) + REPLY + behind)


async def says_close(stream, number):
    await answers(stream, number, more=b"connection: close\r\n")


async def closes_after_it(stream, number):
    await answers(stream, number)
    await stream.aclose()


async def closes_at_the_second(stream, number):
    if number == 1:
        await answers(stream, number)
    else:
        await stream.aclose()


async def says_more(stream, number):
    await answers(stream, number, behind=HEAD % (len(REPLY), b"") + REPLY)


async def never_answers(stream, number):
    await stream.aclose()


async def calls(made, number):
    async with open_gateway(made.url) as there:
        for _ in range(number):
            reply = await there.client.post("/v1/responses", json=CALL)
            assert reply.content == REPLY
        with anyio.fail_after(30):
            while len(there.records) < number:
                await anyio.sleep(0.01)
    with anyio.fail_after(30):
        while made.closed < made.connections:
            await anyio.sleep(0.01)
    return there


@pytest.mark.parametrize(
    ("behaviours", "connections"),
    [
        ([answers], 1),
        ([says_close], 3),
        ([closes_after_it], 3),
        ([closes_at_the_second, answers], 2),
        ([says_more], 3),
    ],
    ids=["kept", "told to close", "closed", "closed at that moment", "more than an answer"],
)
async def test_g4_a_connection_is_kept_while_the_provider_keeps_it(behaviours, connections):
    """G4: all are closed with the turn. Bytes behind an answer are nobody's answer."""
    async with provider(*behaviours) as made:
        there = await calls(made, 3)

    assert made.connections == connections
    assert [record.status for record in there.records] == [200, 200, 200]
    assert there.metering.account.used.tokens == 36


async def test_g5_a_provider_that_answers_nothing_is_asked_once():
    """G5: only a kept connection may have been closed before the request arrived."""
    async with provider(never_answers) as made, open_gateway(made.url) as there:
        reply = await there.client.post("/v1/responses", json=CALL)

    assert (reply.status_code, made.requests) == (502, 1)


async def test_g4_the_connection_of_a_call_that_was_cut_is_not_used_again():
    async def begins(stream, number):
        await stream.send(HEAD % (10**6, b"") + b" " * 1000)
        await stream.receive()

    async with provider(begins, answers) as made, open_gateway(made.url) as there:
        async with there.client.stream("POST", "/v1/responses", json=CALL) as reply:
            await anext(reply.aiter_raw())
        with anyio.fail_after(30):
            while not made.closed:
                await anyio.sleep(0.01)
        again = await there.client.post("/v1/responses", json=CALL)

    assert (again.content, made.connections) == (REPLY, 2)
