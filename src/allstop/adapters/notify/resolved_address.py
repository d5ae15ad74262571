"""Where a name leads, looked up once; and whether anything may be sent there."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import IPv6Address
from typing import TypeAlias

from allstop.adapters.notify.background_call import aside
from allstop.core.address_policy import Address, parse, refusal, unwrap_ipv4

Resolve: TypeAlias = Callable[[str], Sequence[Address]]
"""All addresses of a host; OSError or UnicodeError where it has none. It may take its time."""


class RefusedError(Exception):
    """Nothing is sent there."""


class NowhereError(RefusedError):
    """There is no such place."""


def resolve(host: str) -> Sequence[Address]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [parse(str(sockaddr[0])) for *_, sockaddr in found]


async def checked(host: str, resolve: Resolve, *, private: bool) -> Address:
    """The address to connect to. One bad address among several refuses them all.

    Raises:
        NowhereError: there is none.
        RefusedError: nothing may be sent there.
    """
    try:
        addresses = await aside(lambda: resolve(host))
    except (OSError, UnicodeError) as error:
        raise NowhereError("its name leads nowhere") from error
    for address in addresses:
        own = [unwrap_ipv4(address)] if _is_ours(unwrap_ipv4(address)) else []
        if why := refusal(address, own=own, private=private):
            raise RefusedError(f"nothing is sent to {address}: {why}")
    return addresses[0]


def _is_ours(address: Address) -> bool:
    """Only an address of this machine can be bound to."""
    family = socket.AF_INET6 if isinstance(address, IPv6Address) else socket.AF_INET
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.bind((str(address), 0))
        return True
    return False
