"""P2, P3, P4, P7: what other programs of this kind do wrong with plans; none of it happens here."""

import json
import time

import pytest

from faults.test_peer_faults import cpu_s
from support.person import MERGE_AT_ONCE, alive, wait_for

QUICK = "[retry]\nbase_ms = 10\nstep_delay_ms = 0\n"
PLAN = "# Letters\n\n## First\n\n- Write a\n- Write b\n\n## Second\n\n- Write c\n"
WRITES = """
name=$(cat | grep -o 'Write [a-z]' | tail -1 | cut -d' ' -f2)
"""


@pytest.fixture
def mark(tmp_path):
    """A number that only this test's processes have in their command line."""
    return str(40_000_000 + abs(hash(str(tmp_path))) % 9_999_999)


@pytest.fixture
def planner(person):
    def make(agent, plan=PLAN, settings=""):
        person.agent(WRITES + agent, settings=MERGE_AT_ONCE + QUICK + settings)
        person.write("PLAN.md", plan)
        person.commit()
        return person

    return make


def state(person, run="plan1"):
    return json.loads(person.allstop("plan", "show", run, "--json"))


def times(person, name):
    """How often the step was done, by the file on main."""
    return len(person.git("show", f"main:out-{name}.txt").splitlines())


def test_p7_stop_leaves_nothing_of_a_plans_agent_alive(planner, mark):
    """Peers: grandchildren and agents that ignore TERM live on."""
    person = planner(f"trap '' TERM INT HUP; (setsid sleep {mark} &) ; sleep {mark}")
    process = person.start("plan", "run", "PLAN.md")
    wait_for(lambda: len(alive(f"sleep {mark}")) >= 2, "the agent")

    said = person.allstop("stop")

    assert alive(f"sleep {mark}") == []
    assert "killed     plan1" in said
    assert process.wait(60) == 130
    assert state(person)["completedSteps"] == 0


def test_p7_kill_9_leaves_no_orphan_and_no_finished_step_is_done_again(planner, mark):
    """Peers: the agent goes on as an orphan, and its step is done twice."""
    person = planner(
        f"if [ $name = b ] && [ ! -e .git/tried ]; then touch .git/tried; sleep {mark}; fi\n"
        "echo done >>out-$name.txt"
    )
    process = person.start("plan", "run", "PLAN.md")
    wait_for(lambda: alive(f"sleep {mark}"), "the second step")
    process.kill()
    process.wait(60)
    wait_for(lambda: alive(f"sleep {mark}") == [], "the orphan's end")

    person.allstop("plan", "resume", "plan1")

    assert [times(person, name) for name in "abc"] == [1, 1, 1]


def test_p2_a_failed_step_is_no_success_and_no_later_step_hides_it(planner):
    """Peers: later phases are skipped or done, the status becomes completed, the exit code is 0."""
    person = planner(
        '[ $name != b ] || { echo "no b today" >&2; exit 1; }\necho done >>out-$name.txt'
    )

    said = person.allstop("plan", "run", "PLAN.md", "--mode", "manual", code=3)
    found = state(person)

    assert "no b today" in said
    assert (found["status"], found["pauseReason"]) == ("paused", "failed")
    assert (found["completedSteps"], found["failedSteps"]) == (1, 1)
    assert person.git("ls-tree", "--name-only", "main", "out-c.txt") == ""
    person.allstop("plan", "run", "PLAN.md", "--on-error", "abort", code=1)
    assert state(person, "plan2")["outcome"] == "failed"


def test_p3_an_agent_that_hangs_is_ended_and_its_step_tried_again(planner, mark):
    """Peers: no time limit; a grandchild that holds the output hangs the program."""
    person = planner(
        f"if [ ! -e .git/tried ]; then touch .git/tried; sleep {mark} & exit 0; fi\n"
        "echo done >>out-$name.txt",
        settings="[loop]\nidle_seconds = 2\n",
    )

    said = person.allstop("plan", "run", "PLAN.md")

    assert "ended: done (merged)" in said
    assert alive(f"sleep {mark}") == []


def test_p5_a_reply_that_talks_about_429_is_no_limit(planner):
    """Peers: "test_x.py:429" holds the run."""
    person = planner(
        'echo "test_x.py:429 failed: rate limit exceeded in the fixture"; echo done >>out-$name.txt'
    )

    said = person.allstop("plan", "run", "PLAN.md")

    assert "rate limited" not in said
    assert [times(person, name) for name in "abc"] == [1, 1, 1]


def test_p7_two_processes_never_do_the_same_plan(planner, mark):
    """Peers: with --force everything is done twice, and a stale lock needs it."""
    person = planner(
        f"if [ ! -e .git/tried ]; then touch .git/tried; sleep {mark}; fi\necho done >>out-$name.txt"
    )
    process = person.start("plan", "run", "PLAN.md")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")

    second = person.allstop("plan", "resume", "plan1")
    process.kill()
    process.wait(60)
    wait_for(lambda: alive(f"sleep {mark}") == [], "the orphan's end")
    said = person.allstop("plan", "resume", "plan1")

    assert "ended: done (merged)" in said
    assert second == "plan1: continues in the process that drives it.\n"
    assert [times(person, name) for name in "abc"] == [1, 1, 1]


def test_p8_clean_up_keeps_the_work_of_a_plan_that_is_not_merged(planner):
    """Peers: `worktree remove --force` destroyed uncommitted work in five products."""
    person = planner("echo precious >>out-$name.txt; [ $name = a ]")
    person.allstop("plan", "run", "PLAN.md", "--mode", "manual", code=3)
    person.allstop("abort", "plan1")

    person.try_allstop("clean", "--yes")

    tree = person.repository / ".allstop" / "workspaces" / "plan1" / "tree"
    assert (tree / "out-a.txt").read_text() == "precious\n"


def test_p3_a_plan_that_waits_for_a_limit_costs_nothing(planner):
    """Peers: a paused engine polls ten times a second."""
    person = planner("echo 'Error: 429 Too Many Requests, retry after 900 seconds' >&2; exit 1")
    process = person.start("plan", "run", "PLAN.md")
    wait_for(lambda: state_or_none(person) == "limited", "the limit")

    def spent_s():
        before = cpu_s(process.pid)
        time.sleep(1)
        return cpu_s(process.pid) - before

    wait_for(lambda: spent_s() <= 0.02, "a second without work")
    assert process.poll() is None


def state_or_none(person):
    shown = person.try_allstop("plan", "show", "plan1", "--json")
    return None if shown.returncode else json.loads(shown.stdout)["pauseReason"]
