"""Starts programs from a thread that Landlock keeps away from abstract sockets outside the box.

Abstract sockets have a name and no file, and belong to the network namespace. A box with network
access could reach those of the person's desktop, which accept keys and clicks from the same user.
Landlock can forbid that (Linux 6.12). It restricts a thread and everything that the thread starts.
Doing it between fork and exec would copy this process for every program.
"""

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from functools import cache
from queue import SimpleQueue
from typing import TypeVar, cast

from allstop.adapters.processes.priority import NICENESS

T = TypeVar("T")

CREATE_RULESET, RESTRICT_SELF = 444, 446  # the same on every machine
ABSTRACT_SOCKETS = 1
NO_NEW_PRIVILEGES = 38


class _Rules(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scopes", ctypes.c_uint64),
    )


class StarterThread:
    """A thread that starts programs, as long as this process lives.

    The kernel ends a box with the thread that started it, not with the process, and the caller's
    thread may end soon. So there is such a thread even without Landlock.
    """

    def __init__(self, pid: int, restrict: Callable[[], bool]) -> None:
        self._jobs = _start_worker(f"fence of {pid}")
        self.is_restricted = self.start(restrict)
        if not self.is_restricted:  # a partial restriction stays with that thread
            self._jobs.put(None)
            self._jobs = _start_worker(f"starter of {pid}")

    def start(self, work: Callable[[], T]) -> T:
        """Run it in the thread and return its result; an executor would take twice as long."""
        job = _Job(work)
        self._jobs.put(job)
        job.done.acquire()
        if job.error is not None:
            try:
                raise job.error
            finally:
                del job  # the error refers to this frame; a cycle would keep both
        return cast("T", job.result)


class _Job:
    def __init__(self, work: Callable[[], object]) -> None:
        self.work = work
        self.done = threading.Lock()  # released at the end
        self.done.acquire()
        self.result: object = None
        self.error: BaseException | None = None


def _start_worker(name: str) -> SimpleQueue[_Job | None]:
    """Start a thread that runs jobs until it gets None."""
    jobs: SimpleQueue[_Job | None] = SimpleQueue()
    threading.Thread(target=_run_jobs, args=(jobs,), name=name, daemon=True).start()
    return jobs


def _run_jobs(jobs: SimpleQueue[_Job | None]) -> None:
    # agents inherit it from this thread
    os.setpriority(os.PRIO_PROCESS, 0, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
    while (job := jobs.get()) is not None:
        try:
            job.result = job.work()
        except BaseException as error:  # noqa: BLE001 - the waiting thread raises it again
            job.error = error
        job.done.release()
        del job


def run_restricted(start: Callable[[], T]) -> T:
    """Run it in the restricted thread, if the kernel has Landlock, and return its result."""
    starter = _starter(os.getpid())
    return starter.start(start) if starter else start()


def has_landlock() -> bool:
    starter = _starter(os.getpid())
    return starter is not None and starter.is_restricted


@cache
def _starter(pid: int) -> StarterThread | None:
    """Return one per process; None where there are no boxes."""
    return StarterThread(pid, _restrict_this_thread) if sys.platform == "linux" else None


def _restrict_this_thread() -> bool:
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
