"""Lines of standard input, read without blocking the event loop."""

import os
import stat
from collections.abc import AsyncIterator
from contextlib import suppress


async def piped_lines(fd: int | None) -> AsyncIterator[str]:
    """The lines of a pipe, file or terminal until it ends; none if `fd` is None (closed)."""
    import anyio

    if fd is None:
        return
    waits = stat.S_ISFIFO(os.fstat(fd).st_mode) or stat.S_ISSOCK(os.fstat(fd).st_mode)
    rest = b""
    while True:
        if waits or os.isatty(fd):
            await anyio.wait_readable(fd)
        chunk = b""
        with suppress(OSError):
            chunk = os.read(fd, 65536)
        if not chunk:
            break
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line.decode(errors="replace")
    if rest:
        yield rest.decode(errors="replace")
