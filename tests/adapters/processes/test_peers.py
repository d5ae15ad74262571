"""K22: whose socket the other end of a connection is."""

import ipaddress
import os
import socket
from contextlib import contextmanager

import pytest

from allstop.adapters.processes import peers
from allstop.adapters.processes.diag import End, socket_at
from people import wait_for


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
    return End(ipaddress.ip_address(name[0]), name[1])


def number(each):
    return os.fstat(each.fileno()).st_ino


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
        assert socket_at(far, near) == number(client)
        assert socket_at(near, far) == number(accepted)
        assert peers._in_tables(far, near) == {str(number(client))}

        client.close()
        wait_for(lambda: socket_at(far, near) == 0, "nobody to hold it")
        assert peers._in_tables(far, near) == {peers.NOBODY}


def test_k22_what_is_not_there_is_not_named():
    with connected(socket.AF_INET, "127.0.0.1") as (_, _, far, near):
        nobody = End(far.host, 1)

        assert socket_at(nobody, near) is None
        assert socket_at(near, nobody) is None, "it listens, but that is no connection"
        assert peers._in_tables(nobody, near) == set()


def test_k22_a_connection_of_ours_is_no_agents_and_one_of_nobody_is(tmp_path):
    with connected(socket.AF_INET, "127.0.0.1") as (client, _, _, _):
        peer, own = client.getsockname(), client.getpeername()
        assert not peers.comes_from_work(tmp_path, peer, own)

        client.close()
        wait_for(lambda: peers.comes_from_work(tmp_path, peer, own), "that nobody can say")
