"""Slots: limit the number of concurrent turns, first come, first served."""

from __future__ import annotations

from collections import deque

import anyio


class SlotTicket:
    """A request in the queue for a slot."""

    def __init__(self) -> None:
        self.granted = False
        self._woken = anyio.Event()

    def grant(self) -> None:
        self.granted = True
        self.wake()

    def wake(self) -> None:
        self._woken.set()

    async def wait(self) -> None:
        """Wait until the slot is granted or the request is woken."""
        await self._woken.wait()
        self._woken = anyio.Event()


class Slots:
    """Slots for turns. After a turn, a run queues behind all waiting runs."""

    def __init__(self, slots: int | None = None) -> None:
        self.slots = self._free = slots
        self._queue: deque[SlotTicket] = deque()

    def resize(self, slots: int) -> None:
        """Change the number of slots; slots in use aren't taken away."""
        if self.slots is not None and self._free is not None:
            self._free += slots - self.slots
            self.slots = slots
            self._serve()

    def enqueue(self) -> SlotTicket | None:
        """Request a slot; None if slots are unlimited."""
        if self._free is None:
            return None
        ticket = SlotTicket()
        self._queue.append(ticket)
        self._serve()
        return ticket

    def release(self, ticket: SlotTicket | None) -> None:
        """Give up the slot, or leave the queue."""
        if self._free is None or ticket is None:
            return
        if ticket.granted:
            self._free += 1
            self._serve()
        else:
            self._queue.remove(ticket)

    def _serve(self) -> None:
        assert self._free is not None
        while self._free > 0 and self._queue:
            self._free -= 1
            self._queue.popleft().grant()


class SlotRequest:
    """One run's slot: held, requested or neither."""

    def __init__(self, turn_slots: Slots) -> None:
        self._turn_slots = turn_slots
        self._ticket: SlotTicket | None = None
        self._in_line = False

    def has_slot(self) -> bool:
        """Whether the run has a slot; requests one if needed."""
        if not self._in_line:
            self._in_line = True
            self._ticket = self._turn_slots.enqueue()
        return self._ticket is None or self._ticket.granted

    @property
    def words(self) -> str:
        """The state of a queued run, as shown to people."""
        slots = self._turn_slots.slots
        return f"waits for a free slot ({slots} of {slots} taken)"

    def leave(self) -> None:
        self._in_line = False
        if self._ticket is not None:
            ticket, self._ticket = self._ticket, None
            self._turn_slots.release(ticket)

    def requeue(self) -> None:
        """Queue again at once, behind the runs that already wait."""
        if self._ticket is not None:
            self.leave()
            self.has_slot()

    def wake(self) -> None:
        """Wake the run if it waits for a slot."""
        if self._ticket is not None:
            self._ticket.wake()

    async def wait(self) -> None:
        assert self._ticket is not None, "the run is queued"
        await self._ticket.wait()
