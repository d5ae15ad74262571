"""Many agents and listeners need many open files: the program allows itself all that it may."""

import subprocess
import sys
from pathlib import Path

from support.person import MERGE_AT_ONCE, wait_for

LIMITED = ("sh", "-c", 'ulimit -S -n 300; exec "$@"', "sh", sys.executable, "-m", "allstop")


def started(person, *arguments):
    process = subprocess.Popen(
        [*LIMITED, *arguments],
        cwd=person.repository,
        env=person.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    person.started.append(process)
    return process


def open_files(pid):
    """Its soft and its hard limit."""
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    return next(line.split()[3:5] for line in lines if line.startswith("Max open files"))


def test_k17_the_control_room_may_hold_as_many_files_open_as_the_system_allows(person):
    process = started(person, "up", "--port", "0", "--no-open")
    assert any("The control room is open" in line for line in iter(process.stdout.readline, ""))

    soft, hard = open_files(process.pid)

    assert soft == hard != "300"


def test_k17_agents_and_checks_have_the_limit_that_the_program_was_given(person):
    person.agent(
        """
        ulimit -S -n >limit
        while [ ! -e goes-on ]; do sleep 0.1; done
        rm goes-on
        echo '<promise>COMPLETE</promise>'
        """,
        settings=MERGE_AT_ONCE + "[verification]\ncommands = ['test $(ulimit -S -n) = 300']\n",
    )
    process = started(person, "run", "look at it")
    tree = person.repository / ".allstop" / "workspaces" / "T1" / "tree"
    wait_for((tree / "limit").exists, "the agent")

    soft, hard = open_files(process.pid)
    (tree / "goes-on").touch()

    said = process.communicate(timeout=60)[0]
    assert process.returncode == 0, said
    assert soft == hard != "300"
    assert person.git("show", "main:limit") == "300"
