"""A handle on one process, through which a signal can't reach another process with the same pid."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import suppress

from allstop.adapters.processes.identity import Identity, is_alive

POLL_EVERY_S = 0.01


class ProcessHandle:
    def __init__(self, identity: Identity, handle: int | None) -> None:
        self._identity = identity
        self._handle = handle

    @classmethod
    def open(cls, identity: Identity) -> ProcessHandle | None:
        """Open a handle; None if that process has ended.

        The handle is opened before the identity is compared, so the pid can't be reused in between.
        """
        opened = cls(identity, _open_pidfd(identity.pid))
        if is_alive(identity):
            return opened
        opened.close()
        return None

    def send(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            if self._handle is not None:
                signal.pidfd_send_signal(self._handle, number)
            elif is_alive(self._identity):
                os.kill(self._identity.pid, number)

    def wait_for_end(self, until: float) -> bool:
        """Wait for its end until this time of the monotonic clock; False if it is still alive."""
        if self._handle is not None:
            poll = select.poll()
            poll.register(self._handle, select.POLLIN)
            return bool(poll.poll(max(0.0, until - time.monotonic()) * 1000))
        while is_alive(self._identity):
            if time.monotonic() > until:
                return False
            time.sleep(POLL_EVERY_S)
        return True

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


def _open_pidfd(pid: int) -> int | None:
    if sys.platform != "linux":
        return None
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None
