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
import threading
from collections.abc import Callable
from functools import cache
from queue import SimpleQueue
from typing import TypeVar, cast

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


class Starter:
    """A thread that starts programs, for as long as this process lives.

    The kernel ends a box with the thread that started it, and not with the process: whoever asks
    may be on a thread that is gone the next moment. So there is one also without a fence.
    """

    def __init__(self, pid: int, bind: Callable[[], bool]) -> None:
        self._jobs = _worked_off_by(f"fence of {pid}")
        self.is_fenced = self.start(bind)
        if not self.is_fenced:  # what was half done stays with that thread
            self._jobs.put(None)
            self._jobs = _worked_off_by(f"starter of {pid}")

    def start(self, work: Callable[[], T]) -> T:
        """Do it there, and wait for what comes of it: an executor would take twice as long."""
        job = _Job(work)
        self._jobs.put(job)
        job.is_over.acquire()
        if job.error is not None:
            try:
                raise job.error
            finally:
                del job  # the error knows this frame, and would be kept by it
        return cast("T", job.result)


class _Job:
    def __init__(self, work: Callable[[], object]) -> None:
        self.work = work
        self.is_over = threading.Lock()  # once somebody else lets go of it
        self.is_over.acquire()
        self.result: object = None
        self.error: BaseException | None = None


def _worked_off_by(name: str) -> SimpleQueue[_Job | None]:
    """A new thread, until there is None."""
    jobs: SimpleQueue[_Job | None] = SimpleQueue()
    threading.Thread(target=_work_off, args=(jobs,), name=name, daemon=True).start()
    return jobs


def _work_off(jobs: SimpleQueue[_Job | None]) -> None:
    while (job := jobs.get()) is not None:
        try:
            job.result = job.work()
        except BaseException as error:  # noqa: BLE001 - it is whoever waits who has to know
            job.error = error
        job.is_over.release()
        del job


def fenced(start: Callable[[], T]) -> T:
    """Do it behind the fence, where the kernel has one; wait for what comes of it."""
    starter = _starter(os.getpid())
    return starter.start(start) if starter else start()


def has_fence() -> bool:
    starter = _starter(os.getpid())
    return starter is not None and starter.is_fenced


@cache
def _starter(pid: int) -> Starter | None:
    """One for each process; none where there are no boxes."""
    return Starter(pid, _bind_this_thread) if sys.platform == "linux" else None


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
