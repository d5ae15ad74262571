"""An HTTP server on localhost that answers as model providers do, correctly or with faults."""

import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from anyio.abc import ByteStream, SocketAttribute
from anyio.streams.buffered import BufferedByteReceiveStream

from allstop.testing.model_server.anthropic_messages import Messages
from allstop.testing.model_server.broken_replies import BROKEN
from allstop.testing.model_server.chat_completions import Chat
from allstop.testing.model_server.connections import GONE, Connection
from allstop.testing.model_server.error_replies import as_json, error_reply
from allstop.testing.model_server.gemini_content import Gemini
from allstop.testing.model_server.login_endpoint import Logins
from allstop.testing.model_server.openai_responses import Responses
from allstop.testing.model_server.replies import (
    Answer,
    Answers,
    Protocol,
    ReceivedRequest,
    Say,
    as_say,
)

REPLIES: dict[Protocol, Callable[[ReceivedRequest, Say], Responses | Chat | Messages | Gemini]] = {
    Protocol.RESPONSES: Responses,
    Protocol.CHAT: Chat,
    Protocol.MESSAGES: Messages,
    Protocol.GEMINI: Gemini,
}
PATHS = {
    "/responses": Protocol.RESPONSES,
    "/chat/completions": Protocol.CHAT,
    "/messages": Protocol.MESSAGES,
    ":generateContent": Protocol.GEMINI,
    ":streamGenerateContent": Protocol.GEMINI,
}


class ModelServer:
    """The server: its URLs and the requests that it received."""

    def __init__(
        self,
        answers: Answers,
        *,
        speaks: frozenset[Protocol] = frozenset(Protocol),
        logins: Logins | None = None,
    ) -> None:
        """`logins`: it accepts only their token, and renews them at `/oauth/token`."""
        self._answers = answers
        self._logins = logins
        self._speaks = speaks
        self.port = 0
        self.requests: list[ReceivedRequest] = []
        self.refused = 0  # requests without the login's token
        self.disconnects = 0  # clients that closed before the end of their reply
        self.left = anyio.Event()  # set after a client closed early

    @property
    def openai_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def anthropic_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def handle(self, stream: ByteStream) -> None:
        """Serve one request and close the connection."""
        async with stream:
            with suppress(*GONE, anyio.IncompleteRead, anyio.DelimiterNotFound):
                method, path, headers, body = await _read_request(stream)
                await self._serve(Connection(stream), method, path, headers, body)

    async def _serve(
        self, connection: Connection, method: str, path: str, headers: dict[str, str], body: bytes
    ) -> None:
        if self._logins is not None and path.endswith("/oauth/token"):
            status, tokens = self._logins.renew(_json(body))
            await connection.whole(status, as_json(tokens))
            return
        if self._logins is not None and not self._logins.accepts(headers.get("authorization", "")):
            self.refused += 1
            error = {"type": "authentication_error", "message": "the token has expired"}
            await connection.whole(401, as_json({"type": "error", "error": error}))
            return
        protocol = next((PATHS[end] for end in PATHS if path.endswith(end)), None)
        if method == "POST" and protocol in self._speaks:
            request = ReceivedRequest(
                protocol=protocol, path=path, headers=headers, body=_json(body)
            )
            self.requests.append(request)
            await self._answer_until_closed(connection, request, as_say(self._next(request)))
        elif path.endswith(":countTokens"):
            await connection.whole(200, as_json({"totalTokens": max(1, len(body) // 4)}))
        elif path.endswith("/count_tokens"):
            await connection.whole(200, as_json({"input_tokens": max(1, len(body) // 4)}))
        elif path.endswith("/models"):
            model = {"id": "zebra-1", "object": "model", "owned_by": "allstop"}
            await connection.whole(200, as_json({"object": "list", "data": [model]}))
        else:
            await connection.whole(404, b"404 page not found", kind="text/plain")

    def _next(self, request: ReceivedRequest) -> Answer:
        """The next answer; the last one repeats."""
        if callable(self._answers):
            return self._answers(request)
        return self._answers[min(len(self.requests), len(self._answers)) - 1]

    async def _answer_until_closed(
        self, connection: Connection, request: ReceivedRequest, say: Say
    ) -> None:
        answered = False
        async with anyio.create_task_group() as group:
            group.start_soon(_until_gone, connection, group.cancel_scope)
            with suppress(*GONE):
                await self._answer(connection, request, say)
                answered = True
            group.cancel_scope.cancel()
        if not answered:
            self.disconnects += 1
            self.left.set()

    async def _answer(self, connection: Connection, request: ReceivedRequest, say: Say) -> None:
        await anyio.sleep(say.delay_s)
        reply = REPLIES[request.protocol](request, say)
        if (error := say.error or error_reply(request, say.fault)) is not None:
            await connection.whole(error.status, as_json(error.body), error.headers)
        elif say.fault in BROKEN:
            await BROKEN[say.fault](connection, say, [event.encode() for event in reply.events()])
        elif request.is_streamed:
            await connection.head(200, {"x-request-id": "req_0", **say.headers})
            for event in reply.events():
                await anyio.sleep(say.pause_s if "delta" in event else 0)
                await connection.chunk(event.encode())
            await connection.end()
        else:
            await connection.whole(200, as_json(reply.whole()))


async def _until_gone(connection: Connection, scope: anyio.CancelScope) -> None:
    await connection.gone()
    scope.cancel()


async def _read_request(stream: ByteStream) -> tuple[str, str, dict[str, str], bytes]:
    buffered = BufferedByteReceiveStream(stream)
    head = (await buffered.receive_until(b"\r\n\r\n", 65536)).decode("latin-1")
    first, *lines = head.split("\r\n")
    method, target, _ = first.split(" ", 2)
    pairs = (line.split(":", 1) for line in lines)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    if headers.get("expect"):
        await stream.send(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = await buffered.receive_exactly(int(headers.get("content-length", 0)))
    return method, target.split("?")[0], headers, body


def _json(body: bytes) -> dict[str, Any]:
    try:
        value = json.loads(body)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


@asynccontextmanager
async def model_server(
    answers: Answers,
    *,
    speaks: frozenset[Protocol] = frozenset(Protocol),
    port: int = 0,
    logins: Logins | None = None,
) -> AsyncIterator[ModelServer]:
    """Run a server in this process while the context is open.

    `answers` is a list, whose last answer repeats, or a function of the request.
    """
    server = ModelServer(answers, speaks=speaks, logins=logins)
    async with await anyio.create_tcp_listener(local_host="127.0.0.1", local_port=port) as listener:
        server.port = listener.extra(SocketAttribute.local_port)  # noqa: S610 - no Django here
        async with anyio.create_task_group() as group:
            group.start_soon(listener.serve, server.handle)
            yield server
            group.cancel_scope.cancel()
