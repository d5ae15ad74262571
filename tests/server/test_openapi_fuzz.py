"""The server answers any request with a valid response or an error of one shape."""

import json
from urllib.parse import quote, urlencode

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allstop.app.kinds import RUN_KINDS
from allstop.server import openapi
from allstop.server.routes.table import BASE, READ_ROUTES, WRITE_ROUTES
from support.control_room import ControlRoom
from support.person import at_home

DEEDS = sorted(
    schema["properties"]["command"]["enum"][0]
    for schema in openapi.document(RUN_KINDS)["components"]["schemas"].values()
    if "command" in schema.get("properties", {}) and "enum" in schema["properties"]["command"]
)
NAMES = st.sampled_from(["board", "T1", "T2", "all", "room:x", "helm", "nobody"]) | st.text(
    min_size=1, max_size=30
)
PLAIN = st.none() | st.booleans() | st.integers() | st.text(max_size=20)
JSON = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner)
)
ARGUMENTS = st.dictionaries(
    st.sampled_from(["text", "texts", "titles", "changes", "agent", "iterations", "title", "id",
                     "needs", "mode", "ask", "on"]),
    JSON | st.lists(st.text(max_size=5), max_size=2),
    max_size=4,
)  # fmt: skip
FEW = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def wild_room(tmp_path_factory):
    room = ControlRoom(at_home(tmp_path_factory.mktemp("wild")))
    room.do("board", "add_task", title="one")
    yield room
    assert room.read("/healthz")["version"]
    assert room.close() == 0
    assert "Traceback" not in (
        (room.person.repository / ".allstop" / "logs" / "server.log").read_text()
    )
    room.person.close()


def _sound(answer):
    assert answer.status < 500, answer.body
    if answer.status >= 400:
        assert answer.error


def test_every_command_is_described():
    assert {"say", "pause", "resume", "stop", "answer", "approve", "add_task"} <= set(DEEDS)


@FEW
@given(command=st.sampled_from(DEEDS), run=NAMES, arguments=ARGUMENTS)
def test_any_command(wild_room, command, run, arguments):
    body = json.dumps({**arguments, "command": command}).encode()

    _sound(wild_room.post(f"/runs/{quote(run, safe='')}/commands", body))


@FEW
@given(path=st.sampled_from([route.path for route in WRITE_ROUTES]), body=JSON, run=NAMES)
def test_any_body(wild_room, path, body, run):
    path = path.replace("{run}", quote(run, safe=""))

    _sound(wild_room.post(path, json.dumps(body).encode()))


@FEW
@given(
    route=st.sampled_from(READ_ROUTES),
    name=NAMES,
    query=st.dictionaries(
        st.sampled_from(["limit", "after", "before", "kind", "open", "status", "hours", "x"]),
        st.text(max_size=10) | st.integers().map(str),
        max_size=3,
    ),
)
def test_any_question(wild_room, route, name, query):
    path = route.path
    for part in ("{run}", "{task}", "{thread}"):
        path = path.replace(part, quote(name, safe=""))

    _sound(wild_room.get(f"{path}?{urlencode(query)}"))


@FEW
@given(path=st.text(max_size=40), accept=st.sampled_from(["text/html", "*/*"]))
def test_any_address(wild_room, path, accept):
    _sound(wild_room.ask("GET", f"/{quote(path)}", headers={"Accept": accept}))
    _sound(wild_room.ask("GET", f"{BASE}/{quote(path, safe='')}", headers={"Accept": accept}))
