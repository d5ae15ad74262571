"""Waiting, again and again, until one of some handles can be read."""

from __future__ import annotations

import asyncio  # noqa: TID251 - anyio has it told anew for each wait
import math
import select
import selectors
import sys
from typing import Protocol

import anyio


class Sentry(Protocol):
    async def wait(self) -> None:
        """Also for as long as was said at most, if it was."""

    def add(self, number: int) -> None: ...
    def drop(self, number: int) -> None:
        """It has nothing more to say."""

    def close(self) -> None:
        """Whoever waits gets a `ClosedResourceError`."""


def sentry(*numbers: int, at_most_s: float = math.inf) -> Sentry:
    if sys.platform == "linux":
        try:
            return Posted(asyncio.get_running_loop(), *numbers, at_most_s=at_most_s)
        except RuntimeError:
            pass  # it is another loop than that of asyncio
    return Called(*numbers, at_most_s=at_most_s)


class Called:
    """On any system, for any loop: it is told of each wait, and of its end."""

    def __init__(self, *numbers: int, at_most_s: float = math.inf) -> None:
        self._selector = selectors.DefaultSelector()  # one to wait for them all
        self._at_most_s = at_most_s
        for number in numbers:
            self.add(number)

    async def wait(self) -> None:
        with anyio.move_on_after(self._at_most_s):
            await anyio.wait_readable(self._selector)

    def add(self, number: int) -> None:
        self._selector.register(number, selectors.EVENT_READ)

    def drop(self, number: int) -> None:
        self._selector.unregister(number)

    def close(self) -> None:
        anyio.notify_closing(self._selector)
        self._selector.close()


class Posted:
    """For asyncio, where to begin and end a wait costs more than to read what came.

    It is told but once of a handle that wakes it only while somebody waits: each number says
    once that it can be read, and is armed anew for the next wait.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *numbers: int, at_most_s: float = math.inf
    ) -> None:
        self._loop = loop
        self._at_most_s = at_most_s
        self._epoll = select.epoll()
        self._armed = select.EPOLLIN | select.EPOLLONESHOT
        self._spent: list[int] = []
        self._wait: asyncio.Future[None] | None = None
        for number in numbers:
            self.add(number)
        loop.add_reader(self._epoll.fileno(), self._came)

    async def wait(self) -> None:
        while self._spent:
            self._epoll.modify(self._spent.pop(), self._armed)
        self._wait = self._loop.create_future()
        if self._at_most_s == math.inf:
            await self._wait
            return
        timer = self._loop.call_later(self._at_most_s, self._came)
        try:
            await self._wait
        finally:
            timer.cancel()

    def add(self, number: int) -> None:
        self._epoll.register(number, self._armed)

    def drop(self, number: int) -> None:
        self._epoll.unregister(number)
        if number in self._spent:
            self._spent.remove(number)

    def close(self) -> None:
        if not self._loop.is_closed():
            self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()
        if self._wait is not None and not self._wait.done():
            self._wait.set_exception(anyio.ClosedResourceError())

    def _came(self) -> None:
        self._spent += [number for number, _ in self._epoll.poll(0)]
        if self._wait is not None and not self._wait.done():
            self._wait.set_result(None)
