"""The latest events of the stream, once for all who listen: each has only a number of its own."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable

from allstop.server.stream.frames import Frame, Place, Wish

SIZE = 8192


class Ring:
    def __init__(self, floor: Place, size: int = SIZE) -> None:
        self._size = size
        self._frames: list[Frame] = []
        self._first = 0  # the number of the oldest that is kept
        self._floor = floor  # the place before it
        self._joined: dict[tuple[int, Wish], bytes] = {}

    @property
    def end(self) -> int:
        """The number of the next one."""
        return self._first + len(self._frames)

    @property
    def newest(self) -> Place:
        return self._frames[-1].place if self._frames else self._floor

    def put(self, frames: Iterable[Frame]) -> None:
        """Each stands at or after the newest."""
        self._frames += frames
        self._joined.clear()
        spare = len(self._frames) - self._size
        if spare > self._size // 4:  # at once for many: each time copies the rest
            self._floor = self._frames[spare - 1].place
            del self._frames[:spare]
            self._first += spare

    def find(self, place: Place) -> int | None:
        """The number of the first one after a place; None if some of those have left."""
        if place < self._floor:
            return None
        return self._first + bisect_right(self._frames, place, key=lambda frame: frame.place)

    def since(self, number: int, wish: Wish) -> bytes | None:
        """All from a number on that somebody wants; None if some have left.

        Most want the same: it is put together once.
        """
        if number < self._first:
            return None
        key = (number, wish)
        found = self._joined.get(key)
        if found is None:
            kept = self._frames[number - self._first :]
            found = b"".join(frame.wire for frame in kept if wish.wants(frame))
            self._joined[key] = found
        return found

    def place_before(self, number: int) -> Place:
        """Of the one that precedes a number, which is still kept or the next."""
        at = number - self._first - 1
        return self._frames[at].place if at >= 0 else self._floor
