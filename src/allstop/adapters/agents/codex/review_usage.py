"""Estimates the tokens of a review, because codex doesn't report them."""

from allstop.adapters.agents.api.call_usage import TokenCounts
from allstop.core.context_window import CHARS_PER_TOKEN, estimate
from allstop.core.moves import Item

FRONT_CHARS = 22_000
"""The length of codex 0.163's own prompt and tools before a review's instructions."""

CALLS = frozenset({"command", "file", "tool", "search"})
"""Item kinds after which codex calls the model again, with the whole context."""


class ReviewUsage:
    def __init__(self, instructions: str) -> None:
        self._context = FRONT_CHARS + len(instructions)
        self._read = self._context
        self._written = 0

    def add(self, item: Item) -> None:
        if item.kind in CALLS:
            self._context += len(item.text)
            self._read += self._context
        else:
            self._written += len(item.text)

    @property
    def counts(self) -> TokenCounts:
        return TokenCounts(
            input=estimate(self._read, CHARS_PER_TOKEN),
            output=estimate(self._written, CHARS_PER_TOKEN),
        )
