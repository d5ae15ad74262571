"""A board with three days of history, a forecast that has ended, a flaky test, and tasks to come."""

from datetime import timedelta

import anyio

from allstop.app.gate_receipts import receipt_files
from allstop.app.project import Project
from allstop.board.forecast import Target
from allstop.board.forecast_quality import record_of
from allstop.core.board_specs import SprintSpec
from allstop.core.commands import StartSprint
from allstop.gate.receipt import CommandReceipt, GateReceipt, sealed
from allstop.settings.sources.environment import Environment
from support.person import MERGE_AT_ONCE, at_home
from support.sample_board import SampleBoard
from support.simulated_boards import SimulatedBoard

AGENTS = """
[agents.fast]
driver = "scripted"
script = "script.toml"
[agents.slow]
driver = "scripted"
script = "script.toml"
"""


def with_history(place):
    scene = SampleBoard(at_home(place))
    person = scene.person
    person.script("", MERGE_AT_ONCE + AGENTS)
    person.commit()
    person.allstop("trust", "--yes")
    project = Project(person.repository, Environment(home=person.home))
    try:
        anyio.run(history(project.clock.now()).store, project.journal)
        for result in ("failed", "passed"):
            anyio.run(receipt_files(project).keep, receipt(result, project.clock.now()))
    finally:
        project.close()
    scene.open()
    return scene


def receipt(result, now):
    tests = {"tests/test_webhooks.py::test_waits_grow": result}
    command = CommandReceipt(name="Unit tests", run="t", passed=True, tests=tests)
    return sealed(GateReceipt(commit="c", tree="t1", passed=True, commands=(command,), at=now))


def history(now):
    board = SimulatedBoard(7, begins_at=now - timedelta(days=2, hours=12))
    board.tasks(1, 25)
    board.work()
    board.now = now - timedelta(hours=9)
    new = board.tasks(101, 20, is_later=True)
    tasks = [board.task(task.id) for task in new]
    sprint = {"target": Target(), "spent_microusd": 0, "sprint": "sprint1"}
    record = record_of(board.forecast(), tasks, **sprint)
    board.command(StartSprint(sprint=SprintSpec()), record)
    board.work()
    board.tasks(201, 12, is_later=True)
    return board
