"""G4: what a hostile program in a box sends: nothing of it reaches the provider but proper calls."""

import gzip
import json
from contextlib import asynccontextmanager, suppress
from types import SimpleNamespace

import anyio

from allstop.adapters.gateway.box_server import MAX_CONNECTIONS
from support.cases import for_each
from support.open_gateway import KEY, open_gateway

CALL = json.dumps({"model": "m", "input": "Hello"}).encode()
REPLY = json.dumps({"id": "r", "usage": {"input_tokens": 10, "output_tokens": 2}}).encode()
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(
    REPLY
)
SMUGGLED = b"POST /v1/files HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}"


@asynccontextmanager
async def provider():
    """Answers each request, and keeps every byte that it was sent."""
    received, connections = [], []

    async def serve(stream):
        connections.append(stream)
        got = b""
        async with stream:
            with suppress(anyio.EndOfStream, anyio.BrokenResourceError):
                while True:
                    while not (size := _size_of_first(got)):
                        got += await stream.receive()
                    received.append(got[:size])
                    got = got[size:]
                    await stream.send(HEAD + REPLY)

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, serve)
            yield SimpleNamespace(
                url=f"http://127.0.0.1:{port}/v1",
                port=port,
                received=received,
                connections=connections,
            )
            group.cancel_scope.cancel()


def _size_of_first(got):
    """The bytes of the first request; 0 if it isn't whole."""
    head, end, body = got.partition(b"\r\n\r\n")
    sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    size = int(sizes[0].partition(b":")[2]) if sizes else 0
    return len(head) + len(end) + size if end and len(body) >= size else 0


def post(*headers, target="/v1/responses", body=CALL, method="POST", sized=True):
    size = (f"Content-Length: {len(body)}",) if sized else ()
    head = "\r\n".join((f"{method} {target} HTTP/1.1", "Host: box", *size, *headers, "", ""))
    return head.encode("latin-1") + body


def chunked(*chunks, **how):
    body = b"".join(chunks) + b"0\r\n\r\n"
    return post("Transfer-Encoding: chunked", body=body, sized=False, **how)


def chunk(data=CALL, extension=b""):
    return b"%x%s\r\n%s\r\n" % (len(data), extension, data)


async def send(place, data):
    """What the gateway answers; the client then closes its side."""
    async with await anyio.connect_tcp(*place) as stream:
        with anyio.fail_after(30):
            answer = b""
            try:
                await stream.send(data)
                while b"\r\n\r\n" not in answer:
                    answer += await stream.receive()
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                pass
            return answer


def is_proper_call(got, port):
    """Whether the provider got exactly one call, with the real key and no header of the box's."""
    head, _, body = got.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    names = [line.partition(":")[0].lower() for line in lines]
    headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines}
    return (
        first == "POST /v1/responses HTTP/1.1"
        and len(set(names)) == len(names)
        and headers["host"] == f"127.0.0.1:{port}"
        and headers["authorization"] == f"Bearer {KEY}"
        and "connection" not in names
        and int(headers["content-length"]) == len(body)
        and json.loads(body)["model"] == "m"
        and not {"transfer-encoding", "x-evil", "cookie", "x-forwarded-host", "upgrade"}
        & set(names)
    )


PASSED = {
    "other host": post().replace(b"Host: box", b"Host: evil.example"),
    "own authorization": post("Authorization: Bearer stolen", "X-Api-Key: stolen"),
    "other headers": post("X-Evil: 1", "Cookie: a=b", "X-Forwarded-Host: evil.example"),
    "named in connection": post("Connection: keep-alive, authorization, x-evil"),
    "a header twice": post("User-Agent: a", "User-Agent: b"),
    "not in ASCII": post("User-Agent: n\xe4me\xff"),
    "folded": post("User-Agent: a\r\n X-Evil: 1"),
    "a key in the query": post(target="/v1/responses?key=stolen&x=1"),
    "chunks": chunked(chunk(CALL[:5]), chunk(CALL[5:])),
    "chunk extensions": chunked(chunk(extension=b";x-evil=1")),
    "a trailer": chunked(chunk())[:-2] + b"X-Evil: 1\r\nContent-Length: 9\r\n\r\n",
    "TE beats CL": post("Transfer-Encoding: chunked", body=chunk() + b"0\r\n\r\n") + SMUGGLED,
    "a request behind": post() + SMUGGLED,
    "HTTP/1.0": post().replace(b"HTTP/1.1", b"HTTP/1.0"),
}


@for_each("name", list(PASSED))
def test_g4_a_call_reaches_the_provider_as_the_gateway_writes_it(name):
    """G4: and nothing that follows it in the same connection."""

    async def attempt():
        async with provider() as there, open_gateway(there.url) as gateway:
            answer = await send(gateway.calls, PASSED[name])
            return answer, there

    answer, there = anyio.run(attempt)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert len(there.received) == 1, there.received
    assert is_proper_call(there.received[0], there.port), there.received


REFUSED = {
    "two lengths": post("Content-Length: 5"),
    "a length that is no number": post("Content-Length: +5", sized=False),
    "a negative length": post("Content-Length: -5", sized=False),
    "lengths in a list": post(f"Content-Length: {len(CALL)}, 5", sized=False),
    "an unknown coding": post("Transfer-Encoding: xchunked", sized=False),
    "two codings": post("Transfer-Encoding: gzip, chunked", sized=False),
    "a space before the colon": post("Transfer-Encoding : chunked"),
    "a fold at the beginning": post().replace(b"Host:", b" Folded: 1\r\nHost:"),
    "a bad chunk size": chunked(b"-5\r\nhello\r\n"),
    "a huge chunk size": chunked(b"f" * 40 + b"\r\nhello\r\n"),
    "a chunk with the wrong end": chunked(b"5\r\nhelloXX"),
    "a zero byte": post("User-Agent: a\0b"),
    "a lone CR": post("User-Agent: a\rX-Evil: 1"),
    "no host": post().replace(b"Host: box\r\n", b""),
    "two hosts": post("Host: evil.example"),
    "a body in tiny pieces": chunked(chunk(CALL[:-1]), *[chunk(b" ")] * 5_000, chunk(CALL[-1:])),
    "large headers": post(f"User-Agent: {'x' * 300_000}"),
    "many headers": post(*(f"X-{number}: 1" for number in range(20_000))),
    "a whole address": post(target="http://evil.example/v1/responses"),
    "its own whole address": post(target="http://127.0.0.1:8787/v1/responses"),
    "two slashes": post(target="//evil.example/v1/responses"),
    "an escape": post(target="/v1/%2e%2e/v1/responses"),
    "dots": post(target="/v1/x/../responses"),
    "a fragment": post(target="/v1/responses#/../files"),
    "a backslash": post(target="/v1\\responses"),
    "another version": post(target="/v2/responses"),
    "a tunnel": post(method="CONNECT", target="evil.example:443"),
    "a small method": post(method="post"),
    "trace": post(method="TRACE"),
    "delete": post(method="DELETE"),
    "a web socket": post("Connection: upgrade", "Upgrade: websocket", method="GET", body=b""),
    "HTTP/2 by upgrade": post("Connection: upgrade, http2-settings", "Upgrade: h2c"),
    "the preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"x" * 500,
    "SOCKS": b"\x05\x01\x00",
    "HTTP/0.9": b"GET /v1/models\r\n\r\n",
    "a compressed body": post("Content-Encoding: gzip", body=gzip.compress(CALL)),
    "a compressed body in disguise": post(body=gzip.compress(CALL)),
    "a stream that is no boolean": post(body=b'{"model": "m", "stream": "yes"}'),
    "a picture on another host": post(
        body=b'{"model": "m", "input": [{"type": "input_image", "image_url": "https://evil.example"}]}'
    ),
    "no JSON": post(body=b"model=m"),
    "two documents": post(body=CALL + CALL),
    "nested deeply": post(body=b'{"model": "m", "input": ' + b"[" * 9_000 + b"]" * 9_000 + b"}"),
}  # fmt: skip


@for_each("name", list(REFUSED))
def test_g4_anything_else_reaches_nobody_and_harms_no_other_call(name):
    async def attempt():
        async with provider() as there, open_gateway(there.url) as gateway:
            answer = await send(gateway.calls, REFUSED[name])
            received = list(there.received)
            after = await send(gateway.calls, post())
            return answer, received, after

    answer, received, after = anyio.run(attempt)

    assert received == []
    assert not answer or answer[9:12] in (b"400", b"404", b"413", b"426"), answer
    assert after.startswith(b"HTTP/1.1 200 ")


async def test_g4_calls_in_one_connection_are_each_measured():
    """G4, G5: a client that sends the next one ahead gets no call for free."""
    async with (
        provider() as there,
        open_gateway(there.url) as gateway,
        await anyio.connect_tcp(*gateway.calls) as stream,
    ):
        await stream.send(post() * 3)
        answer = b""
        with anyio.fail_after(30):
            while answer.count(REPLY) < 3:
                answer += await stream.receive()
            while len(gateway.metering.records) < 3:
                await anyio.sleep(0.01)

    assert len(there.received) == 3
    assert len(there.connections) == 1, "the provider's connection is kept"
    assert gateway.metering.account.used.tokens == 36


async def test_g4_slow_requests_hold_up_no_other():
    """G4: half of a request occupies one place, and the others stay free."""
    async with provider() as there, open_gateway(there.url) as gateway:
        slow = [await anyio.connect_tcp(*gateway.calls) for _ in range(MAX_CONNECTIONS - 1)]
        for stream in slow:
            await stream.send(post()[:-5])
        answer = await send(gateway.calls, post())
        for stream in slow:
            await anyio.aclose_forcefully(stream)

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert len(there.received) == 1


async def test_g4_a_request_that_never_ends_is_given_up(monkeypatch):
    from allstop.adapters.gateway import box_server

    monkeypatch.setattr(box_server, "REQUEST_S", 0.05)
    async with provider() as there, open_gateway(there.url) as gateway:
        answer = await send(gateway.calls, post()[:-5])

    assert (answer, there.received) == (b"", [])


async def test_g4_a_body_of_100_mb_is_refused_before_it_is_read():
    size = 100 * 1024 * 1024
    head = post(f"Content-Length: {size}", body=b"", sized=False)
    async with provider() as there, open_gateway(there.url) as gateway:
        sent = 0
        async with await anyio.connect_tcp(*gateway.calls) as stream:
            with anyio.fail_after(60):
                try:
                    await stream.send(head)
                    while sent < size:
                        await stream.send(b" " * 65_536)
                        sent += 65_536
                except anyio.BrokenResourceError:
                    pass

    assert sent < size / 2
    assert there.received == []
