"""Attempts that ask the kernel for more: mounts, namespaces, and what only root may do."""

import os
import subprocess
import time

from escape_files import LIBC, checked

SHARED_MEMORY = 0x5A5A
KINDS = ("devtmpfs", "debugfs", "tracefs", "securityfs", "sysfs", "efivarfs", "pstore")


def as_root_of_a_namespace(script, *more):
    """A user namespace of one's own gives all capabilities, but only over what is one's own."""
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", *more, "sh", "-ec", script],
        capture_output=True,
    )
    if done.returncode:
        raise OSError(done.stderr)


def mount_kind(kind):
    """With a network and groups of its own too, so that it may mount what belongs to these."""
    script = f"mkdir -p m; mount -t {kind} none m; ls m | grep -q ."
    as_root_of_a_namespace(script, "--net", "--cgroup", "--pid", "--fork")


def shared_memory():
    checked(LIBC.shmget(SHARED_MEMORY, 0, 0))


def set_clock():
    time.clock_settime(time.CLOCK_REALTIME, time.clock_gettime(time.CLOCK_REALTIME))


def swap():
    checked(LIBC.swapoff(b"/nothing-there"))


def leave_root():
    """Out of a root by a folder that was opened before."""
    script = "import os; up = os.open('/', 0); os.mkdir('r'); os.chroot('r'); os.fchdir(up);"
    script += "[os.chdir('..') for _ in range(30)]; os.chroot('.'); open({!r}).read()"
    return script


def attempts(at):
    pid, secret, usr = at["controller"], at["secret"], "/usr/planted"
    python, ns = at["python"], as_root_of_a_namespace
    return {
        "make /usr writable": lambda: ns(f"mount -o remount,rw,bind /usr; touch {usr}"),
        "make / writable": lambda: ns("mount -o remount,rw /; touch /planted"),
        "make what is shown writable": lambda: ns(
            f"mount -o remount,rw,bind {at['shown']}; touch {at['shown']}/planted"
        ),
        "look below /proc": lambda: ns(f"umount /proc; ls -d /proc/{pid}/root"),
        "look below the home": lambda: ns(f"umount -R /home/agent; umount -R /tmp; cat {secret}"),
        "look below the workspace": lambda: ns(f"cd /; umount -l {at['at']}; cat {at['below']}"),
        "see all processes by a new /proc": lambda: ns(
            f"mkdir p; mount -t proc p p; ls -d p/{pid}/root"
        ),
        "leave its root": lambda: ns(f'{python} -S -c "{leave_root().format(secret)}"'),
        "turn its root around": lambda: ns(
            f"mkdir -p n/old; mount --bind n n; pivot_root n n/old; /old/bin/cat /old{secret}"
        ),
        "mount for the host too": lambda: ns(
            "mkdir -p spread; mount --make-rshared /; mount -t tmpfs t spread; false"
        ),
        "enter the host": lambda: ns(f"nsenter --target {pid} --mount cat {secret}"),
        "enter by its parent": lambda: ns(f"nsenter --target 1 --all cat {secret}"),
        "make a device as root": lambda: ns("mknod device-too b 254 0; cat device-too"),
        "read a disk": lambda: ns("for d in /dev/[vsn][dv]*; do head -c1 $d; exit; done; exit 1"),
        "mount a disk": lambda: ns("mkdir d; mount /dev/vda d || mount /dev/sda d"),
        "trust the kernel's log": lambda: ns("dmesg | grep -q ."),
        "freeze by its group": lambda: ns(
            "mkdir g; mount -t cgroup2 g g; echo 0 >g/cgroup.freeze", "--cgroup"
        ),
        "find shared memory": shared_memory,
        "find a file in shared memory": lambda: os.stat(f"/dev/shm/{at['in_memory']}"),
        "set the clock": set_clock,
        "set the clock as root": lambda: ns("date --set=@$(date +%s)"),
        "name the host": lambda: ns("hostname planted"),
        "take swap away": swap,
        "load a module": lambda: ns("modprobe dummy"),
        "keep accounts": lambda: ns("accton on"),
        "change the network": lambda: ns("ip link set lo down"),
        **{f"mount {kind}": lambda kind=kind: mount_kind(kind) for kind in KINDS},
    }
