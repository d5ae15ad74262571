"""Q8: how long the command line takes to start. Prints medians; asserts nothing."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 15
ALLSTOP = str(Path(sys.executable).with_name("allstop"))
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "allstop --version": [ALLSTOP, "--version"],
    "allstop --help": [ALLSTOP, "--help"],
    "allstop status": [ALLSTOP, "status"],
}


def environment(home: Path) -> dict[str, str]:
    """As people have it: what was loaded once is kept as bytecode."""
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


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "demo"
        subprocess.run(
            [sys.executable, "-m", "allstop", "demo", "--dir", str(folder)],
            env=environment(Path(name)),
            check=True,
            stdout=subprocess.DEVNULL,
        )
        for label, argv in COMMANDS.items():
            wall, cpu = measure(argv, folder)
            print(f"Q8  {label:<20} {wall:6.0f} ms, {cpu:6.0f} ms CPU")


if __name__ == "__main__":
    main()
