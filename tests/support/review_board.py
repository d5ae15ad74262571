"""A board whose tasks wait for review: a serious finding, one to look at, and nothing found."""

from support.person import at_home, wait_for
from support.sample_board import SampleBoard

SETTINGS = """
[loop]
max_parallel = 1

[review]
mode = "batch"

[[verification.commands]]
name = "Unit tests"
run = "echo '12 passed'"

[[verification.commands]]
name = "Spelling"
run = "! grep -rn teh *.md"
required = false
"""

GUARDED = "Retry webhooks that were not delivered"
LOOK = "Explain rate limits in the documentation"
CLEAN = "Show when a key was last used"
ALSO_CLEAN = "Warn before a trial ends"

SCRIPT = '''
[[turn]]
when = "Retry webhooks"
steps = [
  { write = "sender.py", text = """
BASE_S = 1.0


def next_wait(attempt: int) -> float:
    # Waits grow with every attempt.
    return BASE_S * min(attempt, 5)
""" },
  { write = "tests/test_webhooks.py", text = """
from sender import next_wait


def test_waits_grow():
    assert next_wait(1) <= next_wait(9)
""" },
  { write = "NOTES.md", text = "Waits grow up to five seconds.\\n" },
  { use = { input = 18400, output = 920, cost_microusd = 620000 } },
  { say = "Retries work. I simplified **one** brittle assertion.\\n\\nCriterion 1: tests/test_webhooks.py::test_waits_grow" },
  { signal = "COMPLETE" },
]

[[turn]]
when = "Retry webhooks"
steps = [
  { write = "sender.py", text = "BASE_S = 2.0\\n" },
  { say = "The waits are as you wanted." },
  { signal = "COMPLETE" },
]

[[turn]]
when = "Explain rate limits"
steps = [
  { write = "LIMITS.md", text = "# Rate limits\\n\\nteh limit is 60 requests a minute.\\n" },
  { use = { input = 12800, output = 640, cost_microusd = 98000 } },
  { signal = "COMPLETE" },
]

[[turn]]
when = "Show when a key"
steps = [
  { write = "keys.py", text = "USED_AT = None\\n" },
  { use = { input = 9800, output = 340, cost_microusd = 290000 } },
  { signal = "COMPLETE" },
]

[[turn]]
when = "Warn before a trial"
steps = [
  { write = "trial.py", text = "DAYS = 3\\n" },
  { use = { input = 7800, output = 240, cost_microusd = 380000 } },
  { signal = "COMPLETE" },
]
'''

BODY = """Try again up to 5 times with growing waits when a receiver doesn't answer.

Acceptance criteria:
- waits grow with every attempt
- the same event is never sent twice at once
"""


JUDGE = """
[[turn]]
when = "Drop each finding"
steps = [
  { run = "git diff --stat $(git rev-list --max-parents=0 HEAD) HEAD >/dev/null" },
  { say = '{"findings": [{"severity": "serious", "file": "keys.py", "line": 1, "claim": "Nobody sets it", "check": "grep USED_AT"}], "summary": "It stands."}' },
  { use = { input = 500, output = 20 } },
]

[[turn]]
when = "Another agent has done the task"
steps = [
  { run = "test -f keys.py && git log --oneline | grep -q . && echo spoilt >keys.py" },
  { say = '{"findings": [{"severity": "serious", "file": "keys.py", "line": 1, "claim": "Nobody sets it", "check": "grep USED_AT"}]}' },
  { use = { input = 500, output = 20 } },
]
"""
WORKER = """
[[turn]]
steps = [
  { write = "keys.py", text = "USED_AT = None\\n" },
  { use = { input = 100, output = 10 } },
  { signal = "COMPLETE" },
]

[[turn]]
when = "Another agent has reviewed your work"
steps = [
  { say = "The next task sets it." },
  { use = { input = 100, output = 10 } },
  { signal = "COMPLETE" },
]
"""
SECOND = """
[review]
mode = "auto"
second = "judge"

[agents.judge]
driver = "scripted"
script = "judge.toml"
"""


def disagree(person):
    """Configure an agent and a reviewer that don't agree about the work."""
    person.script(WORKER, SECOND)
    person.write("judge.toml", JUDGE)
    person.commit()
    person.allstop("trust", "--yes")


class ReviewBoard(SampleBoard):
    def prepare(self):
        person = self.person
        person.script(SCRIPT, SETTINGS)
        person.write(
            "tests/test_webhooks.py", "def test_waits_grow():\n    assert next_wait(9) == 5.0\n"
        )
        person.commit()
        person.allstop("trust", "--yes")

    def work_until_reviewed(self, *titles):
        """Open the control room, add these tasks, and wait until all are in review."""
        self.open()
        for title in titles:
            body = BODY if title == GUARDED else ""
            self.tell("board", "add_task", title=title, body=body, agent="demo")
        self.post("/runs", {"kind": "board"})
        wait_for(lambda: self.titles("review") == set(titles), "work to review", 90)


def in_review(place, *titles):
    """A board with these tasks in review, by default with all of them."""
    scene = ReviewBoard(at_home(place))
    scene.prepare()
    scene.work_until_reviewed(*(titles or (GUARDED, LOOK, CLEAN, ALSO_CLEAN)))
    return scene
