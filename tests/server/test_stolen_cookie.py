"""A program of an agent that uses a person's cookie: a real sandbox, a real server."""

import json
import signal
import socket

import pytest

from support.control_room import ControlRoom
from support.person import MERGE_AT_ONCE, at_home

THIEF = """
cat >/dev/null
/usr/bin/env python3 - <<'END'
import http.client, json, socket
port, cookie = %d, %r
mine = {"Cookie": cookie, "Content-Type": "application/json", "Origin": f"http://127.0.0.1:{port}"}
def ask(method, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request(method, "/api/v1" + path, body, mine)
    return connection.getresponse().status
order = json.dumps({"command": "add_task", "title": "stolen"})
found = [ask("GET", "/board"), ask("POST", "/runs/board/commands", order)]
lines = "".join(f"{name}: {value}\\r\\n" for name, value in mine.items())
gone = socket.create_connection(("127.0.0.1", port))
gone.sendall(
    f"POST /api/v1/runs/board/commands HTTP/1.1\\r\\nHost: 127.0.0.1:{port}\\r\\n{lines}"
    f"Content-Length: {len(order)}\\r\\n\\r\\n{order}".encode()
)
gone.close()
found.append(ask("GET", "/board"))
open("statuses.json", "w").write(json.dumps(found))
END
echo '<promise>COMPLETE</promise>'
"""


@pytest.fixture
def room(tmp_path):
    person = at_home(tmp_path)
    person.agent("exit 1", settings=MERGE_AT_ONCE)
    person.commit()
    room = ControlRoom(person)
    yield room
    room.person.close()


def _let_in(room):
    path = room.link.partition(room.host)[2]
    return room.ask("GET", path, token="").headers["set-cookie"].partition(";")[0]


def test_k22_a_client_that_has_ended_before_the_check_is_refused(room):
    """Nobody can say whose it was: a box may have ended with it."""
    cookie = _let_in(room)
    order = json.dumps({"command": "add_task", "title": "stolen"})
    room.process.send_signal(signal.SIGSTOP)  # it looks only after the sender is gone
    with socket.create_connection(("127.0.0.1", room.port)) as connection:
        connection.sendall(
            f"POST /api/v1/runs/board/commands HTTP/1.1\r\nHost: {room.host}\r\n"
            f"Cookie: {cookie}\r\nOrigin: http://{room.host}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(order)}\r\n\r\n{order}".encode()
        )
    room.process.send_signal(signal.SIGCONT)

    room.do("board", "add_task", title="ours")  # answered after what came before it

    assert [task["title"] for task in room.read("/board")["tasks"]] == ["ours"]


def test_k22_a_boxed_program_with_the_cookie_of_a_person_is_refused(room):
    cookie = _let_in(room)
    room.person.program("my-agent", "#!/bin/sh\n" + THIEF % (room.port, cookie))
    headers = {"Cookie": cookie, "Origin": f"http://{room.host}"}

    with room.listen("?kinds=task") as stream:
        room.post("/runs", {"kind": "task", "prompt": "steal"})
        stream.until(lambda event: event.data["status"] == "done")
    person = room.post(
        "/runs/board/commands", {"command": "add_task", "title": "ours"}, token="", headers=headers
    )

    assert json.loads(room.person.git("show", "main:statuses.json")) == [403, 403, 403]
    assert person.status == 200
    assert [task["title"] for task in room.read("/board")["tasks"]] == ["steal", "ours"]
