"""The guide "From one laptop to ten machines": its commands, in its order, on a real fleet."""

import configparser
import json
import re
import shlex

from project import project_files
from support.control_room import ControlRoom
from support.in_process import run_here
from support.person import wait_for
from support.postgres_fixtures import database, fleet, postgres

__all__ = ["database", "fleet", "postgres"]

GUIDE = project_files.ROOT / "docs" / "guides" / "fleet.md"
EXAMPLES = project_files.ROOT / "docs" / "examples" / "fleet"

WORKS = """
cat >/dev/null
echo more >>b.txt
echo '<promise>COMPLETE</promise>'
"""


def guide_commands():
    """Each command that the guide shows in a block, without its comment."""
    blocks = "\n".join(project_files.blocks(project_files.text(GUIDE), "", "sh"))
    lines = [line.partition("  #")[0].strip() for line in blocks.splitlines()]
    return [line for line in lines if line.startswith("allstop ")]


def test_z8_z10_the_guide_works_from_the_first_command_to_the_last(fleet, postgres, database):
    shown, used = guide_commands(), []

    def line(start):
        """The guide's first unused command that begins so; each has to be used once."""
        left = [each for each in shown if each not in used]
        text = next(each for each in left if each.startswith(f"allstop {start}"))
        used.append(text)
        return shlex.split(text.partition("|")[0])[1:]

    control = fleet.machine("control")
    address = control.variables.pop("ALLSTOP_STORE_URL")
    fleet.agent(WORKS)
    control.allstop("add", "Begun on the laptop", "--id", "T1")
    control.variables["ALLSTOP_STORE_URL"] = address
    control.allstop(*line("store copy"))
    control.git("push", "-q", "origin", "main")

    build, gpu = fleet.machine("build-1"), fleet.machine("gpu-1")
    for machine in (build, gpu):
        machine.program("my-agent", "#!/bin/sh\n" + WORKS)
    assert "mine" in build.try_allstop(*line("doctor")).stdout
    worker = build.start(*line("worker --slots"), "--name", "build-1")
    gpu.start(*line("worker --label gpu"), "--name", "gpu-1")
    assert line("up") == ["up"]
    room = ControlRoom(control)
    room.ask("POST", "/api/v1/runs", body={"kind": "board"})
    control.allstop(*line("add"), "--id", "T2")
    wait_for(lambda: set(fleet.merged()) == {"T1", "T2"}, "the tasks to be merged", 100)
    assert "build-1" in control.allstop(*line("fleet status"))

    sql = control.allstop(*line("fleet init --print-sql"))
    try:
        postgres.execute(sql, database)
        postgres.execute("alter role allstop_worker login; alter role allstop_reader login")
        build.variables["ALLSTOP_STORE_URL"] = postgres.url(database, user="allstop_owner")
        assert "The tables have version" in build.allstop(*line("fleet init"))
        build.variables["ALLSTOP_STORE_URL"] = postgres.url(database, user="allstop_worker")
        build.allstop(*line("worker drain"))
        assert worker.wait(60) == 0
        build.variables["ALLSTOP_STORE_URL"] = postgres.url(database, user="allstop_reader")
        assert build.tasks() == {"T1": "done", "T2": "done"}
    finally:
        control.close()
        build.close()
        gpu.close()
        postgres.drop_database(database)
        for role in ("owner", "worker", "reader"):
            postgres.execute(f"drop role if exists allstop_{role}")
    assert set(shown) - set(used) == set()


def test_z8_the_example_of_a_service_drains_its_worker(tmp_path):
    service = configparser.ConfigParser(interpolation=None)
    service.optionxform = str
    service.read(EXAMPLES / "allstop-worker.service")
    unit = service["Service"]

    assert unit["KillMode"] == "mixed"  # SIGTERM doesn't reach the agents
    assert unit["Restart"] == "on-failure"
    program, *words = shlex.split(unit["ExecStart"])
    assert program.endswith("/allstop")
    assert _exists(words, tmp_path)


def test_the_example_of_a_container_starts_a_worker(tmp_path):
    text = project_files.text(EXAMPLES / "Containerfile")
    entry = json.loads(re.search(r"^ENTRYPOINT (.*)$", text, re.MULTILINE)[1])
    example = re.search(r"allstop-worker (--.*)$", text, re.MULTILINE)[1]

    assert entry[0] == "allstop"
    assert _exists([*entry[1:], *shlex.split(example)], tmp_path)
    assert "STOPSIGNAL SIGTERM" in text


def _exists(words, place):
    """Whether the program has this command with these options."""
    variables = {"PATH": "/usr/bin:/bin", "HOME": str(place)}
    return run_here([*words, "--help"], place, variables).returncode == 0
