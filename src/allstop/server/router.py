"""Routes each admitted request: to the API, the event stream, the metrics or the page."""

from collections.abc import AsyncIterator, Callable, Mapping

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from allstop.app.validation_errors import convert_parameters, decode_body, sentence
from allstop.core.errors import AllstopError
from allstop.server import metrics, openapi, responses, static_files
from allstop.server.access.admission import READS, Refusal
from allstop.server.app_state import AppState
from allstop.server.routes import path_matcher, path_parameters
from allstop.server.routes.table import BASE, Route, WriteRoute, body_of
from allstop.server.stream.frames import EventFilter, parse_position
from allstop.server.stream.listener import Listener
from allstop.settings.problems import SettingsError

MAX_LISTENERS = 1000

_SEE = f"see {BASE}/openapi.json"
_NOT_FOUND = Refusal(404, "not_found", "there is nothing at this path", _SEE)


class Site:
    def __init__(self, app: AppState, files: Mapping[str, static_files.File]) -> None:
        self._app = app
        self._files = files
        self._kinds = app.supervisor.kinds
        self._document = msgspec.json.encode(openapi.document(self._kinds))
        self._events = frozenset(openapi.stream_events(self._kinds.pure))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            response = await self._respond(request)
        except ClientDisconnect:
            return
        except (AllstopError, SettingsError) as error:
            response = self._refused(responses.refusal_for(error))
        except msgspec.ValidationError as error:
            response = self._refused(Refusal(422, "invalid", sentence(str(error)), _SEE))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            message = f"the body isn't valid JSON: {str(error).removeprefix('JSON is malformed: ')}"
            response = self._refused(Refusal(400, "not_json", message, _SEE))
        await response(scope, receive, send)

    def _refused(self, refusal: Refusal) -> Response:
        """Redact secrets: errors may repeat parts of the request or of the settings."""
        redact = self._app.project.secrets.redact_all
        return responses.refused(
            refusal._replace(message=redact(refusal.message), hint=redact(refusal.hint))
        )

    def _json(self, value: object) -> Response:
        return responses.json(self._app.project.secrets.redact_known_in(value))

    async def _respond(self, request: Request) -> Response:
        path = request.scope["path"]
        found = path_matcher.find(request.method, path)
        if found is not None:
            return await self._call_route(request, *found)
        if request.method not in READS:
            return responses.refused(_NOT_FOUND)
        match path:
            case path_matcher.DESCRIPTION:
                return Response(self._document, media_type="application/json")
            case path_matcher.STREAM:
                return self._stream(request)
            case path_matcher.METRICS:
                await self._app.live_runs.catch_up()
                return PlainTextResponse(await metrics.text(self._app))
            case _ if path.startswith("/api/"):
                return responses.refused(_NOT_FOUND)
            case _:
                return static_files.page(self._files, request) or responses.refused(_NOT_FOUND)

    async def _call_route(
        self, request: Request, route: Route | WriteRoute, path_values: Mapping[str, str]
    ) -> Response:
        params = convert_parameters({**request.query_params, **path_values}, route.parameters)
        if isinstance(route, WriteRoute):
            body = decode_body(await request.body() or b"{}", body_of(route, self._kinds))
            return self._json(await route.handler(self._app, params, body))
        await self._app.live_runs.catch_up()
        return self._json(await route.handler(self._app, params))

    def _stream(self, request: Request) -> Response:
        if request.method == "HEAD":  # a client that reuses the connection would wait for ever
            return Response(media_type="text/event-stream")
        params = convert_parameters(dict(request.query_params), path_parameters.Stream)
        if self._app.broadcast.listeners >= MAX_LISTENERS:
            message = f"there are already {MAX_LISTENERS:,} listeners"
            return responses.refused(Refusal(503, "too_many", message, "try again later"))
        last = request.headers.get("last-event-id") or params.after
        position = parse_position(last) if last else None
        if last and position is None:
            hint = "send the id of the last event, or nothing"
            return responses.refused(Refusal(422, "invalid", "the event id is invalid", hint))
        kinds = frozenset(kind for kind in params.kinds.split(",") if kind)
        if unknown := kinds - self._events:
            message = f"unknown kinds of events: {', '.join(sorted(unknown))[:200]}"
            hint = f"known kinds: {', '.join(sorted(self._events))}"
            return responses.refused(Refusal(422, "invalid", message, hint))
        event_filter = EventFilter(params.run, kinds)
        listener = Listener(self._app.broadcast, self._app.project.journal, event_filter, position)
        return StreamingResponse(
            self._stream_body(listener, request.scope["is_still_allowed"]),
            media_type="text/event-stream",
            headers={"cache-control": "no-store", "x-accel-buffering": "no"},
        )

    async def _stream_body(
        self, listener: Listener, is_still_allowed: Callable[[int], bool]
    ) -> AsyncIterator[bytes]:
        broadcast = self._app.broadcast
        broadcast.listeners += 1
        try:
            async for chunk in listener.chunks(self._app.live_runs):
                if not is_still_allowed(broadcast.batches):
                    return
                if chunk:
                    yield chunk
        finally:
            broadcast.listeners -= 1
