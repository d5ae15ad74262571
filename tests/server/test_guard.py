"""The guard alone: slow bodies, large bodies and internal errors."""

import json
import threading

import anyio
import pytest
import trio.testing

from allstop.core.secrets import Secrets
from allstop.server import responses
from allstop.server.access import admission
from allstop.server.access.credentials import OneTimeKeys, load_or_create_token
from allstop.server.access.idle_connections import CONNECTION
from allstop.server.guard import BODY_S, AccessControl, Guard
from allstop.server.log_file import logging_to

CANARY = "canary-4f1b9d77c0aa"


@pytest.fixture
def anyio_backend():
    return ("trio", {"clock": trio.testing.MockClock(autojump_threshold=0)})


@pytest.fixture
def access(tmp_path):
    return AccessControl(
        allowed_names=admission.allowed_names(["127.0.0.1"], 7373),
        token=load_or_create_token(tmp_path / "token"),
        keys=OneTimeKeys(),
        cookie="allstop-7373",
        is_secure=False,
    )


async def _asked(access, app, receive):
    """The answer to a POST with the token: its number, headers and text."""
    sent = []

    async def send(message):
        sent.append(message)

    headers = {
        b"host": b"127.0.0.1:7373",
        b"authorization": f"Bearer {access.token.text}".encode(),
        b"content-type": b"application/json",
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/v1/runs",
        "query_string": b"",
        "headers": list(headers.items()),
        "client": ("127.0.0.1", 50_000),
    }
    await Guard(app, access)(scope, receive, send)
    body = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], sent[0]["headers"], json.loads(body)["error"]


async def test_trust_10_a_body_that_does_not_come_is_not_waited_for(access):
    async def reads(scope, receive, send):
        while (await receive())["more_body"]:
            pass

    pieces = [{"type": "http.request", "body": b"{", "more_body": True}]

    async def receive():
        if not pieces:
            await anyio.sleep_forever()
        return pieces.pop()

    began = anyio.current_time()
    status, headers, error = await _asked(access, reads, receive)

    assert (status, error["code"]) == (408, "too_slow")
    assert anyio.current_time() - began == BODY_S
    assert set(responses.COMMON_HEADERS) <= set(headers)


async def test_trust_7_a_mistake_of_ours_tells_nothing_and_is_logged_without_secrets(
    access, tmp_path
):
    async def is_wrong(scope, receive, send):
        raise RuntimeError(f"the password is {CANARY}")

    log = tmp_path / "logs" / "server.log"
    with logging_to(log, lambda: Secrets([CANARY])):
        status, headers, error = await _asked(access, is_wrong, anyio.sleep_forever)

    assert (status, error["code"]) == (500, "internal")
    assert set(responses.COMMON_HEADERS) <= set(headers)
    assert CANARY not in json.dumps(error)
    written = log.read_text()
    assert "RuntimeError: the password is" in written
    assert CANARY not in written


async def test_k22_whose_connection_it_is_is_asked_once_and_holds_nobody_up(access):
    """A look at every process of every agent takes a while."""
    asked = []

    def looks(peer, own):
        asked.append((peer, own, threading.current_thread() is threading.main_thread()))
        return False

    async def app(scope, receive, send):
        await responses.refused(admission.Refusal(404, "not_found", "gone"))(scope, receive, send)

    connection = {}
    for _ in range(2):
        scope = {
            "type": "http",
            "method": "GET",
            "path": "/api/v1/board",
            "query_string": b"",
            "headers": [
                (b"host", b"127.0.0.1:7373"),
                (b"cookie", f"allstop-7373={access.token.cookie}".encode()),
            ],
            "client": ["127.0.0.1", 50_000],
            "server": ["127.0.0.1", 7373],
            "state": {CONNECTION: connection},
        }
        await Guard(app, access._replace(is_agent=looks))(scope, None, _ignored)

    assert asked == [(("127.0.0.1", 50_000), ("127.0.0.1", 7373), False)]


async def _ignored(message):
    pass


async def _status(access, method, path, *headers):
    """The status of the answer, and its headers."""
    sent = []

    async def send(message):
        sent.append(message)

    async def app(scope, receive, send):
        await responses.json({})(scope, receive, send)

    given = [(b"host", b"127.0.0.1:7373"), (b"content-type", b"application/json"), *headers]
    given.append((b"origin", b"http://127.0.0.1:7373"))
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "headers": given}
    await Guard(app, access)(scope, anyio.sleep_forever, send)
    return sent[0]["status"], dict(sent[0]["headers"])


async def test_k22_a_cookie_that_another_page_adds_locks_nobody_out(access):
    """Cookies ignore ports: a page that an agent serves can set one of the same name."""
    forged = (b"cookie", b"allstop-7373=forged")
    mine = f"allstop-7373={access.token.cookie}".encode()

    for line in (b"allstop-7373=forged; " + mine, mine + b"; allstop-7373=forged"):
        assert (await _status(access, "GET", "/api/v1/runs", (b"cookie", line)))[0] == 200
    assert (await _status(access, "GET", "/api/v1/runs", forged))[0] == 401


async def test_k22_an_open_page_stops_everything_without_its_cookie(access):
    """K22, K3: by the key that the server sent with an earlier answer, and nothing else."""
    mine = (b"cookie", f"allstop-7373={access.token.cookie}".encode())
    _, headers = await _status(access, "GET", "/api/v1/runs", mine)
    key = (b"authorization", b"Bearer " + headers[b"x-allstop-stop-key"])

    assert (await _status(access, "POST", "/api/v1/allstop", key))[0] == 200
    assert (await _status(access, "POST", "/api/v1/allstop"))[0] == 401
    assert (await _status(access, "POST", "/api/v1/runs", key))[0] == 401
    assert (await _status(access, "GET", "/api/v1/runs", key))[0] == 401


@pytest.mark.parametrize(
    ("query", "cookie", "words"),
    [
        (b"", b"", "isn't signed in"),
        (b"", b"allstop-7373=forged", "another page on this computer has"),
        (b"key=old", b"", "A link works once, and for 15 minutes."),
    ],
)
async def test_k22_a_browser_that_is_locked_out_learns_how_to_get_in(access, query, cookie, words):
    sent = []

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"127.0.0.1:7373"), (b"accept", b"text/html"), (b"cookie", cookie)]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": query}
    await Guard(None, access)({**scope, "headers": headers}, anyio.sleep_forever, send)

    page = sent[1]["body"].decode()
    assert sent[0]["status"] == 401
    assert words in page
    assert "<code>allstop up --open</code>" in page
