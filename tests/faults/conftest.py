"""Fixtures for real time, real files and real processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.process_fixtures import asyncio_backend, person_at_home  # noqa: F401 - fixtures

HERE = Path(__file__).parent
TESTS = HERE.parent


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "store"


@pytest.fixture
def program():
    """Starts one of the programs beside this file; all that still run are killed at the end."""
    running = []

    def start(name, *args, wrap=()):
        environment = {**os.environ, "PYTHONPATH": str(TESTS)}
        command = [*wrap, sys.executable, str(HERE / name), *map(str, args)]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env=environment, cwd=HERE
        )
        running.append(process)
        return process

    yield start
    for process in running:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.fixture
def report(program):
    """Runs one of the programs to its end, and reads the JSON it prints."""

    def run(name, *args, wrap=()):
        process = program(name, *args, wrap=wrap)
        output, _ = process.communicate(timeout=600)
        assert process.returncode == 0, f"{name} {args} ended with {process.returncode}"
        return json.loads(output)

    return run
