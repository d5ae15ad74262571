"""Attempts on files outside of the box: to write, to read, to change, by every way there is."""

import ctypes
import mmap
import os
import struct

LIBC = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100
WATCH_ALL = 0xFFF


def write(path):
    with open(path, "w") as file:
        file.write("escaped")


def read(path):
    with open(path, "rb") as file:
        return bool(file.read(1))


def can_open(path, how=os.O_WRONLY):
    """Without writing: what is harmless where it works."""
    os.close(os.open(path, how | os.O_NONBLOCK | os.O_CLOEXEC))


def write_through_link(path):
    link = "link-to-outside"
    if not os.path.lexists(link):
        os.symlink(os.path.dirname(path), link)
    write(os.path.join(link, os.path.basename(path)))


def read_through_link(path):
    os.symlink(path, "link-to-secret")
    return read("link-to-secret")


def read_from_above(path):
    """Up from the folder it is in, further than there are folders."""
    here = os.open(".", os.O_PATH | os.O_DIRECTORY)
    number = os.open("../" * 30 + path.lstrip("/"), os.O_RDONLY, dir_fd=here)
    return bool(os.read(number, 1))


def move_out(path):
    write("mine")
    os.rename("mine", path)


def checked(result):
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


class Handle(ctypes.Structure):
    _fields_ = (("size", ctypes.c_uint), ("kind", ctypes.c_int), ("data", ctypes.c_ubyte * 128))


def open_by_handle(folder):
    """Whoever may open by handles may open any file of that disk, named or not."""
    handle, mount = Handle(size=128), ctypes.c_int()
    name = os.fsencode(folder)
    checked(LIBC.name_to_handle_at(AT_FDCWD, name, ctypes.byref(handle), ctypes.byref(mount), 0))
    there = os.open(folder, os.O_RDONLY)
    os.close(checked(LIBC.open_by_handle_at(there, ctypes.byref(handle), os.O_RDONLY)))


IO_URING_SETUP, IO_URING_ENTER = 425, 426
SUBMISSIONS, ENTRIES = 0, 0x10000000
OPENAT = 18


def open_by_ring(path):
    """The kernel opens it by itself, from a ring in memory."""
    setup = ctypes.create_string_buffer(120)
    ring = checked(LIBC.syscall(IO_URING_SETUP, 4, setup))
    offsets = struct.unpack_from(
        "<7I", setup, 40
    )  # head, tail, mask, entries, flags, dropped, array
    completions = struct.unpack_from("<6I", setup, 80)
    submitted = mmap.mmap(ring, 4096, offset=SUBMISSIONS)
    entries = mmap.mmap(ring, 4096, offset=ENTRIES)
    name = ctypes.create_string_buffer(os.fsencode(path))
    entry = struct.pack("<BBHiQQIIQ", OPENAT, 0, 0, AT_FDCWD, 0, ctypes.addressof(name), 0, 0, 7)
    entries[: len(entry)] = entry
    struct.pack_into("<I", submitted, offsets[6], 0)
    struct.pack_into("<I", submitted, offsets[1], 1)
    checked(LIBC.syscall(IO_URING_ENTER, ring, 1, 1, 1, None, 0))
    _, result = struct.unpack_from("<Qi", submitted, completions[5])
    return result >= 0


def watch(path):
    number = checked(LIBC.inotify_init())
    checked(LIBC.inotify_add_watch(number, os.fsencode(path), WATCH_ALL))


def devices():
    """Those of the machine, not those that every box has."""
    own = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "console"}
    found = []
    for name in os.listdir("/dev"):
        path = f"/dev/{name}"
        if name not in own and not os.path.isdir(path):
            can_open(path, os.O_RDONLY)
            found.append(path)
    return found


CREDENTIALS = (
    ".ssh/id_ed25519",
    ".ssh/known_hosts",
    ".gnupg/private-keys-v1.d/key",
    ".aws/credentials",
    ".kube/config",
    ".docker/config.json",
    ".config/gh/hosts.yml",
    ".config/allstop/config.toml",
    ".claude/.credentials.json",
    ".codex/auth.json",
    ".git-credentials",
    ".netrc",
    ".bash_history",
)
SYSTEM = (
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/etc/machine-id",
    "/root/.bashrc",
    "/proc/kcore",
    "/proc/kmsg",
    "/dev/kmsg",
    "/dev/mem",
    "/dev/fuse",
    "/dev/kvm",
    "/dev/loop-control",
    "/dev/net/tun",
)
FOLDERS = ("/var/lib", "/sys", "/boot", "/var/log", "/var/spool", "/var/cache", "/mnt", "/srv")
SETTINGS = (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/vm/drop_caches",
    "/proc/sysrq-trigger",
)


def attempts(at):
    home, secret, mine = at["home"], at["secret"], at["home_file"]
    return {
        "write the user's home": lambda: write(mine),
        "write the start of a shell": lambda: write(f"{home}/.bashrc"),
        "write the repository's hooks": lambda: write(at["hook"]),
        "write the repository's settings": lambda: write(at["git_config"]),
        "write a sibling": lambda: write(at["sibling_file"]),
        "write a sibling's home": lambda: write(at["sibling_home_file"]),
        "write through a link": lambda: write_through_link(mine),
        "write through our own root": lambda: write(f"/proc/self/root{mine}"),
        "write a shared object": lambda: write("/run/allstop/objects/0/planted"),
        "write a shared folder": lambda: write(f"{at['shown']}/planted"),
        "write /etc": lambda: write("/etc/planted"),
        "write /usr": lambda: write("/usr/planted"),
        "write /": lambda: write("/planted"),
        "write /run": lambda: write("/run/planted"),
        "write /var": lambda: write("/var/planted"),
        "write the record of the living": lambda: write(at["live_file"]),
        "take the STOP file away": lambda: os.unlink(at["stop"]),
        "move a file out": lambda: move_out(mine),
        "link a secret in": lambda: os.link(secret, "hard-link"),
        "make a pipe outside": lambda: os.mkfifo(mine + "-pipe"),
        "cut a secret short": lambda: os.truncate(secret, 3),
        "change a secret's mode": lambda: os.chmod(secret, 0o666),
        "change a secret's owner": lambda: os.chown(secret, os.getuid(), os.getgid()),
        "change a secret's time": lambda: os.utime(secret),
        "mark a secret": lambda: os.setxattr(secret, "user.mark", b"x"),
        "watch a secret": lambda: watch(secret),
        "read the user's secret": lambda: read(secret),
        "read it through a link": lambda: read_through_link(secret),
        "read it through our own root": lambda: read(f"/proc/self/root{secret}"),
        "read it from above": lambda: read_from_above(secret),
        "read a sibling": lambda: read(at["sibling_secret"]),
        "read the store": lambda: read(at["journal"]),
        "open by a handle": lambda: open_by_handle("."),
        "open by a ring of the kernel's": lambda: open_by_ring(secret),
        "open a ring of the kernel's": lambda: open_by_ring("."),
        "list the user's home": lambda: os.listdir(home),
        "open a device of the machine": devices,
        "make a device": lambda: os.mknod("device", 0o600 | 0o060000, os.makedev(254, 0)),
        **{f"read ~/{name}": lambda name=name: read(f"{home}/{name}") for name in CREDENTIALS},
        **{f"open {name}": lambda name=name: can_open(name, os.O_RDONLY) for name in SYSTEM},
        **{f"list {name}": lambda name=name: os.listdir(name) for name in FOLDERS},
        **{f"set {name}": lambda name=name: can_open(name) for name in SETTINGS},
    }
