"""K16: CPU and first byte of a streamed model call through the gateway.

Beside it: the model called directly, and a pass-through in aiohttp, which reads no usage and has
no budget. The server and the clients run in a process of their own; it sends 600 events for each
reply, one every 3 ms. Prints figures and ratios; asserts nothing.
"""

from __future__ import annotations

import json
import socket
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio

from allstop.adapters.gateway.model_call import Metering
from allstop.adapters.gateway.model_connection import Target, Upstream
from allstop.adapters.gateway.turn_gateway import TurnGateway
from allstop.engine.call_account import account_within
from allstop.metering.wire_formats import Provider
from allstop.ports import BoxSockets
from common import TINY, figure, print_load, sized

STREAMS = 32
EVENTS = sized(600, 20)
PAUSE_S = 0.003
MANY = sized(64, 4)
CUT_S = sized(0.5, 0.1)
PEER = Path(__file__).parent / "gateway_peers" / "pass_through.py"
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
        with suppress(anyio.EndOfStream, anyio.BrokenResourceError):  # the call was cut
            while len(received.partition(b"\r\n\r\n")[2]) < len(BODY):
                received += await stream.receive()
            await stream.send(HEAD)
            for data in (*[DELTA] * EVENTS, END):
                await stream.send(b"data: " + data + b"\n\n")
                await anyio.sleep(PAUSE_S)


async def call(port, firsts, gaps, ends):
    began = time.perf_counter()
    head = (  # a call after the cut is answered, and its connection would stay open
        "POST /v1/responses HTTP/1.1\r\nhost: x\r\nconnection: close\r\n"
        f"content-length: {len(BODY)}\r\n\r\n"
    )
    last = longest = 0.0
    with suppress(OSError, anyio.EndOfStream, anyio.BrokenResourceError):  # it was cut
        async with await anyio.connect_tcp("127.0.0.1", port) as stream:
            await stream.send(head.encode() + BODY)
            seen = b""
            while b"response.completed" not in seen:
                seen = seen[-100:] + await stream.receive()
                if b"data: " in seen:
                    now = time.perf_counter()
                    if not last:
                        firsts.append(now - began)
                    longest, last = max(longest, now - (last or now)), now
    gaps.append(longest)
    ends.append(time.perf_counter())


async def peer():
    """The process with the model server and the clients; reads a port, prints what clients saw."""
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1", backlog=256) as listener,
        anyio.create_task_group() as servers,
    ):
        servers.start_soon(listener.serve, serve_model)
        print(listener.extra(anyio.abc.SocketAttribute.local_port), flush=True)
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            firsts, gaps, ends = [], [], []
            async with anyio.create_task_group() as clients:
                for port in line.split():
                    clients.start_soon(call, int(port), firsts, gaps, ends)
            first = statistics.median(firsts or [0.0])  # all may be cut before
            seen = {"first": first, "gap": max(gaps), "last": max(ends)}
            print(json.dumps(seen), flush=True)
        servers.cancel_scope.cancel()


@asynccontextmanager
async def gateways(upstream, streams):
    """One for each box, as in the product."""
    target = Target(provider=Provider.OPENAI, base_url=f"http://127.0.0.1:{upstream}/v1", key="k")
    model = Upstream(target, ssl.create_default_context())
    async with anyio.create_task_group() as group:
        opened = [await open_gateway(group, target, model) for _ in range(streams)]

        def end():
            for gateway, _ in opened:
                gateway.close()  # or a call that comes later would wait for a next answer

        yield Way([port for _, port in opened], cpu=own_cpu, end=end)
        for gateway, _ in opened:
            gateway.close()


async def open_gateway(group, target, model):
    async def not_held():
        return None

    async def report(record):
        assert record.usage.output == EVENTS or record.is_estimated, record

    opened = TurnGateway(
        Metering(
            target,
            model,
            account_within(10**9),
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
    await group.start(opened.run)
    opened.serve(BoxSockets(calls=calls.detach(), names=names.detach()))
    return opened, port


@asynccontextmanager
async def pass_through(python, upstream, streams):
    """aiohttp's own server and client, in a process of its own."""
    with subprocess.Popen(
        [python, PEER, f"http://127.0.0.1:{upstream}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:

        def cpu():
            print(file=process.stdin, flush=True)
            return float(process.stdout.readline())

        yield Way([int(process.stdout.readline())] * streams, cpu=cpu)
        process.stdin.close()


@asynccontextmanager
async def directly(upstream, streams):
    yield Way([upstream] * streams, cpu=own_cpu)


def own_cpu():
    return time.process_time()


class Way(NamedTuple):
    ports: list[int]  # one for each stream
    cpu: Callable[[], float]
    end: Callable[[], None] = lambda: None  # the turn


class Seen(NamedTuple):
    cpu_ms: float  # for each stream
    first_ms: float
    gap_ms: float  # the longest between two pieces, of any stream


async def measure(opened, process, upstream, streams, *, cut_after_s=None):
    """What the clients of so many streams saw; with `cut_after_s`, ms from the cut to the last end."""
    async with opened(upstream, streams) as way:
        began = way.cpu()
        print(*way.ports, file=process.stdin, flush=True)
        cut_at = 0.0
        if cut_after_s is not None:
            await anyio.sleep(cut_after_s)
            cut_at = time.perf_counter()
            way.end()
        seen = json.loads(await anyio.to_thread.run_sync(process.stdout.readline))
        cpu = (way.cpu() - began) * 1000 / streams
        if cut_after_s is not None:
            return (seen["last"] - cut_at) * 1000
        return Seen(cpu, seen["first"] * 1000, seen["gap"] * 1000)


def install_aiohttp(folder):
    """A Python with aiohttp; None if it can't be installed."""
    python = str(folder / "bin" / "python")
    commands = (
        [sys.executable, "-m", "venv", str(folder)],
        [python, "-m", "pip", "install", "--quiet", "aiohttp"],
    )
    for command in commands:
        if subprocess.run(command, check=False, capture_output=True).returncode != 0:
            print("    aiohttp isn't measured: it can't be installed")
            return None
    return python


async def compare(ways, process, upstream, streams):
    found = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, opened in ways.items():
            found[name].append(await measure(opened, process, upstream, streams))
    middle = {name: Seen(*map(statistics.median, zip(*each, strict=True))) for name, each in found.items()}  # fmt: skip
    for name, seen in middle.items():
        print(f"    {streams} streams, {name}: CPU {seen.cpu_ms:.1f} ms each, first byte "
              f"{seen.first_ms:.1f} ms, longest gap {seen.gap_ms:.0f} ms")  # fmt: skip
    own, direct, peer = middle["gateway"], middle["directly"], middle.get("aiohttp")
    ratio = f"{own.cpu_ms / peer.cpu_ms:.2f} x aiohttp passing on" if peer else ""
    figure(f"CPU of a call of {EVENTS} events, {streams} at once, ms", f"{own.cpu_ms:.1f}", goal="1.5 x" if streams == STREAMS else "", ratio=ratio)  # fmt: skip
    late = own.first_ms - direct.first_ms
    beside = f"aiohttp {peer.first_ms - direct.first_ms:.1f}" if peer else ""
    figure(f"first byte later than directly, {streams} at once, ms", f"{late:.1f}", goal="5", ratio=beside)  # fmt: skip
    figure(f"longest gap in any of {streams} streams, ms", f"{own.gap_ms:.0f}", ratio=f"directly {direct.gap_ms:.0f}")  # fmt: skip


def rss_mb():
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmRSS:")[2].split()[0]) / 1024


async def main(python):
    print_load()
    with subprocess.Popen(
        [sys.executable, __file__, "--peer"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        upstream = int(process.stdout.readline())
        ways = {"directly": directly, "gateway": gateways}
        if python is not None:
            ways["aiohttp"] = partial(pass_through, python)
        for streams in (1, STREAMS):
            await compare(ways, process, upstream, streams)
        before = rss_mb()
        await compare(
            {name: ways[name] for name in ("directly", "gateway")}, process, upstream, MANY
        )
        figure(f"memory for {MANY} streams at once, MB", f"{rss_mb() - before:.1f}")
        cuts = [await measure(gateways, process, upstream, STREAMS, cut_after_s=CUT_S) for _ in range(ROUNDS)]  # fmt: skip
        figure(f"{STREAMS} calls cut by an Allstop, the last after ms", f"{statistics.median(cuts):.1f}", goal="50")  # fmt: skip
        process.stdin.close()


def run():
    if "--peer" in sys.argv:
        anyio.run(peer)
        return
    with tempfile.TemporaryDirectory() as folder:
        anyio.run(main, None if TINY else install_aiohttp(Path(folder)))


if __name__ == "__main__":
    run()
