"""What an agent has told of the tools it is using, kept until it tells more. Pure."""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from allstop.adapters.agents.acp import items
from allstop.adapters.agents.acp.messages import ToolCall

CALLS_AT_MOST = 200
BYTES_AT_MOST = 4 * 1024 * 1024
LITTLE = 1024
"""Bytes of one call that do not count: there are never many of them."""
OVER = ("completed", "failed")


class Calls:
    """The latest ones, within bounds; of one that is over, only that it is."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[ToolCall, int]] = {}  # and how much was told of it
        self._bytes = 0

    def known(self, call: ToolCall) -> ToolCall:
        """All that was told of it, with this."""
        return items.merged(self._of(call)[0], call)

    def take(self, call: ToolCall, size: int) -> tuple[ToolCall, ToolCall]:
        """What was known of it, and what is now that so many bytes more were told."""
        known, before = self._of(call)
        now = items.merged(known, call)
        self._drop(call.tool_call_id)
        self._keep(now, before + size)
        return known, now

    def _of(self, call: ToolCall) -> tuple[ToolCall, int]:
        return self._calls.get(call.tool_call_id, (ToolCall(), 0))

    def _keep(self, call: ToolCall, size: int) -> None:
        self._calls[call.tool_call_id] = call, size
        self._bytes += size
        if call.status in OVER:
            self._lighten(call.tool_call_id)
        if len(self._calls) > CALLS_AT_MOST:
            self._drop(next(iter(self._calls)))
        if self._bytes > BYTES_AT_MOST:
            for name in tuple(self._calls):
                self._lighten(name)
        while self._bytes > BYTES_AT_MOST:
            self._drop(next(iter(self._calls)))

    def _lighten(self, name: str) -> None:
        """Its name and how it is remain, which may be much as well."""
        call, size = self._calls[name]
        call = replace(call, content=None, raw_input=None, raw_output=None)
        left = len(msgspec.json.encode(call)) if size > LITTLE else 0
        left = left if left > LITTLE else 0
        self._calls[name] = call, left
        self._bytes += left - size

    def _drop(self, name: str) -> None:
        self._bytes -= self._calls.pop(name, (ToolCall(), 0))[1]
