"""G11: `gateway test` tries to get out of a box, and would notice if something did."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from allstop.adapters.gateway import escape_program
from allstop.app.setup.escape_test import HostSockets
from support import lone_network


def test_g11_nothing_gets_out_of_a_box_with_a_gateway(person):
    """G2, G3, G11: and one call reaches the model, with the key that the box doesn't have."""
    tried = json.loads(person.allstop("gateway", "test", "--json"))

    assert tried["ok"], [each for each in tried["attempts"] if not each["ok"]]
    found = {each["name"]: each["found"] for each in tried["attempts"]}
    assert found["a call to the model"] == "passed on with the real key"
    assert found["names that were looked up"] == "example.com"
    assert found["with allowed hosts: an allowed host"] == "reached"
    assert found["with allowed hosts: a tunnel to inward.example:443"].startswith("HTTP/1.1 502")
    tunnels = [each for name, each in found.items() if "a tunnel to" in name]
    assert (len(tunnels), {each[:12] for each in tunnels}) == (11, {"HTTP/1.1 403", "HTTP/1.1 502"})
    assert found["a picture that the provider would fetch"] == "HTTP 400"
    assert found["with allowed hosts: TLS to a neighbour of the host"] == "the gateway cut it"
    assert len(found) > 60


def test_g11_each_box_has_its_part_of_the_list(person):
    said = person.allstop("gateway", "test")

    assert said.index("reaches only its model:") < said.index("also reaches one allowed host:")
    assert "with allowed hosts" not in said
    assert "Errno" not in said
    assert said.endswith("Nothing got out.\n")


ALONE = [sys.executable, str(Path(lone_network.__file__))]
OWN_NETWORK = ["unshare", "-n"]
if os.geteuid() != 0:
    OWN_NETWORK = ["unshare", "--map-current-user", "--keep-caps", "-n"]


def places_sent_to(*command, **how):
    """Every address besides the loopback that got a packet while the command ran; its result."""
    done = subprocess.run(
        [*OWN_NETWORK, *ALONE, *command], capture_output=True, text=True, timeout=100, **how
    )
    assert done.returncode == 0, done.stderr
    ended = json.loads(done.stdout)
    return ended["seen"], ended


def test_g2_no_byte_from_a_box_reaches_another_address(person):
    """G2: not one packet leaves, with only a model and with allowed hosts."""
    seen, ended = places_sent_to(
        *(sys.executable, "-m", "allstop", "gateway", "test", "--json"),
        cwd=person.repository,
        env=person.environment,
    )

    assert json.loads(ended["out"])["ok"], ended
    assert seen == []


def attempts_of(place):
    at = json.dumps({"port": 9, "datagrams": 9, "gateway": 9, "control_room": 9, "addresses": [],
                     "abstract": "a", "socket_file": f"{place}/s"})  # fmt: skip
    return (sys.executable, "-I", "-S", escape_program.__file__, at)


def test_g2_no_byte_leaves_a_box_without_a_network_and_no_gateway(tmp_path):
    """G2: the same attempts in a box of bubblewrap alone, as network = "none" makes it."""
    launch = """
import anyio, sys
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.ports import Box, Launch, Network
from pathlib import Path

async def main(folder, argv):
    launcher = await make_launcher("on", Path(folder) / "live")
    home = Path(folder) / "home"
    home.mkdir()
    read = (sys.prefix, sys.base_prefix, str(Path(argv[3]).parent))
    box = Box(home=str(home), network=Network.NONE, read=read)
    async with launcher.launch(Launch(argv=tuple(argv), box=box, label="x")) as child:
        while chunk := await child.receive():
            sys.stdout.write(chunk.data.decode())

anyio.run(main, sys.argv[1], sys.argv[2:])
"""
    seen, ended = places_sent_to(
        *(sys.executable, "-c", launch, str(tmp_path), *attempts_of(tmp_path))
    )

    tried = json.loads(ended["out"])["tried"]
    assert len(tried) > 25
    assert [name for name, why in tried.items() if not why] == []
    assert seen == []


def test_g2_the_same_attempts_outside_a_box_are_seen(tmp_path):
    """So a packet that got out would be noticed."""
    program = (
        "import json, sys; from allstop.adapters.gateway import escape_program as tries\n"
        "for name, attempt in tries.attempts(json.loads(sys.argv[1])):\n"
        "    name.startswith(('TCP', 'UDP')) and tries.why_not(attempt)"
    )
    seen, _ = places_sent_to(sys.executable, "-c", program, attempts_of(tmp_path)[-1])

    assert {"10.0.0.1", "169.254.169.254", "192.0.2.1", "2001:db8::1"} <= set(seen)


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
