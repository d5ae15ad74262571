"""B22: a person's hooks, run for real: slow, failing, flooding, forking, stubborn and missing."""

import os
import stat
from datetime import UTC, datetime
from pathlib import Path

import anyio
import pytest

from allstop.adapters.hooks import (
    AT_ONCE,
    LARGEST_LOG_BYTES,
    MOST_WAITING,
    HookRunner,
)
from allstop.board.hook_events import Facts, Hook, variable_names


@pytest.fixture
def anyio_backend():
    return "asyncio"


class Noon:
    def now(self):
        return datetime(2030, 1, 1, 12, tzinfo=UTC)


class Desk:
    """A repository, a log, and what was shown."""

    def __init__(self, root):
        self.root = root / "repository"
        self.root.mkdir()
        self.log = root / "logs" / "hooks.log"
        self.shown = []

    def runner(self, command, **more):
        options = {"clock": Noon(), "show": self.shown.append, **more}
        return HookRunner(lambda: {"post_complete": command}, self.root, self.log, **options)

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
def desk(tmp_path):
    return Desk(tmp_path)


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


async def test_b22_a_hook_runs_in_the_repository_and_is_logged(desk):
    await desk.run("pwd; echo $ALLSTOP_TASK >mark; echo oops >&2")

    assert desk.log.read_text() == (
        f"2030-01-01T12:00:00+00:00 post_complete t1 exit code 0\n    {desk.root}\n    oops\n"
    )
    assert (desk.root / "mark").read_text() == "t1\n"
    assert desk.shown == []
    assert stat.S_IMODE(desk.log.stat().st_mode) == 0o600


async def test_b22_its_environment_is_clean_but_for_the_facts(desk):
    host = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/h",
        "LANG": "C",
        "USER": "u",
        "TERM": "dumb",
        "OPENAI_API_KEY": "secret",
        "GIT_DIR": "/x",
    }

    await desk.run("env", host=host)

    names = {line.partition("=")[0] for line in desk.said().splitlines()}
    shells_own = {"PWD", "OLDPWD", "SHLVL", "_"}
    assert names - shells_own == {"PATH", "HOME", "LANG", "USER", "TERM", *variable_names()}


async def test_b22_what_an_agent_says_cannot_become_a_command(desk):
    evil = "'; touch owned; $(touch owned) `touch owned` \"\n touch owned \0 \ud800"

    await desk.run(
        'printf %s "$ALLSTOP_TITLE$ALLSTOP_NOTE" >/dev/null', done(title=evil, note=evil)
    )

    assert desk.heads() == ["2030-01-01T12:00:00+00:00 post_complete t1 exit code 0"]
    assert list(desk.root.iterdir()) == []


async def test_b22_nobody_is_at_its_input(desk):
    await desk.run("cat; echo read")

    assert desk.said() == "read"


async def test_b22_a_failing_hook_is_logged_and_shown_and_nothing_more(desk):
    async with desk.runner("echo no; exit 3") as hooks:
        hooks.fire(done())
        hooks.fire(done())
        await desk.until_logged(2)

    assert desk.heads() == ["2030-01-01T12:00:00+00:00 post_complete t1 exit code 3"] * 2
    assert desk.shown == [f"hook post_complete t1 exit code 3; its output is in {desk.log}"] * 2


@pytest.mark.parametrize(
    ("command", "how"), [("no-such-program", "exit code 127"), ("kill -9 $$", "exit code -9")]
)
async def test_b22_a_missing_program_and_a_killed_one_fail_like_others(desk, command, how):
    await desk.run(command)

    assert desk.heads() == [f"2030-01-01T12:00:00+00:00 post_complete t1 {how}"]


@pytest.mark.parametrize("command", ["true", "echo a\0b"])
async def test_b22_what_cannot_even_be_started_is_told(desk, command):
    if command == "true":
        desk.root.rmdir()

    await desk.run(command)

    assert "post_complete t1 can't be started" in desk.heads()[0]
    assert len(desk.shown) == 1


async def test_b22_a_hook_nobody_configured_does_nothing(desk):
    async with desk.runner("echo x") as hooks:
        hooks.fire(Facts(hook=Hook.PRE_START, task="t1"))

    assert not desk.log.exists()


async def test_b22_firing_waits_for_nothing(desk):
    async with desk.runner("sleep 0.5") as hooks:
        for _ in range(AT_ONCE):
            hooks.fire(done())
        logged = desk.log.exists()
        await desk.until_logged(AT_ONCE)

    assert not logged


async def test_b22_a_slow_hook_is_ended_with_all_that_it_started(desk):
    """Also what ignores TERM, and what runs in the background."""
    command = (
        "trap '' TERM; echo begun; (trap '' TERM INT HUP; echo $$ >shell; exec sleep 300) &"
        " echo $! >child; sleep 300"
    )

    async with desk.runner(command, patience_s=0.5) as hooks:
        hooks.fire(done())
        await desk.until_logged()
        child = await pid_in(desk.root / "child")
        shell = await pid_in(desk.root / "shell")
        ended = [await dead(child), await dead(shell)]

    assert ended == [True, True]
    assert desk.heads() == ["2030-01-01T12:00:00+00:00 post_complete t1 ended after 0.5 s"]
    assert desk.said() == "begun"


async def test_b22_what_a_hook_leaves_behind_ends_with_it(desk):
    """It holds the pipe, and must not hold us."""
    await desk.run("sleep 300 & echo $! >child")

    assert desk.heads() == ["2030-01-01T12:00:00+00:00 post_complete t1 exit code 0"]
    assert await dead(await pid_in(desk.root / "child"))


async def test_b22_of_a_flood_only_the_end_is_kept(desk):
    await desk.run("yes flood | head -c 3000000; echo; echo the end")

    assert desk.heads() == ["2030-01-01T12:00:00+00:00 post_complete t1 exit code 0"]
    assert desk.said().endswith("the end")
    assert "bytes …]" in desk.said()
    assert desk.log.stat().st_size < 80_000


async def test_b22_a_flood_without_end_is_ended_and_leaves_the_loop_free(desk):
    turns = 0
    async with desk.runner("yes flood", patience_s=1.0) as hooks:
        hooks.fire(done())
        while not desk.heads():
            turns += 1
            await anyio.sleep(0.01)

    assert turns > 20
    assert "ended after 1 s" in desk.heads()[0]


async def test_b22_only_so_many_run_at_once_and_wait(desk):
    count = AT_ONCE + MOST_WAITING + 5
    async with desk.runner("echo x >>running; sleep 0.5; exit 0") as hooks:
        await anyio.sleep(0.05)
        for _ in range(AT_ONCE):
            hooks.fire(done())
        await anyio.sleep(0.1)
        for _ in range(count - AT_ONCE):
            hooks.fire(done())
        running = (desk.root / "running").read_text().count("x")
        refused = [line for line in desk.heads() if "not run" in line]

    assert running == AT_ONCE
    assert len(refused) == 5
    assert refused[0].endswith(f"not run: {MOST_WAITING} others wait already")


async def test_b22_at_the_end_hooks_have_a_moment_to_finish(desk):
    async with desk.runner("sleep 0.3; echo finished") as hooks:
        hooks.fire(done())

    assert desk.said() == "finished"


async def test_b22_at_the_end_a_hook_has_all_of_its_time_and_that_is_said(desk):
    def show(line):
        desk.shown.append(line)
        (desk.root / "go").touch()

    async with desk.runner("while ! test -e go; do sleep 0.1; done", show=show) as hooks:
        hooks.fire(done())

    assert desk.shown == ["waiting for hooks to end, 30 s at most"]
    assert desk.heads() == ["2030-01-01T12:00:00+00:00 post_complete t1 exit code 0"]


async def test_b22_when_all_is_stopped_a_hook_is_ended_at_once(desk):
    async with desk.runner("echo $$ >child; echo begun; sleep 300") as hooks:
        hooks.fire(done())
        child = await pid_in(desk.root / "child")
        hooks.hurry()

    assert not alive(child)
    assert desk.heads() == ["2030-01-01T12:00:00+00:00 post_complete t1 ended with the program"]
    assert desk.said() == "begun"


async def test_b22_what_happens_after_a_stop_runs_no_hook_and_breaks_nothing(desk):
    """B22: the record is still being read then."""
    async with desk.runner("echo $$ >child; sleep 300") as hooks:
        hooks.fire(done())
        child = await pid_in(desk.root / "child")
        hooks.hurry()
        await dead(child)
        with anyio.fail_after(60):
            while not (desk.log.exists() and desk.heads()):
                await anyio.sleep(0.01)
        hooks.fire(done())

    assert [head.partition("t1 ")[2] for head in desk.heads()] == [
        "ended with the program",
        "not run: all is stopped",
    ]


async def test_b22_when_all_is_cancelled_hooks_still_have_their_moment(desk):
    with anyio.CancelScope() as scope:
        async with desk.runner("sleep 0.3; echo finished") as hooks:
            hooks.fire(done())
            scope.cancel()
            await anyio.sleep(60)

    assert desk.said() == "finished"


async def test_what_the_block_raises_is_raised_as_it_is(desk):
    with pytest.raises(KeyError):
        async with desk.runner("true"):
            raise KeyError


async def test_a_log_that_cannot_be_written_stops_nothing(desk):
    desk.log.parent.write_text("a file where the folder should be")

    async with desk.runner("touch mark") as hooks:
        hooks.fire(done())
        with anyio.fail_after(60):
            while not desk.shown:
                await anyio.sleep(0.01)

    assert "the log can't be written" in desk.shown[0]
    assert (desk.root / "mark").exists()


async def test_the_log_does_not_grow_for_ever(desk):
    desk.log.parent.mkdir()
    desk.log.write_text("    x\n" * (LARGEST_LOG_BYTES // 5))

    await desk.run("true")

    assert len(desk.log.read_text().splitlines()) == 1
    assert desk.log.with_suffix(".1").read_text().startswith("    x")


async def test_nothing_is_left_open(desk):
    before = len(os.listdir("/proc/self/fd"))

    async with desk.runner("true") as hooks:
        for _ in range(20):
            hooks.fire(done())
        await desk.until_logged(20)

    assert len(os.listdir("/proc/self/fd")) <= before
