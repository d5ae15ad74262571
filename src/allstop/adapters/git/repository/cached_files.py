"""Reads small files that are read often, with as few system calls as possible."""

import errno
import os

CHUNK_BYTES = 64 * 1024


def read_small(path: str, most_bytes: int = CHUNK_BYTES) -> bytes:
    """Return the whole file. `os.open` is used because `Path` and `open` cost far more.

    Raises OSError if the file can't be read, is larger than `most_bytes`, or is a symbolic link.
    """
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        parts = [os.read(handle, CHUNK_BYTES)]
        length = len(parts[0])
        while parts[-1] and length <= most_bytes and length >= CHUNK_BYTES:
            parts.append(os.read(handle, CHUNK_BYTES))
            length += len(parts[-1])
    finally:
        os.close(handle)
    if length > most_bytes:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG), path)
    return b"".join(parts)
