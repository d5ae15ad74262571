"""The codex app-server that all conversations without a workspace share."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import anyio

from allstop.adapters.agents.codex.app_server import AppServer
from allstop.ports import Launch, Launcher

MAX_THREADS = 200
"""Each thread keeps some megabytes; a server with this many is replaced when idle."""


class SharedServer:
    """Starts the server on first use, and again after it has died."""

    def __init__(self, launcher: Launcher, launch: Launch, answer_within_s: float) -> None:
        self._launcher = launcher
        self._launch = launch
        self._answer_within_s = answer_within_s
        self._running = AsyncExitStack()
        self._server: AppServer | None = None
        self._changing = anyio.Lock(fast_acquire=True)
        self._users = 0

    @asynccontextmanager
    async def borrow(self) -> AsyncIterator[AppServer]:
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
        """End the server and everything it has started."""
        running, self._running = self._running, AsyncExitStack()
        self._server = None
        await running.aclose()

    async def _ready(self) -> AppServer:
        async with self._changing:
            server = self._server
            if server is not None and (server.gone or self._is_overused(server)):
                await self.close()
            if self._server is None:
                child = await self._running.enter_async_context(self._launcher.launch(self._launch))
                self._server = AppServer(child, self._answer_within_s)
            return self._server

    def _is_overused(self, server: AppServer) -> bool:
        return not self._users and len(server.threads) >= MAX_THREADS
