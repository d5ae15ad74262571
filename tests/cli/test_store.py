"""A project whose journal is on a PostgreSQL server."""

import json

import pytest

from support.postgres import PASSWORD
from support.postgres_fixtures import database, postgres

__all__ = ["database", "postgres"]

QUOTED = PASSWORD.replace(" ", "%20")


@pytest.fixture
def address(person, postgres, database):
    """The person's own settings name the database, with its password."""
    url = postgres.tcp_url(database)
    own = person.home / ".config" / "allstop" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text(f"[store]\nurl = '{url}'\n")
    return url


def test_z1_the_board_works_on_a_server_and_the_folder_holds_no_journal(person, address):
    person.allstop("add", "Write it", "--id", "T1")
    person.allstop("edit", "T1", "--title", "Write it well")

    assert json.loads(person.allstop("list", "--json"))["tasks"][0]["title"] == "Write it well"
    assert "1 pending" in person.allstop("status")
    assert "user: adds T1" in person.allstop("log", "board")
    assert not (person.repository / ".allstop" / "journal.db").exists()
    person.allstop("stop")
    assert "ALLSTOP" in person.allstop("status")
    person.allstop("resume")
    assert "1 pending" in person.allstop("status")


def test_z1_a_store_is_copied_to_a_server_and_back(person, postgres, database):
    person.allstop("add", "One", "--id", "T1")
    person.allstop("add", "Two", "--id", "T2")
    before = person.allstop("export")
    person.variables["ALLSTOP_STORE_URL"] = postgres.url(database)

    copied = json.loads(person.allstop("store", "copy", "--json"))
    assert copied == {"events": 3, "runs": 1}
    assert person.allstop("export") == before
    person.allstop("store", "copy")  # again: there is nothing left to copy
    person.allstop("add", "Three", "--id", "T3")
    assert json.loads(person.allstop("store", "check", "--json"))["events"] == 4
    after = person.allstop("export")
    person.allstop("store", "copy", "--back")
    del person.variables["ALLSTOP_STORE_URL"]

    assert person.allstop("export") == after
    assert json.loads(person.allstop("store", "check", "--json"))["runs"] == 1


def test_z1_nobody_goes_on_with_the_file_after_the_copy(person, postgres, database):
    person.allstop("add", "One")
    person.variables["ALLSTOP_STORE_URL"] = postgres.url(database)
    person.allstop("store", "copy")
    del person.variables["ALLSTOP_STORE_URL"]

    assert _error(person, "add", "Two") == "store_moved"
    assert _error(person, "status") == "store_moved"
    assert (person.repository / ".allstop" / "moved").read_text().startswith("postgresql://")
    person.run_process("stop")
    assert (person.repository / ".allstop" / "STOP").exists()
    (person.repository / ".allstop" / "STOP").unlink()
    (person.repository / ".allstop" / "moved").unlink()
    assert "One" in person.allstop("list")


def test_z1_a_copy_never_mixes_two_journals(person, postgres, database):
    person.variables["ALLSTOP_STORE_URL"] = postgres.url(database)
    person.allstop("add", "On the server")
    del person.variables["ALLSTOP_STORE_URL"]
    person.allstop("add", "Here")
    person.variables["ALLSTOP_STORE_URL"] = postgres.url(database)

    assert _error(person, "store", "copy") == "store_not_empty"
    assert "On the server" in person.allstop("list")


def test_z1_the_password_is_shown_nowhere(person, address):
    shown = [
        person.allstop("config"),
        person.allstop("config", "--json"),
        person.allstop("store", "check"),
        person.try_allstop("doctor").stdout,
    ]
    wrong = address.replace(QUOTED, "sesame%20open")
    for url in (wrong, "postgresql://me:sesame@open@nowhere:x/y", f"{address}?sslmode=sesame"):
        person.variables["ALLSTOP_STORE_URL"] = url
        done = person.try_allstop("status")
        assert done.returncode != 0
        shown.append(done.stdout + done.stderr)
    del person.variables["ALLSTOP_STORE_URL"]
    person.allstop("add", f"Look at {address}")
    shown += [person.allstop("list"), person.allstop("log", "board")]

    for text in shown:
        assert QUOTED not in text
        assert PASSWORD not in text
        assert "sesame%20open" not in text
        assert "sesame@open" not in text


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda url: url.replace(QUOTED, "wrong"), "store_refused"),
        (lambda url: url.rpartition("/")[0] + "/nothing", "store_refused"),
        (lambda url: "postgresql://me@127.0.0.1:1/x", "store_unreachable"),
        (lambda url: "postgresql://me:a@b@c/x", "store_address"),
    ],
    ids=["password", "database", "server", "address"],
)
def test_z1_an_error_says_what_to_do(person, address, change, code):
    person.variables["ALLSTOP_STORE_URL"] = change(address)

    assert _error(person, "status") == code


def test_z1_the_database_of_another_repository_is_refused(person, address, postgres, database):
    person.allstop("add", "Mine")
    postgres.execute("update allstop.store set repository = 'another'", database)

    assert _error(person, "list") == "store_of_another_repository"


def test_z1_a_newer_store_is_refused(person, address, postgres, database):
    person.allstop("add", "Mine")
    postgres.execute("update allstop.store set version = 99, oldest = 98", database)

    assert _error(person, "list") == "store_too_new"


def test_a_repository_needs_trust_to_choose_the_store(person, postgres, database):
    text = f"[store]\nurl = '{postgres.url(database)}'\n"
    (person.repository / "allstop.toml").write_text(text)
    person.allstop("add", "Here")
    assert (person.repository / ".allstop" / "journal.db").exists()

    person.allstop("trust", "--yes")

    assert "Here" not in person.allstop("list")


def _error(person, *words):
    done = person.try_allstop(*words, "--json")
    assert done.returncode != 0
    found = json.loads(done.stdout)["error"]
    assert found["hint"]
    return found["code"]
