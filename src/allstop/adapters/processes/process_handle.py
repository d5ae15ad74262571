"""A hold on one process: signals sent through it can't hit another."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import suppress

from allstop.adapters.processes.identity import Identity, is_alive

LOOK_EVERY_S = 0.01


class Hold:
    def __init__(self, identity: Identity, handle: int | None) -> None:
        self._identity = identity
        self._handle = handle

    @classmethod
    def take(cls, identity: Identity) -> Hold | None:
        """None when that very process is gone. Opened first and compared then, so that the
        number can't come to mean another in between."""
        hold = cls(identity, _opened(identity.pid))
        if is_alive(identity):
            return hold
        hold.close()
        return None

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            if self._handle is not None:
                signal.pidfd_send_signal(self._handle, number)
            elif is_alive(self._identity):
                os.kill(self._identity.pid, number)

    def gone(self, until: float) -> bool:
        """Wait for its end, but not past this instant of the monotonic clock."""
        if self._handle is not None:
            poll = select.poll()
            poll.register(self._handle, select.POLLIN)
            return bool(poll.poll(max(0.0, until - time.monotonic()) * 1000))
        while is_alive(self._identity):
            if time.monotonic() > until:
                return False
            time.sleep(LOOK_EVERY_S)
        return True

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _opened(pid: int) -> int | None:
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
