"""The guard around the site: checks host, origin and token, and adds headers to each response."""

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
from allstop.server.access.admission import AllowedNames, Refusal, Request
from allstop.server.access.credentials import OneTimeKeys, Token
from allstop.server.access.idle_connections import CONNECTION
from allstop.server.routes import path_matcher

BODY_S = 10.0
"""How long the server waits for each part of a body."""

COOKIE_S = 30 * 24 * 3600

log = logging.getLogger("allstop.server")


_FROM_AGENT = Refusal(
    403,
    "not_a_person",
    "a program of an agent sent this with a person's cookie",
    "programs of yours send the token in .allstop/token as a bearer token",
)


class RefusedError(Exception):
    """The request was refused while its body was read."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


Address: TypeAlias = tuple[str, int]
"""The host and port of one end of a connection."""


class AccessControl(NamedTuple):
    allowed_names: AllowedNames
    token: Token
    keys: OneTimeKeys
    cookie: str  # its name: a browser shares cookies between all ports of a host
    is_secure: bool  # browsers use TLS
    is_agent: Callable[[Address, Address], bool] = lambda peer, own: False
    """Whether a program of an agent has the other end; it may not use a person's cookie."""


class Guard:
    def __init__(self, app: ASGIApp, access: AccessControl) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = _request(scope)
        send = _HeaderSender(send)
        answer = await self._early_response(request, scope)
        if answer is not None:
            await answer(scope, receive, send)
            return
        scope["is_still_allowed"] = self._token_check()
        try:
            await self._app(scope, _BoundedReceive(receive), send)
        except RefusedError as error:
            await _replace_response(responses.refused(error.refusal), scope, receive, send)
        except Exception:
            log.exception("%s %s failed", request.method, request.path[:200])
            hint = "see .allstop/logs/server.log"
            wrong = Refusal(500, "internal", "the server failed with an internal error", hint)
            await _replace_response(responses.refused(wrong), scope, receive, send)

    async def _early_response(self, request: Request, scope: Scope) -> Response | None:
        refusal = admission.refusal(request, self._access.allowed_names)
        if refusal is not None:
            return responses.refused(refusal)
        if request.path == "/" and "key=" in request.query:
            return self._sign_in(request)
        by_header = self._access.token.is_token(admission.bearer(request))
        if not by_header and not self._has_cookie(request):
            return _not_signed_in(request)
        if not by_header and await self._is_agent(scope):
            return responses.refused(_FROM_AGENT)
        methods = path_matcher.methods_at(request.path) or admission.READS | admission.CHANGES
        if request.method not in methods:
            return responses.method_not_allowed(request.method, methods)
        if request.method not in admission.CHANGES:
            return None
        refusal = admission.change_refusal(request, self._access.allowed_names, by_header=by_header)
        return responses.refused(refusal) if refusal else None

    async def _is_agent(self, scope: Scope) -> bool:
        """Look up the peer once per connection, in a thread."""
        known = scope.get("state", {}).get(CONNECTION, {})
        if "is_agent" not in known:
            peer, own = scope.get("client"), scope.get("server")
            known["is_agent"] = (
                peer is not None
                and own is not None
                and await to_thread.run_sync(self._access.is_agent, tuple(peer), tuple(own))
            )
        return bool(known["is_agent"])

    def _has_cookie(self, request: Request) -> bool:
        return self._access.token.is_cookie(admission.cookie(request, self._access.cookie))

    def _sign_in(self, request: Request) -> Response:
        """Exchange a key for a cookie, and redirect to the address without the key."""
        if request.method != "GET" or request.one("sec-purpose"):  # a browser prefetches
            return _not_signed_in(request)
        keys = parse_qs(request.query).get("key", [])
        if len(keys) != 1 or not self._access.keys.use(keys[0]):
            if self._has_cookie(request):
                return RedirectResponse("/", 303)
            return _not_signed_in(request, static_files.KEY_REFUSED)
        answer = RedirectResponse("/", 303)
        answer.set_cookie(
            self._access.cookie,
            self._access.token.cookie,
            max_age=COOKIE_S,
            httponly=True,
            samesite="strict",
            secure=self._access.is_secure
            or admission.uses_tls(request, self._access.allowed_names),
        )
        return answer

    def _token_check(self) -> Callable[[int], bool]:
        """Return a function that says whether the token is still the same."""
        token = self._access.token
        then = token.text
        return lambda batch: token.text_at(batch) == then


def _request(scope: Scope) -> Request:
    headers = [
        (name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]
    ]
    query = scope["query_string"].decode("latin-1")
    return Request(scope["method"], scope["path"], query, headers)


def _not_signed_in(request: Request, page: str = static_files.LOG_IN) -> Response:
    if admission.wants_page(request):
        return HTMLResponse(page, 401, {"cache-control": "no-store"})
    hint = "run `allstop up --open`; programs send the token in .allstop/token as a bearer token"
    return responses.refused(Refusal(401, "no_token", "the request isn't signed in", hint))


async def _replace_response(
    answer: Response, scope: Scope, receive: Receive, send: _HeaderSender
) -> None:
    """Send an error, or abort the connection if another response has begun."""
    if not send.has_begun:
        await answer(scope, receive, send)
    else:
        raise ConnectionAbortedError("the response had already begun")


class _HeaderSender:
    """Adds the common headers to a response."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.has_begun = False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.has_begun = True
            message["headers"] = [*message.get("headers", []), *responses.COMMON_HEADERS]
        await self._send(message)


class _BoundedReceive:
    """Limits the size and the duration of a body."""

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
            raise RefusedError(Refusal(408, "too_slow", "the body took too long")) from None
        self._bytes += len(message.get("body", b""))
        self._is_whole = not message.get("more_body", False)
        if self._bytes > admission.MAX_BODY_BYTES:
            raise RefusedError(admission.too_large())
        return message
