"""One running app-server: requests and their answers, and who is told of what it notes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import anyio
from anyio.abc import TaskGroup
from msgspec import Raw

from allstop.adapters.agents.codex import messages
from allstop.adapters.agents.codex.turn_fold import END, LIMITS, NOWHERE, USAGE
from allstop.adapters.agents.output_lines import GATHER_S, GATHERED_BYTES, Lines, LineTooLongError
from allstop.adapters.agents.rpc_messages import Message, RequestId, decoded, read
from allstop.adapters.agents.rpc_peer import GoneError, Peer, SilentError
from allstop.ports import Child, Stream
from allstop.programs import Tail

SEND_WITHIN_S = 5.0
CLOSE_WITHIN_S = 2.0

UNWANTED = (
    "account/updated",
    "mcpServer/startupStatus/updated",
    "remoteControl/status/changed",
    "skills/changed",
    "thread/closed",
    "thread/name/updated",
    "thread/readState/changed",
    "thread/started",
    "thread/status/changed",
)
"""What these tell is nothing to us; a server that does not know how to leave them out tells them."""

Ear = Callable[[Message | None, messages.Where], bool]
"""Hears what is noted in one conversation, None when nothing more will come; whether it counts."""


class AppServer:
    """Nothing is read but while somebody is in `pumped`; any number may be, in any order."""

    def __init__(self, child: Child, answer_within_s: float) -> None:
        self._child = child
        self._answer_within_s = answer_within_s
        self._lines = Lines()
        self._last_words = Tail(4096)
        self._ears: dict[str, Ear] = {}
        self._sending = anyio.Lock(fast_acquire=True)
        self._pumping = anyio.Lock(fast_acquire=True)
        self._greeting = anyio.Lock(fast_acquire=True)
        self._greeted = False
        self._is_idle_talk = False  # all that was read last: nobody waits for it
        self.limits: messages.RateLimits | None = None
        self.threads: dict[str, messages.Opened] = {}  # those it has open
        self.totals: dict[str, messages.Tokens] = {}  # what each has used, as it was last told
        self.peer = Peer(self._send)

    @property
    def gone(self) -> str:
        """Why it is, if it is."""
        return self.peer.gone

    @asynccontextmanager
    async def pumped(self) -> AsyncIterator[TaskGroup]:
        """While this is open, answers and notes arrive. What is started in it ends with it."""
        failure: Exception | None = None
        async with anyio.create_task_group() as group:
            group.start_soon(self._pump, group)
            try:
                yield group
            except Exception as error:  # noqa: BLE001 - raised below, not in a group of one
                failure = error
            group.cancel_scope.cancel()
        if failure is not None:
            raise failure

    async def greet(self) -> None:
        """Say hello, once."""
        if self._greeted:
            return
        async with self._greeting:
            if not self._greeted:
                client = {"name": "allstop", "title": "Allstop", "version": "1"}
                abilities = {"experimentalApi": True, "optOutNotificationMethods": UNWANTED}
                hello = {"clientInfo": client, "capabilities": abilities}
                await self.request("initialize", hello)
                await self.peer.note("initialized")
                self._greeted = True

    async def request(
        self, method: str, params: dict[str, object], within_s: float | None = None
    ) -> Raw:
        """
        Raises:
            RefusedError: the answer is an error.
            GoneError: the server ended before it answered.
            SilentError: there is no answer in time.
        """
        within_s = within_s or self._answer_within_s
        with anyio.move_on_after(within_s):
            return await self.peer.request(method, params)
        if self.gone:
            raise GoneError(self.gone)
        raise SilentError(f"codex did not answer {method} within {within_s:g} s")

    @contextmanager
    def heard_by(self, thread: str, ear: Ear) -> Iterator[None]:
        """While this is open, what is noted in that conversation is told."""
        self._ears[thread] = ear
        try:
            if self.gone:
                ear(None, NOWHERE)
            yield
        finally:
            del self._ears[thread]

    async def say_goodbye(self) -> None:
        """Let it end by itself, so that it can put down its records."""
        with anyio.move_on_after(CLOSE_WITHIN_S):
            await self._child.close_input()
            await self._child.wait()

    def give_up(self, why: str) -> None:
        """It is of no more use; whoever holds it ends it."""
        self._lose(why)

    async def _send(self, line: bytes) -> None:
        """All of it: half a line would spoil it for everybody."""
        with anyio.move_on_after(SEND_WITHIN_S, shield=True) as scope:
            async with self._sending:
                await self._child.send(line)
        if scope.cancelled_caught:
            self._lose("codex no longer reads what it is sent")

    async def _pump(self, refusals: TaskGroup) -> None:
        async with self._pumping:
            while not self.gone:
                try:
                    chunk = await self._child.receive()
                    code = None if chunk else (await self._child.wait()).code
                except (OSError, ValueError, anyio.ClosedResourceError):
                    self._lose("codex was ended")  # by whoever else holds it
                    break
                if chunk is None:
                    self._lose(f"codex ended with code {code}")
                elif chunk.stream is Stream.ERR:
                    self._last_words.add(chunk.data)
                else:
                    for foreign in self._take(chunk.data):
                        refusals.start_soon(self.peer.refuse, *foreign)
                    if self._is_idle_talk and len(chunk.data) < GATHERED_BYTES:
                        await anyio.sleep(GATHER_S)

    def _take(self, data: bytes) -> Iterator[tuple[RequestId, str]]:
        """Tell everybody; what nobody is there to answer is left over."""
        self._is_idle_talk = True
        try:
            for line in self._lines.whole(data):
                message = read(line)
                if message is None:
                    continue
                if message.id is not None or message.method == END:
                    self._is_idle_talk = False
                if not self._told(message) and message.id is not None:
                    yield message.id, message.method
        except LineTooLongError as error:
            self._lose(f"codex: {error.message}")

    def _told(self, message: Message) -> bool:
        if not message.method:
            self.peer.answered(message)
            return True
        if message.method == LIMITS:
            note = decoded(message.params, messages.LimitsNote)
            self.limits = note.rate_limits if note else self.limits
            if len(self._ears) == 1:  # of several it would be a sign of life of none
                next(iter(self._ears.values()))(message, NOWHERE)
            return True
        where = decoded(message.params, messages.Where) or NOWHERE
        if message.method == USAGE:
            usage = decoded(message.params, messages.UsageNote) or messages.UsageNote()
            self.totals[where.thread_id] = usage.token_usage.total
        ear = self._ears.get(where.thread_id)
        return ear is not None and ear(message, where)

    def _lose(self, why: str) -> None:
        self.peer.lose(f"{why}\n{self._last_words.text().strip()}".strip())
        for ear in tuple(self._ears.values()):
            ear(None, NOWHERE)
