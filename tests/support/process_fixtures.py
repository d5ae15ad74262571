"""Fixtures for tests with real processes; each conftest imports the ones it needs."""

import pytest

from support.person import at_home
from support.room_models import person_with_models


@pytest.fixture(name="anyio_backend")
def asyncio_backend():
    """Real processes and sockets need real time."""
    return "asyncio"


@pytest.fixture(name="person")
def person_at_home(tmp_path):
    """A person with a repository."""
    person = at_home(tmp_path)
    yield person
    person.close()


@pytest.fixture(name="person")
def person_who_talks(tmp_path):
    """A person with scripted agents, whose project can be opened in this process."""
    person = person_with_models(tmp_path)
    yield person
    person.close()
