"""Slots: limit the number of concurrent turns, first come, first served."""

from collections import deque

import anyio


class SlotRequest:
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
        self._queue: deque[SlotRequest] = deque()

    def resize(self, slots: int) -> None:
        """Change the number of slots; slots in use aren't taken away."""
        if self.slots is not None and self._free is not None:
            self._free += slots - self.slots
            self.slots = slots
            self._serve()

    def enqueue(self) -> SlotRequest | None:
        """Request a slot; None if slots are unlimited."""
        if self._free is None:
            return None
        request = SlotRequest()
        self._queue.append(request)
        self._serve()
        return request

    def release(self, request: SlotRequest | None) -> None:
        """Give up the slot, or leave the queue."""
        if self._free is None or request is None:
            return
        if request.granted:
            self._free += 1
            self._serve()
        else:
            self._queue.remove(request)

    def _serve(self) -> None:
        assert self._free is not None
        while self._free > 0 and self._queue:
            self._free -= 1
            self._queue.popleft().grant()


class RunSlot:
    """One run's slot: held, requested or neither."""

    def __init__(self, turn_slots: Slots) -> None:
        self._turn_slots = turn_slots
        self._request: SlotRequest | None = None
        self._in_line = False

    def has_slot(self) -> bool:
        """Whether the run has a slot; requests one if needed."""
        if not self._in_line:
            self._in_line = True
            self._request = self._turn_slots.enqueue()
        return self._request is None or self._request.granted

    @property
    def words(self) -> str:
        """The state of a queued run, as shown to people."""
        slots = self._turn_slots.slots
        return f"waits for a free slot ({slots} of {slots} taken)"

    def leave(self) -> None:
        self._in_line = False
        if self._request is not None:
            request, self._request = self._request, None
            self._turn_slots.release(request)

    def requeue(self) -> None:
        """Queue again at once, behind the runs that already wait."""
        if self._request is not None:
            self.leave()
            self.has_slot()

    def wake(self) -> None:
        """Wake the run if it waits for a slot."""
        if self._request is not None:
            self._request.wake()

    async def wait(self) -> None:
        assert self._request is not None, "the run is queued"
        await self._request.wait()
