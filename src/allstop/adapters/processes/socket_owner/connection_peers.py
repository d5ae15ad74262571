"""Tells whether a connection to this program comes from a program that an agent started.

Cookies don't distinguish ports: a browser that opens a page served by an agent on this machine
sends the agent the control room's cookie. The kernel knows which process a request comes from.
"""

import ipaddress
import socket
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from allstop.adapters.processes.socket_owner.socket_diag import Address, Endpoint, Socket, socket_at
from allstop.adapters.processes.socket_owner.socket_holders import holder_of

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LISTEN = "0A"
MAX_REMEMBERED = 8


class ConnectionPeers:
    """Remembers recent peers: a browser connects again and again."""

    def __init__(self) -> None:
        self._seen: tuple[int, ...] = ()

    def comes_from_agent(self, peer: tuple[str, int], own: tuple[str, int]) -> bool:
        """Whether an agent's program holds the other end, `peer`, of a connection to `own`.

        A socket that no process holds counts as such: a program that wants to hide can close it, or
        send it to itself. False if the kernel doesn't tell.
        """
        try:
            far, near = (Endpoint(ipaddress.ip_address(host), port) for host, port in (peer, own))
            sockets = _sockets(far, near)
        except (OSError, ValueError):
            return False
        if sockets is None:
            return False
        held = [each for each in sockets if each.inode]
        if not held:
            return bool(sockets) or _is_local(far.host)
        return any(self._is_agents(each) for each in held)

    def _is_agents(self, wanted: Socket) -> bool:
        result = holder_of(wanted, self._seen)
        if result.holder is None:
            return result.is_complete
        others = (pid for pid in self._seen if pid != result.holder)
        self._seen = (result.holder, *others)[:MAX_REMEMBERED]
        return result.in_agent_tree


def _sockets(far: Endpoint, near: Endpoint) -> set[Socket] | None:
    """Return the sockets at the far end; None if the kernel doesn't even know our end."""
    with suppress(OSError):
        if socket_at(near, far) is not None:
            found = socket_at(far, near)
            return set() if found is None else {found}
    return _in_tables(far, near)


def _is_local(host: Address) -> bool:
    """Whether this machine has that address: only then can a socket be bound to it."""
    family = socket.AF_INET if host.version == 4 else socket.AF_INET6
    with socket.socket(family, socket.SOCK_DGRAM) as probe, suppress(OSError):
        probe.bind((str(host), 0))
        return True
    return False


def _in_tables(far: Endpoint, near: Endpoint) -> set[Socket] | None:
    """Search /proc/net, for kernels that don't answer a query for one socket."""
    rows = list(_rows())
    own = f":{near.port:04X}"
    if not any(row.state == LISTEN and row.here.endswith(own) for row in rows):
        return None  # the tables belong to another network namespace
    ends = {f"{name}:{far.port:04X}" for name in _kernel_addresses(far.host)}
    return {row.socket for row in rows if row.here in ends and row.there.endswith(own)}


class _Row(NamedTuple):
    here: str
    there: str
    state: str
    socket: Socket


def _rows() -> Iterator[_Row]:
    for table in TABLES:
        if not table.exists():  # no IPv6
            continue
        for line in table.read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            own = Socket(inode=int(fields[9]), user=int(fields[7]))
            yield _Row(fields[1], fields[2], fields[3], own)


def _kernel_addresses(host: Address) -> Iterator[str]:
    """Yield the address as the kernel writes it, in both families."""
    mapped = host.ipv4_mapped if isinstance(host, ipaddress.IPv6Address) else host
    if mapped is not None:
        yield _words(mapped.packed)
        yield _words(ipaddress.IPv6Address(f"::ffff:{mapped}").packed)
    else:
        yield _words(host.packed)


def _words(packed: bytes) -> str:
    words = (packed[at : at + 4] for at in range(0, len(packed), 4))
    return "".join(f"{int.from_bytes(word, sys.byteorder):08X}" for word in words)
