"""P16, P19: the holds and windows of accounts in the API, the status and the list of agents."""

import json
from datetime import timedelta

import pytest

from allstop.adapters.clock import SystemClock
from support.control_room import ControlRoom, settled
from support.person import at_home

SCRIPT = """
[[turn]]
steps = [{ rate_limit = 7200 }]
"""


@pytest.fixture
def room(tmp_path):
    person = at_home(tmp_path)
    person.script(SCRIPT)
    person.commit()
    room = ControlRoom(person)
    yield room
    person.close()


def test_p19_a_hold_is_known_to_the_api_the_status_and_the_agents(room):
    assert room.read("/accounts") == {
        "accounts": [{"name": "demo", "agents": ["demo"], "hold": None, "windows": []}]
    }

    room.post("/runs", {"kind": "auto", "goal": "work", "agent": "demo"})
    settled(room, "auto1", "waiting")

    (account,) = room.read("/accounts")["accounts"]
    assert account["hold"]["kind"] == "rate_limited"
    assert account["hold"]["announced"] is True
    until = SystemClock().now() + timedelta(hours=2)
    assert account["hold"]["until"][:10] == f"{until:%Y-%m-%d}"
    events = room.read("/runs/accounts/events")["events"]
    assert [each["type"] for each in events] == ["account_held"]
    assert "accounts" not in {run["id"] for run in room.read("/runs")["runs"]}
    status = room.person.allstop("status")
    assert "◷ account demo: held until " in status
    listed = json.loads(room.person.allstop("agents", "--json"))["accounts"]
    assert listed[0]["hold"]["until"] == account["hold"]["until"]
    assert "account_held" in room.person.allstop("log", "accounts", "--json")
    assert "is held" not in room.person.allstop("log", "auto1")
