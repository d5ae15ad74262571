"""Z9, Z8: the machines of a fleet by API, terminal and metrics, on a real server."""

import pytest

from support.fleet_workers import Fleet
from support.person import wait_for
from support.postgres_fixtures import database, postgres

__all__ = ["database", "postgres"]


@pytest.fixture
def fleet(tmp_path, postgres, database):
    fleet = Fleet(tmp_path, postgres, database)
    yield fleet
    fleet.close()


def drain(fleet, name, **order):
    return fleet.room.ask("POST", f"/api/v1/machines/{name}/drain", body=order)


def test_z9_each_machine_is_listed_with_slots_load_work_and_sign_of_life(fleet):
    fleet.worker("build-1")
    fleet.person.allstop("add", "Count slowly", "--id", "T1")
    fleet.room.ask("POST", "/api/v1/runs", body={"kind": "board"})
    wait_for(lambda: fleet.processes()["control room"]["work"], "the task to be at work")

    known = fleet.processes()
    worker, room = known["build-1"], known["control room"]
    shown = {
        key: worker[key] for key in ("state", "version", "slots", "labels", "runs", "drained_by")
    }
    assert shown == {
        "state": "online",
        "version": "1.2.3",
        "slots": 4,
        "labels": ["linux", "gpu"],
        "runs": [],
        "drained_by": "",
    }
    assert worker["heard_s"] < 30
    assert worker["load"]["memory_total"] == 32 << 30
    assert room["here"]
    assert room["load"]["disk_free"] > 0
    assert [(work["label"], work["title"]) for work in room["work"]] == [("T1", "Count slowly")]
    machines = fleet.room.read("/machines")
    assert machines["shared"]
    assert "host-build-1" in [machine["name"] for machine in machines["machines"]]
    shown = fleet.person.allstop("fleet", "status")
    assert "build-1 on host-build-1  online" in shown
    assert "worker · 1.2.3 · linux · gpu · 0 of 4 slots · CPU 61%" in shown
    assert "Count slowly" in shown


def test_z9_metrics_have_the_figures_of_each_worker(fleet):
    fleet.worker("build-1")
    fleet.worker('odd"name\\', slots=2)

    lines = fleet.room.ask("GET", "/metrics").body.decode().splitlines()
    labels = '{worker="build-1",host="host-build-1"}'
    assert f"allstop_worker_slots{labels} 4" in lines
    assert f"allstop_worker_slots_used{labels} 0" in lines
    assert f"allstop_worker_up{labels} 1" in lines
    assert f"allstop_worker_cpu_ratio{labels} 0.61" in lines
    assert 'allstop_worker_slots{worker="odd\\"name\\\\",host="host-odd\\"name\\\\"} 2' in lines
    assert lines.count("# TYPE allstop_worker_slots gauge") == 1


def test_z8_a_worker_hears_that_it_is_drained_and_that_it_may_go_on(fleet):
    worker = fleet.worker("build-1")

    answer = drain(fleet, "build-1")
    assert answer.status == 200, answer.body
    wait_for(lambda: worker.drained_by == "the control room", "the worker to hear of it")
    assert fleet.processes()["build-1"]["state"] == "draining"
    drain(fleet, fleet.processes()["build-1"]["id"], drain=False)
    wait_for(lambda: worker.drained_by == "", "the worker to hear of it")
    assert fleet.processes()["build-1"]["state"] == "online"


def test_z8_only_one_worker_is_drained_by_its_name(fleet):
    fleet.worker("twin")
    fleet.worker("twin")

    assert drain(fleet, "nobody").error == "worker_unknown"
    assert drain(fleet, "twin").error == "worker_ambiguous"
    assert {each["state"] for each in fleet.processes().values()} == {"online"}


def test_z9_a_worker_that_falls_silent_is_lost_and_one_that_ends_is_gone(fleet):
    silent, leaving = fleet.worker("silent"), fleet.worker("leaving")
    fleet.silence(silent, 15)
    leaving.close()

    known = fleet.processes()
    assert known["silent"]["state"] == "lost"
    assert 0 < known["silent"]["elsewhere_in_s"] <= 15
    assert "leaving" not in known
    assert "✗ silent on host-silent  lost" in fleet.person.allstop("fleet", "status")


def test_z9_a_journal_in_a_file_has_one_machine_and_nothing_to_drain(room):
    answer = room.ask("POST", "/api/v1/machines/any/drain", body={})

    assert answer.error == "store_no_address"
    machines = room.read("/machines")
    assert len(machines["machines"]) == 1
    assert not machines["shared"]
    assert "allstop_worker" not in room.ask("GET", "/metrics").body.decode()
