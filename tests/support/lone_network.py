"""A program of its own: runs a command in a network of its own and names every place it sends to.

In that network every address is this machine's, so that nothing is refused for lack of a route
and each packet passes the loopback, where it is seen. It prints one line of JSON at the end.
"""

import fcntl
import json
import socket
import struct
import subprocess
import sys
import threading
from ipaddress import ip_address

SET_FLAGS, UP_AND_RUNNING = 0x8914, 0x41
NEW_ROUTE, CREATE_AND_ACKNOWLEDGE = 24, 0x405
LOCAL_TABLE, BOOT, HOST_SCOPE, LOCAL_ROUTE, OUT_DEVICE, LOOPBACK = 255, 3, 254, 2, 4, 1
IPV4, IPV6 = 0x0800, 0x86DD


def make_every_address_local():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
        fcntl.ioctl(end, SET_FLAGS, struct.pack("16sH14x", b"lo", UP_AND_RUNNING))
    for family in (socket.AF_INET, socket.AF_INET6):
        route = struct.pack(
            "8BI", family, 0, 0, 0, LOCAL_TABLE, BOOT, HOST_SCOPE, LOCAL_ROUTE, 0
        ) + struct.pack("HHI", 8, OUT_DEVICE, LOOPBACK)
        head = struct.pack("IHHII", 16 + len(route), NEW_ROUTE, CREATE_AND_ACKNOWLEDGE, 1, 0)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as netlink:
            netlink.send(head + route)
            (error,) = struct.unpack_from("i", netlink.recv(4096), 16)
            assert error == 0, error


def destination(packet):
    (kind,) = struct.unpack_from("!H", packet, 12)
    if kind == IPV4:
        return ip_address(packet[30:34])
    return ip_address(packet[38:54]) if kind == IPV6 else None


def watch(seen, listening):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as wire:
        wire.bind(("lo", 0))
        listening.set()
        while True:
            if (place := destination(wire.recv(65_535))) is not None and not place.is_loopback:
                seen.add(str(place))


def main():
    make_every_address_local()
    seen, listening = set(), threading.Event()
    threading.Thread(target=watch, args=(seen, listening), daemon=True).start()
    listening.wait()
    done = subprocess.run(sys.argv[1:], capture_output=True, text=True, check=False)
    ends = {"code": done.returncode, "out": done.stdout, "err": done.stderr, "seen": sorted(seen)}
    print(json.dumps(ends))


if __name__ == "__main__":
    main()
