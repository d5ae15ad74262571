"""A person at a terminal: real processes, a real repository, a separate home folder."""

import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

from support import git_settings, in_process
from support.repositories import make_repository

ASK_IN_SANDBOX = '\n[approvals]\nboxed = "ask"\n'
MERGE_AT_ONCE = '[review]\nmode = "skip"\n'


class Person:
    """Runs allstop and git in a repository."""

    prefix = ()  # what makes a command run elsewhere

    def __init__(self, home, repository):
        self.home = home
        self.repository = repository
        self.started = []
        self.variables = {}
        self.runs_here = True  # commands need no process of their own unless a test is about that

    @property
    def places(self):
        return self.home, self.repository

    @property
    def environment(self):
        return {
            "HOME": str(self.home),
            "PATH": f"{self.home}/bin:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            **git_settings.VARIABLES,
            **self.variables,
        }

    def allstop(self, *arguments, code=0, stdin=None):
        """Run a command to its end; its standard output."""
        done = self.try_allstop(*arguments, stdin=stdin)
        assert done.returncode == code, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def try_allstop(self, *arguments, stdin=None):
        """Run a command to its end, in this process where it needs none of its own."""
        if self.runs_here and in_process.can_run_here(arguments, stdin):
            return in_process.run_here(arguments, self.repository, self.environment, stdin)
        return self.run_process(*arguments, stdin=stdin)

    def run_process(self, *arguments, stdin=None):
        """Run a command in a process of its own."""
        return subprocess.run(
            [*self.prefix, sys.executable, "-m", "allstop", *arguments],
            cwd=self.repository,
            env=self.environment,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            timeout=60,
        )

    def start(self, *arguments):
        """A command that goes on while the person does something else."""
        process = subprocess.Popen(
            [*self.prefix, sys.executable, "-m", "allstop", *arguments],
            cwd=self.repository,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.started.append(process)
        return process

    def at_terminal(self, *arguments, keys=()):
        """Run a command on a real terminal; what it showed, and its exit code.

        `keys` are pairs: once the first was shown, the second is typed.
        """
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
        process = subprocess.Popen(
            [sys.executable, "-m", "allstop", *arguments],
            cwd=self.repository,
            env=self.environment | {"TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        self.started.append(process)
        os.close(theirs)
        shown = b""
        waiting = list(keys)
        while True:
            try:
                shown += os.read(ours, 65536)
            except OSError:
                break
            while waiting and waiting[0][0].encode() in shown:
                os.write(ours, waiting.pop(0)[1].encode())
        os.close(ours)
        return shown.decode(errors="replace"), process.wait(60)

    def git(self, *arguments):
        return subprocess.run(
            ["git", "-c", "user.name=P", "-c", "user.email=p@example.invalid", *arguments],
            cwd=self.repository,
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()

    def write(self, name, text):
        path = self.repository / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def program(self, name, text):
        """A program of one's own, on PATH."""
        path = self.home / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def agent(self, text, settings=MERGE_AT_ONCE, **more):
        """Make `text`, a shell script, the one configured agent; with more settings."""
        self.program("my-agent", "#!/bin/sh\n" + text)
        lines = ["[agents.mine]", 'driver = "command"', 'command = ["my-agent"]']
        lines += [f"{key} = {value}" for key, value in more.items()]
        self.write("allstop.toml", "\n".join(lines) + "\n" + settings)

    def script(self, turns, settings=MERGE_AT_ONCE):
        """Make a scripted agent the one that is configured; its script is accepted."""
        self.write("script.toml", turns)
        agent = '[agents.demo]\ndriver = "scripted"\nscript = "script.toml"\n'
        asks = ASK_IN_SANDBOX if "ask = " in turns and "[approvals]" not in settings else ""
        self.write("allstop.toml", agent + settings + asks)

    def commit(self, message="settings"):
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)

    # --- the board ---

    def json(self, *arguments, code=0):
        return json.loads(self.allstop(*arguments, "--json", code=code))

    def tasks(self):
        """The status of every task."""
        return {task["id"]: task["status"] for task in self.json("list")["tasks"]}

    def task(self, task_id):
        return self.json("show", task_id)

    def runs(self):
        """The status of every run that is open."""
        return {run["id"]: run["status"] for run in self.json("status")["runs"]}

    def refuses(self, *arguments):
        """What is said on the way out with exit code 2."""
        done = self.try_allstop(*arguments)
        assert done.returncode == 2, f"exit code {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stderr

    def merged(self, branch="main"):
        """The tasks that were merged, the latest last."""
        trailers = "--format=%(trailers:key=Allstop-Task,valueonly)"
        return self.git("log", "--first-parent", "--reverse", trailers, branch).split()

    def close(self):
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            if process.stdout is None or not process.stdout.closed:
                process.communicate()


def at_home(place):
    """A person with a repository that has one commit."""
    home, repository = place / "home", place / "home" / "project"
    repository.mkdir(parents=True)
    home.chmod(0o700)
    person = Person(home, repository)
    make_repository(repository, "hello\n")
    return person


def wait_for(condition, what, within_s=60.0):
    until = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until, f"waited too long for: {what}"
        time.sleep(0.01)


def alive(mark):
    """Processes whose command line contains this mark, except our own."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                line = (
                    (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                )
            except OSError:
                continue
            if mark in line:
                found.append(line)
    return found
