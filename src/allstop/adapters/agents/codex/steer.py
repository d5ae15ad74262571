"""Telling codex what people say while it is at work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio

from allstop.adapters.agents.rpc_peer import GoneError, RefusedError, SilentError
from allstop.ports import Watch

SETTLE_WITHIN_S = 5.0
"""How long the end of a turn waits for the answer to what was told just before it."""


class Steering:
    """One after the other, until something is not taken: what was said first is heard first."""

    def __init__(self, watch: Watch, tell: Callable[[str], Awaitable[None]]) -> None:
        """`tell` raises what a request raises when it is not taken."""
        self._watch = watch
        self._tell = tell
        self._telling = anyio.Lock(fast_acquire=True)
        self._is_over = False

    def end(self) -> None:
        """Nothing is begun any more."""
        self._is_over = True

    async def go_on(self) -> None:
        while True:
            words = await self._watch.words()
            if self._is_over:
                return
            async with self._telling:
                try:
                    await self._tell(words)
                except (RefusedError, GoneError, SilentError):
                    return  # it is in the next prompt
                await self._watch.reached()

    async def settle(self) -> None:
        """What was taken is written before the end is."""
        if self._telling.locked():
            with anyio.move_on_after(SETTLE_WITHIN_S):
                await self._telling.acquire()
