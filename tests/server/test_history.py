"""History over the API: past states of a run, repeated decisions, its diff."""

import pytest

from support.control_room import ControlRoom, settled
from support.person import at_home, wait_for

SCRIPT = """
[[turn]]
steps = [
  { write = "lexer.txt", text = "lexer\\n" },
  { use = { input = 900, output = 100 } },
  { signal = "PROGRESS: 40% the lexer is there" },
]

[[turn]]
steps = [
  { ask = "make parser" },
  { write = "parser.txt", text = "parser\\n" },
  { signal = "COMPLETE" },
]
"""
AUTO = '[auto]\ncooldown_s = 0\nreview = "never"\n[budget]\nturns = 20\n'
GOAL = {"kind": "auto", "goal": "Write a parser"}


@pytest.fixture(scope="module")
def room(tmp_path_factory):
    """A thread that was asked something, answered, and is over."""
    person = at_home(tmp_path_factory.mktemp("back"))
    person.script(SCRIPT, AUTO)
    person.commit()
    person.allstop("trust", "--yes")
    room = ControlRoom(person)
    assert room.post("/runs", GOAL).status == 200
    wait_for(lambda: room.read("/runs/auto1")["detail"]["asks"], "it asks", 30)
    room.asked = room.read("/runs/auto1")["detail"]
    room.do("auto1", "allow", ask=room.asked["asks"][0]["ask"]["id"])
    settled(room, "auto1", "done")
    yield room
    room.person.close()


def at(room, seq):
    return room.read(f"/runs/auto1/at?seq={seq}")


def test_f10_a_thread_says_what_was_decided_and_what_it_asks(room):
    thread = room.asked

    assert thread["agent"] == "demo"
    assert thread["policy"] == "rules"
    assert thread["decision"]["action"] == "continue"
    assert thread["limits"]["turns"] == 20
    (asking,) = thread["asks"]
    assert asking["ask"]["argv"] == ["make", "parser"]
    assert asking["since"] < asking["until"]


def test_u2_every_moment_is_what_the_record_said_then(room):
    last = room.read("/runs/auto1")["seq"]
    moments = [at(room, seq) for seq in range(1, last + 1)]

    statuses = [moment["run"]["status"] for moment in moments]
    asking = [moment["seq"] for moment in moments if moment["detail"]["asks"]]
    events = room.read("/runs/auto1/events")["events"]
    asked = [event["seq"] for event in events if event["type"] == "asked"]
    turns = [moment["run"]["tally"].get("turns", 0) for moment in moments]
    assert statuses[0] == "running"
    assert statuses[-1] == "done"
    assert asking[0] == asked[0]
    assert "waiting" in statuses
    assert turns == sorted(turns)
    assert turns[-1] == 2
    assert moments[-1]["run"]["tally"] == room.read("/runs/auto1")["run"]["tally"]


def test_u2_there_is_no_moment_after_the_last(room):
    last = room.read("/runs/auto1")["seq"]

    assert room.get(f"/runs/auto1/at?seq={last + 1}").status == 404
    assert room.get("/runs/auto1/at?seq=0").status == 422
    assert room.get("/runs/nothing/at?seq=1").status == 404


def test_f7_decisions_come_out_the_same(room):
    replayed = room.read("/runs/auto1/replay")

    assert replayed["decisions"] > 3
    assert replayed["differences"] == []


def test_f10_a_threads_work_is_shown_also_when_it_is_merged(room):
    assert "parser.txt" in room.person.git("ls-tree", "--name-only", "main")

    diff = room.read("/runs/auto1/diff")

    assert [file["path"] for file in diff["files"]] == ["lexer.txt", "parser.txt"]
    assert room.get("/runs/auto1%2Fmerge1/diff").status == 404
