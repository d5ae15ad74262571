"""Runs a command of the program in this process, which saves starting Python for it."""

import asyncio  # noqa: TID251 - only to see whether a loop runs
import gc
import os
import resource
import subprocess
import sys
import tempfile
import threading
import traceback
from contextlib import contextmanager

import anyio

OWN_PROCESS = {"demo", "mcp", "up", "watch"}
"""Commands that serve until they are ended, or that show how the program starts."""

READ_LINES = {"auto", "room"}
"""Commands that read their standard input while they work."""


def can_run_here(arguments, stdin):
    """Whether a command needs no process of its own, and this thread can run it."""
    command = arguments[0] if arguments else ""
    return (
        command not in OWN_PROCESS
        and not (command in READ_LINES and stdin is not None)
        and threading.current_thread() is threading.main_thread()
        and not _in_event_loop()
    )


def _in_event_loop():
    """Also where playwright has left its own loop running in this thread."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        return True
    try:
        anyio.get_current_task()
    except RuntimeError:
        return False
    return True


def run_here(arguments, cwd, environment, stdin=None):
    """Like `subprocess.run` of the program; a traceback is printed to its standard error."""
    from allstop.__main__ import main

    with (
        _input(stdin) as given,
        tempfile.TemporaryFile("w+", encoding="utf-8") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8") as err,
    ):
        with _as_process(["allstop", *arguments], cwd, environment, (given, out, err)):
            code = _code(main)
        texts = [_content(stream) for stream in (out, err)]
    return subprocess.CompletedProcess(["allstop", *arguments], code, *texts)


@contextmanager
def _input(text):
    if text is None:
        with open(os.devnull, encoding="utf-8") as nothing:
            yield nothing
        return
    with tempfile.TemporaryFile("w+", encoding="utf-8") as file:
        file.write(text)
        file.seek(0)
        yield file


def _code(main):
    try:
        main()
    except SystemExit as ended:
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
            return 1
        return ended.code or 0
    except Exception:  # noqa: BLE001 - as Python ends a program
        traceback.print_exc()
        return 1
    finally:
        gc.unfreeze()  # the program freezes its objects before it ends; this process goes on
    return 0


@contextmanager
def _as_process(arguments, cwd, environment, streams):
    """Arguments, folder, environment and standard streams belong to the whole process."""
    before = sys.argv, os.getcwd(), dict(os.environ), (sys.stdin, sys.stdout, sys.stderr)
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    sys.argv = arguments
    sys.stdin, sys.stdout, sys.stderr = streams
    os.chdir(cwd)
    _set_environment(environment)
    try:
        yield
    finally:
        sys.argv, folder, variables, (sys.stdin, sys.stdout, sys.stderr) = before
        os.chdir(folder)
        _set_environment(variables)
        resource.setrlimit(resource.RLIMIT_NOFILE, files)  # the program raises it for itself


def _set_environment(variables):
    os.environ.clear()
    os.environ.update(variables)


def _content(stream):
    stream.flush()
    stream.seek(0)
    return stream.read()
