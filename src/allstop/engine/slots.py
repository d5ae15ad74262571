"""How many turns may be taken at once: whoever waits longest is served first."""

from __future__ import annotations

from collections import deque

import anyio


class Ticket:
    """A place in the line."""

    def __init__(self) -> None:
        self.granted = False
        self._called = anyio.Event()

    def grant(self) -> None:
        self.granted = True
        self.call()

    def call(self) -> None:
        self._called.set()

    async def called(self) -> None:
        """Waits until there is a slot, or other news."""
        await self._called.wait()
        self._called = anyio.Event()


class Slots:
    """Slots for turns. A run that has just had its turn lines up behind all who wait."""

    def __init__(self, slots: int | None = None) -> None:
        self.slots = self._free = slots
        self._line: deque[Ticket] = deque()

    def resize(self, slots: int) -> None:
        """Whoever has a slot keeps it, though there be fewer from now on."""
        if self.slots is not None and self._free is not None:
            self._free += slots - self.slots
            self.slots = slots
            self._serve()

    def line_up(self) -> Ticket | None:
        """A ticket, granted once a slot is its own; None where there are slots for all."""
        if self._free is None:
            return None
        ticket = Ticket()
        self._line.append(ticket)
        self._serve()
        return ticket

    def give_back(self, ticket: Ticket | None) -> None:
        """Leave the slot, or the line."""
        if self._free is None or ticket is None:
            return
        if ticket.granted:
            self._free += 1
            self._serve()
        else:
            self._line.remove(ticket)

    def _serve(self) -> None:
        assert self._free is not None
        while self._free > 0 and self._line:
            self._free -= 1
            self._line.popleft().grant()


class Place:
    """One run's place: in the line for a slot, in a slot, or in neither."""

    def __init__(self, turn_slots: Slots) -> None:
        self._turn_slots = turn_slots
        self._ticket: Ticket | None = None
        self._in_line = False

    def has_slot(self) -> bool:
        """Lines up, if need be."""
        if not self._in_line:
            self._in_line = True
            self._ticket = self._turn_slots.line_up()
        return self._ticket is None or self._ticket.granted

    @property
    def words(self) -> str:
        """Of one that is in the line."""
        slots = self._turn_slots.slots
        return f"waits for a free slot ({slots} of {slots} taken)"

    def leave(self) -> None:
        self._in_line = False
        if self._ticket is not None:
            ticket, self._ticket = self._ticket, None
            self._turn_slots.give_back(ticket)

    def go_back(self) -> None:
        """Line up again at once: others who wait come first, but none who don't."""
        if self._ticket is not None:
            self.leave()
            self.has_slot()

    def call(self) -> None:
        """Whoever waits in the line must look up."""
        if self._ticket is not None:
            self._ticket.call()

    async def called(self) -> None:
        assert self._ticket is not None, "it was in the line"
        await self._ticket.called()
