"""Over the API: a thread that waits at its limit continues with a higher one."""

import pytest

from support.control_room import ControlRoom
from support.person import at_home, wait_for

SCRIPT = """
[[turn]]
steps = [{ write = "lexer.txt", text = "lexer\\n" }]
[[turn]]
steps = [{ write = "parser.txt", text = "parser\\n" }, { signal = "COMPLETE" }]
"""
AUTO = '[auto]\ncooldown_s = 0\nreview = "never"\n[budget]\nturns = 1\n'


@pytest.fixture
def room(tmp_path):
    person = at_home(tmp_path)
    person.script(SCRIPT, AUTO)
    person.commit()
    person.allstop("trust", "--yes")
    room = ControlRoom(person)
    yield room
    room.person.close()


def test_k6_a_thread_at_its_limit_is_allowed_more_and_goes_on(room):
    """K6: the inbox says what helps, the switch that it is off; raising the limit resumes."""
    assert room.post("/runs", {"kind": "auto", "goal": "Write a parser"}).status == 200
    wait_for(lambda: room.read("/inbox")["waiting"], "it is at its limit", 30)
    (waiting,) = room.read("/inbox")["waiting"]
    assert (waiting["kind"], waiting["options"]) == ("limit", ["limit", "abort"])
    assert waiting["do"] == "allstop limit auto1 --times 2"
    assert room.read("/runs/auto1")["detail"]["condition"] == "budget: turns: 1 of 1"
    few = room.post("/runs/auto1/commands", {"command": "limit", "turns": 1})
    assert "would still be at its limit" in str(few.json)

    assert room.do("auto1", "limit", times=3)["note"] == "at most 3 turns"

    wait_for(lambda: room.read("/runs/auto1")["run"]["outcome"] == "done", "it goes on", 30)
