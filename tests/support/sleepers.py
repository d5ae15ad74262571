"""Commands of agents that sleep for a time that marks them: whether they run, and their end."""

import os
import signal
import subprocess

import anyio


def begun(marker):
    """Whether the command runs; -x excludes its shell, whose command line ends the same."""
    found = subprocess.run(["pgrep", "-x", "-f", f"sleep {marker}"], capture_output=True)
    return found.returncode == 0


def alive(marker):
    """Whether the command or its shell runs."""
    return subprocess.run(["pgrep", "-f", f"sleep {marker}$"], capture_output=True).returncode == 0


def wake(marker):
    """End the `sleep`, so that the command continues."""
    found = subprocess.run(["pgrep", "-f", f"sleep {marker}$"], capture_output=True, check=True)
    for pid in found.stdout.split():
        os.kill(int(pid), signal.SIGTERM)


async def until(condition, within_s=60):
    with anyio.fail_after(within_s):
        while not condition():
            await anyio.sleep(0.05)
