"""The sample board: a repository with tasks in every state, by scripted agents."""

import json
import re
import urllib.request

from support.person import at_home, wait_for

SETTINGS = """
[loop]
max_parallel = 2

[review]
mode = "skip"
rules = { api = "per-task" }

[budget.day]
cost_usd = 5.0

[[verification.commands]]
name = "Unit tests"
run = "sh check.sh"
timeout = 600

[[verification.commands]]
name = "Types"
run = "true"
timeout = 120

[approvals]
boxed = "ask"

[agents.gpt]
driver = "scripted"
script = "gpt.toml"

[agents.claude]
driver = "scripted"
script = "claude.toml"
"""

SCRIPT = """
[[turn]]
when = "Answer 404"
steps = [
  { say = "The handler fell through to the **catch-all**; I return early." },
  { write = "users.py", text = "def find(user):\\n    return 404\\n" },
  { use = { input = 18400, output = 920, cost_microusd = 184000 } },
  { signal = "COMPLETE" },
]

[[turn]]
when = "Move sessions"
steps = [
  { say = "Sessions live in memory now. Before I move them I need one number." },
  { use = { input = 9200, output = 310, cost_microusd = 61000 } },
  { signal = "PENDING: How long should a session live: an hour, or a day?" },
]

[[turn]]
when = "Drop Python 3.9"
steps = [
  { use = { input = 4100, output = 120, cost_microusd = 22000 } },
  { signal = "BLOCKED: the build image has no newer Python" },
]

[[turn]]
when = "Cache avatars"
steps = [{ fail = "bad_request", message = "the model refused the request" }]

[[turn]]
when = "Explain rate limits"
steps = [
  { write = "LIMITS.md", text = "# Rate limits\\n\\n60 requests a minute for each key.\\n" },
  { use = { input = 12800, output = 640, cost_microusd = 98000 } },
  { signal = "COMPLETE" },
]

[[turn]]
when = "Paginate the audit log"
steps = [
  { write = "audit.py", text = "PAGE = 50\\n" },
  { use = { input = 21000, output = 1400, cost_microusd = 230000 } },
  { signal = "PROGRESS: 40% the query is paged, the view is next" },
]

[[turn]]
when = "Paginate the audit log"
steps = [
  { say = "The query is paged. Now the view: it keeps the cursor in the address." },
  { sleep = 600 },
]

[[turn]]
when = "Retry webhooks"
steps = [
  { say = "Reading how deliveries are stored." },
  { sleep = 600 },
]

[[turn]]
when = "Bring the tests"
steps = [
  { say = "Most of the time goes into **one fixture** that makes a database for each test." },
  { write = "conftest.py", text = "SCOPE = 'session'\\n" },
  { use = { input = 24600, output = 1800, cost_microusd = 140000 } },
  { signal = "PROGRESS: 60% one database for all of them" },
]

[[turn]]
when = "Bring the tests"
steps = [
  { say = "Down to 70 seconds. The rest is *sleeping*: three tests wait for a clock." },
  { write = "clock.py", text = "NOW = 0\\n" },
  { use = { input = 26100, output = 900, cost_microusd = 120000 } },
  { ask = "rm -r build" },
  { sleep = 600 },
]
"""

TALK = """
[[turn]]
steps = [
  { say = '{"message": "%s", "handoff": {"to": "%s", "task": "%s"}}' },
  { use = { input = 900, output = 140, cost_microusd = 9000 } },
]
"""

GOAL = "Write one line that says what the audit log is for."
THREAD = "Bring the tests down to a minute"
FIRST = (
    ("Answer 404 for unknown users", "quick-win", "users"),
    ("Move sessions to Redis", "critical", "sessions"),
    ("Drop Python 3.9", "critical", "chores"),
    ("Cache avatars at the edge", "critical", "users"),
    ("Explain rate limits in the documentation", "api", "papers"),
)
LONG = (
    ("Paginate the audit log", "ui", "audit"),
    ("Retry webhooks that were not delivered", "api", "hooks"),
)
LATER = (
    ("Show when a key was last used", "ui", "keys"),
    ("Log in with a passkey", "security", "sessions"),
    ("Warn before a trial ends", "mail", "billing"),
    ("Export invoices as CSV", "billing", "billing"),
)


class SampleBoard:
    """A person, a repository and its control room."""

    def __init__(self, person):
        self.person = person
        self.room = None
        self.url = ""

    def prepare(self):
        person = self.person
        person.write("check.sh", "sleep 0.2; echo '12 passed'\n")
        person.script(SCRIPT, SETTINGS)
        person.write(
            "gpt.toml",
            TALK
            % (
                "**Who did what, and when**, for as long as the law wants it.",
                "claude",
                "Shorter.",
            ),
        )
        person.write(
            "claude.toml",
            TALK % ("Who did what, and when. *The rest is how.*", "gpt", "Do you agree?"),
        )
        person.commit()
        person.allstop("trust", "--yes")

    def add(self, *tasks, priority=0):
        for title, tag, operation in tasks:
            self.tell(
                *("board", "add_task"),
                title=title,
                tags=[tag],
                operation=operation,
                priority=priority,
                agent="demo",
            )

    def tell(self, run, command, **words):
        return self.post(f"/runs/{run}/commands", {"command": command, **words})

    def open(self):
        """The control room."""
        self.room = self.person.start("up", "--port", "0", "--no-open")
        self.url = re.search(r"open at (\S+)", self.room.stdout.readline())[1]

    def work(self):
        """The board goes on until only two tasks are at work, for ever."""
        self.post("/runs", {"kind": "board"})
        long = {title for title, _, _ in LONG}
        wait_for(lambda: self.titles("active") == long, "two tasks at work", 60)

    def restart(self):
        """The control room ends as if it had crashed, and another takes its address."""
        port = str(self.port)
        self.room.kill()
        self.room.communicate()
        self.room = self.person.start("up", "--port", port, "--no-open")
        assert "open at" in self.room.stdout.readline()

    @property
    def token(self):
        return (self.person.repository / ".allstop" / "token").read_text().strip()

    @property
    def port(self):
        return int(self.url.rpartition(":")[2])

    def link(self):
        """It lets one browser in."""
        return self.url + self.post("/keys", {})["path"]

    def post(self, path, body):
        return self.ask(path, json.dumps(body).encode())

    def ask(self, path, body=None):
        """As a program does, with the token from its file."""
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        asked = urllib.request.Request(f"{self.url}/api/v1{path}", body, headers)
        with urllib.request.urlopen(asked, timeout=20) as answer:
            return json.load(answer)

    def listeners(self):
        """How many event streams are open."""
        return self.number("allstop_listeners")

    def number(self, name):
        asked = urllib.request.Request(
            f"{self.url}/metrics", headers={"authorization": f"Bearer {self.token}"}
        )
        with urllib.request.urlopen(asked, timeout=20) as answer:
            return float(re.search(rf"^{name} (\S+)", answer.read().decode(), re.MULTILINE)[1])

    def fill(self):
        """Tasks that end soon, in every way; two that go on and on; and some for later."""
        self.add(*FIRST, priority=9)
        self.add(*LONG, priority=5)
        self.add(*LATER)

    def talk(self):
        """A short talk in a room, which is over."""
        self.post("/runs", {"kind": "room", "goal": GOAL, "max_rounds": 2})
        wait_for(lambda: self.ask("/rooms")["rooms"][0]["last"], "the talk's end", 60)

    def think(self):
        """A thread in Full Auto that asks before it goes on."""
        run = self.post("/runs", {"kind": "auto", "goal": THREAD, "agent": "demo"})["run"]
        wait_for(lambda: self.ask(f"/runs/{run}")["detail"]["asks"], "its question", 60)

    def tasks(self):
        return self.ask("/board")["tasks"]

    def titles(self, status):
        return {task["title"] for task in self.tasks() if task["status"] == status}

    def id_of(self, title):
        return next(task["id"] for task in self.tasks() if task["title"] == title)


def at_work(place, *, thinks=False):
    """A sample board with finished and running work; `thinks` adds a Full Auto thread."""
    scene = SampleBoard(at_home(place))
    scene.prepare()
    scene.open()
    if thinks:
        scene.think()
    scene.fill()
    scene.work()
    return scene
