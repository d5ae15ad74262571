"""B12: a board that the server drives waits for a person after failures in a row."""

import pytest

from support.control_room import ControlRoom
from support.person import at_home, wait_for

FAILS_AT_FIRST = (
    "[ -e ~/mended ] || exit 1\ntouch file-$(date +%N); echo '<promise>COMPLETE</promise>'\n"
)
WAITS = "2 tasks failed in a row: the loop waits for you."


@pytest.fixture
def person(tmp_path):
    person = at_home(tmp_path)
    settings = '[review]\nmode = "skip"\n[loop]\nmax_parallel = 1\nmax_consecutive_errors = 2\n'
    person.agent(FAILS_AT_FIRST, settings=settings)
    person.commit()
    yield person
    person.close()


@pytest.fixture
def room(person):
    """Two of three tasks have failed."""
    room = ControlRoom(person)
    for title in ("Alpha", "Beta", "Gamma"):
        room.do("board", "add_task", title=title)
    room.post("/runs", {"kind": "board"})
    wait_for(lambda: room.read("/board")["counts"] == {"failed": 2, "pending": 1}, "two failures")
    return room


def test_b12_the_status_says_that_the_loop_waits_and_what_lifts_that(room, person):
    said, board = person.allstop("status"), person.json("status")["board"]
    (waiting,) = [each for each in room.read("/inbox")["waiting"] if each["run"] == "board"]

    assert f"! {WAITS}" in said
    assert said.endswith("Next: fix the failed tasks, then `allstop resume board`.\n")
    assert (board["waits"], board["start"]) == ("2 tasks failed in a row", "allstop resume board")
    assert (waiting["do"], waiting["text"]) == ("allstop resume board", "2 tasks failed in a row")


def test_b12_who_retries_is_told_that_nothing_starts_and_what_lifts_that(room, person):
    mend(person)
    first = person.allstop("retry", "T1")
    second = room.do("T2", "retry")

    assert WAITS in first
    assert second["note"] == "2 tasks failed in a row: the loop waits until you resume the board"
    assert person.tasks() == {"T1": "pending", "T2": "pending", "T3": "pending"}
    person.allstop("resume", "board")
    wait_for(lambda: {"T1", "T2"} <= set(person.merged()), "the loop to go on")
    assert WAITS not in person.allstop("status")


def mend(person):
    """Each agent has a home of its own."""
    for task in ("T1", "T2"):
        (person.repository / ".allstop" / "workspaces" / task / "home" / "mended").touch()
