"""Signals in the terminal of a run: Ctrl-C pauses, twice stops; SIGTERM pauses and leaves."""

import signal
from collections.abc import Awaitable, Callable

import anyio

from allstop.engine.retry_write import retry_write

PAUSE_S = 5.0
"""How long SIGTERM waits for the pause to be recorded; service managers kill after a while."""

Pause = Callable[[str], Awaitable[None]]
Note = Callable[[str], None]


async def handle_signals(
    pause: Pause,
    stop: Callable[[str], Awaitable[None]],
    leave: Callable[[], None],
    note: Note,
    *,
    pausing: str,
) -> None:
    """Pause on the first Ctrl-C, even if the store must be retried; stop on the second.

    `pause` and `stop` get the name of the signal. `leave` makes the process end after SIGTERM.
    `note` gets `pausing`, and the reason if the pause is late.
    """
    with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
        async with anyio.create_task_group() as group:
            asked = False
            async for number in signals:
                if number == signal.SIGTERM:
                    await pause_and_leave(pause, leave, note)
                elif not asked:
                    asked = True
                    note(pausing)
                    # in a task, so that the next signal is handled meanwhile
                    group.start_soon(_pause_until_written, pause, "Ctrl-C", note)
                else:
                    await stop("Ctrl-C twice")


async def pause_and_leave(pause: Pause, leave: Callable[[], None], note: Note) -> None:
    """Record a pause and end at once: agents are ended, and their work is kept."""
    note("SIGTERM: pausing at once; all work is kept")
    with anyio.move_on_after(PAUSE_S):
        await _pause_until_written(pause, "SIGTERM", note)
    leave()


async def _pause_until_written(pause: Pause, by: str, note: Note) -> None:
    await retry_write(lambda _: pause(by), lambda run, trouble: note(f"! {trouble.text}"))
