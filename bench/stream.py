"""Q10, Q26: CPU of the control room with many listeners, and its response times.

Q10: a process writes events to the journal at a steady rate, for many listeners and one that reads
nothing. Counts received events and chunks, and the CPU time of the server. A delayed server sends
larger chunks and needs less CPU, so the benchmark runs with priority and reports a late server. The
server is ended while all listen. Q26: scripted agents talk in rooms of the server while a client
requests every route in turn. Prints figures;
asserts nothing.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
from anyio.abc import SocketStream

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.core.commands import Say
from allstop.core.events import Commanded, Opened
from allstop.core.ids import RunId
from allstop.ports import Entry
from allstop.server.routes.table import READ_ROUTES
from allstop.server.stream.broadcast import batch_delay_s
from common import figure, print_load, raise_priority, repository, sized

RUN = RunId("room:bench")
STEP_S = 0.02
ROUNDS = sized(3, 1)
PUNCTUAL = 0.6
"""Minimum share of the chunks that an undelayed server sends."""

LINK = re.compile(r"once: http://127\.0\.0\.1:(\d+)/")
AGENT = '[agents.{name}]\ndriver = "scripted"\nscript = "talk.toml"\n'
TALK = 'repeat = true\n[[turn]]\nsteps = [{ sleep = 1.0 }, { say = "Some words, as they are." }]\n'


WORKER = (
    '[agents.worker]\ndriver = "scripted"\nscript = "work.toml"\n'
    '[verification]\ncommands = ["true"]\n'
)
WORK = (
    'repeat = true\n[[turn]]\nsteps = [{ write = "done.txt", text = "done\\n" },'
    ' { signal = "COMPLETE" }]\n'
)


class Server:
    def __init__(self, root: Path, process: subprocess.Popen[str], port: int) -> None:
        self.root = root
        self.port = port
        self._process = process
        self._stat = Path(f"/proc/{process.pid}/stat")
        self._status = Path(f"/proc/{process.pid}/status")
        self.token = (root / ".allstop" / "token").read_text(encoding="ascii").strip()

    def cpu_s(self) -> float:
        fields = self._stat.read_text().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss_mb(self) -> float:
        return int(self._status.read_text().partition("VmRSS:")[2].split()[0]) / 1024

    def end(self) -> float:
        """End it as Ctrl-C does; returns the seconds."""
        began = time.monotonic()
        self._process.terminate()
        self._process.wait(30)
        return time.monotonic() - began

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}


@contextlib.contextmanager
def control_room(folder: Path) -> Iterator[Server]:
    toml = "".join(AGENT.format(name=name) for name in ("one", "two")) + WORKER
    files = {"allstop.toml": toml, "talk.toml": TALK, "work.toml": WORK}
    root = repository(folder / "repository", files)
    environment = {"HOME": str(folder), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    command = [sys.executable, "-m", "allstop", "up", "--port", "0", "--no-open"]
    with subprocess.Popen(
        command, cwd=root, env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        found = None
        while found is None:
            line = process.stdout.readline()
            assert line, "it ended"
            found = LINK.search(line)
        server = Server(root, process, int(found[1]))
        try:
            yield server
        finally:
            server.end()


# --- Q10 ---


@dataclass
class Received:
    events: int = 0
    chunks: int = 0


async def listen(server: Server, received: list[Received], number: int, ready: list[int]) -> None:
    async with await anyio.connect_tcp("127.0.0.1", server.port) as stream:
        await stream.send(asked_for(server))
        await stream.receive()
        ready.append(number)
        await _count(stream, received, number)


async def _count(stream: SocketStream, received: list[Received], number: int) -> None:
    rest = b""
    with contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
        while True:
            data = rest + await stream.receive(1 << 20)
            rest = data[data.rfind(b"\n") + 1 :]
            received[number].events += data.count(b"event: log\n")
            received[number].chunks += 1


@contextlib.contextmanager
def idle_listener(server: Server) -> Iterator[None]:
    """A listener that reads nothing."""
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", server.port))
        connection.sendall(asked_for(server))
        yield


def asked_for(server: Server) -> bytes:
    words = "\r\n".join(f"{name}: {value}" for name, value in server.headers().items())
    request = f"GET /api/v1/stream?kinds=log HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
    return f"{request}{words}\r\n\r\n".encode()


def write(folder: Path, rate: int, seconds: float) -> None:
    """Write events in batches at a steady rate, in another process."""

    async def work() -> None:
        journal = SqliteJournal(folder, SystemClock())
        now = SystemClock().now()
        await journal.append(Entry(RUN, Opened(at=now, kind="room", spec={"thread": "bench"})))
        entry = Entry(RUN, Commanded(at=now, command=Say(text="Some words, as people say them.")))
        began, written = time.monotonic(), 0
        while written < rate * seconds:
            due = int((time.monotonic() - began + STEP_S) * rate) - written
            await journal.append(*[entry] * min(due, int(rate * seconds) - written))
            written += due
            await anyio.sleep(STEP_S)
        journal.close()

    anyio.run(work)


async def keep_idle_listener(server: Server) -> None:
    with idle_listener(server):
        await anyio.sleep_forever()


async def measure_stream(server: Server, listeners: int, rate: int, seconds: float) -> float:
    """The server's share of a core."""
    received, ready = [Received() for _ in range(listeners)], list[int]()
    expected = int(rate * seconds) + 1
    async with anyio.create_task_group() as group:
        group.start_soon(keep_idle_listener, server)
        for number in range(listeners):
            group.start_soon(listen, server, received, number, ready)
        while len(ready) < listeners:
            await anyio.sleep(0.05)
        before, began = server.cpu_s(), time.monotonic()
        command = [sys.executable, __file__, "--write", str(server.root / ".allstop")]
        command += ["--rate", str(rate), "--seconds", str(seconds)]
        await anyio.run_process(command, stdout=None, stderr=None)
        with anyio.move_on_after(20):
            while min(each.events for each in received) < expected:
                await anyio.sleep(0.02)
        took, used, rss_mb = time.monotonic() - began, server.cpu_s() - before, server.rss_mb()
        ended_s = await anyio.to_thread.run_sync(server.end)
        group.cancel_scope.cancel()
    whole = sum(each.events == expected for each in received)
    chunks = statistics.median(each.chunks for each in received)
    late = chunks < PUNCTUAL * seconds / batch_delay_s(listeners)
    print(
        f"{listeners} listeners, {rate:,} events/s for {seconds:g} s: {whole} got all {expected:,}"
        f" in {chunks:.0f} chunks; server CPU {used:.2f} s in {took:.1f} s,"
        f" {used / seconds:.0%} of a core, {rss_mb:.0f} MB; ended in {ended_s:.2f} s"
        + ("; it came too late too often: the machine is too busy for this" if late else "")
    )
    return used / seconds


# --- Q26 ---


class Client:
    def __init__(self, server: Server) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        self._headers = server.headers()
        self.said: dict[str, Any] = {}

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, float]:
        began = time.perf_counter()
        data = None if body is None else json.dumps(body)
        self._connection.request(method, f"/api/v1{path}", data, self._headers)
        answer = self._connection.getresponse()
        text = answer.read()
        took_ms = (time.perf_counter() - began) * 1000
        self.said = json.loads(text)
        return answer.status, took_ms


NAMES = {"run": "room:t0", "task": "T1", "thread": "t0", "sprint": "sprint1"}
WORDS = {"/runs/{run}/at": "?seq=2"}
"""Query strings by route."""

OF_WORK = ("/runs/{run}/diff", "/runs/{run}/remarks")


def asked_in_turn(auto: str) -> list[tuple[str, str, object]]:
    """Every reading route, and one that changes no run. Work without checks has no receipt."""
    found: list[tuple[str, str, object]] = [("POST", "/keys", {})]
    for route in READ_ROUTES:
        if route.path == "/tasks/{task}/receipt":
            continue
        names = NAMES | ({"run": auto} if route.path in OF_WORK else {})
        path = route.path.format(**names) + WORDS.get(route.path, "")
        found.append(("GET", path, None))
    return found


def with_work(client: Client) -> str:
    """Start a task, a sprint and a Full Auto thread, and wait for the diffs of the first and the
    last, and for the task's receipt; returns the thread's run.
    """
    client.ask("POST", "/runs", {"kind": "task", "prompt": "write", "agent": "worker"})
    more = {"command": "add_task", "title": "write more", "agent": "worker"}
    client.ask("POST", "/runs/board/commands", more)
    sprint = {"kind": "sprint", "target": {"type": "count", "value": 1}, "agent": "worker"}
    client.ask("POST", "/runs", sprint)
    order = {"kind": "auto", "goal": "write", "agent": "worker"}
    client.ask("POST", "/runs", order)
    auto = str(client.said["run"])
    until = time.monotonic() + 60
    for path, part in (
        ("/tasks/T1/diff", "files"),
        (f"/runs/{auto}/diff", "files"),
        ("/tasks/T1/receipt", "commit"),
    ):
        while client.ask("GET", path)[0] != 200 or not client.said[part]:
            assert time.monotonic() < until, (path, client.said)
            time.sleep(0.1)
    return auto


def measure_answers(server: Server, agents: int, seconds: float) -> None:
    client = Client(server)
    asked = asked_in_turn(with_work(client))
    for number in range(agents):
        order = {"kind": "room", "goal": "talk", "mode": "autopilot", "thread": f"t{number}",
                 "agents": ["one", "two"]}  # fmt: skip
        status, _ = client.ask("POST", "/runs", order)
        assert status == 200, status
    by_path: dict[str, list[float]] = {f"{method} {path}": [] for method, path, _ in asked}
    until = time.monotonic() + seconds
    before = server.cpu_s()
    while time.monotonic() < until:
        for method, path, body in asked:
            status, took_ms = client.ask(method, path, body)
            assert status == 200, (path, client.said)
            by_path[f"{method} {path}"].append(took_ms)
            time.sleep(0.01)
    print(f"{agents} agents talk; server CPU {(server.cpu_s() - before) / seconds:.0%} of a core")
    everything = sorted(took for times in by_path.values() for took in times)
    slow = everything[int(len(everything) * 0.99)]
    figure(f"Q26 API answers, {agents} rooms, p99", f"{slow:.1f} ms", goal="50 ms")
    for path, times in (*by_path.items(), ("all", everything)):
        high = sorted(times)[int(len(times) * 0.99)]
        print(
            f"{path:36} {len(times):5}  median {statistics.median(times):6.1f} ms"
            f"  p99 {high:6.1f}  max {max(times):6.1f}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", help=argparse.SUPPRESS)
    parser.add_argument("--listeners", type=int, default=sized(200, 2))
    parser.add_argument("--rate", type=int, default=sized(1000, 50))
    parser.add_argument("--agents", type=int, default=sized(64, 1))
    parser.add_argument("--seconds", type=float, default=sized(5.0, 0.3))
    given = parser.parse_args()
    if given.write:
        write(Path(given.write), given.rate, given.seconds)
        return
    print_load()
    raise_priority()
    shares = []
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder, control_room(Path(folder)) as server:
            asked = (server, given.listeners, given.rate, given.seconds)
            shares.append(anyio.run(measure_stream, *asked))
    figure(
        f"Q10 {given.listeners} listeners, {given.rate:,} events/s",
        f"{statistics.median(shares):.0%} of a core",
        goal="50%",
    )
    print(f"median of {ROUNDS}: {statistics.median(shares):.0%} of a core")
    with tempfile.TemporaryDirectory() as folder, control_room(Path(folder)) as server:
        measure_answers(server, given.agents, given.seconds)


if __name__ == "__main__":
    main()
