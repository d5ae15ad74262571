"""Q27: a simulated merge queue: full check runs a merged change, and honest changes thrown out.

The pilots of the board and of its merges are the real ones; git, checks and changes are simulated.
5 % of the changes break a check, and 5 % of the full runs fail although nothing is broken. A gate
of several checks repeats only those that failed; a gate of one check repeats everything. Prints
figures; asserts nothing.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from common import figure, sized
from simulation.simulated_queue import ONE, SEVERAL, QueueHistory


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--changes", type=int, default=sized(20_000, 100))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    print(f"Q27 {arguments.changes:,} simulated changes (goals: 0.6 runs, 0.1 %, 2 batches)")
    for name, checks in (("several checks", SEVERAL), ("one check", ONE)):
        began = time.perf_counter()
        history = QueueHistory(arguments.seed, arguments.changes, checks=checks).play().check()
        runs, lost = history.runs / history.merged, history.wrongly / history.merged
        sizes = ", ".join(f"{count} of {size}" for size, count in sorted(history.sizes.items()))
        print(
            f"    {name:<15} {runs:.3f} full runs a merged change; {history.rightly} changes thrown"
            f" out, {history.wrongly} of them honest ({lost:.2%}); the oldest waits"
            f" {history.longest_wait} batches; batches: {sizes};"
            f" {time.perf_counter() - began:.0f} s"
        )
        figure(f"Q27 full runs a change, {name}", f"{runs:.2f}", goal="0.6")
        figure(f"Q27 honest changes thrown out, {name}", f"{lost:.2%}", goal="0.1 %")


if __name__ == "__main__":
    main()
