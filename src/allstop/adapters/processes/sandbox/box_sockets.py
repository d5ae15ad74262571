"""Makes sockets in the network of a box, from outside: a socket belongs to where it was made.

Nothing of ours runs in the box for that. A helper process enters the box's network namespace,
makes the sockets, hands them over and ends. It is a process of its own, because only a process
with a single thread may enter a user namespace.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import anyio.to_thread

from allstop.adapters.processes.proc import family_of
from allstop.ports import BoxSockets, LaunchError

HELPER = Path(__file__).with_name("socket_helper.py")
NAMES_PORT = 53
HELPER_TIMEOUT_S = 20.0


async def make_sockets(root: int, port: int) -> BoxSockets:
    """`root`: the first process of a box whose program hasn't started. `port`: the gateway's.

    Raises LaunchError if the sockets can't be made.
    """
    return await anyio.to_thread.run_sync(_make, root, port)


def _make(root: int, port: int) -> BoxSockets:
    try:
        network = _open_network(root)
    except OSError as error:
        raise _failed(f"the box's network can't be opened: {error.strerror}") from error
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        numbers = (network, theirs.fileno())
        try:
            done = subprocess.run(
                (sys.executable, "-I", "-S", str(HELPER), *map(str, (*numbers, port, NAMES_PORT))),
                pass_fds=numbers,
                env={},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=HELPER_TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _failed(str(error)) from error
        finally:
            os.close(network)
        if done.returncode:
            raise _failed(done.stderr.decode(errors="replace").strip())
        _, received, _, _ = socket.recv_fds(ours, 1, 2)
    calls, names = received
    return BoxSockets(calls=calls, names=names)


def _open_network(root: int) -> int:
    """A descriptor of the network namespace of the innermost process."""
    own = Path("/proc/self/ns/net").stat().st_ino
    for pid in reversed(list(_processes(root))):
        with suppress(FileNotFoundError, ProcessLookupError):
            number = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
            if os.fstat(number).st_ino != own:
                return number
            os.close(number)
    raise OSError(0, "it has none of its own")


def _processes(root: int) -> Iterator[int]:
    yield root
    yield from (child for child, _ in family_of(root))


def _failed(why: str) -> LaunchError:
    last = why.splitlines()[-1] if why else "the helper gave no reason"
    return LaunchError(f"the box's gateway can't be opened: {last}", code="box_gateway_failed")
