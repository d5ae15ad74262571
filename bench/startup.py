"""Q8: start times of the command line. Prints medians; asserts nothing."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from common import SMALL, TINY, figure, repository, sized

ROUNDS = sized(15, 1)
ALLSTOP = str(Path(sys.executable).with_name("allstop"))
GOALS_MS = {"allstop --version": 100, "allstop --help": 100, "allstop status": 150}
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "allstop --version": [ALLSTOP, "--version"],
    "allstop --help": [ALLSTOP, "--help"],
    "allstop status": [ALLSTOP, "status"],
}


def environment(home: Path) -> dict[str, str]:
    """The usual environment, in which Python caches bytecode."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "HOME": str(home)}


def measure(argv: list[str], folder: Path) -> tuple[float, float]:
    walls, cpus = [], []
    subprocess.run(argv, cwd=folder, env=environment(folder), check=True, stdout=subprocess.DEVNULL)
    for _ in range(ROUNDS):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.perf_counter()
        subprocess.run(
            argv,
            cwd=folder,
            env=environment(folder),
            check=True,
            stdout=subprocess.DEVNULL,
        )
        walls.append(time.perf_counter() - began)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpus.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return statistics.median(walls) * 1000, statistics.median(cpus) * 1000


def demo(folder: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "allstop", "demo", "--dir", str(folder)],
        env=environment(folder.parent),
        check=True,
        stdout=subprocess.DEVNULL,
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "demo"
        if TINY:
            repository(folder, SMALL)
        else:
            demo(folder)
        floor = 0.0
        for label, argv in COMMANDS.items():
            wall, cpu = measure(argv, folder)
            print(f"Q8  {label:<20} {wall:6.0f} ms, {cpu:6.0f} ms CPU")
            if label not in GOALS_MS:
                floor = wall
                continue
            ratio = f"{wall / floor:.1f} x python -c pass"
            figure(f"Q8 {label}", f"{wall:.0f} ms", goal=f"{GOALS_MS[label]} ms", ratio=ratio)


if __name__ == "__main__":
    main()
