"""Binds a TCP socket to an address of this machine."""

import socket


def bound(host: str, port: int) -> socket.socket:
    """Return a bound socket that doesn't listen yet.

    The protocol is given, because asyncio sets TCP_NODELAY only if it is.

    Raises OSError if another program uses the address, or it can't be used.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP)
    family, kind, protocol, _, address = found[0]
    bound_socket = socket.socket(family, kind, protocol)
    try:
        bound_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound_socket.bind(address)
    except OSError:
        bound_socket.close()
        raise
    return bound_socket
