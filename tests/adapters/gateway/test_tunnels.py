"""G10: tunnels to other hosts, by name; everything else is refused with what to add."""

import socket
from contextlib import asynccontextmanager, suppress
from ipaddress import ip_address
from types import SimpleNamespace

import anyio
import pytest

from allstop.adapters.gateway import tunnels as tunnels_module
from allstop.adapters.gateway.box_server import MAX_CONNECTIONS
from allstop.adapters.gateway.hosts_gateway import HostsGateway
from allstop.adapters.gateway.tunnels import Tunnels, UnreachableError, connect_checked
from allstop.policy.allowed_hosts import Place
from allstop.ports import HOSTS_PORT, BoxSockets
from support.cases import for_each
from support.open_gateway import lookup, loopback
from support.tls_hello import hello_for

RULES = ("files.example", "*.cdn.example", "git.example:8443")


@asynccontextmanager
async def opened(connect=None, rules=RULES):
    """A gateway on this machine's loopback; without `connect` every connection fails the test."""
    told, connected = [], []

    async def never(place):
        connected.append(place)
        raise UnreachableError("nobody is there")

    gateway = HostsGateway(Tunnels(rules, "verification", told.append, connect or never))
    calls, names = loopback(socket.SOCK_STREAM), loopback(socket.SOCK_DGRAM)
    place, names_at = calls.getsockname(), names.getsockname()
    async with anyio.create_task_group() as group:
        await group.start(gateway.run)
        gateway.serve(BoxSockets(calls=calls.detach(), names=names.detach()))
        try:
            yield SimpleNamespace(
                gateway=gateway, place=place, names=names_at, told=told, connected=connected
            )
        finally:
            gateway.close()


@asynccontextmanager
async def far_server(serve):
    """A server on the loopback, and a `connect` that leads every name to it."""
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, serve)

            async def connect(place):
                return await anyio.connect_tcp("127.0.0.1", port)

            yield connect
            group.cancel_scope.cancel()


async def echo_after_end(stream):
    """Answers once the client has closed its side: both directions must close apart."""
    async with stream:
        got = b"".join([data async for data in stream])
        await stream.send(got[::-1])


async def head_of(stream):
    head = b""
    while b"\r\n\r\n" not in head:
        head += await stream.receive(1)
    return head


async def exchange(place, request):
    """All that a connection answers to one request, until it is closed."""
    async with await anyio.connect_tcp(*place) as stream:
        await stream.send(request)
        answer = b""
        with anyio.fail_after(30):
            try:
                async for data in stream:
                    answer += data
            except anyio.BrokenResourceError:
                pass
        return answer


def connect_to(authority, more=b""):
    return f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n".encode() + more + b"\r\n"


async def test_g10_an_allowed_host_gets_every_byte_and_answers():
    """G10: also what was sent ahead of the answer, and after one side was closed."""
    sent = bytes(range(256)) * 4096
    async with (
        far_server(echo_after_end) as connect,
        opened(connect) as there,
        await anyio.connect_tcp(*there.place) as stream,
    ):
        await stream.send(connect_to("files.example:443") + sent[:1000])
        assert (await head_of(stream)).startswith(b"HTTP/1.1 200 ")
        await stream.send(sent[1000:])
        await stream.send_eof()
        got = b"".join([data async for data in stream])

    assert got == sent[::-1]
    assert there.told == []


@for_each(
    "authority",
    ["other.example:443", "files.example:22", "files.example:80", "cdn.example:443",
     "127.0.0.1:443", "[::1]:443", "localhost:443", "169.254.169.254:443", "2130706433:443",
     "files.example", "a@files.example:443", "files.example:443@evil.example:443"],
)  # fmt: skip
def test_g10_any_other_place_is_refused_and_never_connected(authority):
    async def refused():
        async with opened() as there:
            return await exchange(there.place, connect_to(authority)), there

    answer, there = anyio.run(refused)
    assert answer.split(b"\r\n")[0].split()[1] in (b"403", b"400") or answer == b""
    assert there.connected == []


async def test_g10_a_refusal_is_told_once_with_what_to_add():
    async with opened() as there:
        answers = [await exchange(there.place, connect_to("other.example:443")) for _ in range(3)]

    (sentence,) = there.told
    assert 'add "other.example" to hosts in [verification]' in sentence
    assert all(sentence.encode() in answer for answer in answers)


async def test_g10_refusals_are_bounded():
    async with opened() as there:
        for number in range(tunnels_module.MAX_REFUSED + 5):
            await exchange(there.place, connect_to(f"h{number}.example:443"))

    assert len(there.told) == tunnels_module.MAX_REFUSED


async def test_g10_plain_http_is_refused_with_a_sentence():
    request = b"GET http://files.example/x HTTP/1.1\r\nHost: files.example\r\n\r\n"
    async with opened() as there:
        answer = await exchange(there.place, request)

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert there.told == ["files.example could not be reached by plain HTTP: use https"]
    assert there.connected == []


@for_each(
    "address",
    ["127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "100.100.100.200", "::1", "fe80::1",
     "fd00:ec2::254", "::ffff:127.0.0.1", "64:ff9b::a00:1", "0.0.0.0", "224.0.0.1"],
)  # fmt: skip
def test_g10_an_allowed_name_that_leads_to_a_network_of_this_machine_is_refused(address):
    """G10: also if it is only one of several addresses."""
    dialled = []

    async def dial(host, port):
        dialled.append(host)
        raise OSError

    async def connect():
        await connect_checked(
            Place("files.example", 443),
            lambda host: [ip_address("93.184.215.14"), ip_address(address)],
            dial,
        )

    with pytest.raises(UnreachableError, match="nothing is sent to"):
        anyio.run(connect)
    assert dialled == []


async def test_g10_the_connection_goes_to_the_address_that_was_checked():
    """G10: a name that changes its address meanwhile is not asked again."""
    asked, dialled = [], []

    def resolve(host):
        asked.append(host)
        return [ip_address("93.184.215.14" if len(asked) == 1 else "127.0.0.1")]

    async def dial(host, port):
        dialled.append((host, port))
        raise OSError(111, "refused")

    with pytest.raises(UnreachableError):
        await connect_checked(Place("files.example", 443), resolve, dial)
    assert (asked, dialled) == (["files.example"], [("93.184.215.14", 443)])


async def test_g10_each_checked_address_is_tried_in_turn():
    dialled = []

    async def dial(host, port):
        dialled.append(host)
        if len(dialled) == 1:
            raise OSError
        return "connected"

    found = await connect_checked(
        Place("files.example", 443),
        lambda host: [ip_address("2606:4700::1111"), ip_address("93.184.215.14")],
        dial,
    )
    assert (found, dialled) == ("connected", ["2606:4700::1111", "93.184.215.14"])


async def test_g10_an_allowed_host_that_is_away_is_told():
    async with opened() as there:
        answer = await exchange(there.place, connect_to("a.cdn.example:443"))

    assert answer.startswith(b"HTTP/1.1 502 ")
    assert there.told == ["a.cdn.example could not be reached: nobody is there"]
    assert there.connected == [Place("a.cdn.example", 443)]


async def test_g10_the_end_cuts_tunnels_and_later_ones_get_410():
    received = anyio.Event()

    async def wait(stream):
        async with stream:
            await stream.receive()
            received.set()
            await anyio.sleep_forever()

    async with far_server(wait) as connect, opened(connect) as there:
        async with await anyio.connect_tcp(*there.place) as stream:
            await stream.send(connect_to("files.example:443") + b"hello")
            await head_of(stream)
            await received.wait()
            there.gateway.end()
            with (
                anyio.fail_after(30),
                pytest.raises((anyio.EndOfStream, anyio.BrokenResourceError)),
            ):
                await stream.receive()
        late = await exchange(there.place, connect_to("files.example:443"))

    assert late.startswith(b"HTTP/1.1 410 ")


async def test_g10_a_tunnel_in_which_nothing_passes_is_closed(monkeypatch):
    monkeypatch.setattr(tunnels_module, "IDLE_S", 0.05)

    async def silent(stream):
        async with stream:
            await anyio.sleep_forever()

    async with far_server(silent) as connect, opened(connect) as there:
        answer = await exchange(there.place, connect_to("files.example:443"))

    assert answer.startswith(b"HTTP/1.1 200 ")


async def test_g2_a_box_that_opens_many_connections_uses_few_of_ours():
    """G2: those without a request wait; one that closes makes room for the next."""
    async with opened() as there, anyio.create_task_group() as group:
        idle = [await anyio.connect_tcp(*there.place) for _ in range(MAX_CONNECTIONS)]
        answered = anyio.Event()

        async def one_more():
            await exchange(there.place, connect_to("other.example:443"))
            answered.set()

        group.start_soon(one_more)
        for stream in idle[1:]:  # all are accepted: each gets an answer to half a request later
            await stream.send(b"CONNECT ")
        await anyio.wait_all_tasks_blocked()
        was_answered = answered.is_set()
        await idle[0].aclose()
        with anyio.fail_after(30):
            await answered.wait()
        for stream in idle[1:]:
            await anyio.aclose_forcefully(stream)

    assert not was_answered


@for_each(
    "request_bytes",
    [
        connect_to("other.example:443", b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n")
        + b"0\r\n\r\n",
        connect_to("other.example:443", b"Host: files.example\r\n"),
        b"CONNECT files.example:443 evil HTTP/1.1\r\nHost: files.example\r\n\r\n",
        b"CONNECT files.example:443\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x05\x01\x00\x05\x01\x00\x03\x0dfiles.example\x01\xbb",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc",
        b"GET / HTTP/1.1\r\nHost: files.example\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
        b"GET ftp://files.example/ HTTP/1.1\r\nHost: files.example\r\n\r\n",
        b"POST /v1/responses HTTP/1.1\r\nHost: files.example\r\nContent-Length: 2\r\n\r\n{}",
    ],
)
def test_g10_what_is_no_proper_request_reaches_nobody(request_bytes):
    async def sent():
        async with opened() as there:
            await exchange(there.place, request_bytes)
            return there.connected

    assert anyio.run(sent) == []


async def test_g10_a_tunnel_carries_one_place_only():
    """G10: a second CONNECT inside a tunnel goes to the first host, as bytes."""
    got = []

    async def keep(stream):
        async with stream:
            got.extend([data async for data in stream])

    inner = connect_to("evil.example:443")
    async with (
        far_server(keep) as connect,
        opened(connect) as there,
        await anyio.connect_tcp(*there.place) as stream,
    ):
        await stream.send(connect_to("files.example:443"))
        await head_of(stream)
        await stream.send(inner)
        await stream.send_eof()
        [data async for data in stream]

    assert b"".join(got) == inner
    assert there.told == []


async def test_g10_a_neighbour_at_the_same_address_is_not_reached():
    """G10: its server would choose by the name in the first bytes, which a program may forge."""
    got = []

    async def keep(stream):
        async with stream:
            got.extend([data async for data in stream])

    async with (
        far_server(keep) as connect,
        opened(connect) as there,
        await anyio.connect_tcp(*there.place) as stream,
    ):
        await stream.send(connect_to("files.example:443") + hello_for("evil.example"))
        await head_of(stream)
        with anyio.fail_after(30), suppress(anyio.BrokenResourceError):
            [data async for data in stream]

    assert got == []
    assert there.told == [
        "files.example could not be reached: its TLS connection is for evil.example"
    ]


async def test_g10_a_name_that_a_program_looks_up_itself_is_told():
    async with (
        opened() as there,
        await anyio.create_connected_udp_socket(*there.names) as names,
    ):
        for name in ("files.example", "other.example", "myhost", "files.example"):
            await names.send(lookup(name))
            await names.receive()

    assert len(there.told) == 2
    assert "HTTPS_PROXY" in there.told[0]
    assert 'add "other.example"' in there.told[1]


def test_g10_checks_have_a_port_of_their_own():
    """G10: programs in checks often listen on the other one."""
    assert HostsGateway(Tunnels((), "verification", print)).port == HOSTS_PORT
