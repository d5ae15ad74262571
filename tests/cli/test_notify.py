"""P11, U4: being told by the program as people run it: a webhook, the desktop, the bell."""

import sys

import pytest

from allstop.adapters.notify import Service, deliver
from allstop.app.board import board_spec
from allstop.app.project import Project
from allstop.core.ids import HELM
from allstop.settings.sources.environment import Environment
from allstop.views.alerts import Alert, Level
from support.http_listener import listening
from support.person import MERGE_AT_ONCE

ONE_TURN = '[[turn]]\nsteps = [{ write = "w.txt", text = "x" }, { signal = "COMPLETE" }]\n'
SAYS = '#!/bin/sh\nprintf "%s|" "$@" >>"$HOME/said"\n'


@pytest.fixture
def listener():
    with listening() as here:
        yield here


def prefers(person, text):
    """The person's own settings, for all repositories."""
    file = person.home / ".config" / "allstop" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"[notify]\n{text}\n")


def ready(person):
    person.script(ONE_TURN, MERGE_AT_ONCE)
    person.commit()
    person.allstop("trust", "--yes")


def test_p11_a_run_tells_the_desktop_and_a_webhook_of_its_end(person, listener):
    """U4. The last of it is told although the program ends with it."""
    prefers(person, f'private = true\nurls = ["{listener.url()}", "{listener.url("json")}"]')
    person.program("notify-send", SAYS)
    ready(person)

    person.allstop("run", "Write it")

    title = "project: The board is complete"
    assert (person.home / "said").read_text() == (
        f"--app-name=allstop|--urgency=normal|--|{title}|1 done|"
    )
    assert {(got["title"], got.get("text", got.get("message"))) for _, got in listener.got} == {
        (title, "1 done")
    }
    assert len(listener.got) == 2


def test_u4_the_bell_rings_on_a_terminal_unless_sounds_are_off(person):
    prefers(person, "desktop = false")
    ready(person)

    loud, code = person.at_terminal("run", "Write it")
    piped = person.try_allstop("run", "Again")  # it fails: the script has no more to say
    prefers(person, "desktop = false\nsounds = false")
    quiet, failed = person.at_terminal("run", "And again")

    assert (code, loud.count("\a")) == (0, 1)
    assert (piped.returncode, (piped.stdout + piped.stderr).count("\a")) == (1, 0)
    assert (failed, quiet.count("\a")) == (1, 0)


def test_p11_notify_test_says_what_came_of_it(person, listener):
    prefers(person, f'private = true\nurls = ["{listener.url()}", "nosuch://canary"]')
    person.program("notify-send", SAYS)

    shown = person.allstop("notify", "test", code=1)

    assert shown.splitlines() == [
        "✓ desktop",
        "✓ http://127.0.0.1",
        "✗ nosuch://***: apprise doesn't support this address",
    ]
    assert [got["title"] for _, got in listener.got] == ["Allstop can reach you"]
    assert "Allstop can reach you" in (person.home / "said").read_text()


def test_p11_notify_test_as_json(person, listener):
    prefers(person, f'desktop = false\nprivate = true\nurls = ["{listener.url()}"]')

    assert person.json("notify", "test") == {"told": [{"name": "http://127.0.0.1", "why": ""}]}


def test_p11_this_machine_is_refused_unless_allowed(person, listener):
    prefers(person, f'desktop = false\nurls = ["{listener.url()}"]')

    shown = person.allstop("notify", "test", code=1)

    assert "private = true" in shown
    assert listener.got == []


def test_p11_nothing_configured_is_said(person):
    prefers(person, "desktop = false")

    assert "Set [notify] urls" in person.allstop("notify", "test", code=1)


async def test_p11_a_missing_apprise_is_named_with_its_cure(person, monkeypatch):
    """Python's own way to have a package missing."""
    monkeypatch.setitem(sys.modules, "apprise", None)
    prefers(person, 'urls = ["json://127.0.0.1"]')
    alert = Alert(level=Level.INFO, title="x", run=HELM, at=None)
    project = Project(person.repository, Environment(home=person.home))

    cure = 'apprise is not installed: in the clone of Allstop, pipx install --force ".[notify]"'
    assert await deliver(Service("json://127.0.0.1"), alert) == cure
    assert cure in board_spec.start_note_texts(project)
