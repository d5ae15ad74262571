"""The tables of a fleet's database: made and upgraded by the role that owns them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from allstop.app.project import SQLITE
from allstop.core.errors import AllstopError

if TYPE_CHECKING:
    from allstop.app.project import Project


class Tables(NamedTuple):
    """What a database holds."""

    address: str  # without the password
    version: int
    repository: str  # its first commit


def require_server(project: Project) -> str:
    """The address of the database.

    Raises AllstopError if the journal is a file.
    """
    if project.store_url == SQLITE:
        raise AllstopError(
            "no database is set",
            "set ALLSTOP_STORE_URL, or [store] url in your own settings, to the database",
            code="store_no_address",
        )
    return project.store_url


def init(project: Project) -> Tables:
    """Make the tables that are missing, and upgrade older ones; also the queue of runs."""
    from allstop.adapters.journals.postgres_connection import Link, describe
    from allstop.adapters.journals.postgres_schema import prepare, version_of
    from allstop.app.fleet.membership import queue_parts
    from allstop.app.store import repository_name

    url, repository = require_server(project), repository_name(project)
    link = Link(url, lambda connection: prepare(connection, repository, writes=True))
    try:
        found = Tables(describe(url), link.run(version_of), repository)
    finally:
        link.close()
    queue = Link(url, queue_parts()[0])
    try:
        queue.run(lambda connection: None)
    finally:
        queue.close()
    return found
