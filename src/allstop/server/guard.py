"""The outermost layer: nothing behind it is reached without the token, by the wrong name, or from
another site's page; and no answer leaves without its headers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import NamedTuple, TypeAlias
from urllib.parse import parse_qs

import anyio
from anyio import to_thread
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from allstop.server import responses, static_files
from allstop.server.access import admission
from allstop.server.access.admission import Refusal, Request, Terms
from allstop.server.access.credentials import OneTimeKeys, Token
from allstop.server.access.idle_connections import CONNECTION
from allstop.server.routes import path_matcher

BODY_S = 10.0
"""A body that takes longer is not waited for."""

COOKIE_S = 30 * 24 * 3600

log = logging.getLogger("allstop.server")


_STOLEN = Refusal(
    403,
    "not_a_person",
    "this comes from what an agent runs, with the cookie of a person",
    "a program of yours sends the token of .allstop/token as a bearer",
)


class RefusedError(Exception):
    """A request turned out to be refused while it was read."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


End: TypeAlias = tuple[str, int]
"""One side of a connection: a host and a port."""


class Locks(NamedTuple):
    """What the door is shut with."""

    terms: Terms
    token: Token
    keys: OneTimeKeys
    cookie: str  # its name: servers on one machine share the jar of a browser
    is_secure: bool  # the browser comes by TLS
    is_agent: Callable[[End, End], bool] = lambda peer, own: False
    """Whether what our agents run holds the other end: the cookie of a person is not theirs."""


class Guard:
    def __init__(self, app: ASGIApp, locks: Locks) -> None:
        self._app = app
        self._locks = locks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = _request(scope)
        send = _Dressed(send)
        answer = await self._turned_away(request, scope)
        if answer is not None:
            await answer(scope, receive, send)
            return
        scope["may_go_on"] = self._pass()
        try:
            await self._app(scope, _Bounded(receive), send)
        except RefusedError as error:
            await _instead(responses.refused(error.refusal), scope, receive, send)
        except Exception:
            log.exception("%s %s went wrong", request.method, request.path[:200])
            hint = "the log in .allstop/logs/server.log says more"
            wrong = Refusal(500, "internal", "something went wrong in the server", hint)
            await _instead(responses.refused(wrong), scope, receive, send)

    async def _turned_away(self, request: Request, scope: Scope) -> Response | None:
        refusal = admission.refusal(request, self._locks.terms)
        if refusal is not None:
            return responses.refused(refusal)
        if request.path == "/" and "key=" in request.query:
            return self._exchanged(request)
        by_header = self._locks.token.is_token(admission.bearer(request))
        if not by_header and not self._has_cookie(request):
            return _unknown(request)
        if not by_header and await self._is_agent(scope):
            return responses.refused(_STOLEN)
        methods = path_matcher.methods_at(request.path) or admission.READS | admission.CHANGES
        if request.method not in methods:
            return responses.not_so(request.method, methods)
        if request.method not in admission.CHANGES:
            return None
        refusal = admission.change_refusal(request, self._locks.terms, by_header=by_header)
        return responses.refused(refusal) if refusal else None

    async def _is_agent(self, scope: Scope) -> bool:
        """Asked once for a connection, which stays with whom it is; others are served meanwhile."""
        known = scope.get("state", {}).get(CONNECTION, {})
        if "is_agent" not in known:
            peer, own = scope.get("client"), scope.get("server")
            known["is_agent"] = (
                peer is not None
                and own is not None
                and await to_thread.run_sync(self._locks.is_agent, tuple(peer), tuple(own))
            )
        return bool(known["is_agent"])

    def _has_cookie(self, request: Request) -> bool:
        return self._locks.token.is_cookie(admission.cookie(request, self._locks.cookie))

    def _exchanged(self, request: Request) -> Response:
        """A key for a cookie, once; then the address is without it."""
        if request.method != "GET" or request.one("sec-purpose"):  # a browser that only looks ahead
            return _unknown(request)
        keys = parse_qs(request.query).get("key", [])
        if len(keys) != 1 or not self._locks.keys.use(keys[0]):
            return RedirectResponse("/", 303) if self._has_cookie(request) else _unknown(request)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self._locks.cookie,
            self._locks.token.cookie,
            max_age=COOKIE_S,
            httponly=True,
            samesite="strict",
            secure=self._locks.is_secure or admission.is_by_tls(request, self._locks.terms),
        )
        return answer

    def _pass(self) -> Callable[[int], bool]:
        """Whether whoever came in with this token may stay: not once it has been changed."""
        token = self._locks.token
        then = token.text
        return lambda beat: token.text_at(beat) == then


def _request(scope: Scope) -> Request:
    headers = [
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
    ]
    query = scope["query_string"].decode("latin-1")
    return Request(scope["method"], scope["path"], query, headers)


def _unknown(request: Request) -> Response:
    if admission.wants_page(request):
        return HTMLResponse(static_files.LOG_IN, 401, {"cache-control": "no-store"})
    hint = "send the token of .allstop/token as a bearer; a browser gets in by `allstop up --open`"
    return responses.refused(Refusal(401, "no_token", "nobody gets in without the token", hint))


async def _instead(answer: Response, scope: Scope, receive: Receive, send: _Dressed) -> None:
    """Of an answer that has begun, nothing can be said any more but that it ends here."""
    if not send.has_begun:
        await answer(scope, receive, send)
    else:
        raise ConnectionAbortedError("the answer can't be ended as it began")


class _Dressed:
    """Puts the headers of every answer on it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            message["headers"] = [*message.get("headers", []), *responses.ON_ALL]
        await self._send(message)


class _Bounded:
    """A body that is too long, or too slow, is not read to its end."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._bytes = 0
        self._is_whole = False

    async def __call__(self) -> Message:
        if self._is_whole:
            return await self._receive()
        try:
            with anyio.fail_after(BODY_S):
                message = await self._receive()
        except TimeoutError:
            raise RefusedError(Refusal(408, "too_slow", "the body did not come")) from None
        self._bytes += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        if self._bytes > admission.LARGEST_BODY:
            raise RefusedError(admission.too_large())
        return message
