"""Q4: the cost of an iteration with an instant agent, above the cost of its sandbox.

Prints figures; asserts nothing. The floor is a bash loop that starts the same agent in the same
sandbox. CPU of our process and of its child programs is printed separately.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import anyio
import msgspec

from common import adopt_orphans, figure, print_load, raise_priority, sized
from common.boards import (
    Figures,
    measured,
    prepare,
    print_programs,
    programs_cpu_s,
    reap_orphans,
    tasks,
)
from common.boxes import boxed_command

SILENT = "cat >/dev/null; echo at it"
"""An agent that never completes."""

FEW = sized(5, 1)
"""Iterations of a second task, whose cost is subtracted: opening a workspace belongs to Q5."""


def bench_iterations(iterations: int, rounds: int) -> None:
    """Measure all three in each round and take medians, because the machine's speed varies."""
    found = [one_round(iterations) for _ in range(rounds)]
    own, on_top = ([getattr(each, what) for each in found] for what in ("own_ms", "on_top_ms"))
    wall, programs, floor_wall, floor_cpu = (
        statistics.median(getattr(each, what) for each in found)
        for what in ("wall_ms", "programs_ms", "floor_wall_ms", "floor_cpu_ms")
    )
    print(
        f"Q4  {iterations} iterations, medians of {rounds} rounds: {wall:.1f} ms each; CPU: our own"
        f" {_spread(own)} ms, of programs {programs:.1f} ms"
    )
    print(f"    floor, the box in a bash loop: {floor_wall:.1f} ms each; CPU {floor_cpu:.1f} ms")
    print(f"    on top of the box: {_spread(on_top)} ms CPU in all (goal 5 ms)")
    used = statistics.median(each.own_ms + each.programs_ms for each in found)
    figure(
        "Q4 iteration above the sandbox",
        f"{statistics.median(on_top):.1f} ms CPU",
        goal="5 ms",
        ratio=f"{used / max(floor_cpu, 0.001):.2f} x a bash loop",
    )
    print_programs(found[0].programs, iterations)


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of one iteration."""

    wall_ms: float
    own_ms: float  # CPU
    programs_ms: float  # CPU
    floor_wall_ms: float
    floor_cpu_ms: float
    programs: dict[str, int]

    @property
    def on_top_ms(self) -> float:
        return self.own_ms + self.programs_ms - self.floor_cpu_ms


def one_round(iterations: int) -> Round:
    with tempfile.TemporaryDirectory() as name:
        few, many = (iterated(Path(name, str(count)), count) for count in (FEW, FEW + iterations))
        floor_wall_s, floor_cpu_s = floor(Path(name, str(FEW + iterations)), iterations)
    each = 1000 / iterations
    return Round(
        wall_ms=statistics.median(many.moves_ms["TakeTurn"]),
        own_ms=(many.own_cpu_s - few.own_cpu_s) * each,
        programs_ms=(many.child_cpu_s - few.child_cpu_s) * each,
        floor_wall_ms=floor_wall_s * each,
        floor_cpu_ms=floor_cpu_s * each,
        programs=many.programs,
    )


def iterated(folder: Path, count: int) -> Figures:
    prepare(folder, SILENT, tasks(1, count))
    return measured(folder, 1)


def _spread(found: list[float]) -> str:
    return f"{statistics.median(found):.1f} ({min(found):.1f} to {max(found):.1f})"


def floor(folder: Path, iterations: int) -> tuple[float, float]:
    """Wall time and CPU of a bash loop that starts the agent in its sandbox."""
    script = folder / "loop.sh"
    started = anyio.run(boxed_command, folder, "T1", SILENT)
    script.write_text(f"for i in $(seq {iterations}); do\n{started}\ndone\n")
    before, began = programs_cpu_s(), time.perf_counter()
    subprocess.run(["bash", script], stdout=subprocess.DEVNULL, check=True)
    wall = time.perf_counter() - began
    reap_orphans()
    return wall, programs_cpu_s() - before


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--iterations", type=int, default=sized(50, 2))
    parser.add_argument("--rounds", type=int, default=sized(7, 1))
    arguments = parser.parse_args()
    print_load()
    raise_priority()
    adopt_orphans()
    bench_iterations(arguments.iterations, arguments.rounds)


if __name__ == "__main__":
    main()
