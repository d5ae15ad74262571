"""Heartbeat: a thread that keeps this process known to the store and hears of others' writes."""

from __future__ import annotations

import select
import socket
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import Struct

from allstop.adapters.journals.postgres_connection import connect, database_errors, denied_error
from allstop.adapters.journals.postgres_processes import DRAINED, UPGRADED
from allstop.adapters.journals.postgres_reader import HOLDERS, holder_of
from allstop.core.errors import AllstopError
from allstop.core.ids import RunId

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import psycopg

    from allstop.ports import Holder

_NEWER = (
    "select r.run, max(e.seq), max(e.pos) from allstop.events e"
    " join allstop.runs r on r.id = e.run where e.pos > %s group by r.run"
)
_RETRY_S = 0.5


class LeaseTimes(Struct, frozen=True, kw_only=True):
    """When a process that can't reach the store is given up: each span is longer than the last."""

    beat_s: float = 5.0
    fence_s: float = 20.0  # then it ends its own agents
    lease_s: float = 30.0  # then others may take over its runs
    look_s: float = 2.0  # how often it looks for writes that it wasn't told of


class Heartbeat:
    """The thread awaits the network; the event loop never does."""

    def __init__(
        self,
        url: str,
        times: LeaseTimes,
        me: str,
        register: Callable[[psycopg.Connection], None],
        *,
        version: int,
    ) -> None:
        """`version` is that of the tables which this program knows."""
        self.times = times
        self.seen_at = now()  # when the store last knew this process, by this machine's clock
        self.holders: dict[RunId, Holder | None] | None = None  # None: not known yet
        self.drained_by = ""
        self.epochs: dict[RunId, int] = {}  # of their claims
        self._url = url
        self._me = me
        self._version = version
        self._register = register
        self._errors = database_errors()
        self._denied = denied_error()
        self._lock = threading.Lock()
        self._channels: set[str] = set()  # of others, beside that of the journal
        self._heard: set[str] = set()
        self._announced = 0
        self._news: dict[RunId, int] = {}
        self._closing = threading.Event()
        self._bell_out, self.bell = _bell()
        self._end_out, self._end = _bell()
        self._thread: threading.Thread | None = None

    def start(self, announced: int) -> None:
        """Start the thread, if it doesn't run; news are what was written after `announced`."""
        if self._thread is None:
            self._announced = announced
            self._thread = threading.Thread(target=self._keep, name="heartbeat", daemon=True)
            self._thread.start()

    def close(self) -> None:
        if self._closing.is_set():
            return
        self._closing.set()
        self._end_out.send(b"!")
        if self._thread is not None:
            self._thread.join(timeout=1.0)
        for end in (self._bell_out, self.bell, self._end_out, self._end):
            end.close()

    def left_s(self) -> float:
        """Seconds until this process must have ended its agents, unless the store answers."""
        return self.seen_at + self.times.fence_s - now()

    def note_own(self, first: int, last: int) -> None:
        """The listeners were told of these positions."""
        with self._lock:
            if first <= self._announced + 1:
                self._announced = max(self._announced, last)

    def note_seen(self, began: float) -> None:
        """A write that was sent at this time has told the store of this process."""
        self.seen_at = max(self.seen_at, began)

    def take_news(self) -> dict[RunId, int]:
        """The newest number of each run that was written to since the last call."""
        with suppress(BlockingIOError):
            while self.bell.recv(64):
                pass
        with self._lock:
            news, self._news = self._news, {}
        return news

    def hear(self, channel: str) -> None:
        """Also ring for this channel of the database; called before `start`."""
        self._channels.add(channel)

    def take_heard(self) -> set[str]:
        """The channels on which something was told since the last call."""
        with self._lock:
            heard, self._heard = self._heard, set()
        return heard

    # --- the thread ---

    def _keep(self) -> None:
        while not self._closing.is_set():
            try:
                with connect(self._url) as connection:
                    for channel in ("allstop", *self._channels):
                        connection.execute(f'listen "{channel}"'.encode())
                    self._stay(connection)
            except (AllstopError, OSError, self._errors):
                self._closing.wait(_RETRY_S)

    def _stay(self, connection: psycopg.Connection) -> None:
        beats_at = now()
        while not self._closing.is_set():
            if now() >= beats_at:
                began = now()
                with suppress(self._denied):  # a reader's process is no part of the fleet
                    self._register(connection)
                self.note_seen(began)
                beats_at = began + self.times.beat_s
            self._look(connection)
            self._wait(connection, min(beats_at, now() + self.times.look_s))

    def _wait(self, connection: psycopg.Connection, until: float) -> None:
        """Wait until another process tells of something, or for so long: a notice may be lost."""
        poll = select.poll()
        poll.register(connection.fileno(), select.POLLIN)
        poll.register(self._end, select.POLLIN)
        while not self._closing.is_set() and (left_s := until - now()) > 0:
            # some may have come with the answers to the last queries: the socket is silent then
            told = [each for each in connection.notifies(timeout=0) if each.payload != self._me]
            if told:
                self._note_heard({each.channel for each in told} & self._channels)
                return
            poll.poll(left_s * 1000)

    def _note_heard(self, channels: set[str]) -> None:
        if channels:
            with self._lock:
                self._heard |= channels
            self._ring()

    def _look(self, connection: psycopg.Connection) -> None:
        rows = connection.execute(HOLDERS).fetchall()
        drained = connection.execute(DRAINED, (self._me,)).fetchone()
        if drained is not None:
            self.drained_by = UPGRADED if drained[1] > self._version else str(drained[0])
        before = self.holders
        self.holders = {RunId(str(row[0])): holder_of(row) for row in rows}
        self.epochs = {RunId(str(row[0])): int(row[9]) for row in rows}
        self._add(connection.execute(_NEWER, (self._announced,)).fetchall())
        if self._news or before != self.holders:
            self._ring()

    def _ring(self) -> None:
        with suppress(OSError):  # full: it rings already
            self._bell_out.send(b"!")

    def _add(self, rows: Sequence[tuple[str, int, int]]) -> None:
        if not rows:
            return
        with self._lock:
            self._announced = max(self._announced, *(pos for _, _, pos in rows))
            self._news.update({RunId(run): seq for run, seq, _ in rows})


def _bell() -> tuple[socket.socket, socket.socket]:
    """Two ends: what is sent to the first wakes who waits for the second."""
    out, bell = socket.socketpair()
    out.settimeout(0)
    bell.settimeout(0)
    return out, bell


def now() -> float:
    """A clock that goes on while the machine sleeps, because the store's does."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return time.clock_gettime(clock)
