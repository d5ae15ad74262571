"""A program of its own: enters a network namespace, makes two sockets there and hands them over.

It imports nothing of Allstop, so that it starts quickly and runs alone.
"""

import ctypes
import fcntl
import os
import socket
import sys

GET_USER_NAMESPACE = 0xB701
NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000


def main() -> None:
    network, answer, calls_port, names_port = map(int, sys.argv[1:])
    if os.geteuid() != 0:
        # the owner of the network; /proc/PID/ns/user may be a namespace within it
        _enter(fcntl.ioctl(network, GET_USER_NAMESPACE), NEW_USER)
    _enter(network, NEW_NETWORK)
    calls = socket.socket(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    calls.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    calls.bind(("127.0.0.1", calls_port))
    calls.listen(128)
    names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC)
    names.bind(("127.0.0.1", names_port))
    with socket.socket(fileno=answer) as there:
        socket.send_fds(there, [b"."], [calls.fileno(), names.fileno()])


def _enter(namespace: int, kind: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.setns(namespace, kind) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
