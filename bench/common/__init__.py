"""Shared parts of the benchmarks: tiny mode, figures, small repositories, settings, CPU times.

With `ALLSTOP_BENCH=tiny` each benchmark runs once with very small numbers, in a second or two. Its
figures mean nothing then; a test uses it to check that the benchmarks work.
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from allstop.app.project import Project
from allstop.settings.sources.environment import Environment

TINY = os.environ.get("ALLSTOP_BENCH") == "tiny"
FIGURE = "figure: "

Number = TypeVar("Number", int, float)


def sized(normal: Number, tiny: Number) -> Number:
    """A number of rounds, tasks or seconds, depending on the mode."""
    return tiny if TINY else normal


def skip_if_tiny(needs: str) -> None:
    """End a benchmark that can't run in tiny mode, after its imports and arguments were checked."""
    if TINY:
        print(f"    skipped in tiny mode: needs {needs}")
        sys.exit()


def figure(name: str, measured: str, *, goal: str = "", ratio: str = "") -> None:
    """Print a row of the table that `make bench` shows at its end."""
    print(FIGURE + "|".join((name, goal, measured, ratio)))


def git(folder: Path, *arguments: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-c", "user.name=Bench", "-c", "user.email=bench@allstop.invalid", *arguments],
        cwd=folder,
        env=kept,
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def repository(folder: Path, files: Mapping[str, str]) -> Path:
    """A repository with one commit on main."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "add", *files)
    git(folder, "commit", "-q", "-m", "The beginning")
    return folder


def project_in(folder: Path) -> Project:
    """The project in folder/repository, with folder/home as home."""
    variables = {"PATH": os.environ["PATH"]}
    return Project(folder / "repository", Environment(home=folder / "home", variables=variables))


def write_settings(home: Path, agent: str, gate: str = "true") -> None:
    """Write the user's settings, which need no trust; `agent` is a shell script.

    An empty gate also turns off the inspection of changed files.
    """
    file = home / ".config" / "allstop" / "config.toml"
    file.parent.mkdir(parents=True)
    check = "[verification]\nprotected = []\n"
    if gate:
        check = f'[[verification.commands]]\nname = "Gate"\nrun = "{gate}"\n'
    file.write_text(
        f"""\
[agents.a]
driver = "command"
command = ["sh", "-c", '''{agent}''']

[review]
mode = "skip"

{check}""",
        encoding="utf-8",
    )


COMMITS = """\
cat >/dev/null
file=$(mktemp ./file-XXXXXX) && git add -A && git commit -qm work
echo "<promise>COMPLETE</promise>"
"""
"""An instant agent: one small commit, then COMPLETE."""

SMALL = {f"folder-{number % 5}/file-{number}.txt": f"line {number}\n" * 20 for number in range(50)}
"""The files of a small repository."""

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """Become the parent of orphans, to get the CPU time of sandboxes: bwrap ends before its child.

    The kernel loses the CPU time of a sandbox that is killed before it has reaped its children, so
    the figures of programs are lower bounds.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def programs_cpu_s() -> float:
    """CPU time of ended child programs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def print_load() -> None:
    """Print the load average: wall times mean little on a busy machine."""
    print(f"    load before this: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def raise_priority() -> None:
    """Give this process and its children real-time priority, if allowed."""
    if TINY:
        return
    with suppress(PermissionError, AttributeError):  # needs root on Linux
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def count_programs(found: Counter[str]) -> None:
    """Count started programs by name, git by subcommand."""

    def count(event: str, arguments: tuple[object, ...]) -> None:
        if event == "subprocess.Popen":
            words = [str(word) for word in arguments[1]]
            if words[0].endswith("bwrap"):
                found["box"] += 1
            else:
                rest = iter(words[1:])
                verb = next((w for w in rest if not (w == "-c" and next(rest)) and w[0] != "-"), "")
                found[f"{words[0]} {verb}"] += 1

    sys.addaudithook(count)
