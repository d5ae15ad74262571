"""A call that may hang, in a thread that nobody waits for at the end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

import anyio
from anyio import from_thread
from anyio.lowlevel import current_token

T = TypeVar("T")


async def aside(call: Callable[[], T]) -> T:
    """What it returns or raises. Being cut off leaves the thread to itself: it dies with us."""
    token = current_token()
    done = anyio.Event()
    returned: list[T] = []
    raised: list[Exception] = []

    def work() -> None:
        try:
            returned.append(call())
        except Exception as error:  # noqa: BLE001 - it is raised where it is waited for
            raised.append(error)
        with suppress(RuntimeError):  # the loop is over
            from_thread.run_sync(done.set, token=token)

    threading.Thread(target=work, name="telling", daemon=True).start()
    await done.wait()
    if raised:
        raise raised[0]
    return returned[0]
