"""A fleet on one machine: a shared remote, a database, and persons with clones of their own.

Agents run without a sandbox, so that their scripts can wait for each other with files.
"""

import subprocess

from support.person import MERGE_AT_ONCE, Person, wait_for
from support.repositories import make_repository

OWN_SETTINGS = '[fleet]\nremote = "origin"\n[store]\nlease_s = {lease_s}\n'


class Fleet:
    """Each machine is a person with a home of their own; their processes run here."""

    def __init__(self, place, url):
        self.place = place
        self.url = url
        self.remote = place / "remote.git"
        self._machines = {}
        first = place / "first"
        first.mkdir()
        make_repository(first, "hello\n")
        subprocess.run(["git", "clone", "-q", "--bare", str(first), str(self.remote)], check=True)

    def machine(self, name, lease_s=30):
        """A machine with a clone; the agent's program must be put on it."""
        home = self.place / name
        (home / ".config" / "allstop").mkdir(parents=True)
        home.chmod(0o700)
        settings = OWN_SETTINGS.format(lease_s=lease_s)
        (home / ".config" / "allstop" / "config.toml").write_text(settings)
        person = Person(home, home / "project")
        person.variables = {"ALLSTOP_STORE_URL": self.url, "ALLSTOP_SANDBOX_MODE": "off"}
        subprocess.run(["git", "clone", "-q", str(self.remote), str(person.repository)], check=True)
        self._machines[name] = person
        return person

    def agent(self, text, settings=MERGE_AT_ONCE, **more):
        """Configure `text`, a shell script, as the agent; every machine made so far gets it."""
        first, *others = self._machines.values()
        first.agent(text, settings, **more)
        first.commit()
        first.git("push", "-q", "origin", "main")
        for person in others:
            person.program("my-agent", "#!/bin/sh\n" + text)
            person.git("pull", "-q", "--ff-only")

    def worker(self, name, *options, **more):
        """Start a worker on a machine, which is made if there is none; the process."""
        person = self._machines.get(name) or self.machine(name, **more)
        return person.start("worker", "--name", name, *options)

    def wait_for_file(self, name):
        """Wait until an agent has made the file."""
        wait_for((self.place / name).exists, name)

    def workspaces(self, name):
        """The workspaces that a machine has made."""
        folder = self._machines[name].repository / ".allstop" / "workspaces"
        return sorted(each.name for each in folder.iterdir()) if folder.exists() else []

    def branches(self):
        """The branches of the shared remote with their commits."""
        lines = self.git("for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads")
        return dict(line.split() for line in lines.splitlines())

    def git(self, *arguments):
        done = subprocess.run(
            ["git", *arguments], cwd=self.remote, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def merged(self):
        """The tasks that were merged on the shared remote, the latest last."""
        trailers = "--format=%(trailers:key=Allstop-Task,valueonly)"
        return self.git("log", "--first-parent", "--reverse", trailers, "main").split()

    def close(self):
        for person in self._machines.values():
            person.close()
