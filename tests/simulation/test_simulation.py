"""Q17: simulated histories with virtual time, faults and commands in random order.

60 seeds for each commit. `TEST_SEEDS` sets the number (`make soak`: 10000), or a range: `41:42`.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

from allstop.core.commands import Command
from allstop.core.events import Commanded, Opened
from allstop.core.ids import HELM
from allstop.kinds import PILOTS
from simulation import simulated_run
from simulation.seeded_scheduler import run_seeded
from simulation.simulated_run import simulate
from support.random_runs import SCENARIOS

CHUNK = 10
FEW = range(5)
MANY = range(30)


def seeds():
    said = os.environ.get("TEST_SEEDS", "60")
    first, _, last = said.rpartition(":")
    return range(int(first or 0), int(last))


def chunks():
    numbers = seeds()
    return [numbers[start : start + CHUNK] for start in range(0, len(numbers), CHUNK)]


def how_to_run_it_alone(seed):
    return (
        f"seed {seed} breaks a rule. Alone: TEST_SEEDS={seed}:{seed + 1} pytest "
        f"{Path(__file__).name} -n 0; step by step: PYTHONPATH=tests python "
        f"tests/simulation/simulated_run.py {seed}"
    )


@pytest.mark.parametrize("chunk", chunks(), ids=lambda chunk: f"{chunk[0]}-{chunk[-1]}")
def test_q17_every_history_keeps_the_rules(chunk):
    """Slots, one move at a time, nothing after a stop, budgets, one delivery, replay = record."""
    for seed in chunk:
        try:
            simulate(seed)
        except BaseException as error:
            error.add_note(how_to_run_it_alone(seed))
            raise


def test_q17_the_same_seed_gives_the_same_history():
    first = [simulate(seed) for seed in FEW]

    assert [simulate(seed) for seed in FEW] == first
    assert len(set(first)) == len(FEW)


def test_q17_a_history_depends_on_nothing_but_its_seed():
    """Another process with other hash seeds and memory addresses gives the same history."""
    traces = {seed: simulate(seed) for seed in FEW}
    for hash_seed in ("1", "2"):
        output = subprocess.run(
            [sys.executable, simulated_run.__file__, *map(str, FEW)],
            env={
                **os.environ,
                "PYTHONHASHSEED": hash_seed,
                "PYTHONPATH": os.pathsep.join(sys.path),
            },
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        ).stdout

        assert dict(line.split() for line in output.splitlines()) == {
            str(seed): trace for seed, trace in traces.items()
        }


def test_q17_every_command_and_every_kind_of_run_takes_part():
    """So that every command is sent at random moments."""
    kinds, commands = set(), set()
    for seed in MANY:
        if kinds == set(SCENARIOS) and commands >= set(get_args(Command)):
            break
        history = simulated_run.Simulation(seed)
        run_seeded(seed, history.play)
        for run in (HELM, *history.disk.runs()):
            for event in history.disk.events(run):
                match event:
                    case Opened(kind=kind):
                        kinds.add(kind)
                    case Commanded(command=command):
                        commands.add(type(command))

    assert kinds == set(SCENARIOS)
    assert set(get_args(Command)) - commands == set()


def test_q17_every_kind_of_run_has_a_scenario():
    """Each pilot has a line in the table of scenarios."""
    assert set(PILOTS) <= set(SCENARIOS)
