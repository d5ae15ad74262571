"""Q16: rooms and Full Auto threads are killed with -9, repeatedly, at any moment."""

import os
import time
from random import Random

import pytest

from support.person import alive
from support.room_models import person_with_models

KILLS = int(os.environ.get("TEST_KILLS", "9"))  # `make soak`: 1000
A_TALK = 6  # kills of one session, or of one thread, before it may finish
ROUNDS = 6


@pytest.fixture
def person(tmp_path):
    person = person_with_models(tmp_path)
    yield person
    person.close()


def killed_again_and_again(person, begin, resume, chance):
    """Begun, killed and taken up so often, each time at another moment; how often it still ran."""
    kills = killed(person, begin, chance, waits=True)
    for _ in range(A_TALK - 1):
        if not killed(person, resume, chance, waits=chance.random() < 0.8):
            break
        kills += 1
    person.try_allstop(*resume)  # it may be over
    return kills


def killed(person, command, chance, *, waits):
    """Mostly it is let come to its work first."""
    process = person.start(*command)
    if waits:
        process.stdout.readline()
    time.sleep(chance.uniform(0, 0.3))
    survived = process.poll() is None
    process.kill()
    process.communicate()
    return survived


SPEAKER = """
round=$(grep -oE 'Round:? [0-9]+' | tail -n 1 | grep -oE '[0-9]+')
sleep 0.3
if [ "$round" -ge 6 ]; then
    printf '{"message": "%s says number %s", "final": true}' $1 $round
else
    printf '{"message": "%s says number %s", "handoff": {"to": "%s", "task": "on"}}' $1 $round $2
fi
"""
ROOM = """
[agents.anna]
driver = "command"
command = ["speaker", "anna", "ben"]

[agents.ben]
driver = "command"
command = ["speaker", "ben", "anna"]
"""


@pytest.mark.parametrize("first", range(0, KILLS // 3, A_TALK))
def test_q16_a_room_killed_at_any_moment_says_everything_once(person, first):
    """Q16, R18: no reply is lost, none is there twice, and the session comes to its end."""
    person.program("speaker", "#!/bin/sh" + SPEAKER)
    person.write("allstop.toml", ROOM)
    person.commit()
    begin = ("room", "--max-rounds", "20", "--first", "anna", "Count.")
    kills = killed_again_and_again(person, begin, ("room", "--resume"), Random(first))

    assert kills  # others may have come too late
    log = person.log()
    said = [line for line in log.splitlines() if " says number " in line]
    assert [line.rpartition(": ")[2] for line in said] == [
        f"{('ben', 'anna')[number % 2]} says number {number}" for number in range(1, ROUNDS + 1)
    ]
    assert log.count("Session summary: final") == 1
    assert person.json("replay", "room:default")["differences"] == []
    assert alive(str(person.repository)) == []


THREAD = """
[[turn]]
steps = [{ write = "one.txt", text = "one" }, { sleep = 0.1 }, { say = "more to do" }]
[[turn]]
steps = [
    { write = "two.txt", text = "two" },
    { sleep = 0.1 },
    { run = "git add two.txt && (git diff --cached --quiet || git commit -qm two)" },
    { signal = "COMPLETE" },
]
[[turn]]
steps = [{ sleep = 0.1 }, { signal = "COMPLETE" }]
[[turn]]
steps = [{ write = "one.txt", text = "mended" }, { sleep = 0.1 }, { signal = "COMPLETE" }]
[[turn]]
steps = [{ signal = "COMPLETE" }]
"""
MENDED = """
[[verification.commands]]
name = "Tests"
run = "sleep 0.1; grep -q mended one.txt"
[auto]
cooldown_s = 0
"""


@pytest.mark.parametrize("first", range(0, KILLS // 3, A_TALK))
def test_q16_a_thread_killed_at_any_moment_is_merged_once(person, first):
    """Q16, F2: continue, review, a gate that says no; the same turns, and one merge at the end."""
    person.script(THREAD, settings=MENDED)
    person.commit()
    begin = ("auto", "Write it down")
    kills = killed_again_and_again(person, begin, ("resume", "auto1"), Random(first))

    assert kills  # others may have come too late
    assert person.git("log", "--format=%s", "--merges") == "Merge auto1: Write it down"
    assert person.git("show", "main:one.txt") == "mended"
    assert person.git("show", "main:two.txt") == "two"
    assert person.json("replay", "auto1")["differences"] == []
    assert person.git("fsck", "--no-dangling") == ""
    assert person.git("status", "--short") == ""
    assert alive(str(person.repository)) == []
