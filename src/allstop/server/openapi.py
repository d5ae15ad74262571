"""The OpenAPI description, made from the table of routes and their types."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from allstop import __version__
from allstop.app.board.overview import TaskView
from allstop.app.supervisor import RunKinds
from allstop.server import wire_types
from allstop.server.routes import path_parameters
from allstop.server.routes.table import BASE, READ_ROUTES, WRITE_ROUTES, Route, WriteRoute, body_of
from allstop.views.kind import Kind
from allstop.views.runs import RunView
from allstop.views.sprints import SprintView

Document = dict[str, Any]

_STREAM: dict[str, Any] = {
    "log": wire_types.LogEvent,
    "run": RunView,
    "board": wire_types.BoardState,
    "task": TaskView,
    "sprint": SprintView,
    "hold": wire_types.HoldView,
    "inbox": wire_types.InboxCount,
    "live": wire_types.LiveText,
    "reset": wire_types.Reset,
}
"""The types of stream events that don't depend on the kind of run, by name."""

_REFERENCE = "#/components/schemas/{name}"

_ERRORS = {
    400: "The request is malformed: two body lengths, or a body that isn't JSON.",
    401: "The token is missing or wrong.",
    403: "The host name or the origin isn't allowed.",
    404: "There is no such path, run or task.",
    405: "The path doesn't allow this method; `Allow` lists those it does.",
    408: "The body took too long.",
    409: "Not possible in the present state; the message says why.",
    413: "The body is too large.",
    414: "The URL is too long.",
    415: "The Content-Type isn't JSON.",
    422: "A parameter or a field of the body is invalid.",
    431: "The headers are too long.",
    500: "An internal error, or a broken journal.",
    503: "The server is busy; try again.",
    507: "The disk is full.",
}
_ALL_ROUTES = (400, 401, 403, 405, 414, 422, 431, 500, 503)
_WRITE_ROUTES = (408, 409, 413, 415, 507)


def stream_events(kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """Return the type of each stream event, including those of the kinds."""
    details = {kind.detail_event: kind.detail_type for kind in kinds.values() if kind.detail_event}
    messages = {
        kind.message_event: kind.message_type for kind in kinds.values() if kind.message_event
    }
    return {**_STREAM, **messages, **details}


def document(kinds: RunKinds) -> Document:
    events = stream_events(kinds.pure)
    routes: list[Route | WriteRoute] = [*READ_ROUTES, *WRITE_ROUTES]
    types: list[Any] = [wire_types.Refused, *events.values()]
    types += [route.response for route in routes]
    types += [body_of(route, kinds) for route in routes if isinstance(route, WriteRoute)]
    schemas, components = msgspec.json.schema_components(
        types, schema_hook=_anything, ref_template=_REFERENCE
    )
    by_type = dict(zip(map(str, types), schemas, strict=True))
    _describe_details(components, by_type, kinds)
    paths: Document = {}
    for route in routes:
        paths.setdefault(BASE + route.path, {})[_method(route)] = _operation(route, by_type, kinds)
    paths[f"{BASE}/stream"] = {"get": _stream(by_type, events)}
    paths["/metrics"] = {"get": _metrics()}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Allstop",
            "version": __version__,
            "description": "The API of the control room. A run's id may contain slashes.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": {
                str(status): _json_response(meaning, by_type[str(wire_types.Refused)])
                for status, meaning in _ERRORS.items()
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _describe_details(components: Document, schemas: dict[str, Any], kinds: RunKinds) -> None:
    """Describe `detail` as the union of the kinds' detail types and null."""
    found = [kind.detail_type for kind in kinds.pure.values() if kind.detail_type]
    union = {"anyOf": [{"type": "null"}, *(schemas[str(each)] for each in found)]}
    for name in ("RunDetail", "MomentView"):
        components[name]["properties"]["detail"] = union


def _anything(kind: type) -> Document:
    if kind is not object:
        raise NotImplementedError
    return {"description": "Any JSON."}


def _method(route: Route | WriteRoute) -> str:
    return "post" if isinstance(route, WriteRoute) else "get"


def _operation(route: Route | WriteRoute, schemas: dict[str, Any], kinds: RunKinds) -> Document:
    operation: Document = {
        "operationId": _name(route),
        "summary": route.summary,
        "parameters": _parameters(route.path, route.parameters),
        "responses": {
            "200": _json_response("Success.", schemas[str(route.response)]),
            **_refusals(_statuses(route)),
        },
    }
    if isinstance(route, WriteRoute):
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schemas[str(body_of(route, kinds))]}},
        }
    return operation


def _statuses(route: Route | WriteRoute) -> tuple[int, ...]:
    """Return the error statuses of a route."""
    writing = _WRITE_ROUTES if isinstance(route, WriteRoute) else ()
    return (*_ALL_ROUTES, *writing, *route.error_statuses)


def _refusals(statuses: Iterable[int]) -> Document:
    return {
        str(status): {"$ref": f"#/components/responses/{status}"}
        for status in sorted(set(statuses))
    }


def _name(route: Route | WriteRoute) -> str:
    return "_".join([_method(route), *re.findall(r"[a-z]+", route.path)])


def _json_response(description: str, schema: object) -> Document:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _parameters(path: str, parameters: type[path_parameters.NoParameters]) -> list[Document]:
    _, components = msgspec.json.schema_components([parameters], ref_template=_REFERENCE)
    schema = components[parameters.__name__]
    return [
        {
            "name": name,
            "in": "path" if f"{{{name}}}" in path else "query",
            "required": name in schema["required"],
            "description": field.pop("description", ""),
            "schema": field,
        }
        for name, field in schema["properties"].items()
    ]


def _stream(schemas: dict[str, Any], events: Mapping[str, Any]) -> Document:
    one_of = [
        {
            "type": "object",
            "required": ["event", "data"],
            "properties": {
                "event": {"const": name},
                "data": {
                    "type": "string",
                    "contentMediaType": "application/json",
                    "contentSchema": schemas[str(kind)],
                },
            },
        }
        for name, kind in events.items()
    ]
    after = {
        "name": "Last-Event-ID",
        "in": "header",
        "required": False,
        "schema": {"type": "string"},
        "description": "Continue after this event; a browser sends it by itself.",
    }
    return {
        "operationId": "get_stream",
        "summary": "Events as they happen. A reconnect loses none.",
        "parameters": [*_parameters("/stream", path_parameters.Stream), after],
        "responses": {
            "200": {
                "description": "Server-sent events; the event's name determines the type of `data`.",
                "content": {"text/event-stream": {"schema": {"oneOf": one_of}}},
            },
            **_refusals(_ALL_ROUTES),
        },
    }


def _metrics() -> Document:
    return {
        "operationId": "get_metrics",
        "summary": "Metrics in the text format of Prometheus.",
        "responses": {
            "200": {
                "description": "Text.",
                "content": {"text/plain": {"schema": {"type": "string"}}},
            },
            **_refusals(_ALL_ROUTES),
        },
    }
