"""Attempts on processes outside of the box, and on what a process inherits."""

import ctypes
import fcntl
import os
import platform
import resource
import subprocess
import termios

from escape_files import LIBC, checked, read

PTRACE_SEIZE, PTRACE_DETACH = 0x4206, 17
PIDFD_GETFD = 438
KEYS = (250, 248) if platform.machine() == "x86_64" else (219, 217)  # keyctl, add_key
SEARCH, READ_KEY, JOIN = 10, 11, 1
SESSION, USER = -3, -4
EFAULT = 14


def trace(pid):
    checked(LIBC.ptrace(PTRACE_SEIZE, pid, 0, 0))
    LIBC.ptrace(PTRACE_DETACH, pid, 0, 0)


def take_descriptor(pid):
    handle = os.pidfd_open(pid)
    os.close(checked(LIBC.syscall(PIDFD_GETFD, handle, 0, 0)))


class Piece(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("size", ctypes.c_size_t))


def read_memory(pid):
    """A wrong address is an answer only to who may ask."""
    buffer = ctypes.create_string_buffer(8)
    here, there = Piece(ctypes.addressof(buffer), 8), Piece(8, 8)
    done = LIBC.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
    return done >= 0 or ctypes.get_errno() == EFAULT


def processes():
    return [name for name in os.listdir("/proc") if name.isdigit()]


def any_of(attempt):
    """Whether it works with any process that can be seen."""
    for pid in processes():
        try:
            if attempt(pid):
                return True
        except OSError:
            pass
    return False


def finds_in_environment(canary):
    def look(pid):
        with open(f"/proc/{pid}/environ", "rb") as file:
            return canary.encode() in file.read()

    return any_of(look)


def inherited(secret):
    """A descriptor that leads to what can't be named here."""
    for number in range(3, 1024):
        try:
            os.fstat(number)
        except OSError:
            continue
        where = os.readlink(f"/proc/self/fd/{number}")
        if where.startswith("/") and not where.startswith("/proc") and not os.path.exists(where):
            return True
        if where == secret:
            return True
    return False


def read_key(ring, name):
    found = checked(LIBC.syscall(KEYS[0], SEARCH, ring, b"user", name.encode(), 0))
    buffer = ctypes.create_string_buffer(64)
    return checked(LIBC.syscall(KEYS[0], READ_KEY, found, buffer, 64)) > 0


def keep_key():
    checked(LIBC.syscall(KEYS[1], b"user", b"planted", b"x", 1, USER))


def raise_limit(kind):
    resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def limit_other(pid):
    resource.prlimit(pid, resource.RLIMIT_NOFILE)


def type_for_the_person():
    """Keys that the terminal takes for the person's own."""
    for where in (0, 1, 2, "/dev/tty", "/dev/console"):
        try:
            number = where if isinstance(where, int) else os.open(where, os.O_RDWR)
            fcntl.ioctl(number, termios.TIOCSTI, b"x")
        except OSError:
            continue
        return True
    return False


def succeeds(*argv):
    done = subprocess.run(argv, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    return done.returncode == 0


def enter(pid, name):
    """A namespace of another process."""
    checked(LIBC.setns(os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY), 0))


def take_user_ids():
    """A namespace of one's own in which one has the ids of others too."""
    ours, theirs = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            checked(LIBC.unshare(0x10000000))
            os.write(ours[1], b"x")
            os.read(theirs[0], 1)
        finally:
            os._exit(0)
    os.read(ours[0], 1)
    try:
        with open(f"/proc/{child}/uid_map", "w") as file:
            file.write("0 0 65536")
    finally:
        os.write(theirs[1], b"x")
        os.waitpid(child, 0)


def attempts(at):
    pid, secret = at["controller"], at["secret"]
    return {
        "signal the controller": lambda: os.kill(pid, 0),
        "signal its group": lambda: os.killpg(at["group"], 0),
        "signal everyone's parent": lambda: os.kill(1, 9) or os.kill(pid, 0),
        "hold the controller": lambda: os.close(os.pidfd_open(pid)),
        "take a descriptor of the controller": lambda: take_descriptor(pid),
        "trace the controller": lambda: trace(pid),
        "read the controller's memory": lambda: read_memory(pid),
        "map the controller's memory": lambda: read(f"/proc/{pid}/maps"),
        "read the controller's environment": lambda: read(f"/proc/{pid}/environ"),
        "read the controller's command": lambda: read(f"/proc/{pid}/cmdline"),
        "walk the controller's root": lambda: os.listdir(f"/proc/{pid}/root"),
        "walk the controller's folder": lambda: os.listdir(f"/proc/{pid}/cwd"),
        "use the controller's descriptors": lambda: os.listdir(f"/proc/{pid}/fd"),
        "slow the controller down": lambda: os.setpriority(os.PRIO_PROCESS, pid, 19),
        "bind the controller to a core": lambda: os.sched_setaffinity(
            pid, os.sched_getaffinity(pid)
        ),
        "limit the controller": lambda: limit_other(pid),
        "find the controller's session": lambda: os.getsid(pid),
        "enter the controller's files": lambda: enter(pid, "mnt"),
        "enter the controller's network": lambda: enter(pid, "net"),
        "enter the controller's users": lambda: enter(pid, "user"),
        "read a secret by anyone's root": lambda: any_of(lambda p: read(f"/proc/{p}/root{secret}")),
        "find a key in an environment": lambda: finds_in_environment(at["canary"]),
        "find a key in one's own": lambda: at["canary"] in os.environ.values(),
        "use a descriptor that was left open": lambda: inherited(secret),
        "read the session's keyring": lambda: read_key(SESSION, at["key"]),
        "read the user's keyring": lambda: read_key(USER, at["key"]),
        "leave something in a keyring": keep_key,
        "type for the person": type_for_the_person,
        "become root": lambda: os.setuid(0),
        "join root's group": lambda: os.setgid(0),
        "join other groups": lambda: os.setgroups([0, 4, 27]),
        "become root by su": lambda: succeeds("su", "root", "-c", "true"),
        "become root by sudo": lambda: succeeds("sudo", "-n", "true"),
        "take the ids of others": take_user_ids,
        "leave core dumps": lambda: raise_limit(resource.RLIMIT_CORE),
        "lift the limit on processes": lambda: raise_limit(resource.RLIMIT_NPROC),
    }
