"""With --json an error is one JSON object on standard output; the exit code stays the same."""

import errno
import json

import pytest

from allstop.cli.output import asks_for_json, report_error


@pytest.mark.parametrize(
    ("words", "code", "fact"),
    [
        (["show", "T9", "--json"], "not_found", "'T9'"),
        (["edit", "T9", "--json"], "no_change_named", ""),
        (["skip", "T9", "--json"], "task_not_found", "'T9'"),
        (["approve", "--json"], "task_not_named", ""),
        (["--set", "loop.nonsense=1", "config", "--json"], "settings", "loop.nonsense"),
        (["list", "--json", "--sort"], "unknown_option", "--sort"),
        (["show", "--json"], "missing_argument", "ID"),
        (["list", "--json", "--status", "odd"], "invalid_argument", "odd"),
        (["run", "--json", "--for", "soon"], "invalid_argument", "soon"),
        (["shwo", "--json"], "unknown_command", "'show'"),
        (["comment", "T1", "-m", "well", "--json"], "usage", "--message"),
    ],
)
def test_an_error_is_told_as_json(person, words, code, fact):
    plain = person.try_allstop(*(word for word in words if word != "--json"))
    told = person.try_allstop(*words)

    error = json.loads(told.stdout)["error"]
    assert (error["code"], told.stderr) == (code, "")
    assert list(error) == ["code", "message", "hint"]
    assert fact in error["message"]
    assert told.returncode == plain.returncode == 2
    assert plain.stdout == ""


def test_an_error_of_the_machine_is_told_as_json(capsys):
    refused = OSError(errno.ENOSPC, "No space left on device", "/home/p/.allstop/STOP")

    assert report_error(refused, as_json=True) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "disk_full"
    assert error["message"] == "/home/p/.allstop/STOP: No space left on device"


@pytest.mark.parametrize(
    ("words", "asks"),
    [
        (["list", "--json"], True),
        (["list"], False),
        (["agents", "login", "gpt", "--", "--json"], False),
        (["agents", "login", "gpt", "--json", "--", "x"], True),
    ],
)
def test_words_after_two_dashes_are_no_options(words, asks):
    assert asks_for_json(words) is asks
