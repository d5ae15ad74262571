"""Finds what a provider would fetch from other hosts for a request: a way out of a closed box.

What the box can read could be part of such an address. Agents that send pictures or run tools
of remote servers by themselves don't need it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from allstop.metering.wire_formats import WireFormat

MAX_SHOWN_CHARS = 80

_NAMES = (b'rl"', b'ri"', b'ontext"', b"mcp", b"web_fetch", b"network_policy", b"\\u00")
"""One of them is in each body that has such an address; an escape could hide them."""

_ADDRESS_NAMES = frozenset({"imageurl", "fileurl", "fileuri", "videourl", "audiourl"})
_ADDRESS = re.compile(r"\s*(?:https?|ftp|file|gs|s3)\s*:", re.IGNORECASE)

_ARGUMENTS = frozenset(
    {"args", "arguments", "input_schema", "parameters", "parametersJsonSchema", "response"}
)
"""Texts and schemas of an agent's own tools, which the provider doesn't interpret."""

_REMOTE_TOOLS = ("mcp", "web_fetch")
"""The beginning of the types of tools that go to an address of the agent's choice."""


def fetched(wire: WireFormat | None, data: bytes, body: Mapping[str, Any]) -> str:
    """The first address or tool by which the provider would go elsewhere; "" if there is none."""
    if not any(name in data for name in _NAMES):
        return ""
    return next((each[:MAX_SHOWN_CHARS] for each in _found(wire, body)), "")


def _found(wire: WireFormat | None, body: Mapping[str, Any]) -> Iterator[str]:
    if body.get("mcp_servers"):
        yield "mcp_servers"
    for tool in _dicts(body.get("tools")):
        kind = tool.get("type")
        if isinstance(kind, str) and kind.startswith(_REMOTE_TOOLS):
            yield kind
        if wire is WireFormat.GEMINI:
            yield from (name for name in tool if _plain(name) in ("urlcontext", "mcpservers"))
        for place in _dicts([tool.get("container"), tool.get("environment")]):
            if place.get("network_policy") not in (None, {"type": "disabled"}):
                yield "network_policy"
    waiting: list[Any] = [value for name, value in body.items() if name != "tools"]
    while waiting:
        value = waiting.pop()
        if isinstance(value, list):
            waiting += value
        elif isinstance(value, dict):
            yield from _addresses(value)
            skipped = _ARGUMENTS | {"input"} if _is_tool_use(value) else _ARGUMENTS
            waiting += [each for name, each in value.items() if name not in skipped]


def _addresses(part: Mapping[str, Any]) -> Iterator[str]:
    """Of one part of a message."""
    for name, value in part.items():
        is_address = _plain(name) in _ADDRESS_NAMES or (
            name == "url" and part.get("type") in ("url", "image", "document", "input_image")
        )
        address = value.get("url") if is_address and isinstance(value, dict) else value
        if is_address and isinstance(address, str) and _ADDRESS.match(address):
            yield address.strip()


def _is_tool_use(part: Mapping[str, Any]) -> bool:
    kind = part.get("type")
    return isinstance(kind, str) and kind.endswith("tool_use")


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


def _dicts(value: object) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []
