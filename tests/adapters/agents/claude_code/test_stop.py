"""K2, K10: stopping a turn ends all its processes, and its conversation can be resumed."""

import json

import anyio

from adapters.agents.claude_code.launch_claude import BEATS, bash, came_back
from allstop.adapters.agents.claude_code import PermissionMode
from allstop.core.moves import FailureKind, TurnDone
from allstop.testing.agent_contract import RecordingWatch


class Thinking(RecordingWatch):
    """A watch that never answers."""

    def __init__(self):
        super().__init__()
        self.was_asked = anyio.Event()

    async def ask(self, ask):
        self.asks.append(ask)
        self.was_asked.set()
        await anyio.sleep_forever()


async def test_k10_an_interrupt_ends_its_commands_and_is_written_down(bench):
    """K10: cancelled within a command; the resumed conversation contains the interruption."""
    watch = RecordingWatch()
    agent = await bench.agent(
        lambda asked: "zebra" if came_back(asked) else bash(BEATS), permissions=PermissionMode.ALL
    )
    async with anyio.create_task_group() as group:
        group.start_soon(bench.turn, agent, watch)
        await bench.until_beating()
        group.cancel_scope.cancel()
    assert not await bench.is_beating()

    result = await bench.turn(agent, thread=watch.threads[0])

    told = json.dumps(bench.server.requests[-1].body["messages"])
    assert result.text == "zebra"
    assert "[Request interrupted by user" in told


async def test_k10_a_turn_that_waits_for_permission_can_be_stopped(bench):
    """K10: the ask ends with the turn, and the command never ran."""
    watch = Thinking()
    agent = await bench.agent([bash("make install; touch ran")])
    async with anyio.create_task_group() as group:
        group.start_soon(bench.turn, agent, watch)
        with anyio.fail_after(60):
            await watch.was_asked.wait()
        group.cancel_scope.cancel()

    assert not (bench.work / "ran").exists()


async def test_k2_a_killed_process_is_a_crash_and_its_conversation_goes_on(bench):
    """K2, K10: after SIGKILL in the middle of a command, the conversation is resumed."""
    watch, results = RecordingWatch(), []
    agent = await bench.agent(
        lambda asked: "zebra" if "second" in asked.user else bash(BEATS),
        permissions=PermissionMode.ALL,
    )

    async def first():
        results.append(await bench.turn(agent, watch, "first"))

    async with anyio.create_task_group() as group:
        group.start_soon(first)
        await bench.until_beating()
        bench.launcher.kill("contract")
    assert not await bench.is_beating()
    again = await bench.turn(agent, text="second", thread=watch.threads[0])

    told = bench.server.requests[-1].user
    assert results[0].kind is FailureKind.CRASHED
    assert (again.text, again.thread) == ("zebra", watch.threads[0])
    assert "first" in told
    assert "second" in told


async def test_k10_what_runs_in_the_background_ends_with_the_turn(bench):
    """K10: after its result the process would wait ten minutes for a background command."""
    env = {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": ""}
    answers = [bash(BEATS, run_in_background=True), bash("sleep 0.3; true"), "zebra"]
    agent = await bench.agent(answers, permissions=PermissionMode.ALL, env=env)

    with anyio.fail_after(60):
        result = await bench.turn(agent)

    assert isinstance(result, TurnDone)
    assert bench.beat.stat().st_size
    assert not await bench.is_beating()


async def test_k2_a_daemon_of_its_own_ends_with_the_turn(bench):
    """K2: a daemon in its own session, which no signal to the group reaches."""
    daemon = f"setsid nohup sh -c 'trap \"\" TERM HUP; {BEATS}' >/dev/null 2>&1 & sleep 0.3; true"
    agent = await bench.agent([bash(daemon), "zebra"], permissions=PermissionMode.ALL)

    result = await bench.turn(agent)

    assert result.text == "zebra"
    assert bench.beat.stat().st_size
    assert not await bench.is_beating()
