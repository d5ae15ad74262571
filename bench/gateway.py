"""K16: CPU and first byte of a streamed model call through the gateway.

The floor is a proxy that copies bytes: it reads no HTTP, no usage, and has no budget. The server
and the clients run in a process of their own; it sends 600 events for each reply, one every 3 ms.
Prints figures and ratios; asserts nothing.
"""

from __future__ import annotations

import json
import socket
import ssl
import statistics
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from functools import partial

import anyio

from allstop.adapters.gateway.model_call import Metering
from allstop.adapters.gateway.model_connection import Target, Upstream
from allstop.adapters.gateway.turn_gateway import TurnGateway
from allstop.metering.turn_budget import TurnBudget
from allstop.metering.wire_formats import Provider
from allstop.ports import BoxSockets
from common import figure, print_load, sized

STREAMS = 32
EVENTS = sized(600, 20)
PAUSE_S = 0.003
ROUNDS = sized(3, 1)
BODY = json.dumps({"model": "m", "stream": True, "input": "word " * 9_000}).encode()  # 45 KB
DELTA = json.dumps({"type": "response.output_text.delta", "delta": "word "}).encode()
USAGE = {"input_tokens": 11_000, "output_tokens": EVENTS}
END = json.dumps(
    {"type": "response.completed", "response": {"status": "completed", "usage": USAGE}}
).encode()
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


async def serve_model(stream):
    async with stream:
        received = b""
        while b"\r\n\r\n" not in received or len(received.partition(b"\r\n\r\n")[2]) < len(BODY):
            received += await stream.receive()
        await stream.send(HEAD)
        for data in (*[DELTA] * EVENTS, END):
            await stream.send(b"data: " + data + b"\n\n")
            await anyio.sleep(PAUSE_S)


async def call(port, firsts):
    began = time.perf_counter()
    head = f"POST /v1/responses HTTP/1.1\r\nhost: x\r\ncontent-length: {len(BODY)}\r\n\r\n"
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        await stream.send(head.encode() + BODY)
        received = b""
        while b"response.completed" not in received[-4096:]:
            received += await stream.receive()
            if DELTA in received[:4096] and len(firsts) < STREAMS:
                firsts.setdefault(id(stream), time.perf_counter() - began)


async def peer():
    """The process with the model server and the clients; reads a port, prints a first byte."""
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as servers,
    ):
        servers.start_soon(listener.serve, serve_model)
        print(listener.extra(anyio.abc.SocketAttribute.local_port), flush=True)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            port, streams = map(int, line.split())
            firsts = {}
            async with anyio.create_task_group() as clients:
                for _ in range(streams):
                    clients.start_soon(call, port, firsts)
            print(statistics.median(firsts.values()) * 1000, flush=True)
        servers.cancel_scope.cancel()


@asynccontextmanager
async def gateway(upstream):
    target = Target(provider=Provider.OPENAI, base_url=f"http://127.0.0.1:{upstream}/v1", key="k")

    async def not_held():
        return None

    async def report(record):
        assert record.usage.output == EVENTS, record

    opened = TurnGateway(
        Metering(
            target,
            Upstream(target, ssl.create_default_context()),
            TurnBudget(10**9),
            judge=lambda *_: None,
            held=not_held,
            seen=lambda headers: None,
            report=report,
        )
    )
    calls = socket.create_server(("127.0.0.1", 0), backlog=64)
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    names.bind(("127.0.0.1", 0))
    port = calls.getsockname()[1]
    async with anyio.create_task_group() as group:
        await group.start(opened.run)
        opened.serve(BoxSockets(calls=calls.detach(), names=names.detach()))
        yield port
        opened.close()


@asynccontextmanager
async def copying_proxy(upstream):
    async def copy(source, sink):
        try:
            while True:
                await sink.send(await source.receive())
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            await sink.aclose()

    async def serve(stream):
        async with (
            stream,
            await anyio.connect_tcp("127.0.0.1", upstream) as there,
            anyio.create_task_group() as group,
        ):
            group.start_soon(copy, stream, there)
            await copy(there, stream)
            group.cancel_scope.cancel()

    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as group,
    ):
        group.start_soon(listener.serve, serve)
        yield listener.extra(anyio.abc.SocketAttribute.local_port)
        group.cancel_scope.cancel()


@asynccontextmanager
async def directly(upstream):
    yield upstream


async def measure(opened, process, upstream, streams):
    """CPU of this process for each stream in ms, and the first byte in ms."""
    async with opened(upstream) as port:
        began = time.process_time()
        process.stdin.write(f"{port} {streams}\n")
        process.stdin.flush()
        first = float(await anyio.to_thread.run_sync(process.stdout.readline))
        return (time.process_time() - began) * 1000 / streams, first


async def main():
    print_load()
    with subprocess.Popen(
        [sys.executable, __file__, "--peer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        upstream = int(process.stdout.readline())
        ways = {"direct": directly, "copying proxy": copying_proxy, "gateway": gateway}
        for streams in (1, STREAMS):
            found = {name: [] for name in ways}
            for _ in range(ROUNDS):
                for name, opened in ways.items():
                    found[name].append(await measure(opened, process, upstream, streams))
            middle = {
                name: tuple(map(statistics.median, zip(*each, strict=True)))
                for name, each in found.items()
            }
            for name, (cpu, first) in middle.items():
                print(
                    f"{streams} streams, {name}: CPU {cpu:.1f} ms each, first byte {first:.1f} ms"
                )
            (own_cpu, own_first), (floor_cpu, _) = middle["gateway"], middle["copying proxy"]
            more = own_first - middle["direct"][1]
            figure(
                f"CPU of a call of {EVENTS} events, {streams} at once, ms",
                f"{own_cpu:.1f}",
                ratio=f"{own_cpu / floor_cpu:.1f} times a proxy that copies bytes",
            )
            figure(
                f"first byte later than directly, {streams} at once, ms", f"{more:.1f}", goal="5"
            )
        process.stdin.close()


if __name__ == "__main__":
    anyio.run(partial(peer) if "--peer" in sys.argv else main)
