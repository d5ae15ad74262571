"""What several benchmarks need: small repositories, settings, and the price of a process."""

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

from allstop.app.project import Project
from allstop.settings import Environment


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
    """With one commit on main."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    git(folder, "add", *files)
    git(folder, "commit", "-q", "-m", "The beginning")
    return folder


def house_in(folder: Path) -> Project:
    """Of the repository in a folder, for a person whose home is beside it."""
    variables = {"PATH": os.environ["PATH"]}
    return Project(folder / "repository", Environment(home=folder / "home", variables=variables))


def write_settings(home: Path, agent: str, gate: str = "true") -> None:
    """The person's own file, which needs nobody's trust; `agent` is a script of the shell's.

    Without a gate nothing is checked at all, not even which files were changed.
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
"""An agent that takes no time: one small commit, and it is done."""

SMALL = {f"folder-{number % 5}/file-{number}.txt": f"line {number}\n" * 20 for number in range(50)}
"""The files of a small repository."""

PR_SET_CHILD_SUBREAPER = 36


def adopt_orphans() -> None:
    """bwrap ends before the box does: only whoever buries the box is told what it used.

    Even so the kernel forgets what was used in a box that is struck before it has buried its own:
    what programs used is never less than these figures, and sometimes more.
    """
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def programs_cpu_s() -> float:
    """What the programs used that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def say_load() -> None:
    """Wall times mean little on a machine that does other things too."""
    print(f"    load before this: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def go_first() -> None:
    """This process and all that it starts, before everything else that the machine does."""
    with suppress(PermissionError, AttributeError):  # root may, on Linux
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def count_programs(found: Counter[str]) -> None:
    """By name; of git's, by command."""

    def hear(event: str, arguments: tuple[object, ...]) -> None:
        if event == "subprocess.Popen":
            words = [str(word) for word in arguments[1]]
            if words[0].endswith("bwrap"):
                found["box"] += 1
            else:
                rest = iter(words[1:])
                verb = next((w for w in rest if not (w == "-c" and next(rest)) and w[0] != "-"), "")
                found[f"{words[0]} {verb}"] += 1

    sys.addaudithook(hear)
