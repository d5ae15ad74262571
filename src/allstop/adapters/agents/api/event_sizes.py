"""Checks the size of a stream's events.

The SDKs accept events of any size, and one of them copies the whole event again for every line and
chunk of it: an event of a few megabytes would block the program for minutes.
"""

EVENT_BYTES = 8 * 1024 * 1024
EVENT_LINES = 400


class EventSizeCheck:
    def __init__(self) -> None:
        self._bytes = 0
        self._lines = 0
        self._after_return = False
        self._after_line = b""

    def accepts(self, chunk: bytes) -> bool:
        """Whether every event up to the end of this chunk is small enough."""
        return all(size <= EVENT_BYTES and lines <= EVENT_LINES for size, lines in self._add(chunk))

    def _add(self, chunk: bytes) -> list[tuple[int, int]]:
        if self._after_return and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_return = chunk.endswith(b"\r") or (self._after_return and not chunk)
        text = self._after_line + chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._after_line = b"\n" if text.endswith(b"\n") else b""
        sizes = []
        for number, event in enumerate(text.split(b"\n\n")):
            if number:
                self._bytes = self._lines = 0
            self._bytes += len(event)
            self._lines += event.count(b"\n")
            sizes.append((self._bytes, self._lines))
        return sizes
