"""A person with a repository."""

import pytest

from people import Person


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def person(tmp_path):
    home, repository = tmp_path / "home", tmp_path / "home" / "project"
    repository.mkdir(parents=True)
    home.chmod(0o700)
    person = Person(home, repository)
    person.git("init", "-q", "-b", "main", ".")
    person.write("a.txt", "hello\n")
    person.git("add", "-A")
    person.git("commit", "-q", "-m", "first")
    yield person
    person.close()
