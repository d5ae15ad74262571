"""K2, K10: stopping a real agent ends all its processes, and its conversation can be resumed."""

import json

import anyio

from adapters.agents.claude_code.launch_claude import BEATS, bash, came_back
from allstop.core.moves import FailureKind
from allstop.testing.agent_contract import RecordingWatch


async def test_k10_an_interrupt_ends_its_commands_and_the_conversation_goes_on(bench):
    """K10: cancelled within a command; the resumed conversation contains the interruption."""
    watch = RecordingWatch(allows=True)
    agent = await bench.agent(lambda asked: "zebra" if came_back(asked) else bash(BEATS))
    async with anyio.create_task_group() as group:
        group.start_soon(bench.turn, agent, watch)
        await bench.until_beating()
        group.cancel_scope.cancel()
    assert not await bench.is_beating()

    result = await bench.turn(agent, thread=watch.threads[0])

    told = json.dumps(bench.asked_last.body["messages"])
    assert (result.text, result.thread) == ("zebra", watch.threads[0])
    assert "interrupted by user" in told


async def test_f1_a_killed_process_is_a_crash_and_its_conversation_goes_on(bench):
    """F1, K2: after SIGKILL in the middle of a command, the conversation is resumed."""
    watch, results = RecordingWatch(allows=True), []
    agent = await bench.agent(lambda asked: "zebra" if "second" in asked.user else bash(BEATS))

    async def first():
        results.append(await bench.turn(agent, watch, "first"))

    async with anyio.create_task_group() as group:
        group.start_soon(first)
        await bench.until_beating()
        bench.launcher.kill("contract")
    assert not await bench.is_beating()
    again = await bench.turn(agent, text="second", thread=watch.threads[0])

    told = bench.asked_last.user
    assert results[0].kind is FailureKind.CRASHED
    assert (again.text, again.thread) == ("zebra", watch.threads[0])
    assert "first" in told
    assert "second" in told


async def test_k18_a_command_runs_where_it_was_judged(bench):
    """K18: `cd` holds for its own line."""
    steps = [bash("mkdir sub; cd sub; pwd"), bash("pwd"), "zebra"]
    agent = await bench.agent(lambda asked: steps[len(came_back(asked))])

    await bench.turn(agent)

    moved, back = came_back(bench.asked_last)
    assert moved.startswith('"/project/sub')
    assert back == '"/project"'


async def test_k2_a_daemon_of_its_own_ends_with_the_turn(bench):
    """K2: a daemon in its own session, which no signal to the group reaches."""
    daemon = f"setsid nohup sh -c 'trap \"\" TERM HUP; {BEATS}' >/dev/null 2>&1 & sleep 0.3; true"
    agent = await bench.agent([bash(daemon), "zebra"])

    result = await bench.turn(agent)

    assert result.text == "zebra"
    assert bench.beat.stat().st_size
    assert not await bench.is_beating()


async def test_k11_its_environment_is_made_from_a_list(bench, monkeypatch):
    """K11: without allstop's variables; its home is the box's, and it gets only its key."""
    monkeypatch.setenv("SECRET_CANARY", "canary")
    agent = await bench.agent([bash("env; pwd"), "zebra"])

    await bench.turn(agent)

    (told,) = came_back(bench.asked_last)
    assert "canary" not in told
    assert "HOME=/home/agent" in told
    assert "/project" in told
    assert bench.server.requests[0].headers["x-api-key"] == "sk-ant-dummy-key"


async def test_k10_a_prompt_is_not_taken_for_a_command(bench):
    """K10: the agent would run "/compact" itself, and the model never see it."""
    agent = await bench.agent(["zebra"])

    result = await bench.turn(agent, text="/compact everything")

    assert result.text == "zebra"
    assert "/compact everything" in bench.server.requests[0].user
