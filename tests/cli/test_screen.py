"""What people see on a terminal while the board is at work, and of it."""

import signal

from allstop.cli.board.screen import news_lines
from allstop.core.events import MoveEnded
from allstop.core.moves import CheckResult, ChecksDone
from allstop.glance import cells
from allstop.ports import Record
from allstop.testing.virtual_clock import EPOCH
from support.person import wait_for

WORKS = """
cat >/dev/null
date >>b.txt
echo '<promise>COMPLETE</promise>'
"""


def test_what_to_do_next_fits_to_who_drives(person):
    person.agent("sleep 60")
    process = person.start("run", "sleep")
    wait_for(lambda: "takes a turn" in str(person.json("status")), "a turn")

    driven = person.allstop("status")
    process.kill()
    process.wait(60)
    left = person.allstop("status")

    assert "Next: `allstop watch` shows progress, `allstop stop` stops it." in driven
    assert "interrupted: no process drives it; to continue: allstop run" in left
    assert "Next: `allstop run` continues." in left


def test_b20_the_next_step_for_a_task_that_was_paused_alone_is_to_resume_it(person):
    """B20: a run of the board would leave it where it is."""
    person.agent("sleep 1\n" + WORKS)
    process = person.start("run", "sleep")
    wait_for(lambda: "takes a turn" in str(person.json("status")), "a turn")
    person.allstop("pause", "T1")
    process.wait(60)

    assert person.allstop("status").endswith("Next: `allstop resume T1`.\n")
    person.allstop("resume", "T1")
    assert person.merged() == ["T1"]


def test_nb11_b13_after_ctrl_c_the_next_step_continues_the_active_tasks(person):
    """B13: an old failed task is not what the person was at."""
    person.agent('case $(cat) in *broken*) exit 1 ;; esac; sleep 2; date +%N >"x$(date +%N)"')
    person.allstop("run", "broken", code=1)
    for title in "abc":
        person.allstop("add", title)
    process = person.start("run", "--parallel", "3")
    wait_for(lambda: str(person.json("status")).count("takes a turn") == 3, "three turns")

    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)

    assert person.allstop("status").endswith("Next: `allstop run` continues.\n")


def test_nb11_b13_rows_of_the_table_say_that_their_tasks_are_pausing(person):
    person.agent("sleep 60")

    keys = [("takes a turn", "\x03"), ("#1  pausing after this turn", "\x03")]
    shown, code = person.at_terminal("run", "sleep", keys=keys)

    assert code == 130
    assert "ALLSTOP" in shown


def test_what_is_typed_while_the_table_is_drawn_neither_tears_it_nor_reaches_the_shell(person):
    person.agent("sleep 2\n" + WORKS)

    shown, code = person.at_terminal("run", "add a line", keys=[("takes a turn", "rm -r b.txt\r")])

    assert code == 0
    assert "Ctrl-C pauses after this turn, twice is Allstop" in shown
    assert "rm -r" not in shown


def test_on_a_terminal_a_line_of_the_board_is_a_line_of_the_screen(person):
    person.allstop("add", "日本語 " * 40)
    person.allstop("add", "a long title " * 20, "--tag", "critical", "--needs", "T1")
    person.allstop("add", "with an id of its own", "--id", "a-rather-long-id")

    shown = [line.rstrip() for line in person.at_terminal("list")[0].splitlines()]

    assert max(cells(line) for line in shown) <= 100
    assert shown[1].endswith("…  #critical  (waits for T1)")
    assert len({line.index(" pending ") for line in shown}) == 1
    assert max(map(len, person.allstop("list").splitlines())) > 100


def test_a_title_of_several_lines_is_shown_as_one(person):
    said = person.allstop("add", "first\nsecond\tthird")

    assert said == "T1  first second third\n"
    assert "T1          0  first second third\n" in person.allstop("next", "--explain")


def test_at_work_on_an_empty_board_it_is_said_how_to_fill_it(person):
    person.agent(WORKS)

    assert "The board is empty. Add a task: allstop add" in person.allstop("run")


def test_what_happens_to_tasks_with_long_ids_stands_in_one_column(person):
    """Imported tasks are called by their titles."""
    person.agent("mktemp ./made.XXXXXX; echo '<promise>COMPLETE</promise>'")
    person.allstop("add", "one", "--id", "write-the-parser")
    person.allstop("add", "two")

    said = person.allstop("run")

    starts = [line.index("● starts") for line in said.splitlines() if "● starts: " in line]
    assert len(starts) == 4  # two tasks, two merges
    assert len(set(starts)) == 1


def test_b14_a_check_that_is_not_required_is_a_warning_above_the_table():
    style = CheckResult(name="Style", run="style", passed=False, code=3, required=False)
    tests = CheckResult(name="Tests", run="tests", passed=False, code=1)
    event = MoveEnded(at=EPOCH, id=1, result=ChecksDone(results=(style, tests)))

    assert [line[1:] for line in news_lines(Record("board/T1.1", 7, event))] == [
        ("✗", "failed, back to the agent: Tests: exit code 1"),
        ("⚠", "Style: exit code 3 (not required)"),
    ]
