"""How many turns may be taken at once: whoever waits longest is served first."""

from __future__ import annotations

from collections import deque

import anyio


class Capacity:
    """Slots for turns. A run that has just had its turn lines up behind all who wait."""

    def __init__(self, slots: int | None = None) -> None:
        self._free = slots
        self._line: deque[anyio.Event] = deque()

    def line_up(self) -> anyio.Event | None:
        """A ticket, set once a slot is its own; None where there are slots for all."""
        if self._free is None:
            return None
        ticket = anyio.Event()
        self._line.append(ticket)
        self._serve()
        return ticket

    def give_back(self, ticket: anyio.Event | None) -> None:
        """Leave the slot, or the line."""
        if self._free is None or ticket is None:
            return
        if ticket.is_set():
            self._free += 1
            self._serve()
        else:
            self._line.remove(ticket)

    def _serve(self) -> None:
        assert self._free is not None
        while self._free and self._line:
            self._free -= 1
            self._line.popleft().set()
