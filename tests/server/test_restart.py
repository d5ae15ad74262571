"""B8: the runs that a server resumes by itself after it was killed or ended."""

import pytest

from support.control_room import ControlRoom
from support.person import MERGE_AT_ONCE, at_home, wait_for

WORKS = """
case $(cat) in *Alpha*) if [ ! -f ~/began ]; then touch ~/began; sleep 3000; fi ;; esac
touch file-$(date +%N); echo '<promise>COMPLETE</promise>'
"""


@pytest.fixture
def person(tmp_path):
    person = at_home(tmp_path)
    person.agent(WORKS, settings=MERGE_AT_ONCE)
    person.commit()
    yield person
    person.close()


@pytest.fixture
def room(person):
    """A board at work: one task is under way, another is ready, and one slot is there."""
    room = ControlRoom(person)
    room.do("board", "add_task", title="Alpha")
    room.do("board", "add_task", title="Beta")
    room.post("/runs", {"kind": "board", "parallel": 1})
    began = person.repository / ".allstop" / "workspaces" / "T1" / "home" / "began"
    wait_for(began.exists, "the agent")
    return room


def says(room, words):
    """Whether it says so, once it is open."""
    return any(words in line for line in iter(room.process.stdout.readline, ""))


@pytest.mark.parametrize("how", ["kill", "close"])
def test_b8_a_board_goes_on_by_itself_after_a_restart(room, how):
    """B8: with the same attempt, and then with what else is ready, as it was told to work."""
    getattr(room, how)()

    room.open()

    assert says(room, "The board continues: it was running when its process ended.")
    wait_for(lambda: room.read("/board")["counts"] == {"done": 2}, "both tasks")
    assert room.person.merged() == ["T1", "T2"]
    assert len(room.read("/tasks/T1")["attempts"]) == 1


@pytest.mark.parametrize("command", ["pause", "stop"])
def test_b8_a_board_that_a_person_holds_does_not_go_on_by_itself(room, command):
    room.do("board", command)
    room.kill()

    room.open()

    assert room.read("/board")["phase"] in ("paused", "stopped")
    assert room.close() == 0
    assert not says(room, "goes on")
    assert room.person.merged() == []


def test_b8_a_board_that_had_come_to_rest_is_not_put_to_work(person):
    """B8: a merge that waits for a person's changes was not cut off, nor was what is new."""
    person.write("a.txt", "in the middle of something\n")
    person.allstop("run", "Beta", code=3)
    person.allstop("add", "Gamma")

    room = ControlRoom(person)
    board = room.read("/board")

    assert board["counts"] == {"merging": 1, "pending": 1}
    assert room.close() == 0
    assert not says(room, "goes on")
    assert person.tasks() == {"T1": "merging", "T2": "pending"}


def test_b8_a_board_whose_agent_is_gone_says_why_it_does_not_go_on(room):
    room.kill()
    room.person.write("allstop.toml", MERGE_AT_ONCE)
    room.person.commit()

    room.open()

    assert says(room, "The board can't continue by itself: ")
    assert room.read("/healthz")["hold"] == "running"
