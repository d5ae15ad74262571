"""What other programs of this kind do wrong, row by row; none of it happens here.

The rows about rooms, plans and decisions are tested where those are.
"""

import json
import os
import time
from pathlib import Path

import pytest

from allstop.adapters.clock import SystemClock
from support.in_turn import WAITS, run_in_turn
from support.person import MERGE_AT_ONCE, alive, wait_for

DONE = "\necho '<promise>COMPLETE</promise>'\n"
WORKS = "touch file-$(date +%N)" + DONE


@pytest.fixture
def mark(tmp_path):
    """A number that only this test's processes have in their command line."""
    return str(30_000_000 + abs(hash(str(tmp_path))) % 9_999_999)


def add(person, *titles):
    for title in titles:
        person.allstop("add", title)


def attempts(person):
    return {task["id"]: len(task["attempts"]) for task in person.json("list")["tasks"]}


def events(person, run):
    return [json.loads(line) for line in person.allstop("log", "--json", run).splitlines()]


# --- stop -------------------------------------------------------------------------------------


def test_stop_leaves_nothing_of_an_agent_alive_and_no_event_comes_late(person, mark):
    """Peers: grandchildren and agents that ignore TERM live on."""
    person.agent(
        f"""
        trap '' TERM INT HUP
        (trap '' TERM HUP; setsid sh -c 'sleep {mark} & sleep {mark}') &
        (setsid setsid sleep {mark} >/dev/null 2>&1 <&- &)
        while true; do sleep {mark}; done
        """
    )
    add(person, "one", "two")
    process = person.start("run", "--parallel", "2")
    wait_for(lambda: len(alive(f"sleep {mark}")) >= 8, "all of them")

    said = person.allstop("stop")

    assert alive(f"sleep {mark}") == []
    assert "ALLSTOP: done" in said
    assert said.count("killed     board/") == 2
    assert process.wait(60) == 130
    before = {run: len(events(person, run)) for run in ("board", "T1", "T2")}
    time.sleep(0.5)
    assert {run: len(events(person, run)) for run in before} == before


# --- kill -9 of the engine --------------------------------------------------------------------


def test_kill_9_leaves_no_orphan_and_loses_no_iteration(person, mark):
    """Peers: the agent goes on as an orphan; the task is redone; the budget is lost."""
    counted = f"""
    cat >/dev/null
    n=$(cat n 2>/dev/null || echo 0); n=$((n+1)); echo $n >n
    git add n; git commit -qm "iteration $n"
    if [ $n = 3 ]; then sleep {mark}; fi
    """
    person.agent(counted, settings=MERGE_AT_ONCE + "[loop]\nmax_iterations = 4\n")
    person.commit()
    process = person.start("run", "count")
    wait_for(lambda: alive(f"sleep {mark}"), "the third iteration")
    process.kill()
    wait_for(lambda: alive(f"sleep {mark}") == [], "the orphans' end", within_s=60)

    person.program("my-agent", "#!/bin/sh\n" + counted.replace("= 3", "= 9"))
    said = person.allstop("run", code=4)

    assert said.count("takes a turn") == 2  # the one that was cut off, and the fourth
    assert attempts(person) == {"T1": 1}
    work = person.git("log", "--format=%s", "refs/allstop/tip/T1", "--not", "main")
    assert work.splitlines() == [f"iteration {number}" for number in (5, 4, 3, 2, 1)]


def test_who_takes_up_killed_work_at_once_has_no_second_agent_beside_it(person, mark):
    """Peers: a hundred and more workers at one task, after it was reclaimed while they lived."""
    person.agent(
        f"""
        exec 9>~/lock; flock -n 9 || echo twice >>~/twice
        if [ ! -f ~/began ]; then touch ~/began; sleep {mark}; fi
        [ ! -f ~/twice ] || exit 1
        """
        + WORKS
    )
    person.commit()
    process = person.start("run", "do it")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")

    process.kill()
    person.allstop("run")

    assert attempts(person) == {"T1": 1}
    assert person.merged() == ["T1"]


# --- COMPLETE ---------------------------------------------------------------------------------


def test_complete_that_is_mentioned_or_without_a_change_or_with_exit_1_is_not_done(person):
    """Peers: each of them counts as done."""
    person.agent(
        """
        case $(cat) in
        *Mentions*) echo x >x; echo 'I will say <promise>COMPLETE</promise> when I am' ;;
        *Nothing*) echo '<promise>COMPLETE</promise>' ;;
        *Exits*) echo x >x; echo '<promise>COMPLETE</promise>'; exit 1 ;;
        esac
        """,
        settings=MERGE_AT_ONCE + "[loop]\nmax_iterations = 2\n",
    )
    add(person, "Mentions", "Nothing", "Exits")

    person.allstop("run", code=1)

    assert person.tasks() == {"T1": "timeout", "T2": "timeout", "T3": "failed"}
    assert person.merged() == []


# --- exit codes -------------------------------------------------------------------------------


def test_the_worst_of_what_happened_is_the_exit_code(person):
    """Peers: 0 for everything. Here 1 before 4 before 3 before 0."""
    person.agent(
        """
        case $(cat) in
        *Asks*) echo '<promise>PENDING: what?</promise>' ;;
        *Slow*) echo nothing ;;
        *Bad*) exit 9 ;;
        *) touch file-$(date +%N); echo '<promise>COMPLETE</promise>' ;;
        esac
        """,
        settings=MERGE_AT_ONCE + "[loop]\nmax_iterations = 1\n",
    )
    person.allstop("run", "Do well", code=0)
    person.allstop("run", "Asks", code=3)
    person.allstop("run", "Slow", code=4)
    person.allstop("run", "Bad", code=1)

    add(person, "Slow again", "Do well again", "Asks again")
    person.allstop("run", code=4)
    add(person, "Bad again", "Slow once more")
    person.allstop("run", code=1)


# --- rate limit -------------------------------------------------------------------------------


def test_a_limit_fails_no_task_burns_no_iteration_and_is_over_by_itself(person):
    """Peers: eight queued tasks fail within half a second; all iterations are burnt at once."""
    person.agent("", settings=MERGE_AT_ONCE + "[loop]\nmax_iterations = 1\n")
    add(person, *(f"task {number}" for number in range(4)))
    until = int(SystemClock().now().timestamp()) + 5
    limited = f'[ $(date +%s) -ge {until} ] || {{ echo "You\'ve hit your limit" >&2; exit 1; }}'
    person.program("my-agent", f"#!/bin/sh\n{limited}\n{WORKS}")

    said = person.allstop("run", "--parallel", "2")

    assert 1 <= said.count("usage limited") <= 4
    assert set(person.tasks().values()) == {"done"}
    assert attempts(person) == {"T1": 1, "T2": 1, "T3": 1, "T4": 1}


# --- dependencies, wrong file schema ----------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text", "line", "words"),
    [
        ("cycle.md", "- [ ] T1: a (needs: T2)\n- [ ] T2: b (needs: T1)\n", 1, "T1 → T2 → T1"),
        ("unknown.md", "- [ ] T0: a\n- [ ] T1: a (needs: T7)\n", 2, "T7"),
        ("twice.md", "- [ ] T1: a\n- [ ] T1: b\n", 1, "two tasks 'T1'"),
        ("prd.json", '{\n  "tasks": "none"\n}', 2, "expected a list"),
        ("prd.json", '{"userStories": [{"title": "a"},\n 7]}', 2, "userStories[1]"),
        ("prd.json", '{"userStories": [\n\n}', 3, "not valid JSON"),
        ("empty.md", "Nothing to do.\n", 1, "expected tasks"),
    ],
)
def test_files_that_cannot_be_worked_on_are_refused_by_line(person, name, text, line, words):
    """Peers: unknown ids count as met, duplicates are redone, "completed successfully, 0/0"."""
    person.agent(WORKS)
    person.write(name, text)

    said = person.refuses("import", name)

    assert said.startswith(f"error: {name}:{line}: ")
    assert words in said
    assert person.tasks() == {}


# --- parallel ---------------------------------------------------------------------------------


def test_a_free_slot_is_filled_at_once_and_the_users_checkout_stays_where_it_is(person):
    """Peers: a barrier after each batch; 16 branches left over; the user's checkout switched."""
    person.agent(
        "case $(cat) in *Long*) while [ ! -f go ]; do sleep 0.05; done ;; esac\n" + WORKS,
        settings=MERGE_AT_ONCE + '[project]\ntarget = "main"\n',
    )
    person.commit()
    person.git("switch", "-q", "-c", "mine")
    person.write("a.txt", "in the middle of something\n")
    add(person, "Long", "one", "two", "three")
    process = person.start("run", "--parallel", "2")

    wait_for(lambda: len(person.merged()) == 3, "the short ones")
    assert person.tasks()["T1"] == "active"
    (person.repository / ".allstop" / "workspaces" / "T1" / "tree" / "go").touch()

    assert process.wait(60) == 0
    assert person.merged() == ["T2", "T3", "T4", "T1"]
    assert person.git("symbolic-ref", "--short", "HEAD") == "mine"
    assert person.git("status", "--short") == "M a.txt"
    assert person.git("branch", "--format=%(refname:short)").split() == ["main", "mine"]
    assert person.git("worktree", "list").count("\n") == 0


def test_a_conflicts_solution_is_verified_before_it_is_merged(person):
    """Peers: the agent's raw output is committed as the solution."""
    person.agent(
        f"""
        case $(cat) in
        *"exit code"*) printf 'hello\\nnorth\\nsouth\\n' >a.txt ;;
        *"resolve the conflicts"*) echo 'Here is the solution:' >a.txt; git add a.txt ;;
        *North*) {WAITS} echo north >>a.txt ;;
        *South*) {WAITS} echo south >>a.txt ;;
        esac
        """
        + DONE,
        settings=MERGE_AT_ONCE + '[verification]\ncommands = ["grep -q hello a.txt"]\n',
    )
    person.commit()

    said, _ = run_in_turn(person, "go North", "go South")

    assert "✗ grep -q hello a.txt failed" in said
    assert (person.repository / "a.txt").read_text() == "hello\nnorth\nsouth\n"
    assert person.merged() == ["T1", "T2"]


# --- merged -----------------------------------------------------------------------------------


def test_done_means_that_the_commit_is_on_the_target_whatever_is_checked_out(person):
    """Peers: merged into whatever was checked out; recorded though nothing was."""
    person.agent(WORKS, settings=MERGE_AT_ONCE + '[project]\ntarget = "main"\n')
    person.commit()
    person.git("switch", "-q", "-c", "other")

    person.allstop("run", "do it")

    commit = person.task("T1")["merged"]
    assert person.git("branch", "--contains", commit, "--format=%(refname:short)") == "main"
    assert person.merged("other") == []


def test_the_oldest_is_merged_first(person):
    """Peers: newest first; some waited for two days."""
    person.agent(WORKS, settings="")
    person.commit()
    person.allstop("run", "do one", "do two", "do three", code=3)

    person.allstop("approve", "T2", "T3", "T1")

    assert person.merged() == ["T2", "T3", "T1"]  # in the order they were approved


# --- clean-up ---------------------------------------------------------------------------------


def test_clean_up_never_destroys_what_is_not_merged(person, mark):
    """Peers: `worktree remove --force` destroyed uncommitted work in five products."""
    person.agent(f"echo precious >work.txt; sleep {mark}")
    person.commit()
    process = person.start("run", "do it")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")
    person.allstop("abort", "T1")
    process.wait(60)
    person.allstop("rm", "T1")

    person.try_allstop("clean", "--yes")

    tree = person.repository / ".allstop" / "workspaces" / "T1" / "tree"
    assert (tree / "work.txt").read_text() == "precious\n"


# --- blocked task -----------------------------------------------------------------------------


def test_a_blocked_task_is_not_started_again_by_itself(person):
    """Peers: respawned for ever."""
    person.agent("echo '<promise>BLOCKED: no key</promise>'")
    add(person, "do it", "do more")
    person.allstop("edit", "T2", "--needs", "T1")
    person.allstop("run", code=1)

    for _ in range(2):
        assert "starts" not in person.allstop("run", code=3)

    assert attempts(person) == {"T1": 1, "T2": 0}
    assert person.tasks() == {"T1": "blocked", "T2": "pending"}


# --- memory, idle -----------------------------------------------------------------------------


def memory_kb(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0])


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_memory_stays_flat_over_iterations(person):
    """Peers: it grows with every iteration, up to 15 GB."""
    person.agent(
        "head -c 300000 /dev/zero | tr '\\0' x; echo; echo on >>n",
        settings=MERGE_AT_ONCE + "[loop]\nmax_iterations = 60\n",
    )
    process = person.start("run", "go on")
    seen = []
    for line in process.stdout:
        if "takes a turn" in line:
            seen.append(memory_kb(process.pid))

    assert process.wait(60) == 4
    assert len(seen) == 60
    assert max(seen[40:]) - max(seen[15:25]) < 4_000


def spent_s(pid, over_s):
    before = cpu_s(pid)
    time.sleep(over_s)
    return cpu_s(pid) - before


def test_waiting_costs_nothing(person, mark):
    """Peers: watchdogs of theirs spent 441 million tokens in 12 idle hours."""
    person.agent(f"sleep {mark}")
    process = person.start("run", "wait")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")

    wait_for(lambda: spent_s(process.pid, over_s=2) <= 0.05, "two seconds without work")

    assert person.task("T1")["tokens"] == 0


def test_with_nothing_to_do_it_ends(person):
    person.agent("exit 1")

    assert "0 verified, 0 failed, 0 remaining" in person.allstop("run")
    assert person.tasks() == {}


# --- two instances ----------------------------------------------------------------------------


def test_of_two_instances_one_works_and_the_other_watches_or_is_told_who(person):
    """Peers: with --force everything is done twice. Only if both begin at once is one refused."""
    person.agent("sleep 1.5\n" + WORKS)
    person.commit()
    add(person, "one", "two")

    both = [person.start("run"), person.start("run")]
    said = [process.communicate(timeout=60)[0] for process in both]

    for process, other, words in zip(both, reversed(both), said, strict=True):
        if process.returncode != 0:
            assert (process.returncode, other.returncode) == (2, 0)
            assert f"board is driven by process {other.pid}" in words
    assert sorted(person.merged()) == ["T1", "T2"]
    assert attempts(person) == {"T1": 1, "T2": 1}


# --- secrets, network -------------------------------------------------------------------------


def test_nothing_listens_and_no_sandbox_is_only_claimed(person, mark):
    """Peers: IS_SANDBOX=1 without a sandbox; a listener on 0.0.0.0."""
    person.agent(f"env >env.txt; sleep {mark}")
    process = person.start("run", "look")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")

    assert listening(process.pid) == []
    environment = person.repository / ".allstop" / "workspaces" / "T1" / "tree" / "env.txt"
    assert "IS_SANDBOX" not in environment.read_text()


def listening(pid):
    """The TCP sockets on which a process listens."""
    sockets = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        name = os.readlink(each)
        if name.startswith("socket:["):
            sockets.add(name[8:-1])
    lines = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]
    ]
    return [line[1] for line in lines if line[3] == "0A" and line[9] in sockets]
