"""G2: sockets on a box's own loopback, served from outside, with nothing of ours in the box."""

import os
import socket

import anyio
import pytest

from adapters.processes.launch_fixture import output_of, run
from allstop.ports import GATEWAY_PORT, Network

DIALS = f"""
import socket, os
with socket.create_connection(("127.0.0.1", {GATEWAY_PORT})) as there:
    there.sendall(b"hello")
    print(there.recv(100).decode())
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asks:
    asks.sendto(b"name?", ("127.0.0.1", 53))
    print(asks.recv(100).decode())
print(open("/etc/resolv.conf").read().split()[:2])
print(sorted(os.listdir("/proc/self/fd"))[:3], len([p for p in os.listdir("/proc") if p.isdigit()]))
"""


class Echo:
    """Answers one connection and one datagram; both sockets are the box's."""

    port = GATEWAY_PORT

    def __init__(self):
        self.sockets = None

    def serve(self, sockets):
        self.sockets = sockets

    def answer(self):
        with socket.socket(fileno=self.sockets.calls) as calls:
            there, _ = calls.accept()
            with there:
                there.sendall(there.recv(100).upper())
        with socket.socket(fileno=self.sockets.names) as names:
            said, whence = names.recvfrom(100)
            names.sendto(said.upper(), whence)


async def test_g2_a_box_without_a_network_reaches_what_serves_its_loopback(launcher, box_folders):
    """G2: and it has no process or descriptor more than other boxes."""
    echo = Echo()
    launch = box_folders.python(DIALS, network=Network.NONE, gateway=echo)
    async with launcher.launch(launch) as child, anyio.create_task_group() as group:
        group.start_soon(anyio.to_thread.run_sync, echo.answer)
        out, err, code = await output_of(child)

    assert (err, code) == (b"", 0)
    assert out.decode().splitlines()[:3] == ["HELLO", "NAME?", "['nameserver', '127.0.0.1']"]
    assert out.decode().splitlines()[3] == "['0', '1', '2'] 2"


async def test_g2_nothing_on_the_host_reaches_a_boxs_loopback(launcher, box_folders):
    echo = Echo()
    launch = box_folders.launch("cat", network=Network.NONE, gateway=echo)
    async with launcher.launch(launch):
        with pytest.raises(OSError, match="refused"):
            socket.create_connection(("127.0.0.1", GATEWAY_PORT))
    for number in echo.sockets:
        os.close(number)


async def test_without_a_gateway_nothing_answers(launcher, box_folders):
    script = f'import socket\nsocket.create_connection(("127.0.0.1", {GATEWAY_PORT}))\n'
    _, err, code = await run(launcher, box_folders.python(script, network=Network.NONE))

    assert code == 1
    assert b"Connection refused" in err
