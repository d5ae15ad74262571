"""Files that are read again and again."""

from __future__ import annotations

import errno
import os

AT_ONCE = 64 * 1024


def content(path: str, most_bytes: int = AT_ONCE) -> bytes:
    """All of a file. A path object, and what `open` asks of a file first, would cost far more.

    Raises:
        OSError: it can't be read, is larger than that, or is a link: nothing is followed, and
            nothing waited for.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        parts = [os.read(handle, AT_ONCE)]
        length = len(parts[0])
        while parts[-1] and length <= most_bytes and length >= AT_ONCE:
            parts.append(os.read(handle, AT_ONCE))
            length += len(parts[-1])
    finally:
        os.close(handle)
    if length > most_bytes:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
    return b"".join(parts)
