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

from allstop.adapters.processes.proc import family_of
from allstop.adapters.processes.registry import recorded

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
NOBODY = "0"  # the socket's number once it is closed, though what was sent may still arrive


def comes_from_work(live: Path, host: str, port: int, own_port: int) -> bool:
    """Of a connection from `host` and `port` to `own_port` here; `live` is where trees are listed.

    One whose other end has been closed by whoever sent it counts as theirs: nobody can say any more.
    False where the kernel doesn't tell.
    """
    trees = recorded(live)
    if not trees:
        return False
    try:
        sockets = set(_sockets(ipaddress.ip_address(host), port, own_port))
    except (OSError, ValueError):
        return False
    if not sockets - {NOBODY}:
        return bool(sockets) or ipaddress.ip_address(host).is_loopback
    pids = [pid for tree in trees for pid in _members(tree.root.pid)]
    return any(_holds(pid, sockets) for pid in pids)


def _sockets(
    host: ipaddress.IPv4Address | ipaddress.IPv6Address, port: int, own_port: int
) -> Iterator[str]:
    ends = {f"{name}:{port:04X}" for name in _spelled(host)}
    own = f":{own_port:04X}"
    for table in TABLES:
        for line in table.read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if fields[1] in ends and fields[2].endswith(own):
                yield fields[9]


def _spelled(host: ipaddress.IPv4Address | ipaddress.IPv6Address) -> Iterator[str]:
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
