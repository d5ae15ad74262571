"""What is behind the door: the API by its table, the stream, the numbers, and the page."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from allstop.core.errors import AllstopError
from allstop.server import metrics, openapi, responses, static_files
from allstop.server.access.admission import READS, Refusal
from allstop.server.app_state import Desk
from allstop.server.routes import path_matcher, path_parameters
from allstop.server.routes.table import BASE, Change, Route, body_of
from allstop.server.stream.frames import Wish, read_place
from allstop.server.stream.listener import Listener
from allstop.settings.problems import SettingsError

MOST_LISTENERS = 1000

_NOWHERE = Refusal(404, "not_found", "there is nothing here", f"{BASE}/openapi.json says what is")
_SEE = f"{BASE}/openapi.json says what is expected"


class Site:
    def __init__(self, desk: Desk, files: Mapping[str, static_files.File]) -> None:
        self._desk = desk
        self._files = files
        self._kinds = desk.supervisor.kinds
        self._document = msgspec.json.encode(openapi.document(self._kinds))
        self._events = frozenset(openapi.stream_events(self._kinds.pure))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            answer = await self._answer(request)
        except ClientDisconnect:
            return
        except (AllstopError, SettingsError) as error:
            answer = self._refused(responses.trouble(error))
        except msgspec.ValidationError as error:
            answer = self._refused(Refusal(422, "invalid", str(error), _SEE))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            answer = self._refused(Refusal(400, "not_json", f"this is no JSON: {error}", _SEE))
        await answer(scope, receive, send)

    def _refused(self, found: Refusal) -> Response:
        """What was asked for, or what an error says, may have a secret in it."""
        scrub = self._desk.project.secrets.redact_all
        return responses.refused(
            found._replace(message=scrub(found.message), hint=scrub(found.hint))
        )

    def _said(self, value: object) -> Response:
        return responses.json(self._desk.project.secrets.redact_known_in(value))

    async def _answer(self, request: Request) -> Response:
        path = request.scope["path"]
        found = path_matcher.find(request.method, path)
        if found is not None:
            return await self._routed(request, *found)
        if request.method not in READS:
            return responses.refused(_NOWHERE)
        match path:
            case path_matcher.DESCRIPTION:
                return Response(self._document, media_type="application/json")
            case path_matcher.STREAM:
                return self._stream(request)
            case path_matcher.METRICS:
                await self._desk.live_runs.catch_up()
                return PlainTextResponse(await metrics.text(self._desk))
            case _ if path.startswith("/api/"):
                return responses.refused(_NOWHERE)
            case _:
                return static_files.page(self._files, request) or responses.refused(_NOWHERE)

    async def _routed(
        self, request: Request, route: Route | Change, named: Mapping[str, str]
    ) -> Response:
        given = _given(request, route.takes, named)
        if isinstance(route, Change):
            body = msgspec.json.decode(
                await request.body() or b"{}", type=body_of(route, self._kinds)
            )
            return self._said(await route.do(self._desk, given, body))
        await self._desk.live_runs.catch_up()
        return self._said(await route.do(self._desk, given))

    def _stream(self, request: Request) -> Response:
        if request.method == "HEAD":  # who keeps the connection for more would listen for ever
            return Response(media_type="text/event-stream")
        given = _given(request, path_parameters.Stream, {})
        if self._desk.hub.listeners >= MOST_LISTENERS:
            return responses.refused(Refusal(503, "too_many", "too many listen already"))
        last = request.headers.get("last-event-id") or given.after
        place = read_place(last) if last else None
        if last and place is None:
            return responses.refused(Refusal(422, "invalid", "this is no place in the stream"))
        kinds = frozenset(kind for kind in given.kinds.split(",") if kind)
        if unknown := kinds - self._events:
            return responses.refused(
                Refusal(422, "invalid", f"there are no events {', '.join(sorted(unknown))[:200]}")
            )
        listener = Listener(
            self._desk.hub, self._desk.project.journal, Wish(given.run, kinds), place
        )
        return StreamingResponse(
            self._spoken(listener, request.scope["may_go_on"]),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    async def _spoken(
        self, listener: Listener, may_go_on: Callable[[int], bool]
    ) -> AsyncIterator[bytes]:
        hub = self._desk.hub
        hub.listeners += 1
        try:
            async for chunk in listener.chunks(self._desk.live_runs):
                if not may_go_on(hub.beats):
                    return
                if chunk:
                    yield chunk
        finally:
            hub.listeners -= 1


def _given(request: Request, takes: type[path_parameters.Nothing], named: Mapping[str, str]) -> Any:
    return msgspec.convert({**request.query_params, **named}, takes, strict=False)
