"""Tries to get out of the box, and prints as JSON which attempts succeeded.

escape.py TARGETS: a JSON object that names what lies outside.
"""

import ctypes
import json
import os
import socket
import subprocess
import sys

PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17


def write(path):
    with open(path, "w") as file:
        file.write("escaped")


def read(path):
    with open(path, "rb") as file:
        return bool(file.read(1))


def write_through_link(path):
    link = "link-to-outside"
    if not os.path.lexists(link):
        os.symlink(os.path.dirname(path), link)
    write(os.path.join(link, os.path.basename(path)))


def read_through_link(path):
    os.symlink(path, "link-to-secret")
    return read("link-to-secret")


def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as end:
        end.settimeout(2)
        end.connect(address)


def trace(pid):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(PTRACE_SEIZE, pid, 0, 0):
        raise OSError(ctypes.get_errno(), "ptrace")
    libc.ptrace(PTRACE_DETACH, pid, 0, 0)


def as_root_of_a_namespace(script):
    """A user namespace of one's own gives all capabilities, but only over what is one's own."""
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", script],
        capture_output=True,
    )
    if done.returncode:
        raise OSError(done.stderr)


def attempts(at):
    pid = at["controller"]
    port = at["port"]
    return {
        "write the user's home": lambda: write(at["home_file"]),
        "write the repository's hooks": lambda: write(at["hook"]),
        "write a sibling": lambda: write(at["sibling_file"]),
        "write through a link": lambda: write_through_link(at["home_file"]),
        "write a shared object": lambda: write("/run/allstop/objects/0/planted"),
        "write /etc": lambda: write("/etc/planted"),
        "write /usr": lambda: write("/usr/planted"),
        "write /": lambda: write("/planted"),
        "write the record of the living": lambda: write(at["live_file"]),
        "read the user's secret": lambda: read(at["secret"]),
        "read it through a link": lambda: read_through_link(at["secret"]),
        "read it through our own root": lambda: read(f"/proc/self/root{at['secret']}"),
        "read a sibling": lambda: read(at["sibling_secret"]),
        "read the shadow file": lambda: read("/etc/shadow"),
        "list the user's home": lambda: os.listdir(at["home"]),
        "list /var/lib": lambda: os.listdir("/var/lib"),
        "list /sys": lambda: os.listdir("/sys"),
        "signal the controller": lambda: os.kill(pid, 0),
        "signal everyone's parent": lambda: os.kill(1, 9) or os.kill(pid, 0),
        "trace the controller": lambda: trace(pid),
        "read the controller's environment": lambda: read(f"/proc/{pid}/environ"),
        "walk the controller's root": lambda: os.listdir(f"/proc/{pid}/root"),
        "reach a socket in the file system": lambda: connect(socket.AF_UNIX, at["socket"]),
        "reach an abstract socket": lambda: connect(socket.AF_UNIX, "\0" + at["abstract"]),
        "reach a port of the host": lambda: connect(socket.AF_INET, ("127.0.0.1", port)),
        "make a device": lambda: os.mknod("device", 0o600 | 0o060000, os.makedev(254, 0)),
        "become root": lambda: os.setuid(0),
        "make /usr writable": lambda: as_root_of_a_namespace(
            "mount -o remount,rw,bind /usr; touch /usr/planted"
        ),
        "make / writable": lambda: as_root_of_a_namespace("mount -o remount,rw /; touch /planted"),
        "look below /proc": lambda: as_root_of_a_namespace(f"umount /proc; ls -d /proc/{pid}/root"),
        "look below the home": lambda: as_root_of_a_namespace(
            f"umount -R /home/agent; umount -R /tmp; cat {at['secret']}"
        ),
    }


def succeeds(attempt):
    try:
        return attempt() is not False
    except OSError:
        return False


print(
    json.dumps(
        {name: succeeds(attempt) for name, attempt in attempts(json.loads(sys.argv[1])).items()}
    )
)
