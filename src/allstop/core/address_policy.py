"""Which addresses a message may be sent to: not to this machine, its neighbours, or a cloud's core.

A webhook is asked for by its name, and whoever owns the name says what it stands for.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
_Network: TypeAlias = IPv4Network | IPv6Network


def _networks(text: str) -> tuple[_Network, ...]:
    return tuple(ip_network(each) for each in text.split())


METADATA = _networks(
    "169.254.169.254 168.63.129.16 100.100.100.200 192.0.0.192 fd00:ec2::254 fd20:ce::254"
)
"""Where clouds hand out the keys of a machine, or steer it."""

PRIVATE = _networks(
    "127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 ::1 fc00::/7"
)
"""This machine and the network around it: a person may want just that."""

NOBODY = _networks(
    "0.0.0.0/8 169.254.0.0/16 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15"
    " 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
    " ::/128 100::/64 2001::/23 2001:db8::/32 3fff::/20 5f00::/16 fe80::/10 fec0::/10 ff00::/8"
)
"""Link-local, many at once, reserved, or for examples."""

_NAT64, _LOCAL_NAT64, _COMPATIBLE, _TRANSLATED = (
    IPv6Network(each) for each in ("64:ff9b::/96", "64:ff9b:1::/48", "::/96", "::ffff:0:0:0/96")
)


def parse(text: str) -> Address:
    """Without the name of an interface behind it."""
    return ip_address(text.partition("%")[0])


def real(address: Address) -> Address:
    """The IPv4 address that another one stands for, however it is wrapped."""
    if isinstance(address, IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour
    if inner is not None:
        return inner
    wraps = any(address in network for network in (_NAT64, _LOCAL_NAT64, _TRANSLATED))
    if wraps or (address in _COMPATIBLE and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def refusal(address: Address, *, own: Iterable[Address] = (), private: bool = False) -> str:
    """Why nothing is sent there; "" where it may be. `private` allows a person's own network."""
    address = real(address)
    if _is_in(address, METADATA):
        return "it is where a cloud hands out keys"
    if _is_in(address, NOBODY):
        return "it is no address of a host on the network"
    if private:
        return ""
    if _is_in(address, PRIVATE) or address in own:
        return "it is this machine or its own network; `private = true` in [notify] allows that"
    return ""


def _is_in(address: Address, networks: tuple[_Network, ...]) -> bool:
    return any(address in network for network in networks)
