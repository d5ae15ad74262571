"""Checks run in the box, within their time, and leave nothing behind."""

import subprocess
from pathlib import Path

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


ODD_NAMES = ("a b.txt", "it's.txt", 'say "x".txt', "-rf", "new\nline.txt", "$(id).txt", "é*.txt")


async def test_m4_a_check_gets_the_changed_files_whatever_their_names_are(repo):
    for name in ODD_NAMES:
        (repo.root / name).write_text("1")
    await repo.worked("git rm -q a.txt; echo x >x")
    box = Path(repo.workspaces.box_of("w").workspace)
    for name in ODD_NAMES:
        (box / name).write_text("changed")
    await repo.kept()

    told = Check(name="told", run="printf '%s|' {changed}; ls {changed} >/dev/null")
    some = Check(name="some", run="cat {changed}", paths=("x", "docs/**"))
    none = Check(name="none", run="false {changed}", paths=("docs/**",))
    done = await gate(repo)(told, some, none)

    assert done.passed
    said, read = done.results
    files = said.output.split("|")[:-1]
    assert sorted(files) == sorted(["--", *ODD_NAMES, "x"]), "and not the file that is gone"
    assert (said.run, read.output) == (told.run, "x\n")
    assert done.skipped == ("none",)


async def test_m4_checks_of_other_paths_are_skipped_in_an_attempt_and_run_at_the_merge(repo):
    await repo.worked("mkdir docs; echo x >docs/x.md")
    docs = Check(name="docs", run="true", paths=("docs/**",))
    code = Check(name="code", run="false", paths=("**/*.py",))

    attempt = await gate(repo)(docs, code, affected=True)
    merge = await gate(repo)(docs, code, commit=(await repo.integrated()).commit)

    assert ([r.name for r in attempt.results], attempt.skipped) == (["docs"], ("code",))
    assert attempt.passed
    assert [(r.name, r.passed) for r in merge.results] == [("docs", True), ("code", False)]


async def test_m4_secrets_for_checks_reach_checks_and_no_agent(repo):
    await repo.worked("echo x >x")
    env = {"DB_PASSWORD": "correct horse"}
    checks = BoxedChecks(repo.launcher, env=lambda: env)
    look = 'test "$DB_PASSWORD" = "correct horse"'
    box = repo.workspaces.box_of("w")

    result = await checks.run(Check(name="db", run=look), box, "run", lambda live: None)

    assert result.passed
    assert (await repo.agent(look))[0] == 1


async def test_b16_the_gate_finds_a_skipped_test_in_real_work(repo):
    await repo.worked("mkdir tests; echo '@pytest.mark.skip' >tests/test_x.py")

    done = await gate(repo)(Check(name="ok", run="true"), protected=("tests/**",))

    assert [finding.kind for finding in done.findings] == ["skipped_test"]
    assert done.passed
