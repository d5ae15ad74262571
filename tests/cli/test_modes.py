"""Who picks tasks, how many at once, and how the loop is paused."""

import json
import signal

import pytest

from support.person import MERGE_AT_ONCE, alive, wait_for

WORKS = """
cat >/dev/null
touch file-$(date +%N)
echo '<promise>COMPLETE</promise>'
"""


@pytest.fixture
def mark(tmp_path):
    return str(60_000_000 + abs(hash(str(tmp_path))) % 9_999_999)


UNTIL_TOLD = "while [ ! -f go ]; do sleep 0.05; done" + WORKS
SLOWLY = f"case $(cat) in *slowly*) {UNTIL_TOLD} ;; *) {WORKS} ;; esac"


def is_at_work(person):
    return "mine takes a turn" in person.allstop("status")


def tell_to_go(person):
    (person.repository / ".allstop" / "workspaces" / "T1" / "tree" / "go").touch()


def test_b5_autopilot_picks_by_itself_and_semi_waits_for_a_person(person):
    person.agent(WORKS)
    for title in ("one", "two", "three"):
        person.allstop("add", title)

    said = person.allstop("run", "--mode", "semi", code=3)
    assert "●" not in said
    assert "In semi mode only assigned tasks start: allstop assign T1 && allstop run" in said
    assert person.json("list")["phase"] == "idle"
    person.allstop("assign", "T2")
    person.allstop("run", "--mode", "semi", code=3)
    assert person.tasks() == {"T1": "pending", "T2": "done", "T3": "pending"}
    person.allstop("run")

    assert set(person.tasks().values()) == {"done"}
    assert person.json("list")["phase"] == "completed"


def test_b5_the_mode_that_a_person_has_chosen_holds_for_the_next_run(person):
    """B5: the board was at rest when it was said, and no settings say it."""
    person.agent(WORKS)
    person.allstop("add", "one")

    assert person.allstop("mode") == "autopilot\n"
    person.allstop("mode", "semi")
    assert person.allstop("mode") == "semi\n"

    person.allstop("run", code=3)
    assert person.tasks() == {"T1": "pending"}
    person.allstop("resume", "board", code=3)
    assert person.tasks() == {"T1": "pending"}
    person.allstop("run", "--mode", "autopilot")
    assert person.tasks() == {"T1": "done"}
    person.allstop("add", "two")
    person.allstop("run", code=3)
    assert person.tasks()["T2"] == "pending"
    person.allstop("mode", "autopilot")
    person.allstop("run")
    assert person.tasks()["T2"] == "done"


def test_b5_run_with_an_id_works_on_it_alone(person):
    person.agent(WORKS)
    person.allstop("add", "one", "--tag", "critical")
    person.allstop("add", "two")
    person.allstop("add", "three", "--needs", "T1")

    person.allstop("run", "T2")

    assert person.tasks() == {"T1": "pending", "T2": "done", "T3": "pending"}
    assert "T3 waits for T1" in person.refuses("run", "T3")
    assert "T2 is done: it can't be started" in person.refuses("run", "T2")


def test_b5_the_mode_is_switched_while_it_runs(person, mark):
    """B5: by another process, at once."""
    person.agent(
        f"""
        case $(cat) in *Alpha*) sleep 1.5 ;; *Beta*) sleep {mark} ;; esac
        touch file-$(date +%N)
        echo '<promise>COMPLETE</promise>'
        """
    )
    for title in ("Alpha", "Beta"):
        person.allstop("add", title)
    person.allstop("assign", "T1")
    process = person.start("run", "--mode", "semi")
    wait_for(lambda: person.tasks()["T1"] == "active", "the first")

    person.allstop("mode", "autopilot")

    wait_for(lambda: alive(f"sleep {mark}"), "the second")
    assert person.json("list")["mode"] == "autopilot"
    assert process.poll() is None
    person.allstop("stop")
    assert process.wait(60) == 130


def test_b5_slots_are_filled_and_no_more(person):
    """B5: never more than max_parallel at once; a free slot is used at once."""
    person.agent(
        """
        cat >/dev/null
        sleep 0.3
        touch file-$(date +%N)
        echo '<promise>COMPLETE</promise>'
        """
    )
    for number in range(5):
        person.allstop("add", f"task {number}")

    said = person.allstop("run", "--parallel", "2", "--json")

    at_work = most = 0
    for event in map(json.loads, said.splitlines()):
        if event.get("kind") == "task" and event["event"] == "opened":
            at_work += 1
        if event["event"] == "closed" and ".merge" not in event["run"]:
            at_work -= 1
        most = max(most, at_work)
    assert most == 2
    assert set(person.tasks().values()) == {"done"}


def test_s1_count_and_for_start_no_more_than_they_say(person):
    person.agent(WORKS)
    for number in range(3):
        person.allstop("add", f"task {number}")

    person.allstop("run", "--count", "1")
    assert list(person.tasks().values()) == ["done", "pending", "pending"]
    assert "a sprint can't last 0 hours" in person.refuses("run", "--for", "0s")


def test_b5_a_second_instance_joins_the_one_that_has_the_board(person, mark):
    """P7: nothing is done twice; what it asks for is done by the first."""
    person.agent(f"sleep {mark}")
    process = person.start("run", "do it")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")

    second = person.start("run")

    assert f"The board is driven by process {process.pid}" in second.stdout.readline()
    assert person.json("add", "two")["id"] == "T2"
    wait_for(lambda: person.tasks()["T2"] == "active", "the new task")
    assert person.tasks()["T1"] == "active"
    person.allstop("stop")
    assert second.wait(60) == 130


def test_b5_a_task_that_is_added_while_it_runs_is_started(person, mark):
    person.agent(
        f"""
        case $(cat) in *"go on"*) sleep {mark} ;; esac
        touch file-$(date +%N)
        echo '<promise>COMPLETE</promise>'
        """
    )
    person.allstop("add", "go on for long")
    process = person.start("run")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")

    person.allstop("add", "be quick")

    wait_for(lambda: person.tasks()["T2"] == "done", "the second")
    assert process.poll() is None
    person.allstop("stop")


def test_b12_three_failures_in_a_row_pause_the_loop(person):
    """B12: the fourth is not started until a person says so."""
    person.agent("exit 1")
    for number in range(4):
        person.allstop("add", f"task {number}")

    said = person.allstop("run", "--parallel", "1", code=1)

    assert "3 tasks failed in a row. Look at these tasks, then: allstop run" in said
    assert list(person.tasks().values()) == ["failed"] * 3 + ["pending"]
    assert person.json("list")["phase"] == "waiting_user"
    person.allstop("run", "--parallel", "1", code=1)
    assert list(person.tasks().values()) == ["failed"] * 4


def test_b12_a_done_task_starts_the_count_again_and_timeouts_do_not_count(person):
    person.agent(
        """
        case $(cat) in
        *good*) touch file-$(date +%N); echo '<promise>COMPLETE</promise>' ;;
        *slow*) echo nothing ;;
        *) exit 1 ;;
        esac
        """,
        settings=MERGE_AT_ONCE + "[loop]\nmax_iterations = 1\n",
    )
    for title in ("bad", "bad", "good", "slow", "bad", "slow", "bad"):
        person.allstop("add", title)

    said = person.allstop("run", "--parallel", "1", code=1)

    assert "in a row" not in said
    assert list(person.tasks().values()) == [
        "failed", "failed", "done", "timeout", "failed", "timeout", "failed",
    ]  # fmt: skip


def test_b13_pause_lets_iterations_end_and_starts_nothing(person):
    """B13: `pausing` until then; a paused board goes on where it was."""
    person.agent(SLOWLY)
    for title in ("do it slowly", "do it quickly"):
        person.allstop("add", title)
    process = person.start("run", "--parallel", "1")
    wait_for(lambda: is_at_work(person), "the first")
    assert person.json("list")["phase"] == "running"

    person.allstop("pause")
    assert person.json("list")["phase"] == "pausing"
    assert process.poll() is None
    tell_to_go(person)

    assert process.wait(60) == 130
    assert person.json("list")["phase"] == "paused"
    assert person.tasks()["T2"] == "pending"
    assert person.merged() == []
    person.allstop("resume")
    person.allstop("run")
    assert sorted(person.merged()) == ["T1", "T2"]
    assert len(person.task("T1")["attempts"]) == 1


def test_b13_ctrl_c_pauses_and_run_goes_on(person):
    """B13, K3: the turn that is under way is not lost."""
    person.agent(SLOWLY)
    process = person.start("run", "do it slowly")
    wait_for(lambda: is_at_work(person), "the agent")

    process.send_signal(signal.SIGINT)
    wait_for(lambda: person.json("list")["phase"] == "pausing", "the pause")
    tell_to_go(person)

    assert process.wait(60) == 130
    said = person.allstop("run")
    assert "takes a turn" not in said
    assert person.merged() == ["T1"]


@pytest.mark.parametrize("by_stop", [True, False])
def test_b13_uncommitted_work_is_there_when_the_task_continues(person, mark, by_stop):
    """B13: after Allstop and after a kill of the process alike."""
    person.agent(f"echo half >half.txt; sleep {mark}")
    process = person.start("run", "do it")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")

    person.allstop("stop") if by_stop else process.kill()

    process.wait(60)
    person.agent("cat half.txt >whole.txt; echo '<promise>COMPLETE</promise>'")
    person.allstop("resume")
    person.allstop("run")
    assert person.merged() == ["T1"]
    assert person.git("show", "main:half.txt") == "half"
    assert person.git("show", "main:whole.txt") == "half"
    assert len(person.task("T1")["attempts"]) == 1


def test_b13_a_paused_task_is_paused_alone(person):
    """B20: the others go on; `resume T1` goes on with it."""
    person.agent(SLOWLY)
    process = person.start("run", "do it slowly", "do it quickly")
    wait_for(lambda: person.tasks().get("T2") == "done", "the second")
    person.allstop("pause", "T1")
    tell_to_go(person)

    said = process.communicate(timeout=60)[0]
    assert process.returncode == 3
    assert "T1 is paused: allstop resume T1" in said
    person.allstop("resume", "T1")
    assert set(person.merged()) == {"T1", "T2"}


def test_b25_a_command_that_names_a_task_starts_no_other(person):
    """B25: neither tasks that are ready nor tasks that were assigned."""
    person.agent(WORKS, settings="")
    for title in ("one", "two", "three", "four"):
        person.allstop("add", title)
    person.allstop("assign", "T3")

    person.allstop("run", "T1", code=3)
    assert person.json("list")["mode"] == "autopilot"
    assert person.tasks() == {"T1": "review", "T2": "pending", "T3": "pending", "T4": "pending"}
    person.allstop("approve", "T1")
    assert person.tasks() == {"T1": "done", "T2": "pending", "T3": "pending", "T4": "pending"}
    person.allstop("rollback", "T1")
    assert person.tasks() == {"T1": "pending", "T2": "pending", "T3": "pending", "T4": "pending"}
    person.allstop("run", code=3)
    assert person.tasks() == {"T1": "pending", "T2": "review", "T3": "review", "T4": "review"}


def test_b25_interrupted_and_paused_work_stays_as_it_is(person, mark):
    """B25: approving one task continues neither work whose process died nor paused work."""
    is_slow = f"test -f again || {{ touch again; sleep {mark}; }}"
    person.agent(f"case $(cat) in *slow*) {is_slow} ;; esac; {WORKS}", settings="")
    person.allstop("run", "quick", code=3)
    process = person.start("run", "slow")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")
    process.kill()
    process.wait()

    person.allstop("approve", "T1")
    assert person.tasks() == {"T1": "done", "T2": "active"}
    person.allstop("pause", "board")
    person.allstop("rollback", "T1")
    assert person.tasks() == {"T1": "pending", "T2": "active"}
    assert person.json("list")["phase"] == "paused"
    person.allstop("run", code=3)
    assert person.tasks() == {"T1": "pending", "T2": "review"}
    assert len(person.task("T2")["attempts"]) == 1
