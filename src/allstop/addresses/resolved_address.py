"""Resolves a host name once, and checks that its addresses may be connected to."""

import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import IPv6Address
from typing import TypeAlias

from allstop.addresses.address_policy import Address, parse, refusal, unwrap_ipv4
from allstop.addresses.background_call import run_in_thread

Resolve: TypeAlias = Callable[[str], Sequence[Address]]
"""Returns all addresses of a host; raises OSError or UnicodeError if there is none. May block."""


class RefusedError(Exception):
    """Nothing may be sent to this host."""


class NoAddressError(RefusedError):
    """The host has no address."""


def resolve(host: str) -> Sequence[Address]:
    found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [parse(str(sockaddr[0])) for *_, sockaddr in found]


async def check_host(
    host: str, resolve: Resolve, *, private: bool = False, hint: str = ""
) -> Sequence[Address]:
    """Return the addresses to connect to. One forbidden address among several refuses all.

    `private` allows addresses of this machine's networks; `hint` tells people how to allow them.

    Raises NoAddressError if the host has no address, and RefusedError if nothing may be sent there.
    """
    try:
        addresses = await run_in_thread(lambda: resolve(host))
    except (OSError, UnicodeError) as error:
        raise NoAddressError(f"host {host} was not found") from error
    for address in addresses:
        own = [unwrap_ipv4(address)] if _is_ours(unwrap_ipv4(address)) else []
        if why := refusal(address, own=own, private=private):
            said = f"{why}; {hint}" if hint and not refusal(address, private=True) else why
            raise RefusedError(f"nothing is sent to {address}: {said}")
    if not addresses:
        raise NoAddressError(f"host {host} was not found")
    return addresses


def _is_ours(address: Address) -> bool:
    """Whether it is an address of this machine: only those can be bound."""
    family = socket.AF_INET6 if isinstance(address, IPv6Address) else socket.AF_INET
    with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.bind((str(address), 0))
        return True
    return False
