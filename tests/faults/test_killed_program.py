"""Q16: the whole program killed with -9, again and again, while it works on a real repository."""

import json
import os
import subprocess
from random import Random

import pytest

from people import Person, alive

KILLS = int(os.environ.get("ALLSTOP_KILLS", "24"))
A_RUN = 8  # kills of one run before it may finish

SCRIPT = """
[[turn]]
steps = [
    { write = "one.txt", text = "one" },
    { run = "git add one.txt && (git diff --cached --quiet || git commit -qm one) && sleep 0.2" },
    { say = "more to do" },
]
[[turn]]
steps = [
    { write = "two.txt", text = "two" },
    { sleep = 0.2 },
    { run = "git add two.txt && (git diff --cached --quiet || git commit -qm two)" },
    { signal = "COMPLETE" },
]
[[turn]]
steps = [{ write = "one.txt", text = "mended" }, { sleep = 0.2 }, { signal = "COMPLETE" }]
"""
SETTINGS = """
[agents.demo]
driver = "scripted"
script = "script.toml"
[verification]
commands = ["sleep 0.1; grep -q mended one.txt"]
"""


@pytest.fixture
def person(tmp_path):
    repository = tmp_path / "home" / "project"
    repository.mkdir(parents=True)
    person = Person(tmp_path / "home", repository)
    person.git("init", "-q", "-b", "main", ".")
    person.write("script.toml", SCRIPT)
    person.write("allstop.toml", SETTINGS)
    person.git("add", "-A")
    person.git("commit", "-q", "-m", "first")
    yield person
    person.close()


@pytest.mark.parametrize("first", range(0, KILLS, A_RUN))
def test_q16_killed_at_random_nothing_is_lost_and_nothing_is_done_twice(person, first):
    """Q16: every run still arrives, once, and git is whole."""
    chance = Random(first)
    process = person.start("run", "mend it")
    for _ in range(min(A_RUN, KILLS - first)):
        try:
            process.wait(chance.uniform(0.2, 2.0))
        except subprocess.TimeoutExpired:  # still at work: that is what is wanted
            process.kill()
            process.wait()
        if (person.repository / ".allstop" / "journal.db").exists() and runs(person):
            process = person.start("resume", "r1")
        else:
            process = person.start("run", "mend it")
    process.wait(60)

    (run,) = [run for run in runs(person) if run["id"] == "r1"]
    assert (run["outcome"], run["status"]) == ("done", "done")
    assert person.git("show", "allstop/r1:one.txt") == "mended"
    assert person.git("show", "allstop/r1:two.txt") == "two"
    assert person.git("fsck", "--no-dangling") == ""
    assert json.loads(person.allstop("replay", "r1", "--json"))["differences"] == []
    results = [
        event["result"]["result"]
        for event in map(json.loads, person.allstop("log", "--json", "r1").splitlines())
        if event["event"] == "move_ended"
    ]
    assert results.count("delivered") == 1
    assert results.count("turn_done") == 3
    assert alive(str(person.repository)) == []


def runs(person):
    return json.loads(person.allstop("status", "--json"))["runs"]
