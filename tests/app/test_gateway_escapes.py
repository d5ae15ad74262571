"""G11: `gateway test` tries to get out of a box, and would notice if something did."""

import json
import socket

from allstop.adapters.gateway import escape_program
from allstop.app.setup.escape_test import HostSockets


def test_g11_nothing_gets_out_of_a_box_with_a_gateway(person):
    """G2, G3, G11: and one call reaches the model, with the key that the box doesn't have."""
    tried = json.loads(person.allstop("gateway", "test", "--json"))

    assert tried["ok"], [each for each in tried["attempts"] if not each["ok"]]
    found = {each["name"]: each["found"] for each in tried["attempts"]}
    assert found["a call to the model"] == "passed on with the real key"
    assert found["names that were looked up"] == "example.com"
    assert len(found) > 25


def test_g11_outside_a_box_the_same_program_gets_out():
    """So a box that doesn't hold would be noticed."""
    with HostSockets() as sockets:
        at = {**sockets.places, "gateway": 9, "control_room": 9, "addresses": []}
        tries = dict(escape_program.attempts(at))
        names = [
            f"TCP to 127.0.0.1:{at['port']}",
            "an abstract socket of the host",
            "a socket file of the host",
        ]
        why_not = [escape_program.why_not(tries[name]) for name in names]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.sendto(b"hello", ("127.0.0.1", at["datagrams"]))
        arrived = sockets.arrived()

    assert why_not == ["", "", ""]
    assert set(arrived) == {"TCP", "UDP", "an abstract socket", "a socket file"}


def test_g11_without_a_sandbox_it_says_so(person):
    person.write("allstop.toml", "[sandbox]\nmode = 'off'\n")
    person.commit()
    person.allstop("trust", "--yes")

    said = person.allstop("gateway", "test", "--json", code=2)

    assert json.loads(said)["error"]["code"] == "gateway_needs_sandbox"
