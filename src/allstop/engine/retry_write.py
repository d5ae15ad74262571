"""Retries a journal write until the store accepts it."""

from collections.abc import Awaitable, Callable

import anyio

from allstop.core.ids import HELM, RunId
from allstop.engine.drive import STORE_RETRY_S
from allstop.ports import Live, StoreBusyError, StoreFullError


async def retry_write(
    write: Callable[[], Awaitable[None]], show: Callable[[RunId, Live], None]
) -> None:
    while True:
        try:
            return await write()
        except (StoreFullError, StoreBusyError) as trouble:
            show(HELM, Live("trouble", f"{trouble.message}: {trouble.hint}"))
            await anyio.sleep(STORE_RETRY_S)
