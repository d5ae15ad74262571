"""The Model Context Protocol, as much of it as a server of tools needs: lines of JSON-RPC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from allstop import __version__
from allstop.app.tools import TOOLS
from allstop.core.errors import AllstopError

if TYPE_CHECKING:
    from allstop.app.house import House

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""The newest first: what a client asks for and we don't know is answered with it."""

PARSE, REQUEST, METHOD, PARAMETERS = -32700, -32600, -32601, -32602

Message = dict[str, Any]


async def answer(house: House, line: bytes) -> Message | None:
    """What is said to one line; None to what wants no answer."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _error(None, PARSE, "this is no JSON")
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        return _error(None, REQUEST, "this is no request")
    if "id" not in message:
        return None
    return await _answer(house, message["id"], message["method"], message.get("params") or {})


async def _answer(house: House, id_: object, method: str, params: object) -> Message:
    if not isinstance(params, dict):
        return _error(id_, PARAMETERS, "params must be an object")
    match method:
        case "initialize":
            return _result(id_, _introduction(params))
        case "ping":
            return _result(id_, {})
        case "tools/list":
            return _result(id_, {"tools": [_shown(name) for name in TOOLS]})
        case "tools/call":
            return await _call(house, id_, params)
        case _:
            return _error(id_, METHOD, f"there is no method {method[:60]!r}")


def _introduction(params: Message) -> Message:
    asked = params.get("protocolVersion")
    return {
        "protocolVersion": asked if asked in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "allstop", "version": __version__},
        "instructions": "Look at what Allstop runs, and stop it. Nothing can be started here.",
    }


def _shown(name: str) -> Message:
    tool = TOOLS[name]
    return {"name": name, "description": tool.description, "inputSchema": tool.schema()}


async def _call(house: House, id_: object, params: Message) -> Message:
    tool = TOOLS.get(str(params.get("name")))
    if tool is None:
        known = ", ".join(TOOLS)
        return _error(
            id_, PARAMETERS, f"there is no tool {params.get('name')!r}; there are: {known}"
        )
    try:
        given = msgspec.convert(params.get("arguments") or {}, tool.takes)
        done = await tool.do(house, given)
    except msgspec.ValidationError as error:
        return _error(id_, PARAMETERS, f"{tool.name}: {error}")
    except AllstopError as error:
        return _result(id_, _content(f"{error.message}. {error.hint}".strip(), is_error=True))
    text = msgspec.json.format(msgspec.json.encode(done)).decode()
    return _result(id_, _content(text, is_error=False))


def _content(text: str, *, is_error: bool) -> Message:
    return {"content": [{"type": "text", "text": text}], "isError": is_error}


def _result(id_: object, result: Message) -> Message:
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def _error(id_: object, code: int, message: str) -> Message:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}
