"""A host around a box to attack: a home with keys, a journal, siblings, and listening sockets."""

import ctypes
import os
import platform
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, contextmanager

from adapters.processes.launch_fixture import ZOO, BoxFolders

sys.path.append(str(ZOO))
from escape_files import CREDENTIALS
from escape_kernel import SHARED_MEMORY

LIBC = ctypes.CDLL(None, use_errno=True)
KEYCTL, ADD_KEY = (250, 248) if platform.machine() == "x86_64" else (219, 217)
INVALIDATE, SESSION, USER = 21, -3, -4
MAKE_SHARED, REMOVE_SHARED = 0o1000 | 0o666, 0


@contextmanager
def outside_of(box_folders, tmp_path, live_dir):
    """The names of all that there is to be reached."""
    token = f"allstop-test-{os.getpid()}-{tmp_path.name}"
    home, store = tmp_path / "users-home", tmp_path / "repository" / ".allstop"
    git = tmp_path / "repository" / ".git"
    sibling, shown = BoxFolders.make(tmp_path / "sibling"), tmp_path / "shown"
    for folder in (home, store, git / "hooks", shown, box_folders.at):
        folder.mkdir(parents=True)
    for name in ("secret", ".bashrc", *CREDENTIALS):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"the secret of {name}")
    for file in (store / "STOP", store / "journal.db", git / "config", box_folders.at / "below"):
        file.write_text("kept")
    (sibling.workspace / "secret").write_text("the sibling's secret")
    with ExitStack() as stack:
        victim = stack.enter_context(_victim(home, token))
        yield {
            "controller": victim.pid,
            "group": victim.pid,
            "python": sys.executable,
            "canary": token,
            "home": str(home),
            "home_file": str(home / "planted"),
            "secret": str(home / "secret"),
            "hook": str(git / "hooks" / "planted"),
            "git_config": str(git / "config"),
            "stop": str(store / "STOP"),
            "journal": str(store / "journal.db"),
            "sibling_file": str(sibling.workspace / "planted"),
            "sibling_home_file": str(sibling.home / "planted"),
            "sibling_secret": str(sibling.workspace / "secret"),
            "live_file": str(live_dir / "planted"),
            "shown": str(shown),
            "at": str(box_folders.at),
            "below": str(box_folders.at / "below"),
            "key": stack.enter_context(_key(token)),
            "in_memory": stack.enter_context(_in_memory(token)),
            **_ears(stack, home, store, token),
        }


@contextmanager
def _victim(home, token):
    """A process with something to lose: a key in its environment, a secret as its input."""
    with (home / "secret").open() as secret:
        argv = [sys.executable, "-S", "-c", "import time; time.sleep(3600)"]
        with subprocess.Popen(
            argv, env={"KEY": token}, cwd=home, stdin=secret, start_new_session=True
        ) as process:
            try:
                yield process
            finally:
                assert process.poll() is None, "somebody killed it"
                process.kill()


def _ears(stack, home, store, token):
    """Sockets of every kind, with somebody behind them."""

    def listening(family, address, kind=socket.SOCK_STREAM):
        ear = stack.enter_context(socket.socket(family, kind))
        ear.bind(address)
        if kind is socket.SOCK_STREAM:
            ear.listen()
        return ear

    for folder, name in ((home, "socket"), (store, "bell")):
        os.chdir(folder)  # the name of a socket must be short
        listening(socket.AF_UNIX, name)
        os.chdir("/")
    names = {
        "abstract": token,
        "desktop": f"/tmp/.X11-unix/X{os.getpid()}{token[-8:]}",
    }
    for name in names.values():
        listening(socket.AF_UNIX, "\0" + name)
    listening(socket.AF_UNIX, f"\0{token}-datagrams", socket.SOCK_DGRAM)
    port = listening(socket.AF_INET, ("127.0.0.1", 0))
    datagrams = listening(socket.AF_INET, ("127.0.0.1", 0), socket.SOCK_DGRAM)
    stack.enter_context(_echo(datagrams))
    return {
        **names,
        "abstract_datagrams": f"{token}-datagrams",
        "socket": str(home / "socket"),
        "bell": str(store / "bell"),
        "port": port.getsockname()[1],
        "datagrams": datagrams.getsockname()[1],
    }


@contextmanager
def _echo(ear):
    """Sends back what comes, until it is told to end by an empty message."""

    def serve():
        while (came := ear.recvfrom(100))[0]:
            ear.sendto(*came)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield
    finally:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.sendto(b"", ear.getsockname())
        thread.join()


@contextmanager
def _key(name):
    """One in the keyring of this session and in that of the user."""
    made = [
        LIBC.syscall(ADD_KEY, b"user", name.encode(), b"the secret", 10, ring)
        for ring in (SESSION, USER)
    ]
    try:
        yield name
    finally:
        for key in made:
            LIBC.syscall(KEYCTL, INVALIDATE, key)


@contextmanager
def _in_memory(name):
    """A file in shared memory, and a piece of it by number."""
    path = f"/dev/shm/{name}"
    with open(path, "x"):
        pass
    piece = LIBC.shmget(SHARED_MEMORY, 4096, MAKE_SHARED)
    try:
        yield name
    finally:
        os.unlink(path)
        LIBC.shmctl(piece, REMOVE_SHARED, None)
