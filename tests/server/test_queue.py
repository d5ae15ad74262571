"""F6, U1: a run that waits for a slot is shown as queued."""

import pytest

from support.control_room import ControlRoom, settled
from support.person import MERGE_AT_ONCE, at_home, wait_for

LINE = "waits for a free slot (1 of 1 taken)"
HEARS = """
repeat = true
[[turn]]
steps = [{ hear = true }, { say = "Heard." }, { signal = "COMPLETE" }]
"""


@pytest.fixture
def room(tmp_path):
    person = at_home(tmp_path)
    person.script(HEARS, settings=MERGE_AT_ONCE + "[loop]\nmax_parallel = 1\n")
    person.commit()
    room = ControlRoom(person)
    yield room
    person.close()


def begin(room, goal):
    answer = room.post("/runs", {"kind": "auto", "goal": goal, "agent": "demo"})
    assert answer.status in (200, 201), answer.body


def standing(run):
    return (run["status"], run["reason"])


def test_f6_a_thread_that_waits_for_a_slot_says_so_until_it_has_one(room):
    begin(room, "first")
    wait_for(lambda: "demo takes a turn" in str(room.read("/runs/auto1")["run"]), "its turn")
    with room.listen() as stream:
        begin(room, "second")
        told = stream.until(lambda e: e.kind == "run" and e.data["reason"] == LINE)[-1]
        assert (told.data["id"], told.data["status"]) == ("auto2", "queued")
        assert standing(room.read("/runs/auto2")["run"]) == ("queued", LINE)
        assert room.read("/runs/auto2")["run"]["needs_you"] is False
        said = room.person.allstop("status")

        room.do("auto1", "say", text="go on")
        settled(room, "auto1", "done")
        stream.until(
            lambda e: (
                e.kind == "run"
                and e.data["id"] == "auto2"
                and standing(e.data) == ("running", "demo takes a turn")
            )
        )
        lives = [e.data for e in stream.events if e.kind == "live"]

    first, second = (line for line in said.splitlines() if line[1:].startswith(" auto"))
    assert "running: demo takes a turn" in first
    assert "◌ auto2" in second
    assert "queued: next: demo takes a turn" in second  # all that another process can know
    assert not any(LINE in live["text"] for live in lives)  # the agent did not say it
