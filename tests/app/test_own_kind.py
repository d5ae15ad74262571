"""A kind of run that only this test knows: every command and every route works on it, or says why not."""

import json
import os
from contextlib import asynccontextmanager
from functools import partial

import anyio
import httpx2
import pytest

from allstop.__main__ import main
from allstop.app.kinds import ENTRIES
from allstop.app.project import Project
from allstop.app.start_requests import StartRequest
from allstop.app.supervisor import RunKind, RunKinds
from allstop.core.commands import Say
from allstop.core.ids import RunId
from allstop.core.moves import Finish, Outcome, Wait
from allstop.kinds import KINDS
from allstop.server.access.credentials import OneTimeKeys
from allstop.server.process import _app_state
from allstop.server.router import Site
from allstop.server.routes.table import BASE, READ_ROUTES, WRITE_ROUTES
from allstop.settings.sources.environment import this_environment
from allstop.views.kind import Kind


class CountdownPilot:
    """Done after it was told so many things."""

    kind = "countdown"
    ends_when_stopped = False
    needs_slots = False

    def begin(self, spec):
        return spec["words"]

    def evolve(self, state, event):
        return state - 1 if isinstance(getattr(event, "command", None), Say) else state

    def undelivered(self, state):
        return ()

    def next_move(self, state, brief):
        if state == 0:
            return Finish(outcome=Outcome.DONE)
        return Wait(reason=f"{state} to go", for_person=True)


class CountdownKind(Kind):
    pilot = CountdownPilot()


class StartCountdown(StartRequest, frozen=True, tag="countdown"):
    words: int


class CountdownRunKind(RunKind):
    request = StartCountdown

    async def open(self, supervisor, request):
        spec = {"words": request.words}
        await supervisor.engine.open(RunId("c1"), "countdown", spec, title="Count down")
        return RunId("c1")


PURE = {**KINDS, "countdown": CountdownKind()}


def table():
    return RunKinds(PURE, {**ENTRIES, "countdown": CountdownRunKind})


@pytest.fixture
def here(person, monkeypatch):
    """The repository of a person as the place of this process."""
    person.write("allstop.toml", '[agents.worker]\ndriver = "command"\ncommand = ["true"]\n')
    person.commit()
    monkeypatch.chdir(person.repository)
    for name, value in person.environment.items():
        monkeypatch.setenv(name, value)
    with open(os.devnull) as nothing:
        monkeypatch.setattr("sys.stdin", nothing)
        yield person


def project():
    from pathlib import Path

    return Project(Path.cwd(), this_environment(), kinds=PURE)


@asynccontextmanager
async def api():
    """A client of the API, served in this process."""
    opened = project()
    try:
        async with _app_state(opened, table(), OneTimeKeys(), lambda line: None) as desk:
            transport = httpx2.ASGITransport(app=Site(desk, {}))
            async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
                yield client
    finally:
        opened.close()


async def _ask(words, method="", path="", **body):
    """Start a countdown; then the answer to a request about it."""
    async with api() as client:
        started = {"kind": "countdown", "words": words}
        answer = await client.post(f"{BASE}/runs", json=started)
        assert answer.json() == {"run": "c1"}, answer.text
        if not method:
            return None
        return await client.request(method, BASE + path, json=body or None)


def begin(words=2):
    anyio.run(_ask, words)


def asked(method, path, **body):
    return anyio.run(partial(_ask, 2, method, path, **body))


def command(capsys, *words):
    """The exit code and the output of one command of the program, with this kind."""
    with pytest.raises(SystemExit) as ended:
        main(list(words), kinds=table())
    said = capsys.readouterr()
    return ended.value.code, said.out + said.err


WORKS = [
    (("status",), "c1"),
    (("status", "--json"), '"countdown"'),
    (("log", "c1"), "countdown opened: Count down"),
    (("log", "c1", "--json"), '"countdown"'),
    (("receipts", "c1"), ""),
    (("replay", "c1"), "decisions come out the same"),
    (("pause", "c1"), "paused"),
    (("freeze", "c1"), "frozen"),
    (("thaw", "c1"), "c1"),
    (("tell", "c1", "one"), "c1"),
    (("answer", "c1", "one"), "c1"),
    (("limit", "c1", "--turns", "9"), "9 turns"),
    (("stop", "c1", "--dry-run"), "Nothing is running"),
    (("stop", "c1"), "c1: stopped"),
    (("abort", "c1"), "c1: ended for good"),
]
REFUSES = [
    (("allow", "c1"), "c1"),
    (("deny", "c1"), "c1"),
    (("diff", "c1"), "c1"),
    (("comment", "c1", "--on", "a.py:1", "why"), "c1"),
    (("replay", "c1", "--policy", "allstop.toml"), "c1"),
    *(((name, "c1"), "c1") for name in ("show", "rm", "approve", "reject", "retry", "skip")),
    *(((name, "c1"), "c1") for name in ("assign", "pin", "take", "give", "rollback", "run")),
    (("redo", "c1", "-m", "again"), "c1"),
    (("edit", "c1", "--title", "x"), "c1"),
    (("split", "c1", "a", "b"), "c1"),
]


@pytest.mark.parametrize(("words", "said"), WORKS, ids=lambda each: " ".join(each))
def test_every_command_that_takes_a_run_works_on_it(here, capsys, words, said):
    begin()

    code, told = command(capsys, *words)

    assert code == 0, told
    assert said in told


@pytest.mark.parametrize(("words", "names"), REFUSES, ids=lambda each: " ".join(each))
def test_every_other_command_says_that_it_cannot(here, capsys, words, names):
    begin()

    code, told = command(capsys, *words)

    assert code == 2, told
    assert told.startswith("error: ")
    assert names in told
    assert "Traceback" not in told


def test_resume_drives_it_in_the_terminal(here, capsys):
    begin(words=1)

    waits = command(capsys, "resume", "c1")
    command(capsys, "tell", "c1", "last")
    done = command(capsys, "resume", "c1")

    assert waits[0] == 3, waits
    assert "1 to go" in waits[1]
    assert done[0] == 0, done


BODIES = {
    "pause": {}, "resume": {}, "freeze": {}, "thaw": {}, "stop": {}, "say": {"text": "one"},
    "limit": {"turns": 9}, "abort": {}, "answer": {"texts": ["one"]},
    "comment": {"remarks": [{"id": "1", "file": "a.py", "line": 1, "text": "why"}]},
}  # fmt: skip
REFUSED = {
    "allow": {}, "deny": {}, "cancel": {}, "retry": {}, "skip": {}, "approve": {}, "reject": {},
    "redo": {"text": "x"}, "assign": {}, "pin": {}, "rollback": {}, "remove_task": {}, "clean": {},
    "edit_task": {"changes": {"title": "x"}}, "split": {"titles": ["a"]},
}  # fmt: skip


@pytest.mark.parametrize("name", BODIES)
def test_every_command_of_a_run_works_over_http(here, name):
    answer = asked("POST", "/runs/c1/commands", command=name, **BODIES[name])

    assert answer.status_code == 200, answer.text
    assert answer.json()["run"] == "c1"


@pytest.mark.parametrize("name", REFUSED)
def test_every_other_command_is_refused_over_http(here, name):
    answer = asked("POST", "/runs/c1/commands", command=name, **REFUSED[name])

    assert answer.status_code in (404, 409), answer.text
    assert answer.json()["error"]["message"]


def test_no_command_of_the_api_is_left_out():
    from typing import get_args

    from allstop.app.actions import Body

    tags = {each.__struct_config__.tag for each in get_args(Body)}
    of_the_board = {"add_task", "order", "mode", "pause_sprint", "resume_sprint", "cancel_sprint"}
    assert tags - of_the_board == set(BODIES) | set(REFUSED)


@pytest.mark.parametrize("path", [route.path for route in READ_ROUTES if "{run}" in route.path])
def test_every_route_of_a_run_answers(here, path):
    query = "?seq=1" if path.endswith("/at") else ""
    answer = asked("GET", path.replace("{run}", "c1") + query)

    if path.endswith("/diff"):
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no_own_work")
    else:
        assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("path", [route.path for route in READ_ROUTES if "{" not in route.path])
def test_every_list_answers_with_it(here, path):
    answer = asked("GET", path)

    assert answer.status_code == 200, answer.text
    if path == "/runs":
        assert [run["kind"] for run in answer.json()["runs"]] == ["countdown"]


def test_the_description_names_how_it_is_started(here):
    described = asked("GET", "/openapi.json").json()

    body = described["paths"][f"{BASE}/runs"]["post"]["requestBody"]
    assert "StartCountdown" in json.dumps(body)
    assert len([route for route in WRITE_ROUTES if route.path == "/runs"]) == 1


async def _start_and_approve():
    async with api() as client:
        queued = await client.post(f"{BASE}/runs", json={"kind": "countdown", "words": 2})
        before = await client.get(f"{BASE}/runs")
        inbox = await client.get(f"{BASE}/inbox")
        commands = f"{BASE}/runs/start1/commands"
        approved = await client.post(commands, json={"command": "approve"})
        again = await client.post(commands, json={"command": "approve"})
        after = await client.get(f"{BASE}/runs")
        return queued, before, inbox, approved, again, after


def test_p9_a_start_over_http_waits_for_approval(here):
    here.write("allstop.toml", "[loop]\nauto_execute = false\n")
    here.commit()

    queued, before, inbox, approved, again, after = anyio.run(_start_and_approve)

    assert queued.json() == {"run": "start1"}
    assert [run["id"] for run in before.json()["runs"]] == ["start1"]
    assert '"allstop approve start1"' in inbox.text
    assert approved.json()["run"] == "c1", approved.text
    assert (again.status_code, again.json()["error"]["code"]) == (409, "run_over")
    assert {run["id"] for run in after.json()["runs"]} == {"start1", "c1"}


def test_p9_a_queued_start_of_any_kind_is_approved_in_a_terminal(here, capsys):
    here.write("allstop.toml", "[loop]\nauto_execute = false\n")
    here.commit()
    anyio.run(_queue_two)

    rejected = command(capsys, "reject", "start1")
    approved = command(capsys, "approve", "start2")

    assert rejected[0] == 0, rejected
    assert approved[0] == 3, approved
    assert "start2: approved; it starts c1" in approved[1]


async def _queue_two():
    async with api() as client:
        for _ in range(2):
            await client.post(f"{BASE}/runs", json={"kind": "countdown", "words": 2})
