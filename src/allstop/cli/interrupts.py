"""Ctrl-C and SIGTERM in the terminal of a run: once pauses, twice stops."""

from __future__ import annotations

import signal
from collections.abc import Awaitable, Callable

import anyio

from allstop.engine.retry_write import retry_write


async def heed_signals(
    pause: Callable[[], Awaitable[None]],
    stop: Callable[[str], Awaitable[None]],
    note: Callable[[str], None],
    *,
    pausing: str,
) -> None:
    """Once pauses, however long the store takes nothing; being told to end stops at once.

    `stop` is told who asked for it. `note` is told of `pausing`, and of what keeps the pause back.
    """

    async def keep_asking() -> None:
        await retry_write(pause, lambda run, trouble: note(f"! {trouble.text}"))

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with anyio.create_task_group() as group:
            asked = False
            async for number in signals:
                if number == signal.SIGINT and not asked:
                    asked = True
                    note(pausing)
                    group.start_soon(keep_asking)  # while it waits, the next one is heard
                else:
                    await stop("Ctrl-C twice" if number == signal.SIGINT else "SIGTERM")
