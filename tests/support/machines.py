"""Several machines on one: each has its own network, processes, host name, home and repository.

For root the machines have networks of their own, joined by a bridge; nothing leaves them. For others
they share the network, and a proxy of each can cut its way to the server. All of it ends with the
process that made it, also if that is killed: each machine reads a pipe from it.
"""

import os
import shutil
import signal
import subprocess
from functools import cache
from pathlib import Path

from support import git_settings
from support.cut_proxy import CutProxy
from support.person import Person, alive
from support.postgres import Server, free_port
from support.repositories import make_repository

NETWORK = "198.18.0"
"""Addresses that are reserved for tests of networks; they are used in namespaces only."""

_MACHINE = ("--uts", "--ipc", "--pid", "--mount", "--mount-proc")
_ENTERED = ("--user", "--net", "--uts", "--ipc", "--pid", "--mount")
_USER = ("--user", "--map-current-user", "--keep-caps")
_ADDRESS = f"{NETWORK}.1"
_READ_TO_END = "echo ready; exec cat >/dev/null"

_LOW_PIDS = "for pid in 2 3 4 5; do sleep infinity & done"
"""As root, bwrap looks into /proc/3 of the machine, whatever that is: there must be one."""


@cache
def has_networks():
    """Whether this process may make networks here; TEST_NETWORKS=no says that it may not."""
    words = ["unshare", "--net", "ip", "link", "add", "name", "v0", "type", "veth"]
    may_try = os.environ.get("TEST_NETWORKS") != "no" and os.getuid() == 0 and shutil.which("ip")
    return bool(may_try) and subprocess.run(words, capture_output=True, check=False).returncode == 0


class Namespaces:
    """Namespaces that end with this process, or when they are closed."""

    def __init__(self, *kinds, setup="true"):
        words = ["unshare", *kinds, "--fork", "--kill-child"]
        self._first = subprocess.Popen(
            [*words, "sh", "-c", f"{_LOW_PIDS}; {setup} && {_READ_TO_END}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._first.stdout.readline() == "ready\n"
        self.pid = _only_child(self._first.pid)
        self._kinds = [kind for kind in kinds if kind in _ENTERED]
        if "--user" in kinds:
            self._kinds.append("--preserve-credentials")

    @property
    def prefix(self):
        """What makes a command run in them."""
        return ("nsenter", f"--target={self.pid}", *self._kinds)

    def ip(self, *words):
        """Change their network."""
        inside = ("nsenter", f"--target={self.pid}", "--net")  # pids are named as they are here
        subprocess.run([*inside, "ip", *words], check=True, capture_output=True, text=True)

    def close(self):
        """All processes in them are killed, as by the switch of a machine."""
        if self._first.poll() is None:
            self._first.stdin.close()
            self._first.wait(30)
        self._first.stdout.close()


def _only_child(pid):
    (child,) = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return int(child)


class Machine(Person):
    """One of the machines, with a clone of the repository; its user is a person."""

    def __init__(self, place, number, url, cable):
        self.name = f"m{number}"
        self.cable = cable
        super().__init__(place / self.name, place / self.name / "project")
        self.repository.mkdir(parents=True)
        self.home.chmod(0o700)
        self.runs_here = False
        at = ("env", f"--chdir={self.repository}")  # entering a namespace of mounts ends at /
        self.prefix = (*cable.inside.prefix, *at)
        self.variables["ALLSTOP_STORE_URL"] = url

    @property
    def agents(self):
        """The command lines of programs that its agents run."""
        return alive(f"{self.home}/bin/my-agent")

    def cut(self):
        """From now on nothing leaves it or arrives, and nobody is told."""
        self.cable.cut()

    def mend(self):
        self.cable.mend()

    def kill(self, started):
        """End a started command at once, and leave what it started."""
        self._signal(started, signal.SIGKILL)

    def freeze(self, started):
        self._signal(started, signal.SIGSTOP)

    def thaw(self, started):
        self._signal(started, signal.SIGCONT)
        started.send_signal(signal.SIGCONT)  # nsenter stands still with its child

    def _signal(self, started, number):
        os.kill(_only_child(started.pid), number)

    def turn_off(self):
        """All its processes end in the same moment, without a word to anybody."""
        for process in self.started:  # nsenter may stand still, and then waits for no child
            process.kill()
        self.cable.inside.close()

    def close(self):
        self.turn_off()
        self.cable.close()
        super().close()


class Cable:
    """A machine's processes, and its way to the bridge."""

    def __init__(self, bridge, number):
        self._bridge, self._outer = bridge, f"v{number}"
        setup = f"hostname m{number} && ip link set lo up"
        self.inside = Namespaces("--net", *_MACHINE, setup=setup)
        inner = ("peer", "name", "eth0", "netns", str(self.inside.pid))
        bridge.ip("link", "add", self._outer, "type", "veth", *inner)
        self.inside.ip("address", "add", f"{NETWORK}.{10 + number}/24", "dev", "eth0")
        self.inside.ip("link", "set", "eth0", "up")
        bridge.ip("link", "set", self._outer, "up")
        self.mend()

    def cut(self):
        self._bridge.ip("link", "set", self._outer, "nomaster")

    def mend(self):
        self._bridge.ip("link", "set", self._outer, "master", "bridge")

    def close(self):
        self.inside.close()


class Proxied:
    """A machine's processes; its connections to the server pass a proxy."""

    def __init__(self, port, number):
        user = _USER if os.getuid() else ()
        self.inside = Namespaces(*user, *_MACHINE, setup=f"hostname m{number}")
        self._proxy = CutProxy(port)
        self.port = self._proxy.port
        self.cut, self.mend = self._proxy.cut, self._proxy.mend

    def close(self):
        self.inside.close()
        self._proxy.close()


class Remote:
    """A repository that `git daemon` serves to all machines."""

    def __init__(self, place, prefix, address):
        self.folder = place / "remote.git"
        first = place / "first"
        first.mkdir()
        make_repository(first, "hello\n")
        _git(place, "clone", "-q", "--bare", first, self.folder)
        self._prefix, self._address = prefix, address
        self._port = free_port()
        self.url = f"git://{address}:{self._port}/remote.git"
        self.start()

    def start(self):
        place = self.folder.parent
        self._daemon = subprocess.Popen(
            [*self._prefix, "git", "daemon", f"--listen={self._address}", f"--port={self._port}",
             "--reuseaddr", "--export-all", "--enable=receive-pack", f"--base-path={place}"],
            env={**os.environ, **git_settings.VARIABLES},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip

    def stop(self):
        """From now on nobody answers there."""
        if self._daemon.poll() is None:
            os.killpg(self._daemon.pid, signal.SIGKILL)
            self._daemon.wait()

    def git(self, *arguments):
        return _git(self.folder, *arguments)

    def merged(self):
        """The tasks that were merged, the latest last."""
        trailers = "--format=%(trailers:key=Allstop-Task,valueonly)"
        return self.git("log", "--first-parent", "--reverse", trailers, "main").split()


def _git(place, *arguments):
    done = subprocess.run(
        ["git", *map(str, arguments)], cwd=place, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


class Machines:
    """Some machines, and a database that all of them reach."""

    def __init__(self, place, count=3, *, lease_s=None, has_standby=False):
        """With a lease they are a fleet, and share a repository, too."""
        self._bridge = self._make_bridge() if has_networks() else None
        prefix = self._bridge.prefix if self._bridge else ()
        address = self._address = _ADDRESS if self._bridge else "127.0.0.1"
        self.all = []
        self.remote = None
        self._lease_s = lease_s
        self.server = Server(prefix=prefix, address=address)
        self.standby = None
        try:
            if lease_s is not None:
                self.remote = Remote(place, prefix, address)
            self.database = self.server.new_database()
            if has_standby:
                self.standby = Server(prefix=prefix, address=address, follows=self.server)
            for number in range(1, count + 1):
                self.all.append(self._make_machine(place, number))
        except BaseException:
            self.close()
            raise

    def __iter__(self):
        return iter(self.all)

    def _make_bridge(self):
        up = "ip link set lo up && ip link add bridge type bridge"
        up = f"{up} && ip address add {_ADDRESS}/24 dev bridge && ip link set bridge up"
        return Namespaces("--net", *_MACHINE, setup=up)

    def _make_machine(self, place, number):
        cable = Cable(self._bridge, number) if self._bridge else Proxied(self.server.port, number)
        port = None if self.standby else getattr(cable, "port", None)
        url = f"{self.server.tcp_url(self.database, port=port)}?sslmode=disable"  # it is trusted
        if self.standby is not None:
            one, other = (f"{self._address}:{each.port}" for each in (self.server, self.standby))
            url = url.replace(one, f"{one},{other}") + "&target_session_attrs=read-write"
        machine = Machine(place, number, url, cable)
        if self.remote is None:
            make_repository(machine.repository, "hello\n")
        else:
            _git(place, "clone", "-q", self.remote.folder, machine.repository)
            machine.git("remote", "set-url", "origin", self.remote.url)
            settings = f'[fleet]\nremote = "origin"\n[store]\nlease_s = {self._lease_s}\n'
            (machine.home / ".config" / "allstop").mkdir(parents=True)
            (machine.home / ".config" / "allstop" / "config.toml").write_text(settings)
        return machine

    def clerk(self, machine):
        """A machine's user whose commands run here, and reach the server by its socket."""
        clerk = Person(machine.home, machine.repository)
        url = self.server.url(self.database)
        clerk.variables = {**machine.variables, "ALLSTOP_STORE_URL": url}
        return clerk

    def agent(self, text, settings):
        """Configure `text`, a shell script, as the agent of a fleet's machines."""
        first, *others = self.all
        first.agent(text, settings)
        first.commit()
        first.git("push", "-q", self.remote.folder, "main")
        for machine in others:
            machine.program("my-agent", "#!/bin/sh\n" + text)
            machine.git("pull", "-q", "--ff-only", self.remote.folder, "main")

    def close(self):
        for machine in self.all:
            machine.close()
        if self.remote:
            self.remote.stop()
        for server in filter(None, (self.standby, self.server)):
            server.remove()
        if self._bridge:
            self._bridge.close()
