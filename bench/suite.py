"""Q28, Q29: time and CPU of `make test` and `make quick`, and the flaky tests of several runs.

Prints figures; asserts nothing. The environment must be there: run `make test` once before. Run it
on a machine that does nothing else. `--runs 20` is the figure of Q29; a run takes about 10 minutes.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from common import TINY, figure, print_load

ROOT = Path(__file__).resolve().parent.parent
ONE_FILE = [
    sys.executable,
    "-m",
    "pytest",
    "-n",
    "0",
    "-p",
    "no:cacheprovider",
    "tests/core/test_text.py",
]
SUITE = ONE_FILE if TINY else ["make", "--silent", "test"]
QUICK = ONE_FILE if TINY else ["make", "--silent", "quick"]
CLOSING = re.compile(r"^=+ (.*(?:passed|failed).*) in [\d.]+s.* =+$", re.MULTILINE)


class Run(NamedTuple):
    wall_s: float
    cpu_s: float
    exit_code: int
    flaky: list[str]
    closing: str


def run(argv: list[str]) -> Run:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "RETRY": "1"}
    environment.pop("ALLSTOP_BENCH", None)
    done = subprocess.run(
        argv, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    wall_s, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    flaky = [line for line in done.stdout.splitlines() if line.startswith("flaky:")]
    closing = CLOSING.findall(done.stdout)
    return Run(wall_s, cpu_s, done.returncode, flaky, closing[-1] if closing else "no closing line")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1, help="runs of the whole suite")
    runs = parser.parse_args().runs
    print_load()
    for label, argv, goal in (("make quick", QUICK, "90 s"), ("make test", SUITE, "10 min")):
        for number in range(1 if label == "make quick" else runs):
            one = run(argv)
            print(f"Q28 {label} {number + 1}: {one.wall_s / 60:.1f} min, {one.closing}")
            for line in one.flaky:
                print(f"Q29 {line}")
            cpu = f"{one.cpu_s / 60:.1f} min CPU, exit code {one.exit_code}"
            figure(f"Q28 {label}", f"{one.wall_s / 60:.1f} min", goal=goal, ratio=cpu)
            if label == "make test":
                figure("Q29 flaky tests", str(len(one.flaky)), goal="0", ratio=f"run {number + 1}")


if __name__ == "__main__":
    main()
