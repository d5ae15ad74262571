"""A thread whose children can't reach the abstract sockets of others.

Such sockets have a name and no file: they belong to the network, so that a box with the network
would reach those of the person's desktop, which take keys and clicks from anyone of that user.
Landlock can forbid it (Linux 6.12). It binds a thread and all that the thread starts; set between
fork and exec instead, it would cost a copy of this process for every program.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TypeVar

T = TypeVar("T")

CREATE_RULESET, RESTRICT_SELF = 444, 446  # the same for every processor
ABSTRACT_SOCKETS = 1
NO_NEW_PRIVILEGES = 38


class _Rules(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


def fenced(start: Callable[[], T]) -> T:
    """Do it behind the fence, or here where the kernel has none; wait for what comes of it."""
    fence = _fence(os.getpid())
    return fence.submit(start).result() if fence else start()


def has_fence() -> bool:
    return _fence(os.getpid()) is not None


@cache
def _fence(pid: int) -> ThreadPoolExecutor | None:
    """One thread for each process, as long as that lives: its end is the end of its children."""
    if sys.platform != "linux":
        return None
    fence = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"fence of {pid}")
    if fence.submit(_bind_this_thread).result():
        return fence
    fence.shutdown()
    return None


def _bind_this_thread() -> bool:
    kernel = ctypes.CDLL(None)
    rules = _Rules(scopes=ABSTRACT_SOCKETS)
    number = kernel.syscall(CREATE_RULESET, ctypes.byref(rules), ctypes.sizeof(rules), 0)
    if number < 0:
        return False
    try:
        kernel.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        return bool(kernel.syscall(RESTRICT_SELF, number, 0) == 0)
    finally:
        os.close(number)
