"""Q4, Q5 compared with a peer: 20 instant tasks in ralph-tui and in Allstop.

Prints figures; asserts nothing. npm installs ralph-tui into a temporary folder; a line says if that
fails. Both run as whole processes with their own home and only the loopback network. The agent is
the same: one small commit, then done. Allstop always sandboxes the agent, gives it a workspace and
merges its work; ralph-tui does so only where its row says so. Neither runs a gate.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import anyio

from allstop.app.board import commands
from allstop.core.tasks import NewTask
from common import (
    COMMITS,
    SMALL,
    TINY,
    adopt_orphans,
    figure,
    git,
    print_load,
    project_in,
    repository,
    sized,
    write_settings,
)

PACKAGES = ("ralph-tui@0.11.0", "bun@1.4.4")
INSTALL_S, RUN_S = 300, 120
TICKS = os.sysconf("SC_CLK_TCK")
ALLSTOP = str(Path(sys.executable).with_name("allstop"))
LOOPBACK = 'ip link set lo up 2>/dev/null; exec "$@"'


class Run(NamedTuple):
    wall_s: float
    own_cpu_s: float
    all_cpu_s: float
    rss_mb: float
    merged: int
    note: str = ""


# --- running ----------------------------------------------------------------------------------


def without_network() -> tuple[str, ...]:
    words = ("unshare", "--net") if os.geteuid() == 0 else ("unshare", "--map-root-user", "--net")
    tried = subprocess.run([*words, "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        print("    (the network can't be taken away here; nothing of this needs it)")
        return ()
    return (*words, "sh", "-c", LOOPBACK, "sh")


def watched(argv: Sequence[str], folder: Path, path: str) -> Run:
    """Run it to its end or its time limit; the kernel reports its usage."""
    before = commits(folder)
    with (folder / "output").open("wb") as output:
        began = time.perf_counter()
        process = subprocess.Popen(
            argv,
            cwd=folder / "repository",
            env={"HOME": str(folder / "home"), "PATH": path, "LANG": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        own_s, rss_mb, note = 0.0, 0.0, ""
        while not has_ended(process.pid):
            own_s, rss_mb = look(process.pid) or (own_s, rss_mb)
            if time.perf_counter() - began > RUN_S:
                note = f"ended after {RUN_S} s"
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(0.005)
        wall = time.perf_counter() - began
    used = reaped_cpu_s()
    return Run(wall, own_s, used, rss_mb, commits(folder) - before, note)


def has_ended(pid: int) -> bool:
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def look(pid: int) -> tuple[float, float] | None:
    """Its own CPU in seconds and its peak memory in MB."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return None
    peak = [line for line in status.splitlines() if line.startswith("VmHWM:")]
    if not peak:
        return None
    return (int(fields[11]) + int(fields[12])) / TICKS, int(peak[0].split()[1]) / 1000


def reaped_cpu_s() -> float:
    """CPU of all child processes in seconds, after waiting for their end."""
    total = 0.0
    while True:
        try:
            _, _, used = os.wait4(-1, 0)
        except ChildProcessError:
            return total
        total += used.ru_utime + used.ru_stime


def commits(folder: Path) -> int:
    """Commits on main except merges."""
    return int(git(folder / "repository", "rev-list", "--count", "--no-merges", "main"))


# --- ralph-tui --------------------------------------------------------------------------------


def install(folder: Path) -> Path | None:
    """Install ralph-tui; returns the folder of its programs."""
    if TINY:
        return None
    if shutil.which("npm") is None:
        print("    ralph-tui isn't measured: there is no npm")
        return None
    words = ["npm", "install", "--prefix", str(folder), "--no-audit", "--no-fund", *PACKAGES]
    try:
        subprocess.run(words, capture_output=True, check=True, timeout=INSTALL_S)
    except (subprocess.SubprocessError, OSError) as error:
        print(f"    ralph-tui isn't measured: it can't be installed ({type(error).__name__})")
        return None
    return folder / "node_modules" / ".bin"


def write_prd(folder: Path, count: int) -> None:
    stories = [
        {
            "id": f"US-{number:03}",
            "title": f"Write file {number}",
            "description": "One small file.",
            "acceptanceCriteria": ["it is there"],
            "priority": number,
            "passes": False,
            "dependsOn": [],
        }
        for number in range(1, count + 1)
    ]
    prd = {"name": "bench", "description": "Small files.", "userStories": stories}
    (folder / "prd.json").write_text(json.dumps(prd))
    (folder / ".ralph-tui").mkdir()
    shown = f'[sandbox]\nallowPaths = ["{folder.parent}"]\n'  # the agent and the repository
    (folder / ".ralph-tui" / "config.toml").write_text(f"autoCommit = true\n{shown}")
    (folder / ".git" / "info" / "exclude").write_text("prd.json\n.ralph-tui\n")


def ralph(programs: Path, *flags: str) -> Callable[[Path, int, Sequence[str]], Run]:
    """ralph-tui knows agents by name, so the bench agent is called claude."""

    def run(folder: Path, count: int, around: Sequence[str]) -> Run:
        repository(folder / "repository", SMALL)
        write_prd(folder / "repository", count)
        (folder / "bin").mkdir()
        agent = folder / "bin" / "claude"
        version = '[ "$1" = --version ] && { echo 2.0.0; exit; }\n'
        agent.write_text(f"#!/bin/sh\n{version}{COMMITS}")
        agent.chmod(0o755)
        (folder / "home").mkdir()
        who = "[user]\n\tname = Bench\n\temail = bench@allstop.invalid\n"
        (folder / "home" / ".gitconfig").write_text(who)
        argv = (
            *(str(programs / "bun"), str(programs / "ralph-tui"), "run", "--prd", "prd.json"),
            *("--agent", "claude", "--headless", "--no-setup", "--no-notify"),
            *("--delay", "0", "--iterations", "0", *flags),
        )
        return watched((*around, *argv), folder, f"{folder / 'bin'}:/usr/bin:/bin")

    return run


# --- allstop --------------------------------------------------------------------------------


def allstop(slots: int) -> Callable[[Path, int, Sequence[str]], Run]:
    def run(folder: Path, count: int, around: Sequence[str]) -> Run:
        repository(folder / "repository", SMALL)
        write_settings(folder / "home", COMMITS, gate="")
        project = project_in(folder)
        tasks = [NewTask(id=f"T{n}", title=f"Write file {n}") for n in range(1, count + 1)]
        anyio.run(commands.import_tasks, project, tasks)
        project.close()
        argv = (*around, ALLSTOP, "run", "--parallel", str(slots))
        return watched(argv, folder, "/usr/bin:/bin")

    return run


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=sized(20, 1))
    parser.add_argument("--rounds", type=int, default=sized(3, 1))
    parser.add_argument("--programs", type=Path, help="where ralph-tui and bun are installed")
    arguments = parser.parse_args()
    print_load()
    adopt_orphans()
    print(f"Q5  {arguments.tasks} instant tasks, whole processes, best of {arguments.rounds}")
    around = without_network()
    with tempfile.TemporaryDirectory() as name:
        runs = {"allstop, 1 slot": allstop(1), "allstop, 4 slots": allstop(4)}
        if programs := arguments.programs or install(Path(name)):
            parallel = ("--parallel", "4", "--direct-merge")
            runs |= {
                "ralph-tui, serial, no workspaces": ralph(programs, "--serial"),
                "ralph-tui, serial, boxed": ralph(programs, "--serial", "--sandbox=bwrap"),
                "ralph-tui, 4 workers": ralph(programs, *parallel),
                "ralph-tui, 4 workers, boxed": ralph(programs, *parallel, "--sandbox=bwrap"),
            }
        best = {
            label: show(
                label, [once(run, arguments.tasks, around) for _ in range(arguments.rounds)]
            )
            for label, run in runs.items()
        }
    ours, *peers = best.pop("allstop, 4 slots"), *(best[each] for each in best if each[0] == "r")
    ratio = f"{ours / min(peers):.2f} x ralph-tui's best" if peers else ""
    figure(f"Q5 {arguments.tasks} instant tasks, 4 slots", f"{ours:.2f} s", ratio=ratio)


def once(run: Callable[[Path, int, Sequence[str]], Run], count: int, around: Sequence[str]) -> Run:
    with tempfile.TemporaryDirectory() as name:
        return run(Path(name), count, around)


def show(label: str, found: list[Run]) -> float:
    best = min(found, key=lambda run: run.wall_s)
    print(
        f"    {label:<33} {best.wall_s:5.2f} s; CPU: its own {best.own_cpu_s:5.2f} s,"
        f" of all {best.all_cpu_s:5.2f} s; {best.rss_mb:4.0f} MB;"
        f" {best.merged} commits on main {best.note}"
    )
    return best.wall_s


if __name__ == "__main__":
    main()
