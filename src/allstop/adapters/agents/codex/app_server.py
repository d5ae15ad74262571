"""A running codex app-server: sends requests and passes notifications to conversations."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

import anyio
from anyio.abc import TaskGroup
from msgspec import Raw

from allstop.adapters.agents.codex import messages
from allstop.adapters.agents.codex.turn_fold import END, LIMITS, NO_LOCATION, USAGE
from allstop.adapters.agents.output_lines import (
    BATCH_BYTES,
    BATCH_S,
    LineSplitter,
    LineTooLongError,
)
from allstop.adapters.agents.rpc_peer import (
    Message,
    NoAnswerError,
    Peer,
    PeerGoneError,
    RequestId,
    decoded,
    read,
)
from allstop.ports import Child, Launch, Launcher, Stream
from allstop.programs import Tail

SEND_WITHIN_S = 5.0
CLOSE_WITHIN_S = 2.0

UNWANTED = (
    "account/updated", "mcpServer/startupStatus/updated", "remoteControl/status/changed",
    "skills/changed", "thread/closed", "thread/name/updated", "thread/readState/changed",
    "thread/started", "thread/status/changed",
)  # fmt: skip
"""Notifications to leave out; servers that don't know the option send them anyway."""

Listener = Callable[[Message | None, messages.Location], bool]
"""Gets the messages of one conversation, then None at the end; returns whether it used one."""


class AppServer:
    """Reads messages only while at least one caller is in `reading`; several may be at once."""

    def __init__(self, child: Child, answer_within_s: float) -> None:
        self._child = child
        self._answer_within_s = answer_within_s
        self._lines = LineSplitter()
        self._stderr = Tail(4096)
        self._listeners: dict[str, Listener] = {}
        self._sending = anyio.Lock(fast_acquire=True)
        self._reading = anyio.Lock(fast_acquire=True)
        self._initializing = anyio.Lock(fast_acquire=True)
        self._is_initialized = False
        self._is_unawaited = False  # nothing waits for the last data that was read
        self.limits: messages.RateLimits | None = None
        self.threads: dict[str, messages.OpenThread] = {}  # open in this server
        self.totals: dict[str, messages.Tokens] = {}  # tokens per conversation, as last reported
        self.peer = Peer(self._send)

    @property
    def gone(self) -> str:
        """Why the server can't be used any more, or "" if it can."""
        return self.peer.gone

    @asynccontextmanager
    async def reading(self) -> AsyncIterator[TaskGroup]:
        """Read messages while the block runs; tasks started in the group end with it."""
        failure: Exception | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._read, group)
            try:
                yield group
            except Exception as error:  # noqa: BLE001 - raised below, not in a group of one
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def initialize(self) -> None:
        """Send `initialize` once."""
        if self._is_initialized:
            return
        async with self._initializing:
            if not self._is_initialized:
                client = {"name": "allstop", "title": "Allstop", "version": "1"}
                capabilities = {"experimentalApi": True, "optOutNotificationMethods": UNWANTED}
                params = {"clientInfo": client, "capabilities": capabilities}
                await self.request("initialize", params)
                await self.peer.note("initialized")
                self._is_initialized = True

    async def request(
        self, method: str, params: dict[str, object], within_s: float | None = None
    ) -> Raw:
        """Raises RequestFailedError if the answer is an error, PeerGoneError if the server ended
        before it answered, and NoAnswerError if the server didn't answer in time.
        """
        within_s = within_s or self._answer_within_s
        with anyio.move_on_after(within_s):
            return await self.peer.request(method, params)
        if self.gone:
            raise PeerGoneError(self.gone)
        raise NoAnswerError(f"codex did not answer {method} within {within_s:g} s")

    @contextmanager
    def listening(self, thread: str, listener: Listener) -> Iterator[None]:
        """Pass the messages of a conversation to the listener while the block runs."""
        self._listeners[thread] = listener
        try:
            if self.gone:
                listener(None, NO_LOCATION)
            yield
        finally:
            del self._listeners[thread]

    async def close(self) -> None:
        """Close its input and let it end by itself, so that it can save its records."""
        with anyio.move_on_after(CLOSE_WITHIN_S):
            await self._child.close_input()
            await self._child.wait()

    def give_up(self, why: str) -> None:
        """Mark it as unusable; its owner ends the process."""
        self._lose(why)

    async def _send(self, line: bytes) -> None:
        """Send a whole line: half a line would corrupt the stream for every conversation."""
        with anyio.move_on_after(SEND_WITHIN_S, shield=True) as scope:
            async with self._sending:
                await self._child.send(line)
        if scope.cancelled_caught:
            self._lose("codex does not read its input")

    async def _read(self, group: TaskGroup) -> None:
        async with self._reading:
            while not self.gone:
                try:
                    chunk = await self._child.receive()
                    code = None if chunk else (await self._child.wait()).code
                except (OSError, ValueError, anyio.ClosedResourceError):
                    self._lose("codex was ended")  # by its owner
                    break
                if chunk is None:
                    self._lose(f"codex ended with code {code}")
                elif chunk.stream is Stream.ERR:
                    self._stderr.add(chunk.data)
                else:
                    for unknown in self._take(chunk.data):
                        group.start_soon(self.peer.refuse, *unknown)
                    if self._is_unawaited and len(chunk.data) < BATCH_BYTES:
                        await anyio.sleep(BATCH_S)

    def _take(self, data: bytes) -> Iterator[tuple[RequestId, str]]:
        """Pass on the messages; yield the requests that no conversation answers."""
        self._is_unawaited = True
        try:
            for line in self._lines.feed_strict(data):
                message = read(line)
                if message is None:
                    continue
                if message.id is not None or message.method == END:
                    self._is_unawaited = False
                if not self._dispatch(message) and message.id is not None:
                    yield message.id, message.method
        except LineTooLongError as error:
            self._lose(f"codex: {error.message}")

    def _dispatch(self, message: Message) -> bool:
        if not message.method:
            self.peer.answered(message)
            return True
        if message.method == LIMITS:
            note = decoded(message.params, messages.LimitsNote)
            self.limits = note.rate_limits if note else self.limits
            if len(self._listeners) == 1:  # with several, it is no sign of life of any of them
                next(iter(self._listeners.values()))(message, NO_LOCATION)
            return True
        where = decoded(message.params, messages.Location) or NO_LOCATION
        if message.method == USAGE:
            usage = decoded(message.params, messages.UsageNote) or messages.UsageNote()
            self.totals[where.thread_id] = usage.token_usage.total
        listener = self._listeners.get(where.thread_id)
        return listener is not None and listener(message, where)

    def _lose(self, why: str) -> None:
        self.peer.lose(f"{why}\n{self._stderr.text().strip()}".strip())
        for listener in tuple(self._listeners.values()):
            listener(None, NO_LOCATION)


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
