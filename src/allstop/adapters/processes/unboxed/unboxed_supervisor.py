"""Supervises one program where there is no sandbox, and ends the processes that it leaves behind.

Runs as a separate process with only the standard library. It adopts everything the program starts,
daemons too. It kills them when the program ends, when it is told to, and when its parent dies.
"""

import ctypes
import fcntl
import json
import os
import resource
import select
import shutil
import signal
import sys
from contextlib import suppress
from typing import TypedDict

from allstop.adapters.processes.priority import NICENESS
from allstop.adapters.processes.proc import halt_family, kill_family

PR_SET_CHILD_SUBREAPER = 36
KILL_EVERY_S = 0.001
TERM = bytes([signal.SIGTERM])  # the byte that this signal writes to the wakeup pipe


class Plan(TypedDict):
    argv: list[str]
    env: dict[str, str]
    cwd: str
    temp: str  # a folder for temporary files, removed at the end
    limits: dict[str, int]
    files: int | None  # its limit of open files; None for the supervisor's own


def main() -> None:
    plan_end, lease, report = map(int, sys.argv[1:4])
    for end in (lease, report):
        fcntl.fcntl(end, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    with os.fdopen(plan_end) as file:
        plan: Plan = json.load(file)
    _adopt_orphans()
    wake = _wake_on_signals()
    _report(report, ready=True)
    if _wait_for_go(lease, wake):
        program, error = _start_program(plan)
        if error:
            _report(report, error=error)
        else:
            _close_standard_pipes()
            _report(report, started=program)
            _supervise(program, lease, wake, report)
    _end_all()
    shutil.rmtree(plan["temp"], ignore_errors=True)


def _wait_for_go(lease: int, wake: int) -> bool:
    while True:
        readable = _wait_readable(lease, wake)
        if wake in readable and TERM in os.read(wake, 4096):
            return False
        if lease in readable:
            return bool(os.read(lease, 1))


def _wait_readable(*ends: int) -> list[int]:
    """Wait until some are readable and return them; `select` fails for high descriptor numbers."""
    poll = select.poll()
    for end in ends:
        poll.register(end, select.POLLIN)
    return [end for end, _ in poll.poll()]


def _supervise(program: int, lease: int, wake: int, report: int) -> None:
    """Wait until the program ends or the lease is closed."""
    while True:
        for ended in _wait_readable(lease, wake):
            if ended == lease or TERM in os.read(wake, 4096):
                _end_group(program)
                return
        for pid, status in _reap():
            if pid == program:
                _report(report, code=os.waitstatus_to_exitcode(status))
                _end_group(program)
                return


def _start_program(plan: Plan) -> tuple[int, str]:
    failed, error_pipe = os.pipe()
    program = os.fork()
    if program == 0:
        try:
            _exec_program(plan)
        except OSError as error:
            os.write(error_pipe, os.fsencode(error.strerror or "unknown"))
        finally:
            os._exit(127)
    os.close(error_pipe)
    with os.fdopen(failed, "rb") as file:
        return program, file.read().decode(errors="replace")


def _exec_program(plan: Plan) -> None:
    os.setsid()
    _lower_priority()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    for name, limit in plan["limits"].items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        limit = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (limit, limit))
    if (files := plan["files"]) is not None:
        resource.setrlimit(
            resource.RLIMIT_NOFILE, (files, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        )
    os.chdir(plan["cwd"])
    os.execve(plan["argv"][0], plan["argv"], plan["env"])  # noqa: S606 - no shell is wanted


def _lower_priority() -> None:
    """So that a stop gets the processor; see `priority` for the session's own value."""
    os.nice(NICENESS)
    with suppress(OSError):
        session = os.open("/proc/self/autogroup", os.O_WRONLY | os.O_CLOEXEC)
        os.write(session, b"%d" % NICENESS)


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wake_on_signals() -> int:
    wake, wakeup_pipe = os.pipe()
    for end in (wake, wakeup_pipe):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(wakeup_pipe, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return wake


def _close_standard_pipes() -> None:
    """Close the program's pipes here, so that their readers see the end."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for end in (0, 1, 2):
        os.dup2(nowhere, end)


def _reap() -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        found.append((pid, status))


def _end_group(program: int) -> None:
    """Where orphans can't be adopted, killing the process group is all that can be done."""
    if sys.platform != "linux":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(program, signal.SIGKILL)


def _end_all() -> None:
    while True:
        halt_family(os.getpid())
        if not kill_family(os.getpid()):
            break
        _reap()
        select.select([], [], [], KILL_EVERY_S)
    _reap()


def _report(report: int, **words: object) -> None:
    with suppress(OSError):  # without a reader, the lease is closed too
        os.write(report, json.dumps(words).encode() + b"\n")
