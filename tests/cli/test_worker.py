"""What `allstop worker` says if it can't begin."""

import pytest

from support.postgres_fixtures import database, postgres

__all__ = ["database", "postgres"]

NO_DATABASE = "postgresql://me@127.0.0.1:1/x"


def _own_settings(person, text):
    file = person.home / ".config" / "allstop" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def _refusal(person, *words):
    """The last lines on standard error, which are the error and its hint."""
    done = person.run_process("worker", *words)
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    return done.stderr


def test_z2_a_worker_needs_a_shared_store_and_a_shared_remote(person):
    assert "hint: set ALLSTOP_STORE_URL or [store] url" in _refusal(person)

    person.variables["ALLSTOP_STORE_URL"] = NO_DATABASE
    assert 'hint: set [fleet] remote = "origin"' in _refusal(person)

    _own_settings(person, '[fleet]\nremote = "origin"\n')
    assert "this clone has no git remote 'origin'" in _refusal(person)

    person.git("remote", "add", "origin", str(person.home / "nothing.git"))
    said = _refusal(person)
    assert "the shared remote doesn't answer" in said
    assert "hint: try `git fetch`" in said


def test_z2_a_worker_needs_the_packages_of_the_extra(person):
    person.git("remote", "add", "origin", str(person.repository))
    _own_settings(person, '[fleet]\nremote = "origin"\n')
    hidden = person.write("hidden/procrastinate.py", "raise ImportError('hidden')\n")
    person.variables = {"ALLSTOP_STORE_URL": NO_DATABASE, "PYTHONPATH": str(hidden.parent)}

    assert "pipx install --force '.[fleet]'" in _refusal(person)


def test_a_repository_needs_trust_to_choose_the_shared_remote(person, postgres, database):
    person.variables["ALLSTOP_STORE_URL"] = postgres.url(database)
    person.write("allstop.toml", '[fleet]\nremote = "origin"\n')

    assert "[fleet] remote" in _refusal(person)


@pytest.mark.parametrize("label", ["", "a b", "-x", "x" * 33])
def test_z2_a_label_is_a_short_word(person, label):
    assert "label" in _refusal(person, "--label", label)
