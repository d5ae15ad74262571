"""Z4: a stop reaches workers, also those that are idle or that start while it holds."""

import json

import pytest

from support.machines import Machines
from support.person import wait_for

AGENT = """
cat >/dev/null
touch {place}/begun
sleep 600
"""
SETTINGS = '[review]\nmode = "skip"\n'


@pytest.fixture
def fleet(tmp_path):
    fleet = Machines(tmp_path, lease_s=30)
    try:
        fleet.agent(AGENT.format(place=tmp_path), SETTINGS)
        yield fleet
    finally:
        fleet.close()


def test_z4_idle_workers_answer_a_stop_too(fleet):
    control, second, third = fleet
    control.allstop("add", "One")
    running = control.start("run")
    workers = [machine.start("worker", "--slots", "1") for machine in (second, third)]
    wait_for(lambda: second.agents or third.agents, "an agent")
    sql = "select count(*) from allstop.processes where worker <> ''"
    wait_for(lambda: fleet.server.execute(sql, fleet.database) == "2\n", "two workers")

    stopped = json.loads(third.allstop("stop", "--json"))

    assert second.agents + third.agents == []
    answered = {each["machine"] for each in stopped["machines"] if each["answered"]}
    assert answered >= {"m2", "m3"}  # the control room may have ended before it was asked
    assert stopped["unreached"] == []
    assert [each["label"] for m in stopped["machines"] for each in m["killed"]] == ["board/T1.1"]
    assert running.wait(60) == 130
    assert [worker.poll() for worker in workers] == [None, None]


def test_z4_a_worker_that_starts_with_a_stop_file_takes_no_work(fleet, tmp_path):
    control, second, third = fleet
    control.allstop("add", "One")
    running = control.start("run")
    wait_for(lambda: "board/T1.1" in control.runs(), "a queued run")
    (second.repository / ".allstop").mkdir(exist_ok=True)
    (second.repository / ".allstop" / "STOP").write_text("me\n")

    second.start("worker")

    assert running.wait(120) == 130
    assert "me on m2" in control.allstop("log", "helm")
    worker = third.start("worker")
    sql = "select count(*) from allstop.processes where worker <> '' and seen_at > since"
    wait_for(lambda: fleet.server.execute(sql, fleet.database) == "2\n", "two workers")
    assert not (tmp_path / "begun").exists()
    assert any("Allstop is in force: it takes no work" in line for line in worker.stdout)
