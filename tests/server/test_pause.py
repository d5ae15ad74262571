"""B13: a pause of runs that the server drives, seen over the API and the command line."""

import pytest

from support.control_room import ControlRoom
from support.person import at_home, wait_for

WAITS = """
touch ~/began
while [ ! -e ~/may-end ]; do sleep 0.05; done
echo going on
"""


@pytest.fixture
def person(tmp_path):
    person = at_home(tmp_path)
    person.agent(WAITS)
    person.commit()
    yield person
    person.close()


@pytest.fixture
def room(person):
    """A board with one task, whose agent is in the middle of its turn."""
    room = ControlRoom(person)
    room.do("board", "add_task", title="Alpha")
    room.post("/runs", {"kind": "board"})
    wait_for((home(person) / "began").exists, "the agent")
    return room


def home(person):
    return person.repository / ".allstop" / "workspaces" / "T1" / "home"


def phases(room):
    """What each of those says that can be asked."""
    person = room.person
    said = person.json("list")["phase"], person.json("status")["board"]["phase"]
    return {*said, room.read("/board")["phase"]}


@pytest.mark.parametrize("whom", [(), ("board",)], ids=["everything", "board"])
def test_b5_b13_a_pause_is_pausing_until_no_agent_is_at_work(room, person, whom):
    with room.listen("?kinds=board") as stream:
        person.allstop("pause", *whom)

        assert phases(room) == {"pausing"}
        (home(person) / "may-end").touch()
        stream.until(lambda event: event.kind == "board" and event.data["phase"] == "paused")
        assert phases(room) == {"paused"}
        person.allstop("resume", *whom)
        wait_for(lambda: phases(room) == {"running"}, "it to go on")
