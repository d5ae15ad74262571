"""What a review has used, by estimate: of its calls of the model codex tells nothing."""

from __future__ import annotations

from allstop.adapters.agents.api.call_usage import Spent
from allstop.core.context_window import CHARS_PER_TOKEN, estimate
from allstop.core.moves import Item

FRONT_CHARS = 22_000
"""What codex 0.163 puts in front of a review's instructions, tools included."""

CALLS = frozenset({"command", "file", "tool", "search"})
"""Items after which the model is called again, with all that came before."""


class Guess:
    def __init__(self, instructions: str) -> None:
        self._context = FRONT_CHARS + len(instructions)
        self._read = self._context
        self._written = 0

    def heard(self, item: Item) -> None:
        if item.kind in CALLS:
            self._context += len(item.text)
            self._read += self._context
        else:
            self._written += len(item.text)

    @property
    def spent(self) -> Spent:
        return Spent(
            input=estimate(self._read, CHARS_PER_TOKEN),
            output=estimate(self._written, CHARS_PER_TOKEN),
        )
