"""Folds an ACP agent's updates into the items of one turn. Pure: no I/O, no clock."""

from collections.abc import Iterator
from typing import TypeAlias

from allstop.adapters.agents.acp import items
from allstop.adapters.agents.acp.messages import Tokens, ToolCall, Update
from allstop.adapters.agents.acp.tool_calls import FINAL_STATUSES, ToolCalls
from allstop.adapters.agents.acp.tools import is_turn_tool
from allstop.adapters.agents.api.call_usage import (
    ReportedUsage,
    TokenCounts,
    count_tokens,
)
from allstop.core.moves import Item
from allstop.core.text import last_chars, one_line
from allstop.metering.usage import as_count
from allstop.ports import Live
from allstop.programs import Tail

TEXT_BYTES = 128 * 1024
DIFF_CHARS = 64 * 1024
MAX_DIFFS = 200

TurnEvent: TypeAlias = Live | Item

_TEXT_KINDS = {"agent_message_chunk": "message", "agent_thought_chunk": "reasoning"}
_LIVE = {"message": "text", "reasoning": "reasoning"}


class TurnFold:
    """The state of one turn; text belongs to one message until another update arrives."""

    def __init__(self) -> None:
        self.text = ""  # the last message
        self.cost: float | None = None  # of the conversation so far, in dollars
        self.context = 0  # tokens of the conversation, as last reported
        self.has_failed = False  # the program behind the adapter reports that its model failed
        self.has_worked = False  # it used a tool, so its model was called
        self._message = ("", "")  # kind and id of the unfinished message
        self._message_text = Tail(TEXT_BYTES)
        self._chars = 0
        self._calls = ToolCalls()
        self._diffs: list[str] = []

    def add(self, update: Update, size: int = 0) -> Iterator[TurnEvent]:
        """The events of an update of `size` bytes."""
        kind = update.session_update
        if kind in _TEXT_KINDS:
            yield from self._text(update, _TEXT_KINDS[kind])
        elif kind in ("tool_call", "tool_call_update"):
            yield from self.end_message()
            yield from self._tool_call(update, size)
        elif kind == "plan":
            yield from self.end_message()
            yield items.plan_item(update.entries)
        elif kind == "usage_update":
            self.context = as_count(update.used) or self.context
            if update.cost and update.cost.currency == "USD":
                self.cost = update.cost.amount
        elif kind == "session_info_update":
            status = _status(update.meta)
            self.has_failed = status == "systemError" if status else self.has_failed

    def end(self) -> Iterator[Item]:
        yield from self.end_message()
        if diff := "".join(self._diffs):
            yield Item(kind="diff", text=last_chars(diff, DIFF_CHARS))

    def end_message(self) -> Iterator[Item]:
        kind, text = self._message[0], self._message_text.text()
        self._message, self._message_text = ("", ""), Tail(TEXT_BYTES)
        if text.strip():
            self.text = text if kind == "message" else self.text
            yield Item(kind=kind, text=last_chars(text, items.ITEM_CHARS))

    def known(self, call: ToolCall) -> ToolCall:
        return self._calls.known(call)

    def count_tokens(self, tokens: Tokens | None, prompt_chars: int) -> TokenCounts:
        """The reported tokens, or an estimate from the text."""
        return count_tokens(_reported(tokens or Tokens()), prompt_chars, self._chars)

    def _text(self, update: Update, kind: str) -> Iterator[TurnEvent]:
        if not (text := items.block_text(update.content)):
            return
        message = (kind, update.message_id or "")
        if message != self._message:
            yield from self.end_message()
            self._message = message
        self._message_text.add(text.encode(errors="replace"))
        self._chars += len(text)
        yield Live(_LIVE[kind], text)

    def _tool_call(self, update: Update, size: int) -> Iterator[TurnEvent]:
        """Some agents never report the start of a call, and some report its end twice."""
        self.has_worked = True
        known, call = self._calls.update(update, size)
        if call.title and call.title != known.title:
            yield Live("status", one_line(call.title))
        if call.status in FINAL_STATUSES and call.status != known.status:
            if call.status == "completed" and call.kind in items.EDITS:
                diff = last_chars(items.call_diff(call), DIFF_CHARS)
                self._diffs = [*self._diffs, diff][-MAX_DIFFS:]
            is_recorded = is_turn_tool(call) and call.status == "completed"
            if not is_recorded:  # the turn's tools record items themselves
                yield items.tool_item(call)


def _reported(tokens: Tokens) -> ReportedUsage:
    """Normalize: some agents count cached tokens in the input and thoughts in the output."""
    total_input, output = as_count(tokens.input_tokens), as_count(tokens.output_tokens)
    total, thoughts = as_count(tokens.total_tokens), as_count(tokens.thought_tokens) or 0
    if total_input is None or output is None:
        return ReportedUsage()
    if total is not None:
        total_input = max(total_input, total - output - thoughts)
        output = max(output, total - total_input)
    return ReportedUsage(input=total_input, cached=tokens.cached_read_tokens, output=output)


def _status(meta: object) -> object:
    """The status of codex behind its adapter, which reports a failure as an ordinary reply."""
    for name in ("codex", "threadStatus", "type"):
        meta = meta.get(name) if isinstance(meta, dict) else None
    return meta
