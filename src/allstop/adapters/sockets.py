"""An address of this machine, taken for as long as its socket is open."""

from __future__ import annotations

import socket


def bound(host: str, port: int) -> socket.socket:
    """It does not listen yet.

    The protocol is named because asyncio sends small answers at once only where it is.

    Raises:
        OSError: another listens there, or nobody can.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    family, kind, protocol, _, address = found[0]
    taken = socket.socket(family, kind, protocol)
    try:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.bind(address)
    except OSError:
        taken.close()
        raise
    return taken
