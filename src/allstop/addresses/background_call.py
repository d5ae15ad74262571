"""Runs a call that may hang in a daemon thread that isn't waited for at exit."""

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token

T = TypeVar("T")


async def run_in_thread(call: Callable[[], T]) -> T:
    """Return the call's result or raise its error.

    If cancelled, the thread continues on its own.
    """
    token = current_token()
    done = anyio.Event()
    returned: list[T] = []
    raised: list[Exception] = []

    def work() -> None:
        try:
            returned.append(call())
        except Exception as error:  # noqa: BLE001 - the waiting task raises it
            raised.append(error)
        with suppress(RuntimeError):  # the event loop has ended
            from_thread.run_sync(done.set, token=token)

    threading.Thread(target=work, name="telling", daemon=True).start()
    await done.wait()
    if raised:
        raise raised[0]
    return returned[0]
