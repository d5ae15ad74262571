"""Other hosts that programs in a box may reach: rules by name, and the sentences about refusals."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

TLS_PORT = 443
"""The only port of a host whose rule names none."""

_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_NAME = rf"(?:{_LABEL}\.)+[a-z](?:[a-z0-9-]{{0,61}}[a-z0-9])?"
RULE_PATTERN = rf"^(?i:(?:\*\.)?{_NAME})(?::\d{{1,5}})?$(?!\n)"
"""A name with a dot; not an address, because its last part begins with a letter."""

_HOST = re.compile(_NAME)
MAX_NAME_CHARS = 253


class Place(NamedTuple):
    """A host and a port that a program asked for."""

    host: str  # in lower case, without a dot at its end
    port: int

    def __str__(self) -> str:
        return self.host if self.port == TLS_PORT else f"{self.host}:{self.port}"


def parse_place(authority: str) -> Place | None:
    """The place of a CONNECT request; None if it isn't a host's name and a port."""
    host, colon, port = authority.rpartition(":")
    host = host.lower().removesuffix(".")
    if not colon or len(host) > MAX_NAME_CHARS or not _HOST.fullmatch(host):
        return None
    if not (port.isascii() and port.isdecimal() and len(port) <= 5 and 0 < int(port) < 65_536):
        return None
    return Place(host, int(port))


def is_allowed(place: Place, rules: Iterable[str]) -> bool:
    """`name` allows its TLS port, `name:8443` only that port, `*.name` every name below it."""
    return any(_fits(place, rule) for rule in rules)


def _fits(place: Place, rule: str) -> bool:
    name, _, port = rule.lower().partition(":")
    if place.port != (int(port) if port else TLS_PORT):
        return False
    if name.startswith("*."):
        return place.host.endswith(name[1:])
    return place.host == name


def missing_rule(place: Place, table: str) -> str:
    """Why a host could not be reached, and what to add."""
    return f'{place} could not be reached: add "{place}" to hosts in [{table}] of allstop.toml'


def named_without_proxy(name: str, rules: Sequence[str], table: str) -> str:
    """Why a host could not be reached that a program looked up by itself."""
    place = Place(name, TLS_PORT)
    if not is_allowed(place, rules):
        return missing_rule(place, table)
    return (
        f"{name} could not be reached: the program doesn't use the proxy of HTTPS_PROXY, "
        "which is the only way out"
    )
