"""The part of the Model Context Protocol that a tool server needs: JSON-RPC without I/O."""

from typing import Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Struct

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Newest first. A client that asks for an unknown version gets the newest."""

PARSE, REQUEST, METHOD, PARAMETERS = -32700, -32600, -32601, -32602

Message: TypeAlias = dict[str, Any]


class Server(NamedTuple):
    """What a server tells its clients about itself."""

    version: str
    instructions: str
    tools: list[Message]


class ToolCall(NamedTuple):
    """A client calls a tool; the caller of `respond` answers with `content` or `error`."""

    id: object
    name: str
    arguments: object


def respond(server: Server, message: object) -> Message | ToolCall | None:
    """The answer to a message, or the tool call to execute first; None for a notification."""
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        return error(None, REQUEST, "not a JSON-RPC request")
    if "id" not in message:
        return None
    id_, method, params = message["id"], message["method"], message.get("params") or {}
    if not isinstance(params, dict):
        return error(id_, PARAMETERS, "params must be an object")
    match method:
        case "initialize":
            return _result(id_, _introduction(server, params))
        case "ping":
            return _result(id_, {})
        case "tools/list":
            return _result(id_, {"tools": server.tools})
        case "tools/call":
            return ToolCall(id_, str(params.get("name")), params.get("arguments") or {})
        case _:
            return error(id_, METHOD, f"there is no method {method[:60]!r}")


def content(id_: object, text: str, *, is_error: bool = False) -> Message:
    """The result of a tool call."""
    return _result(id_, {"content": [{"type": "text", "text": text}], "isError": is_error})


def error(id_: object, code: int, message: str) -> Message:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}


def tool(name: str, description: str, takes: type[Struct]) -> Message:
    """The description of a tool; its arguments are the fields of `takes`."""
    (ref,), components = msgspec.json.schema_components([takes], ref_template="{name}")
    schema = dict(components[str(ref["$ref"])])
    schema.pop("title", None)
    return {"name": name, "description": description, "inputSchema": schema}


def _introduction(server: Server, params: Message) -> Message:
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "allstop", "version": server.version},
        "instructions": server.instructions,
    }


def _result(id_: object, result: Message) -> Message:
    return {"jsonrpc": "2.0", "id": id_, "result": result}
