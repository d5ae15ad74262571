"""Retries a journal write until the store accepts it."""

from collections.abc import Awaitable, Callable

import anyio

from allstop.core.ids import HELM, RunId, WriteId
from allstop.engine.retry_read import STORE_RETRY_S
from allstop.ports import Live, StoreTroubleError


async def retry_write(
    write: Callable[[WriteId | None], Awaitable[None]], show: Callable[[RunId, Live], None]
) -> None:
    """`write` gets the id of an earlier try that may have arrived."""
    write_id = None
    while True:
        try:
            return await write(write_id)
        except StoreTroubleError as trouble:
            write_id = trouble.write or write_id
            show(HELM, Live("trouble", f"{trouble.message}: {trouble.hint}"))
            await anyio.sleep(STORE_RETRY_S)
