"""Repeats a read of the journal until the store answers."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio

from allstop.ports import Live, StoreTroubleError

T = TypeVar("T")

STORE_RETRY_S = 1.0


async def retry_read(read: Callable[[], Awaitable[T]], show: Callable[[Live], None]) -> T:
    """A drive must not end because the store is away: nobody would continue the run."""
    while True:
        try:
            return await read()
        except StoreTroubleError as trouble:
            show(Live("trouble", f"{trouble.message}: {trouble.hint}"))
            await anyio.sleep(STORE_RETRY_S)
