"""Q16: the whole program is killed with -9, repeatedly, while it works on a real repository."""

import json
import os
import time
from random import Random

import pytest

from support.person import MERGE_AT_ONCE, alive

KILLS = int(os.environ.get("TEST_KILLS", "9"))  # `make soak`: 1000
A_BOARD = 9  # kills of one board before it may finish

MENDS = """
[[turn]]
steps = [
    { write = "one.txt", text = "one" },
    { run = "git add one.txt && (git diff --cached --quiet || git commit -qm one) && sleep 0.1" },
    { say = "more to do" },
]
[[turn]]
steps = [
    { write = "two.txt", text = "two" },
    { sleep = 0.1 },
    { run = "git add two.txt && (git diff --cached --quiet || git commit -qm two)" },
    { signal = "COMPLETE" },
]
[[turn]]
steps = [{ write = "one.txt", text = "mended" }, { sleep = 0.1 }, { signal = "COMPLETE" }]
"""
MENDED = '[verification]\ncommands = ["sleep 0.1; grep -q mended one.txt"]\n'

BOARD = """
[[turn]]
when = "resolve the conflicts"
steps = [
    { run = "sed -i '/^<<<<<<</d; /^=======/d; /^>>>>>>>/d' list.txt" },
    { sleep = 0.1 },
    { signal = "COMPLETE" },
]
[[turn]]
when = "north"
steps = [
    { run = "grep -q north list.txt || echo north >>list.txt" },
    { sleep = 0.1 },
    { signal = "COMPLETE" },
]
[[turn]]
when = "south"
steps = [
    { sleep = 0.2 },
    { run = "grep -q south list.txt || echo south >>list.txt" },
    { signal = "COMPLETE" },
]
[[turn]]
when = "east"
steps = [
    { write = "east.txt", text = "esat" },
    { run = "git add -A && (git diff --cached --quiet || git commit -qm east)" },
    { signal = "COMPLETE" },
]
[[turn]]
when = "east"
steps = [{ write = "east.txt", text = "east" }, { signal = "COMPLETE" }]
[[turn]]
when = "west"
steps = [{ run = "cat list.txt east.txt >west.txt" }, { signal = "COMPLETE" }]
"""
GATE = '[verification]\ncommands = ["test ! -f east.txt || grep -q east east.txt"]\n'
MOMENTS = (
    "starts: ",
    "opens a workspace",
    "takes a turn",
    "runs ",
    "passed",
    "merges ",
    "merged as",
    "moves main",
    "landed",
    "takes a turn",
    "moves main",
    "merges ",
)


def killed_at(person, moment, after_s, command=("run",)):
    """Start it, and kill it so long after it said this; whether it still ran."""
    process = person.start(*command)
    for line in process.stdout:
        if moment in line:
            break
    time.sleep(after_s)
    survived = process.poll() is None
    process.kill()
    process.communicate()
    return survived


def of_run(person, run):
    return [json.loads(line) for line in person.allstop("log", "--json", run).splitlines()]


def is_whole(person):
    """Git is whole; the checkout is clean and where the branch is; nothing is left running."""
    assert person.git("fsck", "--no-dangling") == ""
    assert person.git("status", "--short") == ""
    assert person.git("symbolic-ref", "HEAD") == "refs/heads/main"
    assert person.git("branch", "--format=%(refname:short)") == "main"
    assert alive(str(person.repository)) == []


@pytest.mark.parametrize("first", range(0, KILLS // 3, A_BOARD))
def test_q16_a_task_killed_at_any_moment_arrives_once(person, first):
    """Q16, P7: no turn is lost and none is done twice; it stays the same attempt."""
    person.script(MENDS, settings=MERGE_AT_ONCE + MENDED)
    person.commit("first")
    person.allstop("add", "mend it")
    chance = Random(first)
    kills = 0
    for number in range(A_BOARD):
        kills += killed_at(person, MOMENTS[(first + number) % 9], chance.uniform(0, 0.25))
    person.allstop("run")

    assert kills  # the others came too late
    assert person.tasks() == {"T1": "done"}
    assert person.merged() == ["T1"]
    assert len(person.task("T1")["attempts"]) == 1
    assert person.git("show", "main:one.txt") == "mended"
    assert person.git("show", "main:two.txt") == "two"
    results = [event["result"]["result"] for event in of_run(person, "T1") if "result" in event]
    assert results.count("turn_done") == 3
    assert person.json("replay", "T1")["differences"] == []
    is_whole(person)


@pytest.mark.parametrize("first", range(0, KILLS, A_BOARD))
def test_q16_a_board_killed_at_any_moment_merges_each_task_once(person, first):
    """Q16, B17: four tasks, a gate that says no, and a conflict."""
    person.write("list.txt", "everywhere\n")
    person.script(BOARD, settings=MERGE_AT_ONCE + GATE)
    person.commit("first")
    for title in ("north", "south", "east"):
        person.allstop("add", f"go {title}")
    person.allstop("add", "go west", "--needs", "T1", "--needs", "T2", "--needs", "T3")
    chance = Random(first)
    kills = 0
    for number in range(A_BOARD):
        moment = MOMENTS[(first + number) % len(MOMENTS)]
        kills += killed_at(person, moment, chance.uniform(0, 0.15))
    person.allstop("run")

    assert kills  # the others came too late
    assert set(person.tasks().values()) == {"done"}
    assert sorted(person.merged()) == ["T1", "T2", "T3", "T4"]
    assert person.merged()[-1] == "T4"
    words = (person.repository / "west.txt").read_text().split()
    assert (sorted(words), words[0]) == (["east", "everywhere", "north", "south"], "everywhere")
    attempts = {task["id"]: len(task["attempts"]) for task in person.json("list")["tasks"]}
    assert sum(attempts.values()) <= 5  # the conflict is an attempt of its own
    assert all(person.json("replay", f"T{n}")["differences"] == [] for n in range(1, 5))
    assert person.json("replay", "board")["differences"] == []
    is_whole(person)


STEPS = """
repeat = true
[[turn]]
when = "Step 1.1"
steps = [{ write = "one.txt", text = "1" }, { sleep = 0.1 }, { say = "One." }]
[[turn]]
when = "Step 1.2"
steps = [{ write = "two.txt", text = "2" }, { sleep = 0.1 }, { fail = "crashed" }]
[[turn]]
when = "Step 1.3"
steps = [{ write = "three.txt", text = "3" }, { sleep = 0.1 }, { say = "Three." }]
"""
COMMITS = '[retry]\nerror_strategy = "skip"\nauto_commit = true\nstep_delay_ms = 10\n'
PLAN_MOMENTS = ("takes a turn", "commits the work", "the work is at", "merges ", "moves main")


@pytest.mark.parametrize("first", range(0, KILLS // 3, A_BOARD))
def test_p8_a_plan_killed_at_any_moment_commits_each_step_once(person, first):
    """P7, P8, Q16: a skipped step has its commit too; the target gets one merge."""
    person.script(STEPS, settings=COMMITS)
    person.write("PLAN.md", "# A\n- Write one\n- Write two\n- Write three\n")
    person.commit("first")
    chance = Random(first)
    kills = 0
    command = ("plan", "run", "PLAN.md")
    for number in range(A_BOARD):
        moment = PLAN_MOMENTS[(first + number) % len(PLAN_MOMENTS) if number else 0]
        kills += killed_at(person, moment, chance.uniform(0, 0.15), command)
        command = ("plan", "resume", "plan1")
    person.run_process("plan", "resume", "plan1")  # unless it has ended

    assert kills  # the others came too late
    assert json.loads(person.allstop("plan", "show", "plan1", "--json"))["outcome"] == "done"
    made = person.git("log", "--no-merges", "--reverse", "--format=%s", "main").splitlines()
    steps = [line for line in made if line.startswith("Step ")]
    assert steps == [
        "Step 1.1: Write one",
        "Step 1.2 (skipped): Write two",
        "Step 1.3: Write three",
    ]
    assert [line for line in made if "plan1" in line] == [], "nothing was left to commit"
    assert person.json("replay", "plan1")["differences"] == []
    is_whole(person)


@pytest.mark.parametrize("moment", ["starts: ", "merges ", "merged as", "moves main", "landed"])
def test_q16_an_approval_and_a_rollback_are_each_carried_out_once(person, moment):
    """Q16, B17, B18: whenever the program is killed, `run` brings it to its end."""
    person.agent("echo more >>a.txt; echo '<promise>COMPLETE</promise>'", settings="")
    person.commit()
    person.allstop("run", "add a line", code=3)
    before = person.git("rev-parse", "main^{tree}")

    killed_at(person, moment, 0.01, ("approve", "T1"))
    person.allstop("run")

    assert person.merged() == ["T1"]
    assert (person.repository / "a.txt").read_text() == "hello\nmore\n"
    is_whole(person)
    killed_at(person, moment.replace("merges ", "takes "), 0.01, ("rollback", "T1"))
    person.allstop("run", code=3)
    assert person.git("rev-parse", "main^{tree}") == before
    assert person.git("rev-list", "--count", "--first-parent", "main") == "4"
    assert person.task("T1")["held"]
    is_whole(person)
