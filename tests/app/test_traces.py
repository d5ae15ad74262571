"""Traces as a collector gets them: a real receiver of OTLP on this machine."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from support.person import at_home

KEY = "sk-" + "a1B2c3D4" * 5

SCRIPT = """
[[turn]]
when = "once more"
steps = [
  { say = "I write it again." },
  { write = "done.txt", text = "again\\n" },
  { signal = "COMPLETE" },
]

[[turn]]
steps = [
  { say = "I write it with %s." },
  { write = "done.txt", text = "done\\n" },
  { use = { input = 1200, output = 80, cost_microusd = 9000 } },
  { signal = "COMPLETE" },
]
"""

SETTINGS = """
[review]
mode = "skip"

[[verification.commands]]
name = "Unit tests"
run = "test -e done.txt"
"""


class Collector:
    """Takes what is sent to /v1/traces."""

    def __init__(self):
        self.bodies = bodies = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                bodies.append((self.path, body))
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def spans(self):
        return [
            span
            for path, body in self.bodies
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
            if path == "/v1/traces"
        ]

    @property
    def services(self):
        return {
            pair.value.string_value
            for _, body in self.bodies
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for pair in resource.resource.attributes
            if pair.key == "service.name"
        }


@pytest.fixture
def collector():
    collector = Collector()
    yield collector
    collector.server.shutdown()
    collector.server.server_close()


@pytest.fixture
def person(tmp_path):
    person = at_home(tmp_path)
    person.variables["MY_API_KEY"] = KEY
    person.script(SCRIPT % KEY, SETTINGS)
    person.commit()
    person.allstop("trust", "--yes")
    yield person
    person.close()


def _switch_on(person, url, more=""):
    path = person.home / ".config" / "allstop" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'[traces]\non = true\nendpoint = "{url}"\n{more}')


def _values(span):
    return {
        pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in span.attributes
    }


def test_a_task_is_a_trace_of_its_turns_gate_and_merge(person, collector):
    _switch_on(person, collector.url)

    person.allstop("run", "Write done.txt")

    spans = {span.name: span for span in collector.spans}
    task, merge, turn = spans["run task"], spans["run merge"], spans["invoke_agent demo"]
    assert collector.services == {"allstop"}
    assert not task.parent_span_id
    assert turn.parent_span_id == task.span_id
    assert turn.trace_id == task.trace_id != merge.trace_id
    assert task.start_time_unix_nano <= turn.start_time_unix_nano
    assert turn.end_time_unix_nano <= task.end_time_unix_nano
    assert (
        _values(turn).items()
        >= {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": "scripted",
            "gen_ai.agent.name": "demo",
            "gen_ai.usage.input_tokens": 1200,
            "gen_ai.usage.output_tokens": 80,
            "allstop.cost_usd": 0.009,
        }.items()
    )
    assert _values(task)["allstop.outcome"] == "done"
    assert _values(spans["run_checks"])["allstop.gate.passed"] is True
    assert [event.name for event in spans["run_checks"].events] == ["check"]
    assert _values(spans["land"])["vcs.ref.head.revision"] == person.git("rev-parse", "main")


def test_no_words_are_sent_unless_that_is_wanted_and_secrets_never(person, collector):
    _switch_on(person, collector.url)
    person.allstop("run", "Write done.txt")
    assert collector.spans
    assert not any(b"I write it" in body or b"Write done" in body for _, body in collector.bodies)

    _switch_on(person, collector.url, "content = true\n")
    person.allstop("run", f"Write done.txt once more with {KEY}")

    assert any(b"I write it again." in body for _, body in collector.bodies)
    assert not any(KEY.encode() in body for _, body in collector.bodies)


def test_a_session_of_a_room_is_a_trace_of_its_replies(person, collector):
    _switch_on(person, collector.url)
    person.script("""[[turn]]\nsteps = [{ say = '{"message": "Hello there."}' }]\n""")
    person.commit("talk")
    person.allstop("trust", "--yes")

    person.allstop("room", "Say hello.", "--mode", "single", "--agents", "demo")

    talk = next(span for span in collector.spans if span.name == "talk single")
    reply = next(span for span in collector.spans if span.name == "invoke_agent demo")
    assert reply.parent_span_id == talk.span_id
    assert reply.trace_id == talk.trace_id
    assert _values(talk)["allstop.turns"] == 1
    assert talk.start_time_unix_nano <= reply.start_time_unix_nano


def test_what_failed_is_an_error_with_its_kind(person, collector):
    _switch_on(person, collector.url)
    person.script('[[turn]]\nsteps = [{ fail = "bad_request", message = "no such model" }]\n')
    person.commit("fails")
    person.allstop("trust", "--yes")

    person.allstop("run", "Write done.txt", code=1)

    turn = next(span for span in collector.spans if span.name == "invoke_agent demo")
    task = next(span for span in collector.spans if span.name == "run task")
    assert (turn.status.code, _values(turn)["error.type"]) == (2, "bad_request")
    assert (task.status.code, _values(task)["error.type"]) == (2, "failed")
    assert not any(b"no such model" in body for _, body in collector.bodies)


def test_a_collector_that_is_not_there_is_nobodys_trouble(person):
    _switch_on(person, "http://127.0.0.1:9")

    said = person.allstop("run", "Write done.txt")

    assert "Traceback" not in said
    assert person.tasks() == {"T1": "done"}
    assert "127.0.0.1" in (person.repository / ".allstop" / "logs" / "traces.log").read_text()


def test_a_repository_can_not_switch_it_on(person, collector):
    text = (person.repository / "allstop.toml").read_text()
    person.write("allstop.toml", f'{text}\n[traces]\non = true\nendpoint = "{collector.url}"\n')
    person.commit("traces")

    person.allstop("run", "Write done.txt")

    assert collector.bodies == []
    assert "traces" in person.allstop("doctor", "--quick")


def test_doctor_says_where_they_go(person, collector):
    assert "traces" not in person.allstop("doctor", "--quick")

    _switch_on(person, collector.url)

    assert "traces" in person.allstop("doctor", "--quick")
