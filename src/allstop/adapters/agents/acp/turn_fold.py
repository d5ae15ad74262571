"""From what an agent tells to what happened in one turn. Pure: no I/O, no clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from allstop.adapters.agents.acp import items
from allstop.adapters.agents.acp.messages import Tokens, ToolCall, Update
from allstop.adapters.agents.acp.tool_calls import OVER, Calls
from allstop.adapters.agents.acp.tools import is_ours
from allstop.adapters.agents.api.call_usage import Reported, Spent, counted, spent
from allstop.core.moves import Item
from allstop.core.text import last_chars, one_line
from allstop.ports import Live
from allstop.programs import Tail

TEXT_BYTES = 128 * 1024
DIFF_CHARS = 64 * 1024
DIFFS_AT_MOST = 200

Told: TypeAlias = Live | Item

_SPEECH = {"agent_message_chunk": "message", "agent_thought_chunk": "reasoning"}
_LIVE = {"message": "text", "reasoning": "reasoning"}


class Fold:
    """One turn. Words belong to one message until something else is told."""

    def __init__(self) -> None:
        self.text = ""  # what it said last
        self.cost: float | None = None  # in dollars, of the conversation so far
        self.has_failed = False  # the program behind the agent says that its model did
        self.has_worked = False  # so that its model must have been asked
        self._speaks = ("", "")  # which kind, and of which message
        self._speech = Tail(TEXT_BYTES)
        self._chars = 0
        self._calls = Calls()
        self._diffs: list[str] = []

    def take(self, update: Update, size: int = 0) -> Iterator[Told]:
        """What was told in so many bytes."""
        kind = update.session_update
        if kind in _SPEECH:
            yield from self._said(update, _SPEECH[kind])
        elif kind in ("tool_call", "tool_call_update"):
            yield from self.end_of_speech()
            yield from self._used(update, size)
        elif kind == "plan":
            yield from self.end_of_speech()
            yield items.plan_of(update.entries)
        elif kind == "usage_update" and update.cost and update.cost.currency == "USD":
            self.cost = update.cost.amount
        elif kind == "session_info_update":
            status = _status(update.meta)
            self.has_failed = status == "systemError" if status else self.has_failed

    def end(self) -> Iterator[Item]:
        yield from self.end_of_speech()
        if diff := "".join(self._diffs):
            yield Item(kind="diff", text=last_chars(diff, DIFF_CHARS))

    def end_of_speech(self) -> Iterator[Item]:
        kind, text = self._speaks[0], self._speech.text()
        self._speaks, self._speech = ("", ""), Tail(TEXT_BYTES)
        if text.strip():
            self.text = text if kind == "message" else self.text
            yield Item(kind=kind, text=last_chars(text, items.ITEM_CHARS))

    def known(self, call: ToolCall) -> ToolCall:
        """All that was told of it, with this."""
        return self._calls.known(call)

    def spent(self, tokens: Tokens | None, prompt_chars: int) -> Spent:
        """By what is reported; where nothing is, by the words that were seen."""
        return spent(_reported(tokens or Tokens()), prompt_chars, self._chars)

    def _said(self, update: Update, kind: str) -> Iterator[Told]:
        if not (words := items.said_in(update.content)):
            return
        speaks = (kind, update.message_id or "")
        if speaks != self._speaks:
            yield from self.end_of_speech()
            self._speaks = speaks
        self._speech.add(words.encode(errors="replace"))
        self._chars += len(words)
        yield Live(_LIVE[kind], words)

    def _used(self, update: Update, size: int) -> Iterator[Told]:
        """Some agents never tell that one begins, and some tell its end twice."""
        self.has_worked = True
        known, call = self._calls.take(update, size)
        if call.title and call.title != known.title:
            yield Live("status", one_line(call.title))
        if call.status in OVER and call.status != known.status:
            if call.status == "completed" and call.kind in items.EDITS:
                diff = last_chars(items.diff_of(call), DIFF_CHARS)
                self._diffs = [*self._diffs, diff][-DIFFS_AT_MOST:]
            if not (is_ours(call) and call.status == "completed"):  # else it is an item already
                yield items.done(call)


def _reported(tokens: Tokens) -> Reported:
    """Some count what was cached within the input, and thoughts within the output; some don't."""
    read, said = counted(tokens.input_tokens), counted(tokens.output_tokens)
    whole, thought = counted(tokens.total_tokens), counted(tokens.thought_tokens) or 0
    if read is None or said is None:
        return Reported()
    if whole is not None:
        read = max(read, whole - said - thought)
        said = max(said, whole - read)
    return Reported(input=read, cached=tokens.cached_read_tokens, output=said)


def _status(meta: object) -> object:
    """How codex behind an adapter is: the adapter words a failure as an ordinary reply."""
    for name in ("codex", "threadStatus", "type"):
        meta = meta.get(name) if isinstance(meta, dict) else None
    return meta
