"""K22: the owner of the other end of a connection."""

import ipaddress
import os
import socket
from contextlib import asynccontextmanager, contextmanager

import pytest
from msgspec.structs import replace

from adapters.processes.launch_fixture import until_ready
from allstop.adapters.processes.launcher import ProcessLauncher
from allstop.adapters.processes.socket_owner import connection_peers
from allstop.adapters.processes.socket_owner.connection_peers import ConnectionPeers
from allstop.adapters.processes.socket_owner.socket_diag import Endpoint, Socket, socket_at
from allstop.adapters.processes.unboxed.unboxed_program import unboxed
from allstop.ports import Isolation, Network
from support.person import wait_for


@contextmanager
def connected(family, host, to=None):
    """A client and what was accepted of it; the client's end, and the server's."""
    with socket.socket(family) as server:
        server.bind((host, 0))
        server.listen()
        port = server.getsockname()[1]
        with socket.socket(socket.AF_INET6 if to else family) as client:
            client.connect((to or host, port))
            accepted, _ = server.accept()
            with accepted:
                far, near = client.getsockname(), accepted.getsockname()
                yield client, accepted, end(far), end(near)


def end(name):
    return Endpoint(ipaddress.ip_address(name[0]), name[1])


def named(each):
    return Socket(inode=os.fstat(each.fileno()).st_ino, user=os.geteuid())


HIDING = """
import array, os, signal, socket, sys
client = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
client.sendall(b"x")
match sys.argv[2]:
    case "on its way to itself":
        to, back = socket.socketpair()
        rights = array.array("i", [client.fileno()])
        to.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        client.close()
    case "in one process after another":
        if os.fork() == 0:
            while os.fork() == 0:
                pass
            os._exit(0)
        client.close()
print("ready", flush=True)
signal.pause()
"""


@asynccontextmanager
async def reached_by(launcher, launch, how):
    """What a program connects to in that way: its end of the connection, and ours."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        launch = replace(launch, argv=(*launch.argv, port, how))
        async with launcher.launch(launch) as child:
            await until_ready(child)
            accepted, peer = server.accept()
            with accepted:
                assert accepted.recv(1) == b"x"
                yield peer, accepted.getsockname()


@pytest.mark.parametrize(
    ("family", "host", "to"),
    [
        (socket.AF_INET, "127.0.0.1", None),
        (socket.AF_INET6, "::1", None),
        (socket.AF_INET, "127.0.0.1", "::ffff:127.0.0.1"),
    ],
)
def test_k22_the_kernel_and_its_tables_name_the_same_sockets(family, host, to):
    with connected(family, host, to) as (client, accepted, far, near):
        assert socket_at(far, near) == named(client)
        assert socket_at(near, far) == named(accepted)
        assert connection_peers._in_tables(far, near) == {named(client)}

        client.close()
        wait_for(lambda: socket_at(far, near).inode == 0, "nobody to hold it")
        assert {each.inode for each in connection_peers._in_tables(far, near)} == {0}


def test_k22_what_is_not_there_is_not_named():
    with connected(socket.AF_INET, "127.0.0.1") as (_, _, far, near):
        nobody = Endpoint(far.host, 1)

        assert socket_at(nobody, near) is None
        assert socket_at(near, nobody) is None, "it listens, but that is no connection"
        assert connection_peers._in_tables(nobody, near) == set()


def test_k22_a_connection_of_ours_is_no_agents_and_one_of_nobody_is():
    with connected(socket.AF_INET, "127.0.0.1") as (client, _, _, _):
        peer, own = client.getsockname(), client.getpeername()
        netlink = ConnectionPeers()
        assert not netlink.comes_from_agent(peer, own)
        assert not netlink.comes_from_agent(peer, own), "who is remembered is the same"

        client.close()
        wait_for(lambda: netlink.comes_from_agent(peer, own), "that nobody can say")


@pytest.mark.parametrize("how", ["plainly", "on its way to itself", "in one process after another"])
async def test_k22_a_box_of_any_store_is_known_however_it_holds_its_socket(
    box_folders, launcher, how
):
    """In its list of files or in none: what nobody holds is no browser's."""
    launch = box_folders.python(HIDING, network=Network.FULL)
    async with reached_by(launcher, launch, how) as (peer, own):
        found = {ConnectionPeers().comes_from_agent(peer, own) for _ in range(50)}

    assert found == {True}


async def test_k22_a_program_without_a_box_is_known_too(box_folders, host, live_dir):
    off = Isolation(boxed=False, allowed=True, how="bare")
    launcher = ProcessLauncher(isolation=off, start=unboxed(host, off), live_dir=live_dir)
    async with reached_by(launcher, box_folders.python(HIDING), "plainly") as (peer, own):
        assert ConnectionPeers().comes_from_agent(peer, own)


def test_k22_who_comes_by_another_address_of_this_machine_and_is_gone_is_refused():
    assert connection_peers._is_local(ipaddress.ip_address("127.0.0.2"))
    assert connection_peers._is_local(ipaddress.ip_address("::1"))
    assert not connection_peers._is_local(ipaddress.ip_address("192.0.2.1"))
    assert not connection_peers._is_local(ipaddress.ip_address("2001:db8::1"))
