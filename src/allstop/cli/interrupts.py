"""Ctrl-C and SIGTERM in the terminal of a run: once pauses, twice stops."""

import signal
from collections.abc import Awaitable, Callable

import anyio

from allstop.engine.retry_write import retry_write


async def handle_signals(
    pause: Callable[[], Awaitable[None]],
    stop: Callable[[str], Awaitable[None]],
    note: Callable[[str], None],
    *,
    pausing: str,
) -> None:
    """Pause on the first Ctrl-C, even if the store must be retried; stop on the second and SIGTERM.

    `stop` gets the name of the signal. `note` gets `pausing`, and the reason if the pause is late.
    """

    async def pause_until_written() -> None:
        await retry_write(pause, lambda run, trouble: note(f"! {trouble.text}"))

    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with anyio.create_task_group() as group:
            asked = False
            async for number in signals:
                if number == signal.SIGINT and not asked:
                    asked = True
                    note(pausing)
                    group.start_soon(
                        pause_until_written
                    )  # so that the next signal is handled meanwhile
                else:
                    await stop("Ctrl-C twice" if number == signal.SIGINT else "SIGTERM")
