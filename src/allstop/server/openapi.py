"""The description of the API, made from the table of routes and from the types they use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from allstop import __version__
from allstop.app.board.overview import TaskView
from allstop.app.supervisor import RunKinds
from allstop.server import wire_types
from allstop.server.routes import path_parameters
from allstop.server.routes.table import BASE, CHANGING, READING, Change, Route, body_of
from allstop.views.kind import Kind
from allstop.views.rooms import RoomEvent
from allstop.views.runs import RunView

Document = dict[str, Any]

_STREAM: dict[str, Any] = {
    "log": wire_types.LogEvent,
    "run": RunView,
    "board": wire_types.BoardState,
    "task": TaskView,
    "room": RoomEvent,
    "hold": wire_types.HoldView,
    "inbox": wire_types.InboxCount,
    "live": wire_types.LiveText,
    "reset": wire_types.Reset,
}
"""The events of the stream that every kind of run has, by name."""

_REFERENCE = "#/components/schemas/{name}"

_WRONG = {
    400: "It can't be read: two lengths, or a body that is no JSON.",
    401: "Without the token.",
    403: "By the wrong name, or from another site's page.",
    404: "Nothing has this name.",
    405: "Not by this method; `Allow` says by which.",
    408: "The body did not come in time.",
    409: "It makes no sense as things stand; the message says why.",
    413: "The body is too large.",
    414: "The address is too long.",
    415: "The body is not said to be JSON.",
    422: "Something in it is not what is expected.",
    431: "The headers are too long.",
    500: "A mistake in Allstop, or a store that is broken.",
    503: "Too many at once; try again.",
    507: "The disk is full.",
}
_OF_ALL = (400, 401, 403, 405, 414, 422, 431, 500, 503)
_OF_CHANGES = (408, 409, 413, 415, 507)


def stream_events(kinds: Mapping[str, Kind]) -> dict[str, Any]:
    """The type of each event of the stream, with the details of each kind."""
    details = {kind.detail_event: kind.detail_type for kind in kinds.values() if kind.detail_event}
    return {**_STREAM, **details}


def document(kinds: RunKinds) -> Document:
    events = stream_events(kinds.pure)
    routes: list[Route | Change] = [*READING, *CHANGING]
    types: list[Any] = [wire_types.Refused, *events.values()]
    types += [route.answers for route in routes]
    types += [body_of(route, kinds) for route in routes if isinstance(route, Change)]
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
            "description": "What the control room is made of. A run's id may have slashes in it.",
        },
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": {
                str(status): _said(meaning, by_type[str(wire_types.Refused)])
                for status, meaning in _WRONG.items()
            },
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _describe_details(components: Document, schemas: dict[str, Any], kinds: RunKinds) -> None:
    """`detail` is one of the types that the kinds have, or null."""
    found = [kind.detail_type for kind in kinds.pure.values() if kind.detail_type]
    union = {"anyOf": [{"type": "null"}, *(schemas[str(each)] for each in found)]}
    for name in ("RunDetail", "MomentView"):
        components[name]["properties"]["detail"] = union


def _anything(kind: type) -> Document:
    if kind is not object:
        raise NotImplementedError
    return {"description": "Any JSON."}


def _method(route: Route | Change) -> str:
    return "post" if isinstance(route, Change) else route.method.lower()


def _operation(route: Route | Change, schemas: dict[str, Any], kinds: RunKinds) -> Document:
    operation: Document = {
        "operationId": _name(route),
        "summary": route.summary,
        "parameters": _parameters(route.path, route.takes),
        "responses": {
            "200": _said("What was asked for.", schemas[str(route.answers)]),
            **_refusals(_statuses(route)),
        },
    }
    if isinstance(route, Change):
        operation["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schemas[str(body_of(route, kinds))]}},
        }
    return operation


def _statuses(route: Route | Change) -> tuple[int, ...]:
    """With which numbers it can be refused."""
    of_it = _OF_CHANGES if isinstance(route, Change) else ()
    return (*_OF_ALL, *of_it, *route.refuses)


def _refusals(statuses: Iterable[int]) -> Document:
    return {
        str(status): {"$ref": f"#/components/responses/{status}"}
        for status in sorted(set(statuses))
    }


def _name(route: Route | Change) -> str:
    verb = "post" if isinstance(route, Change) else "get"
    words = re.findall(r"[a-z]+", route.path)
    return "_".join([verb, *words])


def _said(description: str, schema: object) -> Document:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _parameters(path: str, takes: type[path_parameters.Nothing]) -> list[Document]:
    _, components = msgspec.json.schema_components([takes], ref_template=_REFERENCE)
    schema = components[takes.__name__]
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
        "description": "Go on after this one; a browser sends it by itself.",
    }
    return {
        "operationId": "get_stream",
        "summary": "What happens, as it happens. Nothing is lost over a reconnect.",
        "parameters": [*_parameters("/stream", path_parameters.Stream), after],
        "responses": {
            "200": {
                "description": "Server-sent events; `data` is JSON by the name of the event.",
                "content": {"text/event-stream": {"schema": {"oneOf": one_of}}},
            },
            **_refusals(_OF_ALL),
        },
    }


def _metrics() -> Document:
    return {
        "operationId": "get_metrics",
        "summary": "Numbers for Prometheus.",
        "responses": {
            "200": {
                "description": "Text.",
                "content": {"text/plain": {"schema": {"type": "string"}}},
            },
            **_refusals(_OF_ALL),
        },
    }
