"""Checks run in the box, within their time, and leave nothing behind."""

import subprocess

import anyio

from allstop.adapters.checks import BoxedChecks
from allstop.core.gate import Check
from allstop.core.moves import RunChecks
from allstop.engine.hands import Hands


class Nobody:
    def live(self, live):
        pass

    async def saw(self, item):
        pass


def gate(repo):
    hands = Hands(
        {},
        checks=BoxedChecks(repo.launcher),
        workspaces=repo.workspaces,
        launcher=repo.launcher,
    )

    async def run(*checks, **more):
        move = RunChecks(checks=checks, workspace="w", **more)
        async with anyio.create_task_group() as group:
            group.start_soon(hands.keep_time)
            result = await hands.perform("run", move, Nobody(), 100.0)
            group.cancel_scope.cancel()
        return result

    return run


def alive(word):
    return subprocess.run(["pgrep", "-f", f"^sleep {word}"], capture_output=True).returncode == 0


async def test_b14_a_command_that_times_out_leaves_no_process_behind(repo):
    """B14: daemons and all."""
    await repo.worked("echo x >x")
    command = "setsid sleep 4711.5 & (trap '' TERM; sleep 4711.5) & sleep 4711.5"

    done = await gate(repo)(Check(name="slow", run=command, timeout_s=0.5))

    assert done.results[0].timed_out
    assert not alive("4711.5")


async def test_b9_time_for_all_of_them_leaves_no_process_behind(repo):
    await repo.worked("echo x >x")

    failed = await gate(repo)(Check(name="slow", run="sleep 4712.5"), timeout_s=1.0)

    assert failed.kind == "timed_out"
    assert not alive("4712.5")


async def test_k19_a_failure_the_target_has_too_is_known(repo):
    await repo.worked("echo x >x")

    done = await gate(repo)(
        Check(name="always", run="test -f nowhere"),
        Check(name="by the work", run="test ! -f x"),
        keep_going=True,
    )

    assert [(r.name, r.passed, r.failed_before) for r in done.results] == [
        ("always", False, True),
        ("by the work", False, False),
    ]


async def test_b16_the_gate_finds_a_skipped_test_in_real_work(repo):
    await repo.worked("mkdir tests; echo '@pytest.mark.skip' >tests/test_x.py")

    done = await gate(repo)(Check(name="ok", run="true"), protected=("tests/**",))

    assert [finding.kind for finding in done.findings] == ["skipped_test"]
    assert done.passed
