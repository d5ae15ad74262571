"""A real PostgreSQL server in a temporary folder, and a fresh database for each test."""

import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

SUPERUSER = "allstop"
PASSWORD = "correct horse"
"""What connections by TCP have to give; those by the socket need none."""

START_S = 60

_HBA = """
local all all trust
host all all {address}/24 scram-sha-256
host replication all {address}/24 trust
"""

_SETTINGS = """
fsync = off
full_page_writes = off
max_connections = 60
shared_buffers = 16MB
timezone = 'UTC'
"""


def programs_folder():
    """The folder that holds initdb, pg_ctl and postgres; Debian puts none of them in PATH."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent  # the others stand beside it
    by_version = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3])
    )
    if not by_version:
        raise RuntimeError("PostgreSQL isn't installed; `make test` installs it")
    return by_version[-1].parent


class Server:
    """One server for all tests of a process; it listens on a socket and on a port of loopback.

    It keeps nothing on disk safe from a crash of the machine, which makes it quick. A killed server
    loses nothing all the same: the kernel has what it wrote.
    """

    def __init__(self, prefix=(), address="127.0.0.1", follows=None):
        """`prefix` makes its programs run in namespaces that have this address.

        With `follows` it is a standby of that server, which confirms nothing that this one lacks.
        """
        self._prefix, self._address = prefix, address
        self._numbers = itertools.count(1)
        # a socket's path may have at most 107 bytes, and PostgreSQL refuses to run as root
        self.folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
        self._user = {}
        if os.getuid() == 0:
            shutil.chown(self.folder, "nobody", "nogroup")
            if prefix:
                nobody = pwd.getpwnam("nobody")
                self._prefix = (*prefix, f"--setuid={nobody.pw_uid}", f"--setgid={nobody.pw_gid}")
            else:
                self._user = {"user": "nobody", "group": "nogroup", "extra_groups": []}
        self._data = self.folder / "data"
        self._programs = programs_folder()
        self.port = free_port()
        if follows is None:
            self._create()
        else:
            self._copy(follows)
        (self._data / "pg_hba.conf").write_text(_HBA.format(address=address))
        with (self._data / "postgresql.conf").open("a") as settings:
            settings.write(
                f"{_SETTINGS}port = {self.port}\nlisten_addresses = '{address}'\n"
                f"unix_socket_directories = '{self.folder}'\n"
            )
        self.start()
        if follows is not None:
            follows.execute("alter system set synchronous_standby_names = '*'")
            follows.execute("select pg_reload_conf()")

    def _create(self):
        password_file = self.folder / "password"
        password_file.write_text(PASSWORD)
        self._run(
            *("initdb", "-D", self._data, "-U", SUPERUSER, "-A", "trust"),
            *("-E", "UTF8", "--locale=C", "--no-sync", f"--pwfile={password_file}"),
        )

    def _copy(self, server):
        at = ("-h", server._address, "-p", server.port, "-U", SUPERUSER)
        self._run("pg_basebackup", "-D", self._data, *at, "-R", "-X", "stream", "-c", "fast")
        (self._data / "postgresql.auto.conf").chmod(0o600)

    def promote(self):
        """Take over from the server that this one follows."""
        self.execute("alter system reset synchronous_standby_names")
        self._run("pg_ctl", "-w", "-t", START_S, "-s", "-D", self._data, "promote")

    def start(self):
        log = self.folder / "log"
        self._run("pg_ctl", "-w", "-t", START_S, "-s", "-D", self._data, "-l", log, "start")

    def use_tls(self, certificate, key):
        """Take connections by TCP only with TLS, from now on."""
        for file, name in ((certificate, "server.crt"), (key, "server.key")):
            kept = self._data / name
            shutil.copy(file, kept)
            kept.chmod(0o600)
            if self._user:
                shutil.chown(kept, "nobody", "nogroup")
        with (self._data / "postgresql.conf").open("a") as settings:
            settings.write("ssl = on\n")
        rules = _HBA.replace("host all", "hostssl all").format(address=self._address)
        (self._data / "pg_hba.conf").write_text(rules)
        self.stop()
        self.start()

    def stop(self, mode="fast"):
        """End the server; `immediate` is what a crash of it looks like."""
        self._run("pg_ctl", "-w", "-t", START_S, "-s", "-D", self._data, "-m", mode, "stop")

    def remove(self):
        if (self._data / "postmaster.pid").exists():
            self.stop("immediate")
        shutil.rmtree(self.folder)

    def url(self, database, user=SUPERUSER):
        """The address of a database by the server's socket."""
        return f"postgresql://{user}@/{database}?host={self.folder}&port={self.port}"

    def tcp_url(self, database, user=SUPERUSER, password=PASSWORD, port=None):
        """The address by loopback, where a password is needed."""
        secret = password.replace(" ", "%20")
        return f"postgresql://{user}:{secret}@{self._address}:{port or self.port}/{database}"

    def new_database(self, template="template1"):
        """Create a database and return its name."""
        name = f"test_{next(self._numbers)}"
        self.execute(f'create database "{name}" template "{template}"')
        return name

    def drop_database(self, name):
        self.execute(f'drop database if exists "{name}" with (force)')

    def execute(self, sql, database="postgres", user=SUPERUSER):
        """Run a statement, and return its output: one line for each row."""
        url = self.url(database, user)
        return self._run("psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", sql, url)

    def _run(self, program, *arguments):
        done = subprocess.run(
            [*self._prefix, self._programs / program, *map(str, arguments)],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            # a pipe would stay open as long as the server
            stdout=subprocess.PIPE if program == "psql" else subprocess.DEVNULL,
            stderr=subprocess.PIPE if program == "psql" else subprocess.DEVNULL,
            text=True,
            check=False,
            **self._user,
        )
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr or self._log()}")
        return done.stdout or ""

    def _log(self):
        log = self.folder / "log"
        return log.read_text() if log.exists() else "no log"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
