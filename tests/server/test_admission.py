"""Q23: admission of requests, checked on every path of the API."""

import re
import socket

import pytest

from allstop.app.kinds import RUN_KINDS
from allstop.server import openapi
from allstop.server.routes.table import BASE, READ_ROUTES, WRITE_ROUTES
from support.cases import for_each

NAMES = {"run": "board", "task": "T1", "thread": "main", "sprint": "sprint1", "process": "p1"}


def _filled(path):
    return re.sub(r"\{(\w+)\}", lambda found: NAMES[found[1]], path)


READ = [
    "/",
    "/index.html",
    "/assets/nothing.js",
    "/metrics",
    f"{BASE}/stream",
    f"{BASE}/openapi.json",
    f"{BASE}/nowhere",
    *(BASE + _filled(route.path) for route in READ_ROUTES),
]
CHANGE = [BASE + _filled(route.path) for route in WRITE_ROUTES]

FOREIGN_HOSTS = [
    "evil.example",
    "127.0.0.1.evil.example:{port}",
    "0.0.0.0:{port}",
    "[::ffff:7f00:1]:{port}",
    "127.0.0.1",
    "127.0.0.1:1",
    "localhost.:{port}",
    "",
    None,
]

POST = (
    b"POST /api/v1/allstop HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n"
    b"Content-Type: application/json\r\n"
)


def test_the_document_has_every_address_of_the_table():
    described = {
        (method.upper(), path)
        for path, methods in openapi.document(RUN_KINDS)["paths"].items()
        for method in methods
    }

    assert described == {
        *(("GET", BASE + route.path) for route in READ_ROUTES),
        *(("POST", BASE + route.path) for route in WRITE_ROUTES),
        ("GET", f"{BASE}/stream"),
        ("GET", "/metrics"),
    }


@for_each("path", READ)
@for_each("token", ["", "wrong", "A" * 43])
def test_trust_1_nothing_is_read_without_the_token(still_room, path, token):
    answer = still_room.ask("GET", path, token=token or None, headers=_without(token))

    assert answer.status == 401
    assert answer.error == "no_token"


@for_each("path", CHANGE)
@for_each("token", ["", "wrong"])
def test_trust_1_nothing_is_changed_without_the_token(still_room, path, token):
    answer = still_room.ask("POST", path, body={}, token=token or None, headers=_without(token))

    assert answer.status == 401


def _without(token):
    return {} if token else {"Authorization": None}


@for_each("path", [*READ, *CHANGE])
@for_each("host", FOREIGN_HOSTS)
def test_trust_2_no_other_name_is_answered_even_with_the_token(still_room, path, host):
    host = host and host.format(port=still_room.port)
    method = "POST" if path in CHANGE and path not in READ else "GET"
    headers = {"Host": host, "Origin": f"http://{host}"}

    body = {} if method == "POST" else None
    try:
        answer = still_room.ask(method, path, body=body, headers=headers)
    except ConnectionResetError:  # the server closed it before it had read the body
        answer = still_room.ask(method, path, body=body, headers=headers)

    assert answer.status in (400, 403)  # without a Host it is no HTTP/1.1
    if answer.status == 403:
        assert answer.error == "wrong_host"


@for_each("path", CHANGE)
@for_each(
    ("headers", "status", "code"),
    [
        ({"Content-Type": "text/plain"}, 415, "not_json"),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415, "not_json"),
        ({"Content-Type": "multipart/form-data; boundary=x"}, 415, "not_json"),
        ({"Content-Type": None}, 415, "not_json"),
        ({"Origin": "http://evil.example"}, 403, "wrong_origin"),
        ({"Origin": "null"}, 403, "wrong_origin"),
        ({"Origin": "https://127.0.0.1"}, 403, "wrong_origin"),
        ({"Sec-Fetch-Site": "cross-site"}, 403, "cross_site"),
        ({"Sec-Fetch-Site": "same-site"}, 403, "cross_site"),
        ({"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}, 403, "cross_site"),
    ],
)
def test_trust_3_a_change_is_json_from_our_own_page(still_room, path, headers, status, code):
    answer = still_room.ask("POST", path, body={}, headers=headers)

    assert (answer.status, answer.error) == (status, code)


@for_each("path", CHANGE)
@for_each("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_trust_3_only_post_changes_anything(still_room, path, method):
    answer = still_room.ask(method, path)

    assert answer.status == 405
    assert answer.error == "method_not_allowed"


@for_each("path", [*READ, *CHANGE])
def test_trust_3_no_other_site_is_told_that_it_may_read(still_room, path):
    for method in ("GET", "OPTIONS"):
        if path.endswith("/stream"):
            continue
        answer = still_room.ask(method, path, headers={"Origin": "http://evil.example"})

        assert not [name for name in answer.headers if name.startswith("access-control-")]


@for_each("path", READ)
@for_each("token", ["right", ""])
def test_trust_6_every_answer_has_the_strict_headers(still_room, path, token):
    if token and path.endswith("/stream"):
        with still_room.listen() as stream:
            _has_strict_headers(dict(stream.response.getheaders()))
        return
    answer = still_room.ask("GET", path, headers={} if token else {"Authorization": None})

    _has_strict_headers(answer.headers)


def _has_strict_headers(headers):
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "frame-ancestors 'none'" in policy
    assert "require-trusted-types-for 'script'" in policy
    assert "img-src 'self';" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in headers


@for_each(
    "path",
    [
        "/../pyproject.toml",
        "/..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/assets/..%2f..%2fallstop.toml",
        "//etc/passwd",
        "/.git/config",
        "/.env",
        "/a.txt%00.html",
        "/api/v1/tasks/..%2f..%2fetc/diff",
        "/api/v1/tasks/--output=x/diff",
        "/api/v1/runs/..%2f..%2ftoken",
        "/api/v1/rooms/..%2f..%2ftoken/events",
    ],
)
def test_trust_5_ids_are_asked_for_and_never_paths(still_room, path):
    answer = still_room.ask("GET", path)

    assert answer.status in (404, 409, 422)
    assert still_room.token.encode() not in answer.body


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: {host}\r\n\r\n", b"400|414"),
        (b"GET /" + b"a" * 9_000 + b" HTTP/1.1\r\nHost: {host}\r\n\r\n", b"414"),
        (b"GET / HTTP/1.1\r\nHost: {host}\r\nX: " + b"a" * 100_000 + b"\r\n\r\n", b"400|431"),
        (POST + b"Content-Length: 99999999999\r\n\r\n", b"413"),
        (POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"400"),
        (POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", b"400"),
        (POST + b"Content-Length: -5\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: {host}\r\nHost: {host}\r\n\r\n", b"400|403"),
        (b"nonsense\r\n\r\n", b"400"),
    ],
)  # fmt: skip
def test_trust_10_absurd_requests_are_refused_at_once(still_room, request_, status):
    request_ = request_.replace(b"{host}", still_room.host.encode())
    request_ = request_.replace(b"{token}", still_room.token.encode())
    request_ = request_.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1)

    said = still_room.raw(request_)

    assert re.match(rb"HTTP/1.1 (%b) " % status, said), said[:200]


def test_trust_10_a_body_without_end_is_not_read(still_room):
    head = (
        f"POST /api/v1/runs HTTP/1.1\r\nHost: {still_room.host}\r\n"
        f"Authorization: Bearer {still_room.token}\r\nContent-Type: application/json\r\n"
        "Transfer-Encoding: chunked\r\n\r\n"
    ).encode()
    piece = b"10000\r\n" + b" " * 65536 + b"\r\n"

    with socket.create_connection(("127.0.0.1", still_room.port), timeout=20) as connection:
        connection.sendall(head)
        for _ in range(20):
            connection.sendall(piece)
        said = connection.recv(65536)

    assert said.startswith(b"HTTP/1.1 413"), said[:200]


def test_trust_10_an_unfinished_request_is_disconnected(still_room):
    with socket.create_connection(("127.0.0.1", still_room.port), timeout=30) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: ")

        assert connection.recv(100) == b""


def test_trust_10_a_thousand_connections_keep_nobody_out(still_room):
    held = []
    try:
        for _ in range(1000):
            held.append(socket.create_connection(("127.0.0.1", still_room.port), timeout=20))

        assert still_room.get("/healthz").status == 200
    finally:
        for connection in held:
            connection.close()
