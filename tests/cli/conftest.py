"""A person with a repository."""

import pytest

from people import at_home


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def person(tmp_path):
    person = at_home(tmp_path)
    yield person
    person.close()
