"""A program of its own: tries with plain sockets to get out of a box that has only a gateway.

`allstop gateway test` runs it in a box. It prints one JSON object: each attempt, and how it
failed; "" for one that got out. With the argument `search` it prints all that could hold a key.
It imports nothing of Allstop.
"""

import ctypes
import json
import os
import socket
import ssl
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

TIMEOUT_S = 3.0
VSOCK, PACKET = 40, 17
MACHINE_BELOW = (2, 1024)
MAX_FILE_BYTES = 4 * 1024 * 1024
IO_URING_SETUP, ENTRIES = 425, 8

NEAR = ("127.0.0.1", "127.0.0.2", "0.0.0.0")  # noqa: S104 - nothing listens there
FAR = ("10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "192.0.2.1")

ARRIVED = b"TLS arrived"
"""What the allowed host answers to TLS."""

Attempt = tuple[str, Callable[[], object]]


def connect(family: int, address: Any) -> None:
    with socket.socket(family, socket.SOCK_STREAM) as end:
        end.settimeout(TIMEOUT_S)
        end.connect(address)


def send(address: tuple[str, int]) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        end.settimeout(TIMEOUT_S)
        end.sendto(b"hello", address)
        end.recv(1)


def make(family: int, kind: int, protocol: int = 0) -> None:
    socket.socket(family, kind, protocol).close()


def look_up() -> None:
    socket.getaddrinfo("example.com", 443)


def make_ring() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(IO_URING_SETUP, ENTRIES, ctypes.create_string_buffer(120)) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def find_other_networks() -> None:
    if not [name for _, name in socket.if_nameindex() if name != "lo"]:
        raise OSError(0, "there is only the loopback")


def say(port: int, request: str) -> bytes:
    """The beginning of the gateway's answer; raises OSError unless it is 200."""
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as end:
        end.sendall(request.encode())
        head = end.recv(4096)
        status = head.partition(b"\r\n")[0].decode(errors="replace")
        if " 200 " not in f"{status} ":
            raise OSError(status or "closed")
        return head.partition(b"\r\n\r\n")[2] or end.recv(4096)


def tunnel(port: int, place: str) -> bytes:
    return say(port, f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n")


def plain(port: int, host: str) -> bytes:
    return say(port, f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n")


def neighbour(port: int, place: str) -> None:
    """Connects to another host than the tunnel is for, by the name in the first bytes of TLS."""
    context = ssl.create_default_context()
    first = ssl.MemoryBIO()
    client = context.wrap_bio(ssl.MemoryBIO(), first, server_hostname="neighbour.example")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as end:
        end.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode() + first.read())
        said = b""
        while data := end.recv(4096):
            said += data
        if ARRIVED not in said:
            raise OSError(0, "the gateway cut it")


def reach(at: dict[str, Any]) -> str:
    """What the allowed host says through the gateway; "" if it isn't reached."""
    try:
        return tunnel(at["gateway"], f"{at['allowed']}:443").decode(errors="replace")
    except OSError:
        return ""


def attempts(at: dict[str, Any]) -> Iterator[Attempt]:
    inet, inet6, unix = socket.AF_INET, socket.AF_INET6, socket.AF_UNIX
    port, datagrams = at["port"], at["datagrams"]
    for host in (*NEAR, *at["addresses"]):
        yield f"TCP to {host}:{port}", partial(connect, inet, (host, port))
    for host in FAR:
        yield f"TCP to {host}:80", partial(connect, inet, (host, 80))
    for host, link in (("::1", 0), ("::ffff:127.0.0.1", 0), ("fe80::1", 1), ("2001:db8::1", 0)):
        yield f"TCP to [{host}]:{port}", partial(connect, inet6, (host, port, 0, link))
    yield "the control room", partial(connect, inet, ("127.0.0.1", at["control_room"]))
    for host, number in (("127.0.0.1", datagrams), ("192.0.2.1", 53), ("255.255.255.255", 53)):
        yield f"UDP to {host}:{number}", partial(send, (host, number))
    yield "a lookup of example.com", look_up
    yield "another network device", find_other_networks
    yield "an abstract socket of the host", partial(connect, unix, "\0" + at["abstract"])
    yield "a socket file of the host", partial(connect, unix, at["socket_file"])
    for file in ("/run/docker.sock", "/run/dbus/system_bus_socket"):
        yield file, partial(connect, unix, file)
    yield "a vsock to the machine below", partial(connect, VSOCK, MACHINE_BELOW)
    yield "a raw socket", partial(make, inet, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    yield "a packet socket", partial(make, PACKET, socket.SOCK_RAW)
    yield "io_uring", make_ring
    for place in at.get("tunnels", ()):
        yield f"a tunnel to {place}", partial(tunnel, at["gateway"], place)
    if "tunnels" in at:
        yield "plain HTTP by the proxy", partial(plain, at["gateway"], at["allowed"])
        yield "TLS to a neighbour of the host", partial(neighbour, at["gateway"], at["beside"])


def why_not(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except OSError as error:
        return error.strerror or str(error) or type(error).__name__
    return ""


def ask(at: dict[str, Any], path: str, body: bytes) -> int:
    """The status of a request to the gateway; 0 if there was no answer."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{at['gateway']}{path}", data=body, method="POST"
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=30) as reply:
            reply.read()
            return int(reply.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def readable() -> Iterator[bytes]:
    """Everything that could hold a key: environments, command lines, and files."""
    yield repr(dict(os.environ)).encode()
    yield from map(content, Path("/proc").glob("[0-9]*/environ"))
    yield from map(content, Path("/proc").glob("[0-9]*/cmdline"))
    for top in dict.fromkeys((Path.home(), Path.cwd(), Path("/run"), Path(tempfile.gettempdir()))):
        yield from map(content, files_below(top))


def files_below(top: Path) -> Iterator[Path]:
    """Without folders that are mounted there: those are programs and what [sandbox] read shows."""
    device = top.stat().st_dev
    for folder, names, files in os.walk(top):
        names[:] = [name for name in names if device_of(f"{folder}/{name}") == device]
        yield from (Path(folder, name) for name in files)


def device_of(path: str) -> int:
    try:
        return os.lstat(path).st_dev
    except OSError:
        return -1


def content(file: Path) -> bytes:
    try:
        if not file.is_file():
            return b""
        with file.open("rb") as opened:
            return b"\n" + opened.read(MAX_FILE_BYTES)
    except OSError:
        return b""


def main() -> None:
    if sys.argv[1] == "search":
        for piece in readable():
            sys.stdout.buffer.write(piece)
        return
    at = json.loads(sys.argv[1])
    call = json.dumps({"model": "test", "input": "test"}).encode()
    picture = {"type": "input_image", "image_url": "https://other.example/?everything"}
    fetch = json.dumps({"model": "test", "input": [{"content": [picture]}]}).encode()
    tried = {name: why_not(attempt) for name, attempt in attempts(at)}
    said = {
        "tried": tried,
        "call": ask(at, "/v1/responses", call),
        "other_path": ask(at, "/v1/files", call),
        "fetch": ask(at, "/v1/responses", fetch),
        "allowed": reach(at) if "allowed" in at else "",
        "readable": b"".join(readable()).decode(errors="replace"),
    }
    sys.stdout.write(json.dumps(said))


if __name__ == "__main__":
    main()
