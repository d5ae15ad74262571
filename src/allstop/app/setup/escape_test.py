"""Tries to get out of boxes that have only a gateway: `allstop gateway test`."""

from __future__ import annotations

import json
import secrets
import select
import socket
import ssl
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from ipaddress import IPv4Address
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import msgspec
from anyio.abc import ByteStream, SocketListener, SocketStream
from msgspec import Struct
from msgspec.structs import replace

from allstop.adapters.gateway import escape_program
from allstop.adapters.gateway.box_server import BoxServer
from allstop.adapters.gateway.hosts_gateway import HostsGateway
from allstop.adapters.gateway.model_call import Limit, Metering
from allstop.adapters.gateway.model_connection import Target, Upstream
from allstop.adapters.gateway.tunnels import Tunnels, connect_checked
from allstop.adapters.gateway.turn_gateway import TurnGateway
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.app.agents.box import own_box
from allstop.app.agents.keys import key_name
from allstop.core.errors import AllstopError
from allstop.engine.call_account import account_within
from allstop.metering.wire_formats import Provider
from allstop.policy.allowed_hosts import Place
from allstop.ports import Launch, Launcher, Network, Stream
from allstop.testing.model_server import Say, model_server

if TYPE_CHECKING:
    from allstop.adapters.gateway.model_call import CallRecord
    from allstop.app.project import Project

TIMEOUT_S = 120.0
NOT_ALLOWED, NOT_FETCHED = 404, 400

ALLOWED = "allowed.example"
INWARD = "inward.example"
"""An allowed name that leads to this machine."""

WITH_HOSTS = "with allowed hosts: "
"""Begins the names of attempts in the second box."""

LOOPBACK = IPv4Address("127.0.0.1")
GREETING = "hello from outside"


class Attempt(Struct, frozen=True, kw_only=True):
    """One attempt from inside the box."""

    name: str
    ok: bool  # it failed, as it should; for a call to the model: it was answered
    found: str


class _Said(Struct, frozen=True, kw_only=True):
    tried: dict[str, str]
    call: int
    other_path: int
    fetch: int
    allowed: str
    readable: str


async def try_escapes(project: Project) -> list[Attempt]:
    """Run a program in two boxes with a gateway, which tries every other way out.

    Raises AllstopError if there is no sandbox, or the program didn't end.
    """
    project.make_folder()
    launcher = await make_launcher(project.settings.sandbox.mode.value, project.live)
    if not launcher.isolation.boxed:
        raise AllstopError(
            "the gateway needs a sandbox",
            launcher.isolation.hint or 'set [sandbox] mode = "on"',
            code="gateway_needs_sandbox",
        )
    return [
        *await _try_model_only(project, launcher),
        *await _try_allowed_hosts(project, launcher),
    ]


async def _try_model_only(project: Project, launcher: Launcher) -> list[Attempt]:
    key = f"sk-{secrets.token_hex(24)}"
    with HostSockets() as listeners:
        async with model_server([Say(text="ok")]) as server:
            gateway = _gateway(server.openai_url, key)
            said = await _run(project, launcher, gateway, listeners, {})
        sent = [asked.headers.get("authorization") for asked in server.requests]
        arrived = listeners.arrived()
    keys = {key, *_keys(project)}
    return [
        *(_attempt(name, why) for name, why in said.tried.items()),
        _arrived(arrived),
        Attempt(
            name="a key in the box",
            ok=not any(each in said.readable for each in keys),
            found="not in variables, /proc, commands or files",
        ),
        Attempt(
            name="another path of the provider",
            ok=said.other_path == NOT_ALLOWED,
            found=f"HTTP {said.other_path}; remembered: {', '.join(gateway.paths)}",
        ),
        Attempt(
            name="a picture that the provider would fetch",
            ok=said.fetch == NOT_FETCHED,
            found=f"HTTP {said.fetch}",
        ),
        Attempt(
            name="names that were looked up", ok=True, found=", ".join(gateway.names) or "none"
        ),
        Attempt(
            name="a call to the model",
            ok=said.call == 200 and sent == [f"Bearer {key}"],
            found="passed on with the real key" if said.call == 200 else f"HTTP {said.call}",
        ),
    ]


async def _try_allowed_hosts(project: Project, launcher: Launcher) -> list[Attempt]:
    """In a box that may reach one host: a server of this test, whatever its name leads to."""
    told: list[str] = []
    with HostSockets() as listeners, socket.socket() as far:
        far.bind(("127.0.0.1", 0))
        far.listen(8)

        async def connect(place: Place) -> ByteStream:
            if place.host == INWARD:
                return await connect_checked(place, lambda host: [LOOPBACK])
            return await anyio.connect_tcp("127.0.0.1", far.getsockname()[1])

        gateway = HostsGateway(Tunnels((ALLOWED, INWARD), "sandbox", told.append, connect))
        tunnels = (
            *(
                f"{host}:443"
                for host in (f"sub.{ALLOWED}", "other.example", INWARD, "169.254.169.254")
            ),
            *(f"{ALLOWED}:{port}" for port in (22, 80, listeners.port)),
            *(
                f"{host}:{listeners.port}"
                for host in ("127.0.0.1", "[::1]", "localhost", "2130706433")
            ),
        )
        async with anyio.create_task_group() as group:
            group.start_soon(_greet, far)
            said = await _run(
                project,
                launcher,
                gateway,
                listeners,
                {"tunnels": tunnels, "allowed": ALLOWED, "beside": f"{ALLOWED}:443"},
            )
            group.cancel_scope.cancel()
        arrived = listeners.arrived()
    tried = [
        *(_attempt(name, why) for name, why in said.tried.items()),
        _arrived(arrived),
        Attempt(
            name="hosts that were refused",
            ok=any("other.example" in each for each in told),
            found=f"{len(told)} told, each with what to add",
        ),
        Attempt(
            name="an allowed host",
            ok=said.allowed == GREETING,
            found="reached" if said.allowed == GREETING else "not reached",
        ),
    ]
    return [replace(each, name=WITH_HOSTS + each.name) for each in tried]


async def _greet(far: socket.socket) -> None:
    async with await SocketListener.from_socket(far) as listener:

        async def greet(stream: SocketStream) -> None:
            async with stream:
                await stream.send(GREETING.encode())
                with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                    if await stream.receive():
                        await stream.send(escape_program.ARRIVED)

        await listener.serve(greet)


def _arrived(arrived: Sequence[str]) -> Attempt:
    return Attempt(
        name="sockets of the host",
        ok=not arrived,
        found=f"reached: {', '.join(arrived)}" if arrived else "nothing arrived",
    )


def _attempt(name: str, why: str) -> Attempt:
    return Attempt(name=name, ok=bool(why), found=why or "it got out: please report this")


def _keys(project: Project) -> Iterator[str]:
    variables = project.environment.variables
    for agent in project.settings.agents.values():
        if len(value := variables.get(key_name(agent), "")) > 8:
            yield value


async def _run(
    project: Project,
    launcher: Launcher,
    gateway: BoxServer,
    listeners: HostSockets,
    more: Mapping[str, object],
) -> _Said:
    at = {
        **listeners.places,
        "gateway": gateway.port,
        "control_room": project.settings.server.port or 7373,
        "addresses": _own_addresses(),
        **more,
    }
    with tempfile.TemporaryDirectory(prefix="allstop-try-") as folder:
        box = own_box(project, Path(folder) / "home")
        launch = Launch(
            argv=(sys.executable, "-I", "-S", "-c", _program(), json.dumps(at)),
            box=replace(box, network=Network.NONE, gateway=gateway),
            label="gateway-test",
        )
        async with anyio.create_task_group() as group:
            await group.start(gateway.run)
            try:
                said = await _output(launcher, launch)
            finally:
                gateway.close()
    return said


def _program() -> str:
    return Path(escape_program.__file__).read_text(encoding="utf-8")


async def _output(launcher: Launcher, launch: Launch) -> _Said:
    said = {Stream.OUT: b"", Stream.ERR: b""}
    with anyio.move_on_after(TIMEOUT_S):
        async with launcher.launch(launch) as child:
            while chunk := await child.receive():
                said[chunk.stream] += chunk.data
    try:
        return msgspec.json.decode(said[Stream.OUT], type=_Said)
    except msgspec.DecodeError as error:
        why = said[Stream.ERR].decode(errors="replace").strip() or "it did not end"
        raise AllstopError(
            f"the test program failed in the box: {why.splitlines()[-1]}",
            "`allstop doctor` tells whether the sandbox works",
            code="gateway_test_failed",
        ) from error


def _gateway(url: str, key: str) -> TurnGateway:
    async def report(record: CallRecord) -> None:
        pass

    async def not_held() -> Limit | None:
        return None

    target = Target(provider=Provider.OPENAI, base_url=url, key=key)
    return TurnGateway(
        Metering(
            target,
            Upstream(target, ssl.create_default_context()),
            account_within(None),
            judge=lambda status, headers, body: None,
            held=not_held,
            seen=lambda headers: None,
            report=report,
        )
    )


def _own_addresses() -> list[str]:
    """This machine's address in the network; nothing is sent to find it."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        try:
            end.connect(("192.0.2.1", 9))
        except OSError:
            return []
        return [end.getsockname()[0]]


class HostSockets:
    """Sockets of the host that nothing from the box may reach."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._sockets: dict[str, socket.socket] = {}
        self.places: Mapping[str, object] = {}
        self.port = 0

    def __enter__(self) -> HostSockets:
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="allstop-try-"))
        file, abstract = f"{folder}/socket", f"allstop-{secrets.token_hex(8)}"
        tcp = self._listen("TCP", socket.AF_INET, ("127.0.0.1", 0))
        self.port = tcp.getsockname()[1]
        self._listen("an abstract socket", socket.AF_UNIX, "\0" + abstract)
        self._listen("a socket file", socket.AF_UNIX, file)
        udp = self._stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        self._sockets["UDP"] = udp
        self.places = {
            "port": self.port,
            "datagrams": udp.getsockname()[1],
            "abstract": abstract,
            "socket_file": file,
        }
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def arrived(self) -> list[str]:
        """The sockets at which a connection or a datagram waits."""
        ready, _, _ = select.select(list(self._sockets.values()), [], [], 0)
        return [name for name, end in self._sockets.items() if end in ready]

    def _listen(self, name: str, family: int, address: object) -> socket.socket:
        end = self._stack.enter_context(socket.socket(family, socket.SOCK_STREAM))
        end.bind(address)  # type: ignore[arg-type]
        end.listen(8)
        self._sockets[name] = end
        return end
