"""One TCP socket of this machine, asked of the kernel by its two ends.

The tables in /proc/net hold all of them, and are read by walking through every place where a socket
could be: that takes 10 ms on a machine with few. This is one question, and one answer.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
import struct
import sys
from typing import NamedTuple

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

SOCK_DIAG = 4  # NETLINK_SOCK_DIAG
BY_FAMILY = 20  # SOCK_DIAG_BY_FAMILY
ASKS = 0x0001  # NLM_F_REQUEST
ERROR = 2  # NLMSG_ERROR
LISTENS = 10  # TCP_LISTEN
ALL_STATES = 0xFFFFFFFF
NO_COOKIE = b"\xff" * 8

_HEADER = struct.Struct("=IHHII")
_ASKED = struct.Struct("=BBBxI")
_ANSWERED = struct.Struct("=BBBB48xIIIII")
_CODE = struct.Struct("=i")


class End(NamedTuple):
    """One side of a connection."""

    host: Address
    port: int


class Socket(NamedTuple):
    number: int  # 0 once nobody holds it any more, though what was sent may still arrive
    user: int  # who made it


def socket_at(here: End, there: End) -> Socket | None:
    """The socket that is at `here` and connected to `there`; None if there is none.

    Raises:
        OSError: the kernel doesn't tell.
    """
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, "sock_diag")
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG) as asked:
        asked.settimeout(1.0)
        asked.sendto(_question(here, there), (0, 0))
        answer = asked.recv(4096)
    kind = _HEADER.unpack_from(answer)[1]
    if kind == ERROR:
        (code,) = _CODE.unpack_from(answer, _HEADER.size)
        if -code == errno.ENOENT:
            return None
        raise OSError(-code, "sock_diag")
    fields = _ANSWERED.unpack_from(answer, _HEADER.size)
    return None if fields[1] == LISTENS else Socket(number=fields[-1], user=fields[-2])


def _question(here: End, there: End) -> bytes:
    """Of IPv6 only where neither side is IPv4 in disguise: the kernel keeps those with the others."""
    hosts = [_plain(end.host) for end in (here, there)]
    family = socket.AF_INET if all(host.version == 4 for host in hosts) else socket.AF_INET6
    body = _ASKED.pack(family, socket.IPPROTO_TCP, 0, ALL_STATES)
    body += struct.pack("!HH", here.port, there.port)
    body += b"".join(_padded(host, family) for host in hosts) + bytes(4) + NO_COOKIE
    return _HEADER.pack(_HEADER.size + len(body), BY_FAMILY, ASKS, 1, 0) + body


def _plain(host: Address) -> Address:
    mapped = host.ipv4_mapped if isinstance(host, ipaddress.IPv6Address) else None
    return mapped or host


def _padded(host: Address, family: int) -> bytes:
    if family == socket.AF_INET6 and host.version == 4:
        host = ipaddress.IPv6Address(f"::ffff:{host}")
    return host.packed.ljust(16, b"\0")
