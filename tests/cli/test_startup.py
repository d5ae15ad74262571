"""Q8: a command starts quickly because it loads no more than it needs."""

import subprocess
import sys

import msgspec.inspect
import pytest

from allstop.core.events import Event

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
    "allstop.core.text",
    "allstop.glance",
    "allstop.version",
}
TO_WORK = {
    "anyio",
    "asyncio",
    "socket",
    "ssl",
    "subprocess",
    "tomllib",
    "httpx2",
    "openai",
    "anthropic",
    "starlette",
    "uvicorn",
    "rich",
}


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
    assert of_ours(modules) == {"allstop", "allstop.__main__", "allstop.version"}
    assert "click" not in modules


def test_q8_help_is_told_by_the_table_of_commands_alone(person):
    said, modules = loaded_by(person, "--help")

    assert said.startswith("Usage: allstop")
    assert of_ours(modules) == COMMAND_LINE
    assert not {"msgspec", "anyio", "sqlite3"} & modules


def test_q8_the_status_is_told_without_what_reads_a_command_line(person):
    person.allstop("add", "something")

    said, modules = loaded_by(person, "status")

    assert said == loaded_by(person)[0] == person.allstop("-C", ".", "status")
    assert not {"click", "dataclasses", "hashlib", "signal"} & modules


@pytest.mark.parametrize("words", [(), ("status",), ("status", "--json"), ("list",)])
def test_q8_who_only_looks_loads_nothing_that_works(person, words):
    person.allstop("add", "something")

    _, modules = loaded_by(person, *words)

    folders = {".".join(name.split(".")[:3]) for name in of_ours(modules)}
    pilots = {name for name in of_ours(modules) if name.endswith("pilot")}
    assert not TO_WORK & modules
    assert not folders & {"allstop.adapters.agents", "allstop.adapters.processes"}
    assert not {name.split(".")[1] for name in folders if "." in name} & {"server", "engine"}
    assert pilots == {"allstop.board.board_pilot"}


def test_q8_what_is_wrong_is_said_by_a_glance_as_by_the_command_line(person):
    person.allstop("add", "something")
    (person.repository / ".allstop" / "journal.db").write_bytes(b"no store" * 1000)

    short = person.try_allstop("status")
    long = person.try_allstop("-C", ".", "status")

    assert (short.returncode, short.stdout, short.stderr) == (2, "", long.stderr)
    assert "the journal can't be read" in short.stderr


def test_q8_a_value_of_the_record_says_its_types_itself():
    """Names of types would have to be looked up at every start, for hundreds of fields."""
    named = {
        f"{each.__module__}.{each.__name__}.{field}"
        for each in reached(msgspec.inspect.type_info(Event))
        for field, kind in each.__annotations__.items()
        if isinstance(kind, str)
    }

    assert named == set()


def reached(kind, found=None):
    """Every struct that is part of what a type describes."""
    found = set() if found is None else found
    if isinstance(kind, msgspec.inspect.StructType):
        if kind.cls in found:
            return found
        found.update(each for each in kind.cls.__mro__ if "__annotations__" in vars(each))
        parts = [field.type for field in kind.fields]
    else:
        parts = [part for name in kind.__struct_fields__ for part in _within(getattr(kind, name))]
    for part in parts:
        reached(part, found)
    return found


def _within(value):
    values = value if isinstance(value, tuple) else (value,)
    return [each for each in values if isinstance(each, msgspec.inspect.Type)]


INTERRUPTED = """
import sys
class Interrupts:
    def find_spec(self, name, *_):
        if name == "{module}":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupts())
sys.argv[1:] = ["{word}"]
from allstop.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("word", "module"), [("list", "allstop.cli"), ("status", "allstop.glance")]
)
def test_q8_ctrl_c_while_it_is_still_loading_leaves_no_trace(word, module):
    program = INTERRUPTED.format(module=module, word=word)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
