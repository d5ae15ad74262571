"""Waits repeatedly until one of several descriptors becomes readable."""

import asyncio  # noqa: TID251 - anyio registers the descriptor anew for each wait
import math
import select
import selectors
import sys
from typing import Protocol

import anyio


class ReadinessWatch(Protocol):
    async def wait(self) -> None:
        """Wait until one is readable, or `at_most_s` have passed."""

    def add(self, number: int) -> None: ...
    def remove(self, number: int) -> None:
        """Stop watching a descriptor."""

    def close(self) -> None:
        """Waiters get a `ClosedResourceError`."""


def watch_readiness(*numbers: int, timeout_s: float = math.inf) -> ReadinessWatch:
    if sys.platform == "linux":
        try:
            return EpollWatch(asyncio.get_running_loop(), *numbers, timeout_s=timeout_s)
        except RuntimeError:
            pass  # the event loop isn't asyncio's
    return SelectorWatch(*numbers, timeout_s=timeout_s)


class SelectorWatch:
    """For any system and any event loop; registers the descriptors for each wait."""

    def __init__(self, *numbers: int, timeout_s: float = math.inf) -> None:
        self._selector = selectors.DefaultSelector()  # one descriptor for all
        self._timeout_s = timeout_s
        for number in numbers:
            self.add(number)

    async def wait(self) -> None:
        with anyio.move_on_after(self._timeout_s):
            await anyio.wait_readable(self._selector)

    def add(self, number: int) -> None:
        self._selector.register(number, selectors.EVENT_READ)

    def remove(self, number: int) -> None:
        self._selector.unregister(number)

    def close(self) -> None:
        anyio.notify_closing(self._selector)
        self._selector.close()


class EpollWatch:
    """For asyncio, where registering for a wait costs more than reading the data.

    The loop watches one epoll descriptor permanently. Each watched descriptor reports once and is
    armed again for the next wait, so it wakes the loop only while somebody waits.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, *numbers: int, timeout_s: float = math.inf
    ) -> None:
        self._loop = loop
        self._timeout_s = timeout_s
        self._epoll = select.epoll()
        self._armed = select.EPOLLIN | select.EPOLLONESHOT
        self._disarmed: list[int] = []
        self._wait: asyncio.Future[None] | None = None
        for number in numbers:
            self.add(number)
        loop.add_reader(self._epoll.fileno(), self._on_ready)

    async def wait(self) -> None:
        while self._disarmed:
            self._epoll.modify(self._disarmed.pop(), self._armed)
        self._wait = self._loop.create_future()
        if self._timeout_s == math.inf:
            await self._wait
            return
        timer = self._loop.call_later(self._timeout_s, self._on_ready)
        try:
            await self._wait
        finally:
            timer.cancel()

    def add(self, number: int) -> None:
        self._epoll.register(number, self._armed)

    def remove(self, number: int) -> None:
        self._epoll.unregister(number)
        if number in self._disarmed:
            self._disarmed.remove(number)

    def close(self) -> None:
        if not self._loop.is_closed():
            self._loop.remove_reader(self._epoll.fileno())
        self._epoll.close()
        if self._wait is not None and not self._wait.done():
            self._wait.set_exception(anyio.ClosedResourceError())

    def _on_ready(self) -> None:
        self._disarmed += [number for number, _ in self._epoll.poll(0)]
        if self._wait is not None and not self._wait.done():
            self._wait.set_result(None)
