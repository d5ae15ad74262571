"""The database server that other tests run on."""

import psycopg
import pytest

from support.postgres_fixtures import database, own_postgres, postgres

__all__ = ["database", "own_postgres", "postgres"]


def test_each_database_is_fresh_and_needs_a_password_by_tcp(postgres, database):
    with psycopg.connect(postgres.url(database)) as local:
        local.execute("create table things (name text)")
    with psycopg.connect(postgres.tcp_url(database)) as remote:
        assert remote.execute("select count(*) from things").fetchall() == [(0,)]
    with pytest.raises(psycopg.OperationalError, match="password"):
        psycopg.connect(postgres.tcp_url(database, password="wrong"))
    other = postgres.new_database()
    assert postgres.execute("select to_regclass('things') is null", other) == "t\n"
    postgres.drop_database(other)


def test_a_killed_server_comes_back_with_what_it_had_committed(own_postgres):
    name = own_postgres.new_database()
    own_postgres.execute("create table things as select 1 as number", name)

    own_postgres.stop("immediate")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(own_postgres.url(name))
    own_postgres.start()

    assert own_postgres.execute("select number from things", name) == "1\n"
