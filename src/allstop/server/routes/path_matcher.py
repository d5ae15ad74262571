"""Which address is which route's, and by which methods it is asked: read from the table of routes."""

from __future__ import annotations

import re
from typing import NamedTuple

from allstop.server.access.admission import CHANGES, READS
from allstop.server.routes.table import BASE, CHANGING, READING, Change, Route

DESCRIPTION = f"{BASE}/openapi.json"
STREAM = f"{BASE}/stream"
METRICS = "/metrics"


class Found(NamedTuple):
    route: Route | Change
    named: dict[str, str]  # what its address names


class _Entry(NamedTuple):
    address: re.Pattern[str]
    route: Route | Change
    fixed: int  # how many of its characters name nothing

    @property
    def methods(self) -> frozenset[str]:
        return CHANGES if isinstance(self.route, Change) else READS


def _entry(route: Route | Change) -> _Entry:
    """A run's name may have slashes in it; nothing else may."""
    parts = re.split(r"\{(\w+)\}", BASE + route.path)
    pattern = "".join(
        re.escape(part) if number % 2 == 0 else f"(?P<{part}>{'.+' if part == 'run' else '[^/]+'})"
        for number, part in enumerate(parts)
    )
    return _Entry(re.compile(pattern), route, sum(map(len, parts[::2])))


_ENTRIES = tuple(_entry(route) for route in (*READING, *CHANGING))
_OTHERS = frozenset({DESCRIPTION, STREAM, METRICS})


def find(method: str, path: str) -> Found | None:
    """The first route of the table that fits."""
    for entry in _ENTRIES:
        if method in entry.methods and (found := entry.address.fullmatch(path)):
            return Found(entry.route, found.groupdict())
    return None


def methods_at(path: str) -> frozenset[str]:
    """By which methods something is there; none where nothing is."""
    if path in _OTHERS or not path.startswith("/api/"):
        return READS
    fitting = [entry for entry in _ENTRIES if entry.address.fullmatch(path)]
    closest = max((entry.fixed for entry in fitting), default=0)
    return frozenset[str]().union(*(each.methods for each in fitting if each.fixed == closest))
