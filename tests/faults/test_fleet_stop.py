"""Z4: a stop reaches all machines that share a store; one that is cut off stops by itself."""

import json

import pytest

from support.machines import Machines
from support.person import wait_for

AGENT = """
cat >/dev/null
(trap '' TERM HUP; setsid sleep 600) &
sleep 600
echo '<promise>COMPLETE</promise>'
"""
LEASE = "\n[store]\nlease_s = 6\n"


@pytest.fixture
def machines(tmp_path):
    machines = Machines(tmp_path)
    yield machines
    machines.close()


@pytest.fixture
def at_work(machines):
    """The first machine drives the board, the second Full Auto; the third only looks on."""

    def start(settings=""):
        first, second, _ = machines
        for machine in machines:
            machine.agent(AGENT, f'[review]\nmode = "skip"\n{settings}')
        first.allstop("add", "One")
        started = [first.start("run"), second.start("auto", "do it")]
        wait_for(lambda: first.agents and second.agents, "agents on two machines")
        return started

    return start


def helm(machine):
    """The events of the helm, as this machine sees them."""
    lines = machine.allstop("log", "helm", "--json").splitlines()
    return [json.loads(line) for line in lines]


def test_z4_a_stop_ends_the_agents_of_all_machines_and_says_what_each_did(machines, at_work):
    first, second, third = machines
    board, auto = at_work()

    stopped = json.loads(third.allstop("stop", "--json"))

    assert (first.agents, second.agents) == ([], [])
    assert {name: [each["label"] for each in killed] for name, killed in by_name(stopped)} == {
        first.name: ["board/T1.1"],
        second.name: ["auto1"],
    }
    assert [each["answered"] for each in stopped["machines"]] == [True, True]
    assert stopped["unreached"] == []
    assert board.wait(60) == 130
    assert auto.wait(60) == 130
    for machine in machines:
        assert "Allstop is in force" in machine.refuses("run")
    results = [event for event in all_events(third) if event["event"] == "move_ended"]
    assert [event["result"]["kind"] for event in results if "kind" in event["result"]] == [
        "cancelled",
        "cancelled",
    ]


def test_z4_a_machine_that_is_cut_off_ends_its_agents_and_is_named(machines, at_work):
    first, second, third = machines
    board, _ = at_work(LEASE)
    first.cut()

    stopped = json.loads(third.allstop("stop", "--json"))
    assert second.agents == []
    (silent,) = [each for each in stopped["machines"] if not each["answered"]]
    assert (silent["machine"], silent["killed"]) == (first.name, [])
    assert [name for name in stopped["unreached"] if first.name in name] == silent["processes"]
    assert "no answer from" in third.allstop("log", "helm")

    wait_for(lambda: not first.agents, "the agents of the machine that is cut off")
    first.mend()
    assert board.wait(120) == 130
    wait_for(
        lambda: any(first.name in event.get("by", "") for event in halts(third)),
        "the receipt of the machine",
    )


def test_z4_a_stop_file_on_one_machine_reaches_the_others_when_the_store_answers(machines, at_work):
    first, second, third = machines
    _, auto = at_work()
    second.cut()

    (second.repository / ".allstop" / "STOP").write_text("me\n")
    wait_for(lambda: not second.agents, "the agents beside the file")
    assert first.agents
    second.mend()
    wait_for(lambda: not first.agents, "the agents of the other machine")

    assert auto.wait(120) == 130
    assert f"me on {second.name}" in third.allstop("log", "helm")


def by_name(stopped):
    return [(each["machine"], each["killed"]) for each in stopped["machines"]]


def halts(machine):
    return [event for event in helm(machine) if event["event"] == "halted"]


def all_events(machine):
    runs = [run["id"] for run in machine.json("status")["runs"]]
    return [
        json.loads(line)
        for run in runs
        for line in machine.allstop("log", run, "--json").splitlines()
    ]
