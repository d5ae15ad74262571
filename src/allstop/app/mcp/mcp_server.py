"""The MCP server: answers a client's messages by calling the tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from allstop import __version__
from allstop.app.mcp.tools import TOOLS
from allstop.app.validation_errors import InvalidRequestError, convert_arguments
from allstop.core import mcp
from allstop.core.errors import AllstopError

if TYPE_CHECKING:
    from allstop.app.project import Project

SERVER = mcp.Server(
    version=__version__,
    instructions="Look at what Allstop runs, and stop it. Nothing can be started here.",
    tools=[mcp.tool(each.name, each.description, each.takes) for each in TOOLS.values()],
)


async def answer(project: Project, line: bytes) -> mcp.Message | None:
    """The answer to one line; None if it needs none."""
    try:
        message = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return mcp.error(None, mcp.PARSE, "this is no JSON")
    response = mcp.respond(SERVER, message)
    return await _call(project, response) if isinstance(response, mcp.ToolCall) else response


async def _call(project: Project, call: mcp.ToolCall) -> mcp.Message:
    called = TOOLS.get(call.name)
    if called is None:
        known = ", ".join(TOOLS)
        return mcp.error(
            call.id, mcp.PARAMETERS, f"there is no tool {call.name!r}; there are: {known}"
        )
    try:
        arguments = convert_arguments(call.arguments, called.takes)
        result = await called.do(project, arguments)
    except InvalidRequestError as fault:
        hint = f" ({fault.hint})" if fault.hint else ""
        return mcp.error(call.id, mcp.PARAMETERS, f"{called.name}: {fault.message}{hint}")
    except AllstopError as fault:
        return mcp.content(call.id, f"{fault.message}. {fault.hint}".strip(), is_error=True)
    return mcp.content(call.id, msgspec.json.format(msgspec.json.encode(result)).decode())
