"""Asks the kernel for one TCP socket of this machine by its two ends.

Reading the tables in /proc/net walks the whole hash table of sockets, which takes 10 ms even with
few sockets. This is one request and one answer.
"""

import errno
import ipaddress
import socket
import struct
import sys
from typing import NamedTuple

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

SOCK_DIAG = 4  # NETLINK_SOCK_DIAG
BY_FAMILY = 20  # SOCK_DIAG_BY_FAMILY
REQUEST = 0x0001  # NLM_F_REQUEST
ERROR = 2  # NLMSG_ERROR
LISTEN = 10  # TCP_LISTEN
ALL_STATES = 0xFFFFFFFF
NO_COOKIE = b"\xff" * 8

_HEADER = struct.Struct("=IHHII")
_REQUEST_BODY = struct.Struct("=BBBxI")
_ANSWER_BODY = struct.Struct("=BBBB48xIIIII")
_CODE = struct.Struct("=i")


class Endpoint(NamedTuple):
    host: Address
    port: int


class Socket(NamedTuple):
    inode: int  # the inode; 0 once no process holds it, even if sent data may still arrive
    user: int  # the uid that created it


def socket_at(here: Endpoint, there: Endpoint) -> Socket | None:
    """Return the socket at `here` that is connected to `there`; None if there is none.

    Raises OSError if the kernel doesn't tell.
    """
    if sys.platform != "linux":
        raise OSError(errno.ENOSYS, "sock_diag")
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG) as netlink:
        netlink.settimeout(1.0)
        netlink.sendto(_request(here, there), (0, 0))
        answer = netlink.recv(4096)
    kind = _HEADER.unpack_from(answer)[1]
    if kind == ERROR:
        (code,) = _CODE.unpack_from(answer, _HEADER.size)
        if -code == errno.ENOENT:
            return None
        raise OSError(-code, "sock_diag")
    fields = _ANSWER_BODY.unpack_from(answer, _HEADER.size)
    return None if fields[1] == LISTEN else Socket(inode=fields[-1], user=fields[-2])


def _request(here: Endpoint, there: Endpoint) -> bytes:
    """Use IPv6 only if neither end is an IPv4-mapped address: the kernel keeps those under IPv4."""
    hosts = [_unmapped(end.host) for end in (here, there)]
    family = socket.AF_INET if all(host.version == 4 for host in hosts) else socket.AF_INET6
    body = _REQUEST_BODY.pack(family, socket.IPPROTO_TCP, 0, ALL_STATES)
    body += struct.pack("!HH", here.port, there.port)
    body += b"".join(_padded(host, family) for host in hosts) + bytes(4) + NO_COOKIE
    return _HEADER.pack(_HEADER.size + len(body), BY_FAMILY, REQUEST, 1, 0) + body


def _unmapped(host: Address) -> Address:
    mapped = host.ipv4_mapped if isinstance(host, ipaddress.IPv6Address) else None
    return mapped or host


def _padded(host: Address, family: int) -> bytes:
    if family == socket.AF_INET6 and host.version == 4:
        host = ipaddress.IPv6Address(f"::ffff:{host}")
    return host.packed.ljust(16, b"\0")
