"""Matches a request's path to a route of the table, and lists the methods that a path allows."""

import re
from typing import NamedTuple

from allstop.server.access.admission import CHANGES, READS
from allstop.server.routes.table import BASE, READ_ROUTES, WRITE_ROUTES, Route, WriteRoute

DESCRIPTION = f"{BASE}/openapi.json"
STREAM = f"{BASE}/stream"
METRICS = "/metrics"


class Match(NamedTuple):
    route: Route | WriteRoute
    path_values: dict[str, str]


class _Entry(NamedTuple):
    pattern: re.Pattern[str]
    route: Route | WriteRoute
    fixed: int  # the number of characters outside of parameters

    @property
    def methods(self) -> frozenset[str]:
        return CHANGES if isinstance(self.route, WriteRoute) else READS


def _entry(route: Route | WriteRoute) -> _Entry:
    """Compile a route's path. Only the name of a run may contain slashes."""
    parts = re.split(r"\{(\w+)\}", BASE + route.path)
    pattern = "".join(
        re.escape(part) if number % 2 == 0 else f"(?P<{part}>{'.+' if part == 'run' else '[^/]+'})"
        for number, part in enumerate(parts)
    )
    return _Entry(re.compile(pattern), route, sum(map(len, parts[::2])))


_ENTRIES = tuple(_entry(route) for route in (*READ_ROUTES, *WRITE_ROUTES))
_OTHERS = frozenset({DESCRIPTION, STREAM, METRICS})


def find(method: str, path: str) -> Match | None:
    """Return the first route of the table that matches."""
    for entry in _ENTRIES:
        if method in entry.methods and (found := entry.pattern.fullmatch(path)):
            return Match(entry.route, found.groupdict())
    return None


def methods_at(path: str) -> frozenset[str]:
    """Return the methods that a path allows; none if nothing has this path."""
    if path in _OTHERS or not path.startswith("/api/"):
        return READS
    matching = [entry for entry in _ENTRIES if entry.pattern.fullmatch(path)]
    closest = max((entry.fixed for entry in matching), default=0)
    return frozenset[str]().union(*(each.methods for each in matching if each.fixed == closest))
