"""Merges the updates of an agent's tool calls, within memory limits. Pure."""

import msgspec
from msgspec.structs import replace

from allstop.adapters.agents.acp import items
from allstop.adapters.agents.acp.messages import ToolCall

MAX_CALLS = 200
MAX_BYTES = 4 * 1024 * 1024
UNCOUNTED_BYTES = 1024
"""A call this small doesn't count, because the number of calls is limited."""
FINAL_STATUSES = ("completed", "failed")


class ToolCalls:
    """The latest calls; finished ones without their content."""

    def __init__(self) -> None:
        self._calls: dict[str, tuple[ToolCall, int]] = {}  # with the bytes received for it
        self._bytes = 0

    def known(self, call: ToolCall) -> ToolCall:
        return items.merge(self._of(call)[0], call)

    def update(self, call: ToolCall, size: int) -> tuple[ToolCall, ToolCall]:
        """The call before and after an update of `size` bytes."""
        known, before = self._of(call)
        now = items.merge(known, call)
        self._drop(call.tool_call_id)
        self._keep(now, before + size)
        return known, now

    def _of(self, call: ToolCall) -> tuple[ToolCall, int]:
        return self._calls.get(call.tool_call_id, (ToolCall(), 0))

    def _keep(self, call: ToolCall, size: int) -> None:
        self._calls[call.tool_call_id] = call, size
        self._bytes += size
        if call.status in FINAL_STATUSES:
            self._drop_content(call.tool_call_id)
        if len(self._calls) > MAX_CALLS:
            self._drop(next(iter(self._calls)))
        if self._bytes > MAX_BYTES:
            for name in tuple(self._calls):
                self._drop_content(name)
        while self._bytes > MAX_BYTES:
            self._drop(next(iter(self._calls)))

    def _drop_content(self, name: str) -> None:
        """Keep the other fields, which may be large as well."""
        call, size = self._calls[name]
        call = replace(call, content=None, raw_input=None, raw_output=None)
        rest = len(msgspec.json.encode(call)) if size > UNCOUNTED_BYTES else 0
        rest = rest if rest > UNCOUNTED_BYTES else 0
        self._calls[name] = call, rest
        self._bytes += rest - size

    def _drop(self, name: str) -> None:
        self._bytes -= self._calls.pop(name, (ToolCall(), 0))[1]
