"""Files of ours that are read again and again."""

from __future__ import annotations

import os

AT_ONCE = 64 * 1024


def content(path: str) -> bytes:
    """All of a file. A path object, and what `open` asks of a file first, would cost far more.

    Raises:
        OSError: it can't be read, or is a link: nothing is followed, and nothing waited for.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        found = data = os.read(handle, AT_ONCE)
        while len(data) == AT_ONCE:
            data = os.read(handle, AT_ONCE)
            found += data
        return found
    finally:
        os.close(handle)
