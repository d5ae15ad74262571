"""The MCP server for clients: which tool does what they ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from allstop import __version__
from allstop.app.mcp.tools import TOOLS
from allstop.core.errors import AllstopError
from allstop.core.mcp import (
    PARAMETERS,
    PARSE,
    Message,
    Server,
    ToolCall,
    content,
    error,
    respond,
    tool,
)

if TYPE_CHECKING:
    from allstop.app.project import Project

SERVER = Server(
    version=__version__,
    instructions="Look at what Allstop runs, and stop it. Nothing can be started here.",
    tools=[tool(each.name, each.description, each.takes) for each in TOOLS.values()],
)


async def answer(project: Project, line: bytes) -> Message | None:
    """What is said to one line; None to what wants no answer."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return error(None, PARSE, "this is no JSON")
    said = respond(SERVER, message)
    return await _called(project, said) if isinstance(said, ToolCall) else said


async def _called(project: Project, call: ToolCall) -> Message:
    used = TOOLS.get(call.name)
    if used is None:
        known = ", ".join(TOOLS)
        return error(call.id, PARAMETERS, f"there is no tool {call.name!r}; there are: {known}")
    try:
        given = msgspec.convert(call.arguments, used.takes)
        done = await used.do(project, given)
    except msgspec.ValidationError as fault:
        return error(call.id, PARAMETERS, f"{used.name}: {fault}")
    except AllstopError as fault:
        return content(call.id, f"{fault.message}. {fault.hint}".strip(), is_error=True)
    return content(call.id, msgspec.json.format(msgspec.json.encode(done)).decode())
