"""R15, R19: the stream's events about a room: its state and its live text."""

import pytest

from support.control_room import ControlRoom
from support.room_models import person_with_models, says, to

THINKS = "{ sleep = 0.2 }, "


@pytest.fixture
def room(tmp_path):
    """gpt and claude by scripts: each says an envelope, which streams in as it is written."""
    person = person_with_models(tmp_path)
    person.scripts(
        gpt=[THINKS + says("First, **bread**.", **to("claude", "Go on."))],
        claude=[THINKS + says("Then butter.", final=True)],
    )
    room = ControlRoom(person)
    yield room
    person.close()


@pytest.fixture
def heard(room):
    """All that the stream said of one session."""
    with room.listen("?run=room:default") as stream:
        stream.next()
        room.post("/runs", {"kind": "room", "goal": "Breakfast"})
        return stream.until(lambda event: event.kind == "talk" and event.data["last"])


def test_r19_words_in_flight_name_the_call_that_they_answer(heard):
    calls = [e.data for e in heard if e.kind == "room" and e.data["type"] == "agent_call"]
    live = [e.data for e in heard if e.kind == "live"]

    said = {
        call["target"]: "".join(e["text"] for e in live if e["call"] == call["call_id"])
        for call in calls
    }
    assert said == {"gpt": "First, **bread**.", "claude": "Then butter."}
    assert {e["call"] for e in live} == {call["call_id"] for call in calls}


def test_r19_where_a_session_stands_is_said_after_every_turn(heard, room):
    talks = [e.data for e in heard if e.kind == "talk"]
    counted = [e["session"]["turns"] for e in talks if e["session"]]
    (now,) = room.read("/rooms")["rooms"]

    assert list(dict.fromkeys(counted)) == [0, 1]
    assert {e["session"]["max_rounds"] for e in talks if e["session"]} == {6}
    assert talks[-1]["session"] is None
    assert talks[-1]["last"] == now["last"]
    assert (now["last"]["reason"], now["last"]["turns"]) == ("final", 2)


def test_r19_words_of_a_room_that_a_terminal_drives_are_heard_as_well(room):
    with room.listen("?run=room:default") as stream:
        stream.next()
        terminal = room.person.start("room", "Breakfast")
        heard = stream.until(lambda event: event.kind == "talk" and event.data["last"])
        assert terminal.wait(60) == 0

    calls = [e.data for e in heard if e.kind == "room" and e.data["type"] == "agent_call"]
    live = [e.data for e in heard if e.kind == "live"]
    said = {
        call["target"]: "".join(e["text"] for e in live if e["call"] == call["call_id"])
        for call in calls
    }
    assert said == {"gpt": "First, **bread**.", "claude": "Then butter."}
