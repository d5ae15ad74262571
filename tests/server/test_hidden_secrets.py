"""K23, Q25: a secret planted in any input appears in no output.

Each way in has a secret that is known, since it is in the environment, and one that only looks
like one. What people see and what is kept is gathered while everything runs and afterwards.
"""

import json
import re

import pytest

from allstop.core.secrets import HIDDEN
from support.control_room import ControlRoom, settled
from support.http_listener import listening
from support.person import MERGE_AT_ONCE, Person, at_home, wait_for

WAYS_IN = (
    "words", "quoted", "halves", "command", "output", "check", "failure", "approval", "question",
    "answer", "title", "body", "goal", "talk", "said", "header", "address", "sent", "setting",
    "webhook", "hook", "reason", "tried",
)  # fmt: skip
KNOWN = {way: f'canary-known "{way}" 7\\x' for way in WAYS_IN} | {
    way: f"canary-known-{way}-7x" for way in ("address", "halves", "header", "setting", "webhook")
}
LIKELY = {way: f"sk-canarylikely{way}0x" for way in WAYS_IN}
pytestmark = pytest.mark.timeout(400)  # for all that happens before the first of them

COLOURS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\r\n]")


def planted(way):
    return f"{KNOWN[way]} {LIKELY[way]}"


def quoted(text):
    """As TOML takes it, and a shell within it."""
    return json.dumps(text)


class Careless(Person):
    @property
    def environment(self):
        known = {f"{way.upper()}_KEY": secret for way, secret in KNOWN.items()}
        return super().environment | known


SETTINGS = f"""
[agents.one]
driver = "scripted"
script = "talk.toml"

[agents.two]
driver = "scripted"
script = "talk.toml"

[agents.trial]
driver = "scripted"
script = "trial.toml"

[agents.demo.env]
SERVICE_TOKEN = {quoted(LIKELY["setting"])}
OTHER_TOKEN = {quoted(KNOWN["setting"])}

[loop]
agent = "demo"

[room]
max_rounds = 1

[[verification.commands]]
name = "Check"
run = "cat check.txt"
required = true

[hooks]
post_complete = "cat hook.txt"

[approvals]
boxed = "ask"

{MERGE_AT_ONCE}
"""
SCRIPT = f"""
repeat = true

[[turn]]
when = "FAIL"
steps = [{{ fail = "crashed", message = {quoted(planted("failure"))} }}]

[[turn]]
when = "ASK"
steps = [
  {{ ask = {quoted("deploy " + planted("approval"))} }},
  {{ question = {quoted("Which? " + planted("question"))}, options = [{quoted(LIKELY["question"])}] }},
  {{ write = "asked.txt", text = "x" }},
  {{ signal = "COMPLETE" }},
]

[[turn]]
steps = [
  {{ say = {quoted("I found " + planted("words"))} }},
  {{ say = {quoted(json.dumps({"message": planted("quoted")}))} }},
  {{ say = {quoted(KNOWN["halves"][:11])} }},
  {{ say = {quoted(KNOWN["halves"][11:] + " ok")} }},
  {{ run = {quoted("true " + planted("command"))} }},
  {{ run = "cat output.txt" }},
  {{ write = "made.txt", text = "x" }},
  {{ signal = {quoted("COMPLETE")} }},
]
"""
ENVELOPE = json.dumps({"message": f"I say {planted('talk')}", "next": {"type": "none"}})
TALK = f"repeat = true\n[[turn]]\nsteps = [{{ say = {quoted(ENVELOPE)} }}]\n"
TRIAL = f"repeat = true\n[[turn]]\nsteps = [{{ say = {quoted(planted('tried'))} }}]\n"


@pytest.fixture(scope="module")
def ways_out(tmp_path_factory):
    """What was seen and kept, by where."""
    person = Careless(*at_home(tmp_path_factory.mktemp("canaries")).places)
    person.script(SCRIPT, SETTINGS)
    person.write("talk.toml", TALK)
    person.write("trial.toml", TRIAL)
    for way in ("output", "check", "hook"):
        person.write(f"{way}.txt", f"{planted(way)}\n")
    person.commit()
    person.allstop("trust", "--yes")
    try:
        with listening() as listener:
            _prefers(person, f"{listener.url()}?token={KNOWN['webhook']}&more={LIKELY['webhook']}")
            found = dict(_at_the_terminal(person))
            room = ControlRoom(person)
            found |= _in_the_control_room(room)
            found |= {f"running {name}": text for name, text in _kept(person)}
            found |= dict(_looked_at(person))
            room.close()
            found |= dict(_kept(person))
            found["webhook"] = json.dumps([body for _, body in listener.got])
    finally:
        person.close()
    return found


def _prefers(person, url):
    file = person.home / ".config" / "allstop" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"[notify]\ndesktop = false\nprivate = true\nurls = [{quoted(url)}]\n")


def _at_the_terminal(person):
    """As it happens: on a terminal, and in a pipe."""
    title, body = planted("title"), planted("body")
    person.allstop("add", f"Do {title}", "--body", f"It is {body}")
    yield "run on a terminal", COLOURS.sub("", person.at_terminal("run")[0])
    done = person.try_allstop("run", "Do it again")
    yield "run in a pipe", done.stdout + done.stderr
    done = person.try_allstop("run", "FAIL at it")
    yield "run that fails", done.stdout + done.stderr
    talk = ("room", "--agents", "one,two", "--mode", "collaborate", f"Talk of {planted('goal')}")
    yield "room on a terminal", COLOURS.sub("", person.at_terminal(*talk)[0])
    done = person.try_allstop(*talk)
    yield "room in a pipe", done.stdout + done.stderr
    done = person.try_allstop("room", "--json", *talk[1:])
    yield "room as JSON", done.stdout + done.stderr
    done = person.try_allstop("agents", "test", "trial")
    yield "a trial", done.stdout + done.stderr
    done = person.try_allstop("doctor")
    yield "doctor", done.stdout + done.stderr


def _in_the_control_room(room):
    found = {}
    with room.listen() as stream:
        task = room.post("/runs", {"kind": "task", "prompt": "ASK for it"}).json["run"]
        run = _answered(room, task, found)
        room.do("room:default", "say", text=f"@one I say {planted('said')}")
        sent = {"kind": "auto", "goal": f"Do {planted('sent')}", "agent": "demo"}
        auto = room.post("/runs", sent).json.get("run", "")
        assert auto, "it began"
        settled(room, auto, "done")
        (room.person.repository / ".allstop" / "STOP").write_text(f"{planted('reason')}\n")
        heard = stream.until(lambda event: event.kind == "hold" and event.data["hold"] == "stopped")
    (room.person.repository / ".allstop" / "STOP").unlink()
    for number, event in enumerate(heard):
        found[f"stream {number} {event.kind}"] = json.dumps(event.data, ensure_ascii=False)
    words = [event.data for event in heard if event.kind == "live"]
    found["stream: live, put together"] = "".join(each["text"] for each in words)
    return found | dict(_answers(room, task, run, auto))


def _answered(room, task, found):
    """The agent of a task asks whether it may, and then what; it is answered."""

    def asks(kind):
        waiting = room.read("/inbox")["waiting"]
        return [each for each in waiting if each["kind"] == kind and task in json.dumps(each)]

    wait_for(lambda: asks("leave"), "whether it may", 30)
    found["inbox: may it"] = room.get("/inbox").body.decode()
    run = room.read(f"/tasks/{task}")["run"]
    room.do(task, "allow")
    wait_for(lambda: asks("question"), "a question", 30)
    found["inbox: which"] = room.get("/inbox").body.decode()
    room.do(task, "answer", texts=[f"this: {planted('answer')}"])
    wait_for(lambda: room.read(f"/tasks/{task}")["status"] == "done", "its end", 30)
    return run


def _answers(room, task, run, auto):
    """Of every address that can be read, and of requests that hold secrets themselves."""
    paths = [
        path
        for path, methods in room.read("/openapi.json")["paths"].items()
        if "get" in methods and not path.endswith("/stream")
    ]
    runs = (run, auto, "board", "room:default", f"{auto}/nowhere")
    for path in paths:
        for name in runs if "{run}" in path else (run,):
            filled = path.replace("{run}", name).replace("{task}", task)
            filled = filled.replace("{thread}", "default").removeprefix("/api/v1")
            whole = filled if path.startswith("/api/") or not path.startswith("/metrics") else path
            yield f"GET {filled}", room.get(whole).body.decode()
    yield "GET /metrics", room.ask("GET", "/metrics").body.decode()
    headers = {
        "X-Api-Key": KNOWN["header"],
        "User-Agent": f"{KNOWN['header']} {LIKELY['header']}",
        "Cookie": f"a={LIKELY['header']}",
        "Last-Event-ID": KNOWN["header"],
    }
    for path in (f"/runs/{KNOWN['address']}", f"/runs/{LIKELY['address']}?a={KNOWN['address']}",
                 f"/rooms/{LIKELY['address']}/events", f"/stream?kinds={LIKELY['address']}",
                 f"/stream?after={LIKELY['address']}"):  # fmt: skip
        yield f"GET {path[:5]}…", room.get(path, headers=headers).body.decode()
    for body in ({"kind": LIKELY["sent"]}, {KNOWN["sent"]: 1}, planted("sent").encode()):
        yield "POST /runs", room.post("/runs", body, headers=headers).body.decode()
    yield (
        "POST a setting",
        room.post(
            "/settings", {"key": LIKELY["sent"], "value": KNOWN["sent"], "digest": ""}
        ).body.decode(),
    )
    wrong = room.ask("GET", "/", token=LIKELY["header"], headers={"Accept": "text/html"})
    yield "a page for a stranger", wrong.body.decode()
    yield "a page", room.ask("GET", "/", headers={"Accept": "text/html"}).body.decode()


def _looked_at(person):
    """Afterwards, by the commands that show what there is."""
    runs = [run["id"] for run in person.json("status")["runs"]]
    listed = person.json("list")["tasks"]
    commands = [("status",), ("list", "--json"), ("config",), ("agents",), ("next", "--explain")]
    commands += [("export", "--format", kind) for kind in ("json", "markdown", "csv")]
    commands += [("show", task["id"]) for task in listed]
    for run in {"board", "room:default", "auto1", *runs, *(task["id"] for task in listed)}:
        commands += [("log", run), ("log", run, "--json"), ("receipts", run, "--json")]
        commands += [("replay", run)]
    for command in commands:
        done = person.try_allstop(*command)
        yield "allstop " + " ".join(command), done.stdout + done.stderr


def _kept(person):
    """Every file that is ours: the store with what is not yet in it, logs, locks, lists."""
    folder = person.repository / ".allstop"
    for file in folder.rglob("*"):
        if file.is_file() and not {"workspaces", "hooks"} & {*file.parts}:
            yield str(file.relative_to(folder)), file.read_bytes().decode("latin-1")


@pytest.mark.parametrize("way", WAYS_IN)
def test_k23_q25_what_comes_in_leaves_nowhere(ways_out, way):
    forms = [KNOWN[way], json.dumps(KNOWN[way])[1:-1], LIKELY[way]]
    forms.append(json.dumps(forms[1])[1:-1])

    found = [where for where, text in ways_out.items() if any(form in text for form in forms)]

    assert found == []


def test_k23_the_ways_out_were_looked_at(ways_out):
    """It would be no wonder if nothing were found in nothing."""
    names = " ".join(ways_out)

    assert all(HIDDEN in ways_out[name] for name in (
        "run on a terminal", "run in a pipe", "run that fails", "room on a terminal",
        "room in a pipe", "room as JSON", "a trial", "journal.db", "logs/hooks.log", "webhook",
        "inbox: may it", "inbox: which", "stream: live, put together", "GET /board",
    ))  # fmt: skip
    assert "journal.db-wal" in names
    assert "GET /receipts/auto1" in names
