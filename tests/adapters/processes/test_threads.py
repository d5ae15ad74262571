"""The kernel ends a box with the thread that started it, which may be a short-lived one."""

import os
import signal
import threading
from functools import partial

import pytest

from allstop.adapters.processes.sandbox.landlock import StarterThread, run_restricted
from allstop.adapters.processes.spawn import spawn


@pytest.fixture
def start(host):
    """A program in a box that ends with whoever started it."""
    box = (host.tools.bwrap, "--die-with-parent", "--dev-bind", "/", "/", "cat")
    return partial(spawn, box, env={}, passed=())


def started_by_a_thread_that_ends(start):
    started = []
    thread = threading.Thread(target=lambda: started.append(start()))
    thread.start()
    thread.join()
    return started[0]


def echo_of(child):
    os.write(child.stdin, b"here\n")
    return os.read(child.stdout, 100)


def test_q15_a_box_ends_with_the_thread_that_started_it_not_with_the_process(start):
    """Q15: this is the trap; the thread lasts until the box stands, and no longer."""
    stands, goes = threading.Event(), threading.Event()
    children = []

    def start_and_end():
        children.append(start())
        stands.set()
        goes.wait()

    thread = threading.Thread(target=start_and_end)
    thread.start()
    stands.wait()
    (child,) = children
    assert echo_of(child) == b"here\n"

    goes.set()
    thread.join()

    assert child.process.wait(60) == -signal.SIGKILL
    child.abandon()


@pytest.mark.parametrize("bind", [None, lambda: False], ids=["fenced", "without a fence"])
def test_q15_what_a_thread_starts_that_ends_lives_on(start, bind):
    """Q15, K14: it is one thread of the process that starts all of them."""
    through = run_restricted if bind is None else StarterThread(os.getpid(), bind).start

    child = started_by_a_thread_that_ends(lambda: through(start))

    assert echo_of(child) == b"here\n"
    assert child.process.poll() is None
    child.abandon()
