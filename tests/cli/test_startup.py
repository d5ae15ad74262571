"""Q8: a command starts quickly because it loads no more than it needs."""

import subprocess
import sys

import pytest

SCRIPT = """
import sys
from allstop.__main__ import main
sys.argv = ["allstop", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
print("loaded", *sys.modules)
"""
COMMAND_LINE = {
    "allstop",
    "allstop.__main__",
    "allstop.cli",
    "allstop.cli.lazy",
    "allstop.cli.output",
    "allstop.core",
    "allstop.core.errors",
}
NOT_TO_LOOK = ("asyncio", "ssl", "httpx2", "openai", "anthropic", "starlette", "uvicorn", "rich")


def loaded_by(person, *words):
    """What it said, and all modules that were loaded for it."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words],
        cwd=person.repository,
        env=person.environment,
        capture_output=True,
        text=True,
        check=True,
    )
    said, _, modules = done.stdout.rpartition("loaded ")
    return said, set(modules.split())


def of_ours(modules):
    return {name for name in modules if name.partition(".")[0] == "allstop"}


def test_q8_the_version_is_told_with_nothing_loaded(person):
    said, modules = loaded_by(person, "--version")

    assert said == person.allstop("--version")
    assert said.startswith("allstop, version ")
    assert of_ours(modules) == {"allstop", "allstop.__main__"}
    assert "click" not in modules


def test_q8_help_is_told_by_the_table_of_commands_alone(person):
    said, modules = loaded_by(person, "--help")

    assert said.startswith("Usage: allstop")
    assert of_ours(modules) == COMMAND_LINE
    assert not {"msgspec", "anyio", "sqlite3"} & modules


@pytest.mark.parametrize("words", [("status",), ("status", "--json"), ("list",)])
def test_q8_who_only_looks_loads_nothing_that_works(person, words):
    person.allstop("add", "something")

    _, modules = loaded_by(person, *words)

    folders = {".".join(name.split(".")[:3]) for name in of_ours(modules)}
    assert not set(NOT_TO_LOOK) & modules
    assert not folders & {"allstop.adapters.agents", "allstop.adapters.processes"}
    assert not {name.split(".")[1] for name in folders if "." in name} & {"server", "loop"}
