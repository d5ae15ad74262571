"""Hearing the first knock at a door without somebody who waits behind it."""

from __future__ import annotations

import asyncio  # noqa: TID251 - with anyio, only a task of its own can wait for it
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_first_knock(door: socket.socket, do: Callable[[], object]) -> Iterator[None]:
    """Once, within the block, as soon as somebody is there."""
    loop = asyncio.get_running_loop()
    is_quiet = True

    def heard() -> None:
        nonlocal is_quiet
        is_quiet = False
        loop.remove_reader(door)
        do()

    loop.add_reader(door, heard)
    try:
        yield
    finally:
        if is_quiet:
            loop.remove_reader(door)
