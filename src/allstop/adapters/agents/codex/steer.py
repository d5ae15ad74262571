"""Sends people's messages to codex during a turn."""

from collections.abc import Awaitable, Callable

import anyio

from allstop.adapters.agents.rpc_peer import NoAnswerError, PeerGoneError, RequestFailedError
from allstop.ports import Watch

SETTLE_WITHIN_S = 5.0
"""How long the end of a turn waits for codex to accept the last message."""


class Steering:
    """Sends messages in order, and stops after the first that codex doesn't accept."""

    def __init__(self, watch: Watch, send: Callable[[str], Awaitable[None]]) -> None:
        """`send` raises the error of its request if codex doesn't accept the message."""
        self._watch = watch
        self._send = send
        self._sending = anyio.Lock(fast_acquire=True)
        self._is_over = False

    def end(self) -> None:
        """Send no further message."""
        self._is_over = True

    async def run(self) -> None:
        while True:
            text = await self._watch.words()
            if self._is_over:
                return
            async with self._sending:
                try:
                    await self._send(text)
                except (RequestFailedError, PeerGoneError, NoAnswerError):
                    return  # the next prompt contains it
                await self._watch.reached()

    async def settle(self) -> None:
        """Wait until an accepted message is recorded, before the turn's end is."""
        if self._sending.locked():
            with anyio.move_on_after(SETTLE_WITHIN_S):
                await self._sending.acquire()
