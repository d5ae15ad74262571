"""Attempts to reach who listens outside of the box."""

import os
import socket

from escape_files import read

VSOCK, PACKET, CRYPTO = 40, 17, 38
SERVICES = (
    "/run/docker.sock",
    "/run/podman/podman.sock",
    "/run/containerd/containerd.sock",
    "/run/dbus/system_bus_socket",
    "/run/systemd/private",
    "/run/systemd/journal/socket",
    "/run/udev/control",
    "/run/nscd/socket",
    "/tmp/.X11-unix/X0",
)


def connect(family, address, kind=socket.SOCK_STREAM):
    with socket.socket(family, kind) as end:
        end.settimeout(2)
        end.connect(address)


def connect_near(path):
    """By its folder, since the name of a socket must be short."""
    folder = os.open(os.path.dirname(path), os.O_PATH)
    connect(socket.AF_UNIX, f"/proc/self/fd/{folder}/{os.path.basename(path)}")


def tell(family, address):
    """A datagram has arrived when it made somebody write its mark down."""
    with socket.socket(family, socket.SOCK_DGRAM) as end:
        end.settimeout(2)
        end.connect(address)
        end.send(b"hello")
        return end.recv(5) == b"hello"


def make(family, kind):
    socket.socket(family, kind).close()


def other_networks():
    return [name for _, name in socket.if_nameindex() if name != "lo"]


def attempts(at):
    tcp, udp = at["port"], at["datagrams"]
    named, plain = at["abstract"], at["abstract_datagrams"]
    return {
        "reach a socket in the file system": lambda: connect_near(at["socket"]),
        "reach it through our own root": lambda: connect_near(f"/proc/self/root{at['socket']}"),
        "reach the agent of ssh": lambda: connect_near(os.environ.get("SSH_AUTH_SOCK", "/none/x")),
        "reach the bell of a run": lambda: connect_near(at["bell"]),
        "reach an abstract socket": lambda: connect(socket.AF_UNIX, "\0" + named),
        "reach an abstract socket by datagrams": lambda: connect(
            socket.AF_UNIX, "\0" + plain, socket.SOCK_DGRAM
        ),
        "reach the desktop": lambda: connect(socket.AF_UNIX, "\0" + at["desktop"]),
        "reach a port of the host": lambda: connect(socket.AF_INET, ("127.0.0.1", tcp)),
        "reach a port by datagrams": lambda: tell(socket.AF_INET, ("127.0.0.1", udp)),
        "see other networks": other_networks,
        "see who is connected": lambda: read("/proc/net/tcp") and f":{tcp:04X} " in tcp_table(),
        "reach the machine below": lambda: make(VSOCK, socket.SOCK_STREAM),
        "listen to the wire": lambda: make(PACKET, socket.SOCK_RAW),
        "write to the wire": lambda: make(socket.AF_INET, socket.SOCK_RAW),
        "use the kernel's cipher": lambda: make(CRYPTO, socket.SOCK_SEQPACKET),
        **{f"reach {path}": lambda path=path: connect(socket.AF_UNIX, path) for path in SERVICES},
    }


def tcp_table():
    with open("/proc/net/tcp") as file:
        return file.read()
