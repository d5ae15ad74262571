"""B22: hooks run for real: slow, failing, flooding, forking, stubborn and missing ones."""

import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from allstop.adapters.hooks import (
    LARGEST_LOG_BYTES,
    MAX_WAITING,
    WORKERS,
    HookRunner,
)
from allstop.board.hook_events import Facts, Hook, variable_names


@pytest.fixture
def anyio_backend():
    return "asyncio"


class Noon:
    def now(self):
        return datetime(2030, 1, 1, 12, tzinfo=UTC)


class HookFixture:
    """A repository, a log, and what was shown."""

    def __init__(self, root):
        self.root = root / "repository"
        self.root.mkdir()
        self.log = root / "logs" / "hooks.log"
        self.shown = []

    def runner(self, command, **more):
        options = {"clock": Noon(), "show": self.shown.append, **more}
        return HookRunner(
            lambda: {"post_complete": command}, lambda: self.root, self.log, **options
        )

    async def run(self, command, facts=None, **more):
        """One hook, to its end."""
        async with self.runner(command, **more) as hooks:
            hooks.fire(facts or done())
            await self.until_logged()

    async def until_logged(self, lines=1):
        with anyio.fail_after(60):
            while len(self.heads()) < lines:
                await anyio.sleep(0.01)

    def heads(self):
        """The log's lines, without what hooks said."""
        if not self.log.exists():
            return []
        return [line for line in self.log.read_text().splitlines() if not line.startswith("  ")]

    def said(self):
        return "\n".join(
            line[4:] for line in self.log.read_text().splitlines() if line.startswith("    ")
        )


def done(**facts):
    return Facts(hook=Hook.POST_COMPLETE, task="t1", **facts)


@pytest.fixture
def hook_fixture(tmp_path):
    return HookFixture(tmp_path)


def alive(pid):
    """A zombie that nobody has buried yet is not alive."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


async def dead(pid, within_s=60):
    with anyio.move_on_after(within_s):
        while alive(pid):
            await anyio.sleep(0.01)
        return True
    return False


async def pid_in(file):
    with anyio.fail_after(60):
        while not (file.exists() and file.read_text().strip()):
            await anyio.sleep(0.01)
    return int(file.read_text())


async def test_b22_a_hook_runs_in_the_repository_and_is_logged(hook_fixture):
    await hook_fixture.run("pwd; echo $ALLSTOP_TASK >mark; echo oops >&2")

    assert hook_fixture.log.read_text() == (
        f"2030-01-01T12:00:00+00:00 post_complete t1 exit code 0\n    {hook_fixture.root}\n    oops\n"
    )
    assert (hook_fixture.root / "mark").read_text() == "t1\n"
    assert hook_fixture.shown == []
    assert stat.S_IMODE(hook_fixture.log.stat().st_mode) == 0o600


async def test_b22_its_environment_is_clean_but_for_the_facts(hook_fixture):
    host = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/h",
        "LANG": "C",
        "USER": "u",
        "TERM": "dumb",
        "OPENAI_API_KEY": "secret",
        "GIT_DIR": "/x",
    }

    await hook_fixture.run("env", host=host)

    names = {line.partition("=")[0] for line in hook_fixture.said().splitlines()}
    shells_own = {"PWD", "OLDPWD", "SHLVL", "_"}
    assert names - shells_own == {"PATH", "HOME", "LANG", "USER", "TERM", *variable_names()}


async def test_b22_what_an_agent_says_cannot_become_a_command(hook_fixture):
    evil = "'; touch owned; $(touch owned) `touch owned` \"\n touch owned \0 \ud800"

    await hook_fixture.run(
        'printf %s "$ALLSTOP_TITLE$ALLSTOP_NOTE" >/dev/null', done(title=evil, note=evil)
    )

    assert hook_fixture.heads() == ["2030-01-01T12:00:00+00:00 post_complete t1 exit code 0"]
    assert list(hook_fixture.root.iterdir()) == []


async def test_b22_nobody_is_at_its_input(hook_fixture):
    await hook_fixture.run("cat; echo read")

    assert hook_fixture.said() == "read"


async def test_b22_a_failing_hook_is_logged_and_shown_and_nothing_more(hook_fixture):
    async with hook_fixture.runner("echo no; exit 3") as hooks:
        hooks.fire(done())
        hooks.fire(done())
        await hook_fixture.until_logged(2)

    assert hook_fixture.heads() == ["2030-01-01T12:00:00+00:00 post_complete t1 exit code 3"] * 2
    assert (
        hook_fixture.shown
        == [f"hook post_complete t1 exit code 3; its output is in {hook_fixture.log}"] * 2
    )


@pytest.mark.parametrize(
    ("command", "how"), [("no-such-program", "exit code 127"), ("kill -9 $$", "exit code -9")]
)
async def test_b22_a_missing_program_and_a_killed_one_fail_like_others(hook_fixture, command, how):
    await hook_fixture.run(command)

    assert hook_fixture.heads() == [f"2030-01-01T12:00:00+00:00 post_complete t1 {how}"]


@pytest.mark.parametrize("command", ["true", "echo a\0b"])
async def test_b22_what_cannot_even_be_started_is_told(hook_fixture, command):
    if command == "true":
        hook_fixture.root.rmdir()

    await hook_fixture.run(command)

    assert "post_complete t1 can't be started" in hook_fixture.heads()[0]
    assert len(hook_fixture.shown) == 1


async def test_b22_a_hook_nobody_configured_does_nothing(hook_fixture):
    async with hook_fixture.runner("echo x") as hooks:
        hooks.fire(Facts(hook=Hook.PRE_START, task="t1"))

    assert not hook_fixture.log.exists()


async def test_b22_firing_waits_for_nothing(hook_fixture):
    async with hook_fixture.runner("sleep 0.5") as hooks:
        for _ in range(WORKERS):
            hooks.fire(done())
        logged = hook_fixture.log.exists()
        await hook_fixture.until_logged(WORKERS)

    assert not logged


async def test_b22_a_slow_hook_is_ended_with_all_that_it_started(hook_fixture):
    """Also what ignores TERM, and what runs in the background."""
    command = (
        "trap '' TERM; echo begun; (trap '' TERM INT HUP; echo $$ >shell; exec sleep 300) &"
        " echo $! >child; sleep 300"
    )

    async with hook_fixture.runner(command, timeout_s=0.5) as hooks:
        hooks.fire(done())
        await hook_fixture.until_logged()
        child = await pid_in(hook_fixture.root / "child")
        shell = await pid_in(hook_fixture.root / "shell")
        ended = [await dead(child), await dead(shell)]

    assert ended == [True, True]
    assert hook_fixture.heads() == ["2030-01-01T12:00:00+00:00 post_complete t1 killed after 0.5 s"]
    assert hook_fixture.said() == "begun"


async def test_b22_what_a_hook_leaves_behind_ends_with_it(hook_fixture):
    """It holds the pipe, and must not hold us."""
    await hook_fixture.run("sleep 300 & echo $! >child")

    assert hook_fixture.heads() == ["2030-01-01T12:00:00+00:00 post_complete t1 exit code 0"]
    assert await dead(await pid_in(hook_fixture.root / "child"))


async def test_b22_of_a_flood_only_the_end_is_kept(hook_fixture):
    await hook_fixture.run("yes flood | head -c 3000000; echo; echo the end")

    assert hook_fixture.heads() == ["2030-01-01T12:00:00+00:00 post_complete t1 exit code 0"]
    assert hook_fixture.said().endswith("the end")
    assert "bytes …]" in hook_fixture.said()
    assert hook_fixture.log.stat().st_size < 80_000


async def test_b22_a_flood_without_end_is_ended_and_leaves_the_loop_free(hook_fixture):
    turns = 0
    async with hook_fixture.runner("yes flood", timeout_s=1.0) as hooks:
        hooks.fire(done())
        while not hook_fixture.heads():
            turns += 1
            await anyio.sleep(0.01)

    assert turns > 20
    assert "killed after 1 s" in hook_fixture.heads()[0]


async def test_b22_only_so_many_run_at_once_and_wait(hook_fixture):
    count = WORKERS + MAX_WAITING + 5
    started = hook_fixture.root / "running"
    waits = "echo x >>running; while [ ! -e go ]; do sleep 0.05; done"
    async with hook_fixture.runner(waits) as hooks:
        for _ in range(WORKERS):
            hooks.fire(done())
        with anyio.fail_after(30):
            while not started.exists() or started.read_text().count("x") < WORKERS:
                await anyio.sleep(0.01)
        for _ in range(count - WORKERS):
            hooks.fire(done())
        await anyio.sleep(0.1)
        running = started.read_text().count("x")
        refused = [line for line in hook_fixture.heads() if "not run" in line]
        (hook_fixture.root / "go").touch()

    assert running == WORKERS
    assert len(refused) == 5
    assert refused[0].endswith(f"not run: {MAX_WAITING} others are waiting")


async def test_b22_at_the_end_hooks_have_a_moment_to_finish(hook_fixture):
    async with hook_fixture.runner("sleep 0.3; echo finished") as hooks:
        hooks.fire(done())

    assert hook_fixture.said() == "finished"


async def test_b22_at_the_end_a_hook_has_all_of_its_time_and_that_is_said(hook_fixture):
    def show(line):
        hook_fixture.shown.append(line)
        (hook_fixture.root / "go").touch()

    async with hook_fixture.runner("while ! test -e go; do sleep 0.1; done", show=show) as hooks:
        hooks.fire(done())

    assert hook_fixture.shown == ["waiting at most 30 s for hooks to end"]
    assert hook_fixture.heads() == ["2030-01-01T12:00:00+00:00 post_complete t1 exit code 0"]


async def test_b22_when_all_is_stopped_a_hook_is_ended_at_once(hook_fixture):
    async with hook_fixture.runner("echo $$ >child; echo begun; sleep 300") as hooks:
        hooks.fire(done())
        child = await pid_in(hook_fixture.root / "child")
        hooks.hurry()

    assert not alive(child)
    assert hook_fixture.heads() == [
        "2030-01-01T12:00:00+00:00 post_complete t1 killed at the end of the program"
    ]
    assert hook_fixture.said() == "begun"


async def test_b22_what_happens_after_a_stop_runs_no_hook_and_breaks_nothing(hook_fixture):
    """B22: the record is still being read then."""
    async with hook_fixture.runner("echo $$ >child; sleep 300") as hooks:
        hooks.fire(done())
        child = await pid_in(hook_fixture.root / "child")
        hooks.hurry()
        await dead(child)
        with anyio.fail_after(60):
            while not (hook_fixture.log.exists() and hook_fixture.heads()):
                await anyio.sleep(0.01)
        hooks.fire(done())

    assert [head.partition("t1 ")[2] for head in hook_fixture.heads()] == [
        "killed at the end of the program",
        "not run: everything is stopped",
    ]


async def test_b22_when_all_is_cancelled_hooks_still_have_their_moment(hook_fixture):
    with anyio.CancelScope() as scope:
        async with hook_fixture.runner("sleep 0.3; echo finished") as hooks:
            hooks.fire(done())
            scope.cancel()
            await anyio.sleep(60)

    assert hook_fixture.said() == "finished"


async def test_what_the_block_raises_is_raised_as_it_is(hook_fixture):
    with pytest.raises(KeyError):
        async with hook_fixture.runner("true"):
            raise KeyError


async def test_a_log_that_cannot_be_written_stops_nothing(hook_fixture):
    hook_fixture.log.parent.write_text("a file where the folder should be")

    async with hook_fixture.runner("touch mark") as hooks:
        hooks.fire(done())
        with anyio.fail_after(60):
            while not hook_fixture.shown:
                await anyio.sleep(0.01)

    assert "the log can't be written" in hook_fixture.shown[0]
    assert (hook_fixture.root / "mark").exists()


async def test_the_log_does_not_grow_for_ever(hook_fixture):
    hook_fixture.log.parent.mkdir()
    hook_fixture.log.write_text("    x\n" * (LARGEST_LOG_BYTES // 5))

    await hook_fixture.run("true")

    assert len(hook_fixture.log.read_text().splitlines()) == 1
    assert hook_fixture.log.with_suffix(".1").read_text().startswith("    x")


async def test_nothing_is_left_open(hook_fixture):
    before = len(os.listdir("/proc/self/fd"))

    async with hook_fixture.runner("true") as hooks:
        for _ in range(20):
            hooks.fire(done())
        await hook_fixture.until_logged(20)

    assert len(os.listdir("/proc/self/fd")) <= before
