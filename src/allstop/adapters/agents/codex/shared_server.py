"""The app-server that all conversations without a workspace share."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio

from allstop.adapters.agents.codex.app_server import AppServer
from allstop.ports import Launch, Launcher

THREADS_AT_MOST = 200
"""Each keeps some megabytes; a server that has had so many is replaced when it is idle."""


class SharedServer:
    """Started when it is first wanted, and again after it has died."""

    def __init__(self, launcher: Launcher, launch: Launch, answer_within_s: float) -> None:
        self._launcher = launcher
        self._launch = launch
        self._answer_within_s = answer_within_s
        self._running = AsyncExitStack()
        self._server: AppServer | None = None
        self._changing = anyio.Lock(fast_acquire=True)
        self._users = 0

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[AppServer]:
        server = await self._ready()
        self._users += 1
        try:
            yield server
        finally:
            self._users -= 1
            if server.gone and server is self._server:
                with anyio.CancelScope(shield=True):
                    await self.close()

    async def close(self) -> None:
        """End it, with all it has started."""
        running, self._running = self._running, AsyncExitStack()
        self._server = None
        await running.aclose()

    async def _ready(self) -> AppServer:
        async with self._changing:
            server = self._server
            if server is not None and (server.gone or self._is_worn(server)):
                await self.close()
            if self._server is None:
                child = await self._running.enter_async_context(self._launcher.launch(self._launch))
                self._server = AppServer(child, self._answer_within_s)
            return self._server

    def _is_worn(self, server: AppServer) -> bool:
        return not self._users and len(server.threads) >= THREADS_AT_MOST
