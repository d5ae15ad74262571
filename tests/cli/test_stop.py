"""Stopping a run from another terminal, with the keyboard, with a file, and when it hangs."""

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

import allstop
from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.core.commands import Allstop, Resume
from allstop.core.ids import HELM
from support.control_room import ControlRoom
from support.person import alive, wait_for

SLOW = """
cat >/dev/null
echo begun >>begun.txt
(trap '' TERM HUP; setsid sleep {mark}) &
sleep {mark}
echo '<promise>COMPLETE</promise>'
"""


@pytest.fixture
def mark(tmp_path):
    """A number that only this test's processes have in their command line."""
    return str(70_000_000 + abs(hash(str(tmp_path))) % 9_999_999)


@pytest.fixture
def slow(person, mark):
    person.agent(SLOW.format(mark=mark))
    process = person.start("run", "something slow")
    wait_for(lambda: len(alive(f"sleep {mark}")) >= 2, "the agent and its child")
    return process


def test_k2_stop_from_another_terminal_ends_everything_and_gives_a_receipt(person, slow, mark):
    """K2, K4: none alive, and what was done is told."""
    said = person.allstop("stop")

    assert alive(f"sleep {mark}") == []
    assert "killed     board/T1.1: process" in said
    assert "discarded  board/T1.1: mine takes a turn" in said
    assert "state      board/T1.1: stopped; next: opens a workspace from main" in said
    assert slow.wait(60) == 130
    assert person.runs() == {"board/T1.1": "stopped"}
    assert person.tasks() == {"T1": "pending"}
    assert "Allstop is in force" in person.refuses("run", "another")
    assert "Allstop is in force" in person.refuses("run")
    assert person.tasks() == {"T1": "pending"}


def test_k3_stop_works_although_the_driving_process_hangs(person, slow, mark):
    """K3: SIGSTOP can't be caught; the command line does it alone."""
    slow.send_signal(signal.SIGSTOP)

    said = person.allstop("stop")

    assert alive(f"sleep {mark}") == []
    assert f"process {slow.pid}, which did not answer" in said
    assert "discarded  board/T1.1: mine takes a turn" in said
    assert "state      board/T1.1: stopped during a move: mine takes a turn" in said
    assert slow.wait(60) == -signal.SIGKILL
    person.allstop("resume")
    person.agent("echo more >>b.txt; echo '<promise>COMPLETE</promise>'")
    person.allstop("run")
    assert person.git("show", "main:b.txt") == "more"
    assert person.merged() == ["T1"]


def test_k3_the_stop_of_one_run_ends_its_agents_although_its_process_hangs(person, slow, mark):
    """K2, K3, K4: only the agents of that run; the process goes on with the rest when it can."""
    slow.send_signal(signal.SIGSTOP)

    said = person.allstop("stop", "T1")

    assert alive(f"sleep {mark}") == []
    assert "killed     board/T1.1: process" in said
    assert "discarded  board/T1.1: mine takes a turn" in said
    assert f"process {slow.pid} drives it and does not answer" in said
    assert f"Process {slow.pid} hangs and still drives the run; `allstop stop` ends it." in said
    slow.send_signal(signal.SIGCONT)
    slow.communicate(timeout=60)
    assert person.runs() == {"board/T1.1": "stopped"}
    assert "cancelled: cut off by a stop of this run" in person.allstop("log", "T1")


def test_k3_the_stop_of_one_run_leaves_the_agents_of_another_alone(person, mark):
    person.agent(SLOW.format(mark=mark))
    person.allstop("add", "one")
    person.allstop("add", "another")
    process = person.start("run", "--parallel", "2")
    wait_for(lambda: len(alive(f"sleep {mark}")) >= 4, "both agents and their children")
    process.send_signal(signal.SIGSTOP)

    said = person.allstop("stop", "T1")

    assert "board/T1.1: process" in said
    assert "board/T2.1" not in said
    assert len(alive(f"sleep {mark}")) == 2


def test_k3_a_stop_file_stops_everything_until_resume(person, slow, mark):
    """K3: whoever can create a file can stop."""
    (person.repository / ".allstop" / "STOP").touch()

    assert slow.wait(60) == 130
    assert alive(f"sleep {mark}") == []
    assert "ALLSTOP" in person.allstop("status")
    person.allstop("resume")
    assert not (person.repository / ".allstop" / "STOP").exists()
    assert person.runs() == {"board/T1.1": "interrupted"}


def test_k3_a_stop_file_in_a_repository_where_nothing_ever_ran_is_seen_and_lifted(person):
    person.agent("echo more >>b.txt; echo '<promise>COMPLETE</promise>'")
    stop_file = person.repository / ".allstop" / "STOP"
    stop_file.parent.mkdir()
    stop_file.touch()

    assert "Allstop is in force" in person.refuses("run", "another")
    assert "■ ALLSTOP since" in person.allstop("status")
    assert "The stop is lifted." in person.allstop("resume")

    assert not stop_file.exists()
    person.allstop("run", "another")
    assert person.merged() == ["T1"]


@pytest.mark.parametrize(
    ("command", "name"), [("stop", "stop"), ("pause", "pause"), ("freeze", "freeze")]
)
def test_k2_resume_says_what_it_lifts(person, command, name):
    person.allstop("add", "one")
    person.allstop(command)

    assert person.allstop("resume") == f"The {name} is lifted.\n"
    assert person.allstop("resume") == "Nothing was stopped or paused.\n"


def test_k3_ctrl_c_once_pauses_after_the_turn(person, tmp_path):
    """K3: the turn ends in peace, and nothing new begins."""
    person.agent("echo turn >>b.txt; echo begun >&2; sleep 3; echo going on")
    process = person.start("run", "take turns")
    wait_for(lambda: "mine takes a turn" in person.allstop("status"), "the first turn")

    process.send_signal(signal.SIGINT)

    said = process.communicate(timeout=60)[0]
    assert process.returncode == 130
    assert "pausing: agents finish their current turn" in said
    assert said.count("takes a turn") == 1
    assert "1 iteration ·" in said
    assert person.runs() == {"board/T1.1": "paused"}
    assert person.json("list")["phase"] == "paused"


@pytest.mark.parametrize(("brake", "is_"), [("pause", "paused"), ("freeze", "frozen")])
def test_k1_a_run_that_everything_holds_says_what_lifts_that(person, brake, is_):
    """K1: to run it once more would end in the same way."""
    person.agent("echo zebra >b.txt; echo '<promise>COMPLETE</promise>'")
    person.allstop(brake)

    said = person.allstop("run", "make a zebra", code=130)
    lifted = person.allstop("resume")

    assert f"Everything is {is_}. Continue: allstop resume && allstop run" in said
    assert lifted.startswith(f"The {brake} is lifted.\n")
    assert "1 merged" in person.allstop("run")


def test_q19_ctrl_c_pauses_although_another_process_has_the_store(person):
    """Q19, K3: it is said once the store takes it, and the work goes on until then."""
    person.agent("while [ ! -e goes-on ]; do sleep 0.1; done; rm goes-on; echo going on")
    process = person.start("run", "take turns")
    tree = person.repository / ".allstop" / "workspaces" / "T1" / "tree"
    wait_for(lambda: "mine takes a turn" in person.allstop("status"), "the first turn")
    other = sqlite3.connect(person.repository / ".allstop" / "journal.db", isolation_level=None)
    other.execute("begin immediate")

    process.send_signal(signal.SIGINT)
    lines = iter(process.stdout.readline, "")
    assert any("another process keeps the journal locked" in line for line in lines)
    other.execute("rollback")
    other.close()
    wait_for(lambda: person.runs() == {"board/T1.1": "pausing"}, "the pause")
    (tree / "goes-on").touch()

    process.communicate(timeout=60)
    assert process.returncode == 130
    assert person.json("list")["phase"] == "paused"


def test_k3_sigterm_pauses_at_once_and_a_run_continues(person, mark, tmp_path):
    """Service managers and `timeout` send it: agents end, work is kept, nothing must be lifted."""
    person.agent(
        f"[ -e b.txt ] || {{ echo kept >b.txt; sleep {mark}; }}; echo '<promise>COMPLETE</promise>'"
    )
    process = person.start("run", "take turns")
    wait_for(lambda: alive(f"sleep {mark}"), "the first turn")

    process.send_signal(signal.SIGTERM)

    said = process.communicate(timeout=60)[0]
    assert process.returncode == 130, said
    assert "Paused. Continue: allstop run" in said
    assert alive(f"sleep {mark}") == []
    assert person.json("list")["phase"] == "paused"
    assert "ALLSTOP" not in person.allstop("status")
    assert "SIGTERM: pause" in person.allstop("log", "T1")
    assert "1 merged" in person.allstop("run")
    assert person.git("show", "main:b.txt") == "kept"


def test_k3_ctrl_c_twice_is_allstop(person, slow, mark):
    """K3: the second one doesn't wait."""
    slow.send_signal(signal.SIGINT)
    wait_for(lambda: person.runs().get("board/T1.1") == "pausing", "the pause")
    slow.send_signal(signal.SIGINT)

    said = slow.communicate(timeout=60)[0]
    assert slow.returncode == 130
    assert "ALLSTOP" in said
    assert alive(f"sleep {mark}") == []
    assert "Ctrl-C twice" in person.allstop("status")


def test_k3_ctrl_c_twice_ends_agents_at_once_although_another_process_has_the_store(
    person, slow, mark
):
    """K3, Q19: the STOP file needs no store, and nothing is written before it counts."""
    other = sqlite3.connect(person.repository / ".allstop" / "journal.db", isolation_level=None)
    other.execute("begin immediate")

    slow.send_signal(signal.SIGINT)
    assert any("pausing" in line for line in iter(slow.stdout.readline, ""))
    slow.send_signal(signal.SIGINT)
    wait_for(lambda: alive(f"sleep {mark}") == [], "the agents' end")
    other.execute("rollback")
    other.close()

    slow.communicate(timeout=60)
    assert slow.returncode == 130
    assert person.runs() == {"board/T1.1": "stopped"}
    assert "Ctrl-C twice" in person.allstop("status")


def test_q15_a_killed_program_takes_its_agents_with_it_and_is_resumed(person, slow, mark):
    """Q15, P7: kill -9 leaves no process; the next one goes on in the kept workspace."""
    slow.kill()
    slow.wait(60)

    wait_for(lambda: alive(f"sleep {mark}") == [], "the agents' end", within_s=60)
    assert person.runs() == {"board/T1.1": "interrupted"}
    person.agent("cat begun.txt >b.txt; echo '<promise>COMPLETE</promise>'")
    said = person.allstop("run")
    assert "interrupted" in said
    assert person.git("show", "main:b.txt") == "begun"
    assert len(person.task("T1")["attempts"]) == 1


def test_p7_a_second_process_is_told_who_drives_the_run(person, slow):
    """P7: it only passes the word on."""
    said = person.allstop("resume", "T1")

    assert "continues in the process that drives it" in said
    assert slow.poll() is None


def test_k1_freeze_and_thaw_from_another_terminal(person, mark):
    """K1: processes stop where they are and go on from there."""
    person.agent(
        """
        n=0
        while [ ! -e enough ]; do n=$((n+1)); echo $n >>count.txt; sleep 0.05; done
        rm enough
        echo '<promise>COMPLETE</promise>'
        """
    )
    process = person.start("run", "count")
    count = person.repository / ".allstop" / "workspaces" / "T1" / "tree" / "count.txt"
    wait_for(lambda: count.exists() and count.read_text().count("\n") > 3, "counting")

    person.allstop("freeze", "T1")
    wait_for(lambda: _stands_still(count), "the freeze")
    assert person.runs() == {"board/T1.1": "frozen"}
    frozen_at = len(count.read_text().splitlines())
    person.allstop("thaw", "T1")
    wait_for(lambda: len(count.read_text().splitlines()) > frozen_at, "the thaw")
    count.with_name("enough").touch()

    assert process.wait(60) == 0
    counted = person.git("show", "main:count.txt").splitlines()
    assert counted == [str(n + 1) for n in range(len(counted))]


def _stands_still(path):
    import time

    before = path.read_text()
    time.sleep(0.3)
    return path.read_text() == before


def test_k4_the_stop_of_one_task_leaves_the_others_and_a_receipt(person, mark):
    """K3, K4: with a name, only that one; it is told what it did and how to go on."""
    person.agent(
        f"""
        prompt=$(cat)
        case $prompt in *"something slow"*) sleep {mark} ;; esac
        sleep 1
        echo x >x
        echo '<promise>COMPLETE</promise>'
        """
    )
    process = person.start("run", "something slow", "something quick")
    wait_for(lambda: alive(f"sleep {mark}"), "the slow one")

    receipt = person.json("stop", "T1")["receipt"]

    said = process.communicate(timeout=60)[0]
    assert process.returncode == 3
    assert [each["label"] for each in receipt["killed"]] == ["board/T1.1"]
    assert receipt["discarded"] == ["board/T1.1: mine takes a turn"]
    assert receipt["runs"] == {"board/T1.1": "stopped"}
    assert "stopped in" in person.allstop("log", "T1")
    assert alive(f"sleep {mark}") == []
    assert person.merged() == ["T2"]
    assert "T1 is stopped: allstop resume T1" in said


def test_b13_a_task_that_was_stopped_alone_is_pending_and_says_how_it_goes_on(person, slow):
    """B8, B13: no agent is alive, so it is not active; in list, show and status alike."""
    person.allstop("stop", "T1")
    slow.communicate(timeout=60)

    status = person.json("status")["board"]
    refused = person.refuses("retry", "T1")

    assert person.tasks() == {"T1": "pending"}
    assert (person.task("T1")["status"], person.task("T1")["note"]) == (
        "pending",
        "stopped; it continues where it was",
    )
    assert (status["phase"], status["counts"]) == ("waiting_user", {"pending": 1})
    assert "Next: `allstop resume T1`." in person.allstop("status")
    assert "resume it with `allstop resume T1`" in refused
    person.agent("cat begun.txt >b.txt; echo '<promise>COMPLETE</promise>'")
    person.allstop("resume", "T1")
    assert person.merged() == ["T1"]


def test_b13_a_task_of_the_control_room_that_was_stopped_alone_is_pending(person, mark):
    """B8, B13: over HTTP too, and the stream says so; the others go on."""
    person.agent(SLOW.format(mark=mark))
    person.commit()
    room = ControlRoom(person)
    room.do("board", "add_task", title="Alpha")
    room.post("/runs", {"kind": "board"})
    wait_for(lambda: alive(f"sleep {mark}"), "the agent")

    with room.listen("?kinds=task") as stream:
        person.allstop("stop", "T1")
        stream.until(lambda event: event.kind == "task" and event.data["status"] == "pending")

        assert alive(f"sleep {mark}") == []
        wait_for(lambda: room.read("/board")["phase"] == "waiting_user", "the end of its turn")
        board = room.read("/board")
        assert (board["counts"], board["tasks"][0]["status"]) == ({"pending": 1}, "pending")
        assert room.read("/tasks/T1")["status"] == "pending"
        assert room.read("/board?status=pending")["tasks"] == board["tasks"]
        assert person.tasks() == {"T1": "pending"}
        room.do("T1", "resume")
        stream.until(lambda event: event.kind == "task" and event.data["status"] == "active")
    wait_for(lambda: alive(f"sleep {mark}"), "the agent once more")


def test_k3_a_dry_run_and_status_never_stop_anything(person, slow, mark):
    """K3: looking is not stopping."""
    said = person.allstop("stop", "--dry-run")
    person.allstop("status")
    person.allstop()

    assert f"process {slow.pid}" in said
    assert "would end  board/T1.1: process" in said
    assert len(alive(f"sleep {mark}")) >= 2
    assert slow.poll() is None


def test_k3_a_dry_run_of_one_run_is_about_that_run(person, slow, mark):
    said = person.allstop("stop", "T1", "--dry-run")

    assert said.startswith("would end  board/T1.1: process ")
    assert f"process {slow.pid}" not in said
    assert "there is no run 'T9'" in person.refuses("stop", "T9", "--dry-run")
    assert slow.poll() is None


def test_stop_with_nothing_running_is_no_error(person):
    person.agent("true")

    said = person.allstop("stop")

    assert "nothing was running" in said
    receipt = person.json("stop")["receipt"]
    assert (receipt["killed"], receipt["discarded"], receipt["runs"]) == ([], [], {})
    assert "Nothing was stopped or paused" not in person.allstop("resume")
    assert "Nothing was stopped or paused" in person.allstop("resume")


def test_k1_another_brake_does_not_claim_to_replace_an_allstop(person):
    """K1: after one only resume counts, and the words say so."""
    person.allstop("stop")

    said = {person.allstop(brake) for brake in ("pause", "freeze", "thaw")}

    assert said == {"Everything: already stopped; `allstop resume` lifts the stop.\n"}


def test_k2_nothing_is_tried_either_while_a_stop_holds(person):
    """K2: a trial is a turn, and the doctor's checks are checks."""
    person.agent("echo ready", settings='[verification]\ncommands = ["touch /tmp/x"]\n')
    person.allstop("stop")

    assert "Allstop is in force" in person.refuses("agents", "test", "mine")
    said = person.allstop("doctor")

    assert "○ allstop        in force: no run and no check starts" in said
    assert "touch /tmp/x" not in said
    assert said.endswith("Ready once the stop is lifted.\n")
    person.allstop("resume")
    assert "answered" in person.allstop("agents", "test", "mine")
    assert "✓ check " in person.allstop("doctor")


HYDRA = """
trap '' TERM INT HUP
while true; do
    (trap '' TERM HUP; setsid sleep {mark} >/dev/null 2>&1 </dev/null &)
    sleep 0.1
done
"""


def test_q13_a_board_of_agents_that_respawn_is_stopped_at_once(person, mark):
    """Q13: eight that daemonize, ignore TERM and start anew; the machine may be busy here."""
    person.agent(HYDRA.format(mark=mark))
    for number in range(8):
        person.allstop("add", f"task {number}")
    process = person.start("run", "--parallel", "8")
    records = person.repository / ".allstop" / "live"
    wait_for(lambda: len(list(records.glob("*.json"))) == 8, "all of them")
    wait_for(lambda: len(alive(f"sleep {mark}")) >= 16, "their children")

    stopped = person.json("stop")

    assert alive(f"sleep {mark}") == []
    assert len(stopped["receipt"]["killed"]) == 8
    assert process.wait(60) == 130
    assert set(person.tasks().values()) == {"pending"}
    assert "turn_done" not in person.allstop("log", "--json", "T1")


async def test_k3_a_file_that_nobody_has_seen_yet_is_lifted_with_a_record_of_it(person):
    """K3: who sees it a moment before it is gone has ended agents for it."""
    person.allstop("add", "one")
    (person.repository / ".allstop" / "STOP").write_text("the cat\n")

    said = person.allstop("resume")

    journal = SqliteJournal(person.repository / ".allstop", SystemClock())
    commands = [(each.event.by, each.event.command) for each in await journal.read(HELM)]
    journal.close()
    assert "The stop is lifted." in said
    assert commands == [("the cat", Allstop()), ("user", Resume())]


WITHOUT_THE_REST = """
import sys
from allstop.__main__ import main

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in ("allstop.app.stop.everything", "allstop.cli", "allstop.glance"):
            print("not loaded yet:", name)
            raise ImportError(name)

sys.meta_path.insert(0, Missing())
sys.argv[1:] = ["stop"]
main()
"""


def test_q13_agents_are_dead_before_the_rest_of_the_program_is_loaded(person, slow, mark):
    """Q13: by `allstop stop` itself; the process that drives them hangs."""
    slow.send_signal(signal.SIGSTOP)

    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_REST],
        cwd=person.repository,
        env=person.environment,
        capture_output=True,
        text=True,
    )

    assert alive(f"sleep {mark}") == []
    assert done.stdout.startswith("not loaded yet: allstop.")
    assert (person.repository / ".allstop" / "STOP").exists()
    slow.kill()


def test_q13_the_stop_file_is_created_before_anything_is_loaded(person):
    """Q13: from any folder of the repository, with only the modules that Python itself loads."""
    live = person.repository / ".allstop" / "live"
    live.mkdir(parents=True)
    folder = person.repository / "deep" / "down"
    folder.mkdir(parents=True)
    script = (
        "import sys; from allstop.__main__ import _create_stop_file; before = set(sys.modules);"
        " _create_stop_file(); print(sorted(set(sys.modules) - before), 'pathlib' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-S", "-c", script],
        cwd=folder,
        env={"PYTHONPATH": str(Path(allstop.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["[]", "False"]
    assert (live.parent / "STOP").read_text() == "allstop stop\n"
    assert [path.name for path in live.parent.iterdir() if path.name.startswith(".STOP")] == []
