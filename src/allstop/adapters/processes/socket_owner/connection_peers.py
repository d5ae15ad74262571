"""Whether the other end of a connection is held by a process of ours that is at work.

Cookies know no ports: who opens what an agent serves on this machine hands the agent the cookie of
the control room. The kernel knows whose socket it is that such a request comes from.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from allstop.adapters.processes.socket_owner.socket_diag import Address, End, Socket, socket_at
from allstop.adapters.processes.socket_owner.socket_holders import holder_of

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LISTENS = "0A"
MOST_REMEMBERED = 8


class Peers:
    """Remembers who came before: a browser comes again and again."""

    def __init__(self) -> None:
        self._seen: tuple[int, ...] = ()

    def comes_from_work(self, peer: tuple[str, int], own: tuple[str, int]) -> bool:
        """Of a connection from `peer` to `own` here.

        One whose other end nobody holds counts as theirs, although nothing of theirs may live any
        more: a program that wants to hide can let go of it, or have it on its way to itself. False
        where the kernel doesn't tell.
        """
        try:
            far, near = (End(ipaddress.ip_address(host), port) for host, port in (peer, own))
            sockets = _sockets(far, near)
        except (OSError, ValueError):
            return False
        if sockets is None:
            return False
        held = [each for each in sockets if each.number]
        if not held:
            return bool(sockets) or _is_here(far.host)
        return any(self._is_held_at_work(each) for each in held)

    def _is_held_at_work(self, wanted: Socket) -> bool:
        sight = holder_of(wanted, self._seen)
        if sight.holder is None:
            return sight.is_whole
        others = (pid for pid in self._seen if pid != sight.holder)
        self._seen = (sight.holder, *others)[:MOST_REMEMBERED]
        return sight.at_work


def _sockets(far: End, near: End) -> set[Socket] | None:
    """Those at the far end; None where the kernel doesn't tell, since it doesn't know ours either."""
    with suppress(OSError):
        if socket_at(near, far) is not None:
            found = socket_at(far, near)
            return set() if found is None else {found}
    return _in_tables(far, near)


def _is_here(host: Address) -> bool:
    """Whether it is an address of this machine: only these can be taken."""
    family = socket.AF_INET if host.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as taken, suppress(OSError):
        taken.bind((str(host), 0))
        return True
    return False


def _in_tables(far: End, near: End) -> set[Socket] | None:
    """Where the kernel answers no questions about one of them."""
    rows = list(_rows())
    own = f":{near.port:04X}"
    if not any(row.state == LISTENS and row.here.endswith(own) for row in rows):
        return None  # the tables are not those in which we are
    ends = {f"{name}:{far.port:04X}" for name in _spelled(far.host)}
    return {row.socket for row in rows if row.here in ends and row.there.endswith(own)}


class _Row(NamedTuple):
    here: str
    there: str
    state: str
    socket: Socket


def _rows() -> Iterator[_Row]:
    for table in TABLES:
        if not table.exists():  # where there is no IPv6
            continue
        for line in table.read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            own = Socket(number=int(fields[9]), user=int(fields[7]))
            yield _Row(fields[1], fields[2], fields[3], own)


def _spelled(host: Address) -> Iterator[str]:
    """As the kernel writes it: words of four bytes, in this machine's order; of either family."""
    mapped = host.ipv4_mapped if isinstance(host, ipaddress.IPv6Address) else host
    if mapped is not None:
        yield _words(mapped.packed)
        yield _words(ipaddress.IPv6Address(f"::ffff:{mapped}").packed)
    else:
        yield _words(host.packed)


def _words(packed: bytes) -> str:
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
