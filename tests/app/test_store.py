"""The store of a project on a server, shared with other machines."""

from contextlib import closing
from datetime import UTC, datetime

import pytest

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.postgres import PostgresJournal
from allstop.app.project import Project
from allstop.ports import HeldError, Holder
from allstop.settings.sources.environment import Environment
from support.postgres_fixtures import database, postgres
from support.process_fixtures import asyncio_backend, person_at_home

__all__ = ["asyncio_backend", "database", "person_at_home", "postgres"]

NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def test_z3_a_process_of_another_machine_is_never_taken_for_ended(
    person, postgres, database, tmp_path
):
    """Its pid says nothing here: only its lease or its own machine can."""
    url = postgres.url(database)
    there = Holder(pid=77, host="there", world="another/1", command="worker", since=NOW)
    variables = {**person.environment, "ALLSTOP_STORE_URL": url}
    here = Project(person.repository, Environment(home=person.home, variables=variables))
    theirs = PostgresJournal(url, tmp_path, SystemClock(), own=there)

    with closing(theirs), closing(here):
        async with theirs.claim("a"):
            assert here.journal.holders().keys() == {"a"}
            with pytest.raises(HeldError, match="process 77 on there"):
                async with here.journal.claim("a"):
                    pass
