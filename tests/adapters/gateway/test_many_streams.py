"""G2, K16: many boxes at once, each with a gateway of its own."""

import json
from contextlib import AsyncExitStack, asynccontextmanager

import anyio

from support.open_gateway import open_gateway

BOXES = 64
EVENTS = 20
CALL = {"model": "m", "stream": True, "input": "Hello"}
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
USAGE = {"input_tokens": 40, "output_tokens": EVENTS}
END = {"type": "response.completed", "response": {"status": "completed", "usage": USAGE}}


def event(number):
    delta = {"type": "response.output_text.delta", "delta": f"<{number}>"}
    return b"data: " + json.dumps(delta).encode() + b"\n\n"


class InStep:
    """Sends each next event only when every client has received the last one."""

    def __init__(self):
        self._waiting = 0
        self._all_here = anyio.Event()
        self.sent = [anyio.Event() for _ in range(EVENTS)]
        self._received = [0] * EVENTS

    async def serve(self, stream):
        async with stream:
            while not (await stream.receive()).endswith(b"}"):
                pass
            self._waiting += 1
            if self._waiting == BOXES:
                self._all_here.set()
            await self._all_here.wait()
            await stream.send(HEAD)
            for number in range(EVENTS):
                await stream.send(event(number))
                await self.sent[number].wait()
            await stream.send(b"data: " + json.dumps(END).encode() + b"\n\n")

    def receive(self, number):
        self._received[number] += 1
        if self._received[number] == BOXES:
            self.sent[number].set()


@asynccontextmanager
async def provider(step):
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", backlog=256) as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, step.serve)
            yield f"http://127.0.0.1:{port}/v1"
            group.cancel_scope.cancel()


async def read(there, step):
    """Read the stream, and tell of each event at once."""
    async with there.client.stream("POST", "/v1/responses", json=CALL) as reply:
        got, told = b"", 0
        async for chunk in reply.aiter_raw():
            got += chunk
            while told < EVENTS and f"<{told}>".encode() in got:
                step.receive(told)
                told += 1


async def test_k16_no_stream_of_64_boxes_waits_for_another():
    """K16: each event reaches all clients before the next one is sent to any."""
    step = InStep()
    async with provider(step) as url, AsyncExitStack() as stack:
        boxes = [await stack.enter_async_context(open_gateway(url)) for _ in range(BOXES)]
        with anyio.fail_after(120):
            async with anyio.create_task_group() as group:
                for there in boxes:
                    group.start_soon(read, there, step)
        with anyio.fail_after(30):
            while not all(there.records for there in boxes):
                await anyio.sleep(0.01)

    used = {(there.records[0].usage.input, there.records[0].usage.output) for there in boxes}
    assert used == {(40, EVENTS)}
