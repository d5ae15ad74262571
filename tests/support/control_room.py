"""A control room in a real process, with an HTTP client."""

import contextlib
import http.client
import json
import re
import socket
import time

import msgspec

from support.person import wait_for

LINK = re.compile(r"once: (http://127\.0\.0\.1:(\d+)/\?key=\S+)")


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def error(self):
        """What is said of what is wrong; every such answer has the same shape."""
        error = self.json["error"]
        assert set(error) == {"code", "message", "hint"}
        return error["code"]


class ControlRoom:
    def __init__(self, person, *arguments):
        self.person = person
        self._arguments = arguments
        self.open()

    def open(self):
        self.process = self.person.start("up", "--port", "0", "--no-open", *self._arguments)
        said = []
        while not (found := LINK.search("".join(said))):
            line = self.process.stdout.readline()
            assert line, f"it ended: {''.join(said)}"
            said.append(line)
        self.link, self.port = found[1], int(found[2])

    @property
    def token(self):
        return (self.person.repository / ".allstop" / "token").read_text().strip()

    @property
    def host(self):
        return f"127.0.0.1:{self.port}"

    def ask(self, method, path, *, body=None, token=None, headers=()):
        """With the token, unless another is given; headers may take the place of the usual ones."""
        given = {"Host": self.host, **dict(headers)}
        token = self.token if token is None else token
        if token:
            given.setdefault("Authorization", f"Bearer {token}")
        if body is not None:
            given.setdefault("Content-Type", "application/json")
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            return Answer(connection.getresponse())

    def get(self, path, **more):
        return self.ask("GET", f"/api/v1{path}", **more)

    def post(self, path, body=None, **more):
        return self.ask("POST", f"/api/v1{path}", body={} if body is None else body, **more)

    def read(self, path):
        answer = self.get(path)
        assert answer.status == 200, answer.body
        return answer.json

    def do(self, run, command, **arguments):
        answer = self.post(f"/runs/{run}/commands", {"command": command, **arguments})
        assert answer.status == 200, answer.body
        return answer.json

    def raw(self, text, within_s=15.0):
        """What comes back for these very bytes, until the server closes or is silent."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=within_s) as connection:
            connection.sendall(text)
            said = b""
            with contextlib.suppress(TimeoutError, ConnectionResetError):
                while more := connection.recv(65536):
                    said += more
            return said

    @contextlib.contextmanager
    def listen(self, path="", last=None, headers=()):
        with contextlib.closing(Stream(self, path, last, headers)) as stream:
            yield stream

    def close(self):
        """As Ctrl-C does; its exit code."""
        self.process.terminate()
        return self.process.wait(60)

    def kill(self):
        self.process.kill()
        self.process.wait(60)


class Event(msgspec.Struct):
    id: str
    kind: str
    data: object


class Stream:
    """An event stream client that remembers the last id, as browsers do."""

    def __init__(self, room, path="", last=None, headers=()):
        self.last = last or ""
        self.events = []
        self._connection = http.client.HTTPConnection("127.0.0.1", room.port, timeout=20)
        given = {"Authorization": f"Bearer {room.token}", **dict(headers)}
        if last:
            given["Last-Event-ID"] = last
        self._connection.request("GET", f"/api/v1/stream{path}", headers=given)
        self.response = self._connection.getresponse()
        assert self.response.status == 200, self.response.read()

    def next(self):
        """The next event; None at the end."""
        block = {}
        deadlines = time.monotonic() + 30
        while line := self.response.readline():
            line = line.decode().rstrip("\n")
            if line.startswith(":"):
                assert time.monotonic() < deadlines, "nothing but heartbeats"
                continue
            if line:
                name, _, value = line.partition(": ")
                block[name] = value
                continue
            self.last = block.get("id", self.last)
            if "data" in block:
                event = Event(self.last, block["event"], json.loads(block["data"]))
                self.events.append(event)
                return event
            block = {}
        return None

    def until(self, condition):
        """All up to the first event for which this holds."""
        found = []
        until = time.monotonic() + 30
        while True:
            assert time.monotonic() < until, f"it did not come; there was: {found[-5:]}"
            event = self.next()
            assert event is not None, "the stream ended"
            found.append(event)
            if condition(event):
                return found

    def close(self):
        self.response.close()
        self._connection.close()


def texts(events):
    return [event.data["text"] for event in events if event.kind == "log"]


def settled(room, run, *statuses):
    """Wait until a run has one of these statuses."""
    wait_for(lambda: room.read(f"/runs/{run}")["run"]["status"] in statuses, f"{run}: {statuses}")
    return room.read(f"/runs/{run}")
