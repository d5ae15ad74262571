"""Which addresses may be connected to: no loopback, private or cloud metadata address.

A webhook or an allowed host is a name, and the owner of that name chooses the address behind it.
"""

import ipaddress
from collections.abc import Iterable
from typing import TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


def _networks(text: str) -> tuple[_Network, ...]:
    return tuple(ipaddress.ip_network(each) for each in text.split())


CLOUD_METADATA = _networks(
    "169.254.169.254 168.63.129.16 100.100.100.200 192.0.0.192 fd00:ec2::254 fd20:ce::254"
)
"""Metadata and control services of clouds, which hand out a machine's credentials."""

PRIVATE = _networks(
    "127.0.0.0/8 10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 ::1 fc00::/7"
)
"""This machine and its local network; a setting allows them."""

NOT_A_HOST = _networks(
    "0.0.0.0/8 169.254.0.0/16 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15"
    " 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4"
    " ::/128 100::/64 2001::/23 2001:db8::/32 3fff::/20 5f00::/16 fe80::/10 fec0::/10 ff00::/8"
)
"""Link-local, multicast, reserved and documentation addresses."""

_NAT64, _LOCAL_NAT64, _COMPATIBLE, _TRANSLATED = (
    ipaddress.IPv6Network(each)
    for each in ("64:ff9b::/96", "64:ff9b:1::/48", "::/96", "::ffff:0:0:0/96")
)


def parse(text: str) -> Address:
    """Parse an address, ignoring an interface name after `%`."""
    return ipaddress.ip_address(text.partition("%")[0])


def unwrap_ipv4(address: Address) -> Address:
    """The IPv4 address that an IPv6 address maps or translates to, else the address itself."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    inner = address.ipv4_mapped or address.sixtofour
    if inner is not None:
        return inner
    wraps = any(address in network for network in (_NAT64, _LOCAL_NAT64, _TRANSLATED))
    if wraps or (address in _COMPATIBLE and int(address) > 1):
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    return address


def refusal(address: Address, *, own: Iterable[Address] = (), private: bool = False) -> str:
    """Why an address is refused; "" if it is allowed. `private` allows private networks."""
    address = unwrap_ipv4(address)
    if _is_in(address, CLOUD_METADATA):
        return "it is a cloud metadata address"
    if _is_in(address, NOT_A_HOST):
        return "it is not the address of a host"
    if private:
        return ""
    if _is_in(address, PRIVATE) or address in own:
        return "it is on this machine or a private network"
    return ""


def _is_in(address: Address, networks: tuple[_Network, ...]) -> bool:
    return any(address in network for network in networks)
