"""The recent events of the stream, kept once; each listener stores only its index."""

from bisect import bisect_right
from collections.abc import Iterable

from allstop.server.stream.frames import EventFilter, Frame, Position

SIZE = 8192


class RecentEvents:
    def __init__(self, floor: Position, size: int = SIZE) -> None:
        self._size = size
        self._frames: list[Frame] = []
        self._first = 0  # the index of the oldest kept event
        self._floor = floor  # the position before that event
        self._joined: dict[tuple[int, EventFilter], bytes] = {}

    @property
    def end(self) -> int:
        """The index of the next event."""
        return self._first + len(self._frames)

    @property
    def newest(self) -> Position:
        return self._frames[-1].position if self._frames else self._floor

    def put(self, frames: Iterable[Frame]) -> None:
        """Append events; none may have a position before the newest."""
        self._frames += frames
        self._joined.clear()
        spare = len(self._frames) - self._size
        if spare > self._size // 4:  # rarely, because deleting copies the rest
            self._floor = self._frames[spare - 1].position
            del self._frames[:spare]
            self._first += spare

    def find(self, position: Position) -> int | None:
        """Return the index of the first event after a position; None if it was dropped."""
        if position < self._floor:
            return None
        return self._first + bisect_right(self._frames, position, key=lambda frame: frame.position)

    def since(self, index: int, event_filter: EventFilter) -> bytes | None:
        """Return the matching events from an index on; None if some were dropped.

        Most listeners have the same index and filter, so the bytes are joined once.
        """
        if index < self._first:
            return None
        key = (index, event_filter)
        found = self._joined.get(key)
        if found is None:
            kept = self._frames[index - self._first :]
            found = b"".join(frame.wire for frame in kept if event_filter.matches(frame))
            self._joined[key] = found
        return found

    def position_before(self, index: int) -> Position:
        """Return the position of the event before `index`."""
        at = index - self._first - 1
        return self._frames[at].position if at >= 0 else self._floor
