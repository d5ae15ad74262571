"""Whether the other end of a connection is held by a process of ours that is at work.

Cookies know no ports: who opens what an agent serves on this machine hands the agent the cookie of
the control room. The kernel knows whose socket it is that such a request comes from.
"""

from __future__ import annotations

import ipaddress
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from allstop.adapters.processes.diag import Address, End, socket_at
from allstop.adapters.processes.proc import family_of
from allstop.adapters.processes.registry import recorded

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
LISTENS = "0A"
NOBODY = "0"  # the socket's number once it is closed, though what was sent may still arrive


def comes_from_work(live: Path, peer: tuple[str, int], own: tuple[str, int]) -> bool:
    """Of a connection from `peer` to `own` here; `live` is where trees are listed.

    One whose other end has been closed by whoever sent it counts as theirs, although nothing of
    theirs may live any more: nobody can say. False where the kernel doesn't tell.
    """
    try:
        far, near = (End(ipaddress.ip_address(host), port) for host, port in (peer, own))
        sockets = _sockets(far, near)
    except (OSError, ValueError):
        return False
    if sockets is None:
        return False
    if not sockets - {NOBODY}:
        return bool(sockets) or far.host.is_loopback
    pids = (pid for tree in recorded(live) for pid in _members(tree.root.pid))
    return any(_holds(pid, sockets) for pid in pids)


def _sockets(far: End, near: End) -> set[str] | None:
    """Those at the far end; None where the kernel doesn't tell, since it doesn't know ours either."""
    with suppress(OSError):
        if socket_at(near, far) is not None:
            found = socket_at(far, near)
            return set() if found is None else {str(found)}
    return _in_tables(far, near)


def _in_tables(far: End, near: End) -> set[str] | None:
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
    socket: str


def _rows() -> Iterator[_Row]:
    for table in TABLES:
        if not table.exists():  # where there is no IPv6
            continue
        for line in table.read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            yield _Row(fields[1], fields[2], fields[3], fields[9])


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


def _members(root: int) -> Iterator[int]:
    yield root
    for child, _ in family_of(root):
        yield child


def _holds(pid: int, sockets: set[str]) -> bool:
    wanted = {f"socket:[{number}]" for number in sockets}
    with suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):  # noqa: PTH208 - a path object costs ten times as much
            with suppress(OSError):
                if os.readlink(f"/proc/{pid}/fd/{fd}") in wanted:  # noqa: PTH115 - as above
                    return True
    return False
