"""Keeps one program where there is no sandbox, and ends what it leaves behind.

Runs as a process of its own with the standard library only. Everything the program starts
stays below it, daemons too; and it ends them when the program ends, when it is told to, and
when nobody is left who could tell it.
"""

from __future__ import annotations

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

from allstop.adapters.processes.proc import halt_family, kill_family

PR_SET_CHILD_SUBREAPER = 36
LOOK_EVERY_S = 0.001
TERM = bytes([signal.SIGTERM])  # as a signal rings the bell


class Plan(TypedDict):
    argv: list[str]
    env: dict[str, str]
    cwd: str
    temp: str  # its folder for temporary files, removed at the end
    limits: dict[str, int]
    files: int | None  # how many it may hold open, if not as many as the keeper


def main() -> None:
    plan_end, lease, report = map(int, sys.argv[1:4])
    for end in (lease, report):
        fcntl.fcntl(end, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    with os.fdopen(plan_end) as file:
        plan: Plan = json.load(file)
    _adopt_orphans()
    wake = _wake_on_signals()
    _tell(report, ready=True)
    if _is_let_go(lease, wake):
        program, error = _started(plan)
        if error:
            _tell(report, error=error)
        else:
            _let_go_of_pipes()
            _tell(report, started=program)
            _keep(program, lease, wake, report)
    _end_all()
    shutil.rmtree(plan["temp"], ignore_errors=True)


def _is_let_go(lease: int, wake: int) -> bool:
    while True:
        heard = _heard(lease, wake)
        if wake in heard and TERM in os.read(wake, 4096):
            return False
        if lease in heard:
            return bool(os.read(lease, 1))


def _heard(*ends: int) -> list[int]:
    """Which of them have something to say. With `select` their numbers could be too high."""
    poll = select.poll()
    for end in ends:
        poll.register(end, select.POLLIN)
    return [end for end, _ in poll.poll()]


def _keep(program: int, lease: int, wake: int, report: int) -> None:
    """Until it ends or the lease does."""
    while True:
        for ended in _heard(lease, wake):
            if ended == lease or TERM in os.read(wake, 4096):
                _end_group(program)
                return
        for pid, status in _buried():
            if pid == program:
                _tell(report, code=os.waitstatus_to_exitcode(status))
                _end_group(program)
                return


def _started(plan: Plan) -> tuple[int, str]:
    failed, told = os.pipe()
    program = os.fork()
    if program == 0:
        try:
            _become(plan)
        except OSError as error:
            os.write(told, os.fsencode(error.strerror or "unknown"))
        finally:
            os._exit(127)
    os.close(told)
    with os.fdopen(failed, "rb") as file:
        return program, file.read().decode(errors="replace")


def _become(plan: Plan) -> None:
    os.setsid()
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
    os.execve(plan["argv"][0], plan["argv"], plan["env"])  # noqa: S606 - there is no shell here


def _adopt_orphans() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _wake_on_signals() -> int:
    wake, bell = os.pipe()
    for end in (wake, bell):
        os.set_blocking(end, False)
    signal.set_wakeup_fd(bell, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    return wake


def _let_go_of_pipes() -> None:
    """They are the program's; held here, they would never end."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for end in (0, 1, 2):
        os.dup2(nowhere, end)


def _buried() -> list[tuple[int, int]]:
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
    """Where orphans can't be adopted this is all that can be done."""
    if sys.platform != "linux":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(program, signal.SIGKILL)


def _end_all() -> None:
    while True:
        halt_family(os.getpid())
        if not kill_family(os.getpid()):
            break
        _buried()
        select.select([], [], [], LOOK_EVERY_S)
    _buried()


def _tell(report: int, **words: object) -> None:
    with suppress(OSError):  # when nobody listens, the lease ends too
        os.write(report, json.dumps(words).encode() + b"\n")
