"""Lowers the priority of agents, so that a stop gets the processor beside busy ones.

Linux shares the processor first between sessions, then between the processes of one. The nice
value of a process counts only within its session; the session has one of its own.
"""

import os
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path

from allstop.adapters.processes.proc import family_of

NICENESS = 10
"""Of an agent and of its session: a stop comes first, and a busy machine still lets it work."""

ENABLED = Path("/proc/sys/kernel/sched_autogroup_enabled")
RETRY_S = 0.2
MAX_RETRIES = 100


def lower_session(root: int) -> None:
    """Lower the priority of the session that the last process below `root` belongs to."""
    if not _has_session_priorities():
        return
    last = root
    for last, _ in family_of(root):  # noqa: B007 - the loop finds the last
        pass
    with suppress(OSError):  # it has ended
        _lower(os.open(f"/proc/{last}/autogroup", os.O_WRONLY | os.O_CLOEXEC), MAX_RETRIES)


def _lower(session: int, retries: int) -> None:
    """Write the value. The kernel takes few of these a second from users other than root."""
    try:
        os.write(session, b"%d" % NICENESS)
    except BlockingIOError:
        if retries:
            timer = threading.Timer(RETRY_S, _lower, (session, retries - 1))
            timer.daemon = True
            timer.start()
            return
    except OSError:
        pass  # it has ended
    os.close(session)


@cache
def _has_session_priorities() -> bool:
    try:
        return ENABLED.read_bytes().strip() == b"1"
    except OSError:
        return False
