"""Fixtures for folders of tests with real processes; their conftest imports what they need."""

import pytest

from support.person import at_home
from support.room_models import talker


@pytest.fixture(name="anyio_backend")
def asyncio_backend():
    """Processes and sockets take their time: no virtual clock."""
    return "asyncio"


@pytest.fixture(name="person")
def person_at_home(tmp_path):
    """Somebody with a repository."""
    person = at_home(tmp_path)
    yield person
    person.close()


@pytest.fixture(name="person")
def person_who_talks(tmp_path):
    """Somebody with agents by scripts as well, whose houses may be opened in this process."""
    person = talker(tmp_path)
    yield person
    person.close()
