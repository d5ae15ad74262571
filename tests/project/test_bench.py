"""Every benchmark works: each runs once in tiny mode."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "bench"
FILES = sorted(file.name for file in BENCH.glob("[!_]*.py"))


@pytest.mark.parametrize("file", FILES)
def test_a_benchmark_runs_in_tiny_mode(file):
    done = subprocess.run(
        [sys.executable, BENCH / file],
        env={**os.environ, "ALLSTOP_BENCH": "tiny"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "figure: " in done.stdout or "skipped" in done.stdout
