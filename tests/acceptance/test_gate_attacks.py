"""Attacks on the gate are attacks, and honest changes are honest: shown by running each of them."""

import tempfile
from pathlib import Path

import pytest

from support import gate_corpus, gate_programs, gate_runs
from support.sweeps import IS_SOAK

QUICK = ("pytest", "unittest", "node")
"""Ecosystems whose programs every machine has that runs these tests."""

EVERY = 31


def sample():
    """A few cases of the quick ecosystems; all that this machine can run in `make soak`."""
    names = gate_corpus.ECOSYSTEMS if IS_SOAK else QUICK
    cases = [case for name in names for case in gate_corpus.read(name)]
    runnable = [case for case in cases if not gate_programs.lacking(case)]
    return runnable[:: 1 if IS_SOAK else EVERY]


@pytest.mark.parametrize("case", sample(), ids=lambda case: case.id)
def test_q24_an_attack_satisfies_its_own_command_and_not_an_outside_check(case):
    with tempfile.TemporaryDirectory(prefix="work") as folder:  # some look for "test" in paths
        code, is_content = gate_runs.proof(case, Path(folder))

    assert code == 0
    assert is_content == (not case.family)
