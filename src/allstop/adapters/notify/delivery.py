"""Delivers alerts to all channels without delaying the caller.

The result changes nothing. A failure is logged and shown once per cause.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
from anyio.abc import TaskGroup, TaskStatus
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from allstop.ports import Channel, Clock
from allstop.views import alert_rate, quiet_hours
from allstop.views.alert_rate import AlertRate
from allstop.views.alerts import Alert
from allstop.views.quiet_hours import QuietHours

TIMEOUT_S = 5.0
GRACE_S = 5.0
"""How long pending deliveries may take at exit."""

MAX_WAITING = 50
RECHECK_S = 600.0


async def deliver(channel: Channel, alert: Alert) -> str:
    """Send an alert; returns why that failed, or ""."""
    with anyio.move_on_after(TIMEOUT_S):
        try:
            return await channel.tell(alert)
        except Exception as error:  # noqa: BLE001 - third-party code; its message may hold secrets
            return f"delivery failed ({type(error).__name__})"
    return f"delivery took longer than {TIMEOUT_S:g} s"


class Delivery:
    """Inside `async with`, `tell` returns at once.

    `channels` returns the current channels; it returns the same list while they are unchanged.
    """

    def __init__(
        self,
        channels: Callable[[], Sequence[Channel]],
        log: Path,
        *,
        clock: Clock,
        show: Callable[[str], None] = lambda line: None,
        quiet: Callable[[], QuietHours | None] = lambda: None,
    ) -> None:
        self._find_channels = channels
        self._channels: Sequence[Channel] = ()
        self._log = log
        self._clock = clock
        self._show = show
        self._quiet = quiet
        self._held: list[Alert] = []  # until quiet hours end
        self._rate = AlertRate()
        self._failed: set[tuple[str, str]] = set()
        self._stack = AsyncExitStack()
        self._queues: list[MemoryObjectSendStream[Alert]] = []
        self._scope: anyio.CancelScope
        self._finished: anyio.Event
        self._over: anyio.Event
        self._group: TaskGroup
        self._serving: TaskGroup

    async def __aenter__(self) -> Delivery:
        self._scope = anyio.CancelScope(shield=True)
        self._finished = anyio.Event()
        self._over = anyio.Event()
        self._group = await self._stack.enter_async_context(anyio.create_task_group())
        await self._group.start(self._work)
        return self

    @property
    def reaches_anybody(self) -> bool:
        return bool(self._find_channels())

    async def __aexit__(self, *_: object) -> None:
        """Give pending deliveries a moment; the rest is dropped."""
        self._send_rest()
        self._over.set()
        self._close_queues()
        with anyio.move_on_after(GRACE_S, shield=True):
            await self._finished.wait()
        self._scope.cancel()
        self._group.cancel_scope.cancel()
        await self._stack.aclose()  # the block's own exception isn't passed on

    def tell(self, alert: Alert) -> None:
        if quiet_hours.is_deferred(self._quiet(), alert, self._clock.now()):
            self._held.append(alert)
            if len(self._held) == 1:
                self._group.start_soon(self._send_held_later)
            return
        had_left_out = bool(self._rate.left_out)
        self._rate, admitted = alert_rate.admit(self._rate, alert, self._clock.now())
        if admitted:
            self._send(alert)
        elif not had_left_out:
            self._group.start_soon(self._send_rest_later)

    async def _send_held_later(self) -> None:
        """Sleep in short steps: quiet hours may change, and the machine may be suspended."""
        while (quiet := self._quiet()) and (  # noqa: ASYNC110 - time passes
            left_s := quiet_hours.remaining_s(quiet, self._clock.now())
        ):
            await anyio.sleep(min(left_s, RECHECK_S))
        kept, self._held = self._held, []
        self.tell(quiet_hours.summarize(kept, self._clock.now()))

    async def _send_rest_later(self) -> None:
        await anyio.sleep(alert_rate.wait_s(self._rate, self._clock.now()))
        self._send_rest()

    def _send_rest(self) -> None:
        self._rate, alert = alert_rate.summarize_left_out(self._rate, self._clock.now())
        if alert is not None:
            self._send(alert)

    def _close_queues(self) -> None:
        """Alerts in the queues are still delivered."""
        for queue in self._queues:
            queue.close()

    def _switch_channels(self, channels: Sequence[Channel]) -> None:
        self._close_queues()
        self._channels, self._queues = channels, []
        for channel in channels:
            queue, received = anyio.create_memory_object_stream[Alert](MAX_WAITING)
            self._queues.append(queue)
            self._serving.start_soon(self._serve, channel, received)

    def _send(self, alert: Alert) -> None:
        if self._over.is_set():
            return
        if (channels := self._find_channels()) is not self._channels:
            self._switch_channels(channels)
        for channel, queue in zip(self._channels, self._queues, strict=True):
            try:
                queue.send_nowait(alert)
            except anyio.WouldBlock:
                self._report(channel, f"not sent: {MAX_WAITING} others are waiting")

    async def _work(self, *, task_status: TaskStatus[None]) -> None:
        try:
            with self._scope:
                async with anyio.create_task_group() as group:
                    self._serving = group
                    task_status.started()
                    await self._over.wait()
        finally:
            self._finished.set()

    async def _serve(self, channel: Channel, queue: MemoryObjectReceiveStream[Alert]) -> None:
        with queue:
            async for alert in queue:
                if why := await deliver(channel, alert):
                    self._report(channel, why)

    def _report(self, channel: Channel, why: str) -> None:
        if (channel.name, why) in self._failed:
            return
        self._failed.add((channel.name, why))
        line = f"notify {channel.name}: {why}"
        self._show(line)
        try:
            self._log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                at = self._clock.now().isoformat(timespec="seconds")
                file.write(f"{at} {line}\n".encode(errors="replace"))
        except OSError as error:
            self._show(f"notify: the log can't be written: {error.strerror}")
