"""`allstop run` while a control room drives the board: that process does it, this one shows it."""

import re
import signal
from types import SimpleNamespace

import pytest

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.cli.board.follow_board import FollowedBoard
from allstop.core.commands import Raise
from allstop.core.events import Commanded
from allstop.core.ids import BOARD
from support.control_room import ControlRoom
from support.person import MERGE_AT_ONCE, wait_for
from support.room_models import person_with_models, says, writes

WORKS = """
echo more >>b.txt
echo '<promise>COMPLETE</promise>'
"""
THINKS = "sleep 600"


@pytest.fixture
def driving(person):
    """Make `text` the agent; a control room that drives the board with it."""

    def make(text, settings=MERGE_AT_ONCE):
        person.agent(text, settings=settings)
        person.commit()
        room = ControlRoom(person)
        room.post("/runs", {"kind": "board", "mode": "semi"})
        return room

    return make


def _takes_a_turn(watch):
    while "takes a turn" not in (line := watch.stdout.readline()):
        assert line, "it ended"


def test_a_prompt_is_worked_on_by_the_control_room_and_shown_here(person, driving):
    room = driving(WORKS)

    done = person.try_allstop("run", "add a line")

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"driven by process {room.process.pid}. " in done.stdout
    assert re.search(r"T1 +● starts: add a line", done.stdout)
    assert "takes a turn" in done.stdout
    assert person.tasks() == {"T1": "done"}
    assert person.merged() == ["T1"]
    assert room.read("/board")["mode"] == "semi"  # how it works on the rest stays as it is


def test_a_task_is_started_by_its_name_and_others_are_not(person, driving):
    driving(WORKS)
    person.allstop("add", "one")
    person.allstop("add", "two")

    person.allstop("run", "T2")

    assert person.tasks() == {"T1": "pending", "T2": "done"}


def test_without_a_name_the_control_room_works_on_all(person, driving):
    room = driving(WORKS)
    person.allstop("add", "one")
    person.allstop("add", "two")

    person.allstop("run", "--mode", "autopilot")

    assert person.tasks() == {"T1": "done", "T2": "done"}
    assert room.read("/board")["mode"] == "autopilot"


@pytest.mark.parametrize(
    ("script", "settings", "code", "status"),
    [
        ("exit 3", "[loop]\nmax_consecutive_errors = 1\n", 1, "failed"),
        ("echo '<promise>PENDING: which colour?</promise>'", "", 3, "waiting"),
        (WORKS, "", 3, "review"),
        ("echo nothing", "[loop]\nmax_iterations = 2\n", 4, "timeout"),
    ],
)
def test_the_exit_code_is_that_of_the_task(person, driving, script, settings, code, status):
    driving(script, settings)

    person.allstop("run", "do it", code=code)

    assert person.tasks() == {"T1": status}


def test_ctrl_c_ends_the_watch_and_the_work_goes_on(person, driving):
    driving(THINKS)
    watch = person.start("run", "think")
    _takes_a_turn(watch)

    watch.send_signal(signal.SIGINT)

    assert watch.wait(60) == 130
    assert "The board continues" in watch.stdout.read()
    assert person.tasks() == {"T1": "active"}


def test_a_stop_ends_the_watch_with_its_own_code(person, driving):
    driving(THINKS)
    watch = person.start("run", "think")
    _takes_a_turn(watch)

    person.allstop("stop")

    assert watch.wait(60) == 130


ONCE_CUT_OFF = """
if [ ! -e begun ]; then touch begun; sleep 600; fi
echo more >>b.txt
echo '<promise>COMPLETE</promise>'
"""


def _is_under_way(person, tasks):
    workspaces = person.repository / ".allstop" / "workspaces"
    wait_for(lambda: len(list(workspaces.rglob("begun"))) == tasks, "agents that have begun")


def test_p7_whoever_watches_goes_on_where_the_process_that_drove_is_gone(person, driving):
    """P7: what was asked for is done, and what else was under way is not lost."""
    room = driving(ONCE_CUT_OFF)
    person.allstop("add", "not asked for")
    watch = person.start("run", "think")
    _is_under_way(person, 1)

    room.kill()
    said, _ = watch.communicate(timeout=60)

    assert watch.returncode == 0, said
    assert f"Process {room.process.pid} has ended: this terminal drives the board" in said
    assert person.tasks() == {"T1": "pending", "T2": "done"}
    assert person.merged() == ["T2"]


def test_p7_of_all_who_watch_one_goes_on_and_the_others_watch_that(person, driving):
    """P7."""
    room = driving(ONCE_CUT_OFF, f"[loop]\nmax_parallel = 3\n{MERGE_AT_ONCE}")
    begun = [person.start("run", f"think {number}") for number in range(3)]
    _is_under_way(person, 3)

    room.kill()
    said = [watch.communicate(timeout=60)[0] for watch in begun]

    assert [watch.returncode for watch in begun] == [0, 0, 0], "\n---\n".join(said)
    assert set(person.tasks().values()) == {"done"}
    assert sorted(person.merged()) == ["T1", "T2", "T3"]


ONE_IS_SLOW = f"case $(cat) in *slow*) {ONCE_CUT_OFF} ;; *) {WORKS} ;; esac"
ONE_IS_BLOCKED = f"""
case $(cat) in *never*) echo '<promise>BLOCKED: no</promise>'; exit ;; esac
{ONCE_CUT_OFF}
"""


async def test_k5_whoever_goes_on_with_a_board_is_held_to_what_was_said_to_it(person):
    """K5, P7: its budget and how many it may start are on the record, and so is what was used."""
    person.agent(ONE_IS_SLOW)
    person.commit()
    for title in ("slow", "two", "three"):
        person.allstop("add", title)
    first = person.start("run", "--budget", "5", "--count", "2", "--parallel", "1")
    _is_under_way(person, 1)
    watch = person.start("run", "T1")
    while "driven by" not in (line := watch.stdout.readline()):
        assert line, "it ended"

    first.kill()
    said, _ = watch.communicate(timeout=60)

    journal = SqliteJournal(person.repository / ".allstop", SystemClock())
    events = [each.event for each in await journal.read(BOARD)]
    journal.close()
    raised = [
        e.command for e in events if isinstance(e, Commanded) and isinstance(e.command, Raise)
    ]
    assert watch.returncode == 0, said
    assert person.tasks() == {"T1": "done", "T2": "done", "T3": "pending"}
    assert [each.limits.cost_microusd for each in raised] == [
        5_000_000,
        None,
    ]  # the sprint and its budget have ended


def test_p7_what_is_done_already_is_no_reason_not_to_go_on(person, driving):
    """P7: nor does it change what became of it."""
    room = driving(ONE_IS_SLOW)
    person.allstop("add", "quick")
    person.allstop("add", "slow")
    watch = person.start("run", "T1", "T2")
    wait_for(lambda: person.tasks()["T1"] == "done", "the quick one")
    _is_under_way(person, 1)

    room.kill()
    said, _ = watch.communicate(timeout=60)

    assert watch.returncode == 0, said
    assert person.tasks() == {"T1": "done", "T2": "done"}
    assert sorted(person.merged()) == ["T1", "T2"]


def test_p7_the_exit_code_tells_of_what_was_only_watched_too(person, driving):
    """P7."""
    room = driving(ONE_IS_BLOCKED)
    person.allstop("add", "never")
    person.allstop("add", "slow")
    watch = person.start("run", "T1", "T2")
    wait_for(lambda: person.tasks()["T1"] == "blocked", "the end of the first")
    _is_under_way(person, 1)

    room.kill()
    said, _ = watch.communicate(timeout=60)

    assert watch.returncode == 1, said
    assert person.tasks() == {"T1": "blocked", "T2": "done"}


def test_k2_nobody_goes_on_where_the_process_is_gone_because_all_is_stopped(person, driving):
    """K2: the process hangs, so the stop ends it."""
    room = driving(THINKS)
    watch = person.start("run", "think")
    _takes_a_turn(watch)

    room.process.send_signal(signal.SIGSTOP)
    person.allstop("stop")

    assert watch.wait(60) == 130, watch.stdout.read()
    assert person.tasks() == {"T1": "pending"}


def test_what_is_about_all_tasks_is_not_said_with_one(person, driving):
    driving(WORKS)

    done = person.try_allstop("run", "--parallel", "3", "add a line")

    assert done.returncode == 2
    assert "these options can't apply to single tasks" in done.stderr
    assert person.tasks() == {}


@pytest.fixture
def turn_with_talk(tmp_path):
    person = person_with_models(tmp_path)
    yield person
    person.close()


def test_full_auto_and_rooms_work_in_their_own_process_beside_the_control_room(turn_with_talk):
    person = turn_with_talk
    settings = '[auto]\ncooldown_s = 0\nreview = "never"\n'
    person.scripts(settings, gpt=[says("hello")], claude=[says("hi")], coder=[writes("w.txt")])
    person.commit()
    person.allstop("trust", "--yes")
    room = ControlRoom(person)
    room.post("/runs", {"kind": "board"})

    person.allstop("auto", "--agent", "coder", "Write it")
    person.allstop("room", "--mode", "single", "Talk.")

    kinds = {run["kind"] for run in room.read("/runs")["runs"]}
    assert kinds == {"auto", "merge", "room"}  # the thread's work is merged


def test_p7_of_those_who_begin_at_once_one_drives_and_the_others_join(person):
    """P7: whoever comes second is no error, and what it asked for is done."""
    person.agent("mktemp new.XXXXXX\necho '<promise>COMPLETE</promise>'\n")
    person.commit()

    begun = [person.start("run", f"add line {number}") for number in range(3)]
    said = [process.communicate(timeout=60) for process in begun]

    assert [process.returncode for process in begun] == [0, 0, 0], "\n---\n".join(
        str(each[0]) for each in said
    )
    assert set(person.tasks().values()) == {"done"}
    assert len(person.tasks()) == 3


@pytest.mark.parametrize("child", [{}, {"board/T1.1": SimpleNamespace(closed="done")}])
def test_p7_what_was_just_born_or_has_just_ended_is_not_at_rest(child):
    """P7: whoever joins reads one record after the other, and work goes on meanwhile."""
    joined = FollowedBoard.__new__(FollowedBoard)
    board = SimpleNamespace(pilot=SimpleNamespace(refs={"T1.1": "T1"}))
    joined._states = {BOARD: board, **child}

    assert not joined._is_at_rest()
