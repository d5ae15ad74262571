"""Brings alerts to everybody, without holding anybody up.

What becomes of them changes nothing. A failure is logged and shown once, not each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType

import anyio
from anyio.abc import TaskGroup, TaskStatus
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from allstop.ports import Clock, Teller
from allstop.views import alert_rate, quiet_hours
from allstop.views.alert_rate import Pace
from allstop.views.alerts import Alert
from allstop.views.quiet_hours import Quiet

PATIENCE_S = 5.0
GRACE_S = 5.0
"""How long deliveries have at the end of all things."""

MOST_WAITING = 50
LOOK_AGAIN_S = 600.0


async def deliver(teller: Teller, alert: Alert) -> str:
    """Why it could not be told; "" where it was."""
    with anyio.move_on_after(PATIENCE_S):
        try:
            return await teller.tell(alert)
        except Exception as error:  # noqa: BLE001 - other people's code; its words may hold secrets
            return f"it failed ({type(error).__name__})"
    return f"it took longer than {PATIENCE_S:g} s"


class Post:
    """Within `async with`, `tell` returns at once.

    `tellers` says who can be told now; it gives the same list again while these are the same.
    """

    def __init__(
        self,
        tellers: Callable[[], Sequence[Teller]],
        log: Path,
        *,
        clock: Clock,
        show: Callable[[str], None] = lambda line: None,
        quiet: Callable[[], Quiet | None] = lambda: None,
    ) -> None:
        self._find = tellers
        self._tellers: Sequence[Teller] = ()
        self._log = log
        self._clock = clock
        self._show = show
        self._quiet = quiet
        self._kept: list[Alert] = []  # until it is no longer quiet
        self._pace = Pace()
        self._failed: set[tuple[str, str]] = set()
        self._stack = AsyncExitStack()
        self._boxes: list[MemoryObjectSendStream[Alert]] = []
        self._scope: anyio.CancelScope
        self._emptied: anyio.Event
        self._over: anyio.Event
        self._group: TaskGroup
        self._serving: TaskGroup

    async def __aenter__(self) -> Post:
        self._scope = anyio.CancelScope(shield=True)
        self._emptied = anyio.Event()
        self._over = anyio.Event()
        self._group = await self._stack.enter_async_context(anyio.create_task_group())
        await self._group.start(self._work)
        return self

    @property
    def reaches_anybody(self) -> bool:
        return bool(self._find())

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """What is under way has a moment; what is left then is dropped."""
        self._tell_rest()
        self._over.set()
        self._close_boxes()
        with anyio.move_on_after(GRACE_S, shield=True):
            await self._emptied.wait()
        self._scope.cancel()
        self._group.cancel_scope.cancel()
        await self._stack.aclose()  # what the block raises is not ours

    def tell(self, alert: Alert) -> None:
        if quiet_hours.waits(self._quiet(), alert, self._clock.now()):
            self._kept.append(alert)
            if len(self._kept) == 1:
                self._group.start_soon(self._tell_kept_later)
            return
        had_left_out = bool(self._pace.left_out)
        self._pace, admitted = alert_rate.admit(self._pace, alert, self._clock.now())
        if admitted:
            self._send(alert)
        elif not had_left_out:
            self._group.start_soon(self._tell_rest_later)

    async def _tell_kept_later(self) -> None:
        """The hours may be others by then, and a machine may have slept meanwhile."""
        while (quiet := self._quiet()) and (left_s := quiet_hours.left_s(quiet, self._clock.now())):  # noqa: ASYNC110 - time passes
            await anyio.sleep(min(left_s, LOOK_AGAIN_S))
        kept, self._kept = self._kept, []
        self.tell(quiet_hours.summed_up(kept, self._clock.now()))

    async def _tell_rest_later(self) -> None:
        await anyio.sleep(alert_rate.due_s(self._pace, self._clock.now()))
        self._tell_rest()

    def _tell_rest(self) -> None:
        self._pace, alert = alert_rate.rest(self._pace, self._clock.now())
        if alert is not None:
            self._send(alert)

    def _close_boxes(self) -> None:
        """What is in them is still told."""
        for box in self._boxes:
            box.close()

    def _meet(self, tellers: Sequence[Teller]) -> None:
        """Others can be told from now on."""
        self._close_boxes()
        self._tellers, self._boxes = tellers, []
        for teller in tellers:
            box, received = anyio.create_memory_object_stream[Alert](MOST_WAITING)
            self._boxes.append(box)
            self._serving.start_soon(self._serve, teller, received)

    def _send(self, alert: Alert) -> None:
        if self._over.is_set():
            return
        if (tellers := self._find()) is not self._tellers:
            self._meet(tellers)
        for teller, box in zip(self._tellers, self._boxes, strict=True):
            try:
                box.send_nowait(alert)
            except anyio.WouldBlock:
                self._report(teller, f"not told: {MOST_WAITING} others wait already")

    async def _work(self, *, task_status: TaskStatus[None]) -> None:
        try:
            with self._scope:
                async with anyio.create_task_group() as group:
                    self._serving = group
                    task_status.started()
                    await self._over.wait()
        finally:
            self._emptied.set()

    async def _serve(self, teller: Teller, box: MemoryObjectReceiveStream[Alert]) -> None:
        with box:
            async for alert in box:
                if why := await deliver(teller, alert):
                    self._report(teller, why)

    def _report(self, teller: Teller, why: str) -> None:
        if (teller.name, why) in self._failed:
            return
        self._failed.add((teller.name, why))
        line = f"notify {teller.name}: {why}"
        self._show(line)
        try:
            self._log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            with os.fdopen(descriptor, "ab") as file:
                at = self._clock.now().isoformat(timespec="seconds")
                file.write(f"{at} {line}\n".encode(errors="replace"))
        except OSError as error:
            self._show(f"notify: the log can't be written: {error.strerror}")
