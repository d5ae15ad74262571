"""Fixtures for tests on PostgreSQL; each conftest or test file imports the ones it needs."""

import pytest

from support.fleet import Fleet
from support.postgres import Server


@pytest.fixture(scope="session")
def postgres():
    """The server of this test process; it starts with the first test that needs it."""
    server = Server()
    yield server
    server.remove()


@pytest.fixture
def own_postgres():
    """A server for one test, which may end it."""
    server = Server()
    yield server
    server.remove()


@pytest.fixture
def database(postgres):
    """The name of a fresh database."""
    name = postgres.new_database()
    yield name
    postgres.drop_database(name)


@pytest.fixture
def fleet(tmp_path, postgres, database):
    """Machines that share a database and a git remote."""
    machines = Fleet(tmp_path, postgres.tcp_url(database))
    yield machines
    machines.close()
