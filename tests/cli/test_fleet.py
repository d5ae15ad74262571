"""Workers do the work of a board: real processes, a real database, a real shared remote."""

import signal

from support.person import MERGE_AT_ONCE, wait_for
from support.postgres_fixtures import database, fleet, postgres

__all__ = ["database", "fleet", "postgres"]

WORKS = """
cat >/dev/null
echo more >>b.txt
echo done
echo '<promise>COMPLETE</promise>'
"""

MEETS = """
cat >/dev/null
touch {place}/at-work.$$
until [ "$(ls {place} | grep -c at-work)" = 2 ]; do sleep 0.02; done
echo more >"$$.txt"
echo '<promise>COMPLETE</promise>'
"""
"""Ends only if two of them are at work at the same time."""

ENDLESS = """
cat >/dev/null
touch {place}/turn.$$
echo more >>"$$.txt"
echo '<promise>PROGRESS</promise> a part of it'
"""

TWO_TURNS = """
cat >/dev/null
if [ ! -e first.txt ]; then
    echo one >first.txt
    echo '<promise>PROGRESS</promise> half of it'
elif [ ! -e {place}/second-turn ]; then
    touch {place}/second-turn
    sleep 600
else
    echo two >second.txt
    echo '<promise>COMPLETE</promise>'
fi
"""
"""The first second turn hangs."""


def test_z2_a_worker_does_a_task_and_merges_it_on_the_shared_remote(fleet):
    control = fleet.machine("control")
    fleet.machine("one")
    fleet.agent(WORKS)
    worker = fleet.worker("one", "--slots", "2")

    said = control.allstop("run", "add a line")

    assert "1 done, unverified, 0 failed, 0 remaining · 1 merged" in said
    assert fleet.merged() == ["T1"]
    assert list(fleet.branches()) == ["main"]  # the task's own branch is gone
    assert fleet.git("show", "main:b.txt") == "more"
    assert not (control.repository / ".allstop" / "workspaces" / "T1").exists()
    worker.send_signal(signal.SIGTERM)
    told = worker.communicate()[0]
    assert "Worker one has 2 slots and offers: agent mine" in told
    assert "T1.1     starts: add a line" in told
    assert "T1.1     ended: done" in told


def test_z4_a_stop_of_one_machine_is_lifted_on_another(fleet):
    control, one = fleet.machine("control"), fleet.machine("one")
    fleet.agent(WORKS)
    worker = fleet.worker("one")
    one.allstop("stop")
    assert "ALLSTOP" in control.allstop("status")

    control.allstop("resume")
    control.allstop("run", "add a line")

    assert fleet.merged() == ["T1"]
    assert worker.poll() is None


def test_z2_the_doctor_tries_the_database_and_the_shared_remote(fleet):
    one = fleet.machine("one")
    fleet.agent(WORKS)
    before = fleet.branches()

    said = one.allstop("doctor")
    assert "database       postgresql://" in said
    assert "✓ shared remote  origin can be fetched from and pushed to" in said
    assert fleet.branches() == before
    fleet.remote.rename(fleet.place / "gone.git")
    assert "the shared remote doesn't answer" in one.allstop("doctor", code=1)


def test_z2_the_settings_of_the_shared_target_branch_apply(fleet):
    control = fleet.machine("control")
    one = fleet.machine("one")
    fleet.agent(WORKS)
    one.write("allstop.toml", "")  # an edit that was never pushed
    fleet.worker("one")

    control.allstop("run", "add a line")

    assert fleet.merged() == ["T1"]


def test_z2_workers_share_the_tasks_of_a_board(fleet):
    control = fleet.machine("control")
    fleet.machine("one")
    fleet.machine("two")
    fleet.agent(MEETS.format(place=fleet.place))
    control.allstop("add", "One")
    control.allstop("add", "Two")
    fleet.worker("one", "--slots", "1")
    fleet.worker("two", "--slots", "1")

    control.allstop("run")

    assert sorted(fleet.merged()) == ["T1", "T2"]
    took = [fleet.workspaces(name) for name in ("one", "two")]
    assert sorted(map(len, took)) == [1, 1]


def test_z7_tasks_on_several_machines_stay_within_the_budget_of_their_sprint(fleet):
    control = fleet.machine("control")
    fleet.machine("one")
    fleet.machine("two")
    settings = MERGE_AT_ONCE + "[budget]\nturns = 6\n[budget.sprint]\nturns = 7\n"
    fleet.agent(ENDLESS.format(place=fleet.place), settings)
    control.allstop("add", "One")
    control.allstop("add", "Two")
    fleet.worker("one", "--slots", "1")
    fleet.worker("two", "--slots", "1")

    said = control.allstop("run", "--count", "2", code=4)

    assert "limit reached: board: turns 7 + 1 of 7" in said
    assert len(list(fleet.place.glob("turn.*"))) == 7  # one alone takes 6, so both took some


def test_z3_z5_another_worker_continues_the_work_of_one_that_was_killed(fleet):
    control = fleet.machine("control")
    fleet.machine("one")
    fleet.machine("two")
    fleet.agent(TWO_TURNS.format(place=fleet.place))
    first = fleet.worker("one")
    running = control.start("run", "do it")
    fleet.wait_for_file("second-turn")
    pushed = fleet.branches()["allstop/T1"]
    first.send_signal(signal.SIGKILL)
    fleet.worker("two")

    said = running.communicate(timeout=110)[0]

    assert running.returncode == 0, said
    assert fleet.merged() == ["T1"]
    assert fleet.git("show", "main:first.txt", "main:second.txt") == "one\ntwo"
    assert fleet.git("merge-base", pushed, "main") == pushed
    assert list(fleet.branches()) == ["main"]


def test_z2_the_workspace_of_an_interrupted_worker_is_continued_there(fleet):
    control = fleet.machine("control")
    fleet.machine("one")
    fleet.agent(TWO_TURNS.format(place=fleet.place))
    first = fleet.worker("one")
    running = control.start("run", "do it")
    fleet.wait_for_file("second-turn")
    first.send_signal(signal.SIGINT)
    first.wait(30)
    fleet.worker("one")

    running.communicate(timeout=110)

    assert running.returncode == 0
    assert fleet.merged() == ["T1"]


SLOW = """
cat >/dev/null
touch {place}/begun.$$
until [ -e {place}/go-on ]; do sleep 0.02; done
echo more >"$$.txt"
echo '<promise>COMPLETE</promise>'
"""


def _begun(fleet):
    return [each.name for each in fleet.place.iterdir() if each.name.startswith("begun")]


def _workers(person):
    """Each worker's state and the labels of its tasks, as a person sees them."""
    return {
        process["name"]: (process["state"], [work["label"] for work in process["work"]])
        for machine in person.json("fleet", "status")["machines"]
        for process in machine["processes"]
        if process["role"] == "worker"
    }


def test_z8_a_drained_worker_finishes_its_task_and_ends_while_another_goes_on(fleet):
    control = fleet.machine("control")
    fleet.machine("one")
    fleet.machine("two")
    fleet.agent(SLOW.format(place=fleet.place))
    control.allstop("add", "One", "--id", "T1")
    control.allstop("add", "Two", "--id", "T2", "--needs", "T1")
    first = fleet.worker("one", "--slots", "1")
    running = control.start("run")
    wait_for(lambda: _begun(fleet), "the first task to be at work")
    assert _workers(control) == {"one": ("online", ["T1"])}

    control.allstop("worker", "drain", "one")
    assert _workers(control) == {"one": ("draining", ["T1"])}
    fleet.worker("two", "--slots", "1", "--label", "gpu")
    wait_for(lambda: "two" in _workers(control), "the second worker")
    (fleet.place / "go-on").touch()

    assert first.wait(60) == 0
    said = first.communicate()[0]
    assert "user drains the worker." in said
    assert "The worker has finished its work." in said
    running.communicate(timeout=110)
    assert running.returncode == 0
    assert fleet.merged() == ["T1", "T2"]
    assert fleet.workspaces("two") == ["T2"]
    assert list(_workers(control)) == ["two"]


def test_z8_sigterm_drains_a_worker_and_a_second_one_ends_it(fleet):
    control = fleet.machine("control")
    fleet.machine("one")
    fleet.agent(SLOW.format(place=fleet.place))
    worker = fleet.worker("one")
    running = control.start("run", "do it")
    wait_for(lambda: _begun(fleet), "the task to be at work")

    worker.send_signal(signal.SIGTERM)
    line = ""
    while "finishes its work" not in line:
        line = worker.stdout.readline()
        assert line, "it ended at once"
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0
    assert fleet.merged() == []

    (fleet.place / "go-on").touch()
    fleet.worker("one")
    running.communicate(timeout=110)
    assert fleet.merged() == ["T1"]


def test_z2_a_task_goes_to_a_worker_that_offers_its_labels(fleet):
    control = fleet.machine("control")
    fleet.machine("plain")
    fleet.machine("gpu")
    fleet.agent(WORKS)
    control.allstop("add", "Train it", "--label", "gpu")
    assert control.json("show", "T1")["labels"] == ["gpu"]
    fleet.worker("plain", "--slots", "5")
    running = control.start("run")
    wait_for(lambda: "board/T1.1" in control.runs(), "the attempt")
    waits = "waits for a free worker that offers: agent mine, label gpu"
    assert waits in control.allstop("status")
    assert f"T1       Train it  {waits}" in control.allstop("fleet", "status")
    told = "work waits, because there is no worker that offers: agent mine, label gpu"
    assert any(told in line for line in running.stdout)  # it isn't just that all are busy
    fleet.worker("gpu", "--label", "gpu")

    running.communicate(timeout=110)

    assert fleet.merged() == ["T1"]
    assert fleet.workspaces("gpu") == ["T1"]
    assert fleet.workspaces("plain") == []


HANGS_IN_MERGE = """
if [ -e one.txt ] && [ -e two.txt ] && [ ! -e {place}/in-merge ]; then
    pwd >{place}/in-merge.new && mv {place}/in-merge.new {place}/in-merge
    sleep 600
fi
"""


def test_z6_another_worker_merges_if_the_one_that_merged_was_killed(fleet):
    control = fleet.machine("control")
    fleet.machine("one")
    fleet.machine("two")
    script = fleet.place / "check.sh"
    script.write_text(HANGS_IN_MERGE.format(place=fleet.place))
    check = f'[verification]\ncommands = ["sh {script}"]\n'
    writes = 'case "$(cat)" in *Two*) echo x >two.txt ;; *) echo x >one.txt ;; esac\n'
    meets = MEETS.format(place=fleet.place).replace("cat >/dev/null\n", writes)
    fleet.agent(meets, settings=MERGE_AT_ONCE + check)
    control.allstop("add", "One")
    control.allstop("add", "Two")
    workers = {name: fleet.worker(name, "--slots", "1") for name in ("one", "two")}
    running = control.start("run")
    fleet.wait_for_file("in-merge")
    merger = (fleet.place / "in-merge").read_text().removeprefix(f"{fleet.place}/")
    workers[merger.partition("/")[0]].send_signal(signal.SIGKILL)

    said = running.communicate(timeout=110)[0]

    assert running.returncode == 0, said
    assert sorted(fleet.merged()) == ["T1", "T2"]
    assert list(fleet.branches()) == ["main"]


def test_z5_another_control_room_drives_the_board_if_the_first_was_killed(fleet):
    control = fleet.machine("control")
    other = fleet.machine("other")
    fleet.machine("one")
    waits = f"until [ -e {fleet.place}/go ]; do sleep 0.02; done\n"
    fleet.agent(f"touch {fleet.place}/at-work\n{waits}{WORKS}")
    fleet.worker("one")
    room = other.start("up", "--port", "0")
    first = control.start("run", "do it")
    fleet.wait_for_file("at-work")
    first.send_signal(signal.SIGKILL)
    (fleet.place / "go").touch()

    wait_for(lambda: fleet.merged() == ["T1"], "the merge", within_s=110)

    assert other.tasks() in ({"T1": "merging"}, {"T1": "done"})
    room.send_signal(signal.SIGINT)
    assert "The board continues" in room.communicate(timeout=60)[0]


def test_z2_work_that_a_worker_did_is_reviewed_on_another_machine(fleet):
    control = fleet.machine("control")
    fleet.machine("one")
    fleet.agent(WORKS, settings="")
    fleet.worker("one")

    control.allstop("run", "add a line", code=3)

    assert control.tasks() == {"T1": "review"}
    assert "+more" in control.allstop("diff", "T1")
    control.allstop("approve", "T1")
    assert fleet.merged() == ["T1"]
    assert "+more" in control.allstop("diff", "T1")
