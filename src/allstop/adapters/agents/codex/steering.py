"""Telling codex what people say while it is at work."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio

from allstop.adapters.agents.peer import GoneError, RefusedError, SilentError
from allstop.ports import Watch

SETTLE_WITHIN_S = 5.0
"""How long the end of a turn waits for the answer to what was told just before it."""


class Steering:
    """One after the other, until something is not taken: what was said first is heard first."""

    def __init__(self, watch: Watch, tell: Callable[[str], Awaitable[None]]) -> None:
        """`tell` raises what a request raises when it is not taken."""
        self._watch = watch
        self._tell = tell
        self._telling = anyio.Lock()

    @asynccontextmanager
    async def going_on(self) -> AsyncIterator[None]:
        failure: Exception | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._go_on)
            try:
                yield
                with anyio.move_on_after(SETTLE_WITHIN_S):
                    await self._telling.acquire()  # what was taken is written before the end is
            except Exception as error:  # noqa: BLE001 - raised below, not in a group of one
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def _go_on(self) -> None:
        while True:
            words = await self._watch.words()
            async with self._telling:
                try:
                    await self._tell(words)
                except (RefusedError, GoneError, SilentError):
                    return  # it is in the next prompt
                await self._watch.reached()
