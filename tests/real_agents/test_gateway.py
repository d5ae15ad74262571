"""Real Codex and real Claude Code reach a model server only through the gateway."""

import json
import re

import anyio
import pytest
from msgspec.structs import replace

from adapters.agents.claude_code import launch_claude
from adapters.agents.codex import launch_codex
from allstop.testing.model_server import ErrorReply, Protocol, Say, envelope, model_server
from real_agents.test_mixed_agents import (
    KEYS,
    allstop,
    sets_up,
    start,
    until,
    work,
)

GATEWAY = '\n[sandbox]\nnetwork = "model-only"\n'
AGENT_NAMES = ["codex", "claude"]
LOOK_FOR_KEYS = (
    "(env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; "
    'grep -rs --exclude=found.txt "" ~ . /tmp /run 2>/dev/null) | tr "\\0" "\\n" >found.txt; ls /proc >>found.txt'
)


@pytest.mark.parametrize("agent", AGENT_NAMES)
async def test_g3_no_key_is_found_in_a_box_that_works_through_the_gateway(person, agent):
    """G1, G3, K16: not in the environment, in /proc, in files, or on a command line."""

    async with model_server(lambda asked: work(asked, LOOK_FOR_KEYS)) as server:
        sets_up(person, server, GATEWAY if agent == "claude" else "")  # it is the default
        said = await allstop(person, "run", "Look around", "--agent", agent)
        log = await allstop(person, "log", "T1")

    found = person.git("show", "main:found.txt")
    assert "1 done" in said
    assert "allstop-placeholder" in found, "the search would have found a key"
    assert not [key for key in KEYS.values() if key in found]
    names = ("authorization", "x-api-key")
    sent = {asked.headers.get(name, "") for asked in server.requests for name in names}
    assert sent - {""} <= {*KEYS.values(), *(f"Bearer {key}" for key in KEYS.values())}
    assert re.search(r"model call: \S+: [\d,]+ tokens in", log)


@pytest.mark.parametrize("agent", AGENT_NAMES)
async def test_g8_a_trial_proves_that_the_agent_works_through_the_gateway(person, agent):
    """G8, G7: its call is counted; what it wanted besides is listed, and fails nothing."""
    async with model_server(["ready"]) as server:
        sets_up(person, server, GATEWAY)
        trial = json.loads(await allstop(person, "agents", "test", agent, "--json"))
        said = await allstop(person, "agents", "test", agent)
        rows = json.loads(await allstop(person, "doctor", "--quick", "--json", code=None))

    assert trial["gateway"]["calls"] >= 1
    assert all(refused.startswith("refused ") for refused in trial["gateway"]["refused"])
    assert "✓ its model was reached through the gateway: " in said
    assert "✓ nothing else left the box" in said
    (row,) = [each for each in rows["findings"] if each["name"] == "gateway"]
    assert row["ok"]
    assert agent in row["found"]


async def test_g8_a_trial_says_that_the_provider_did_not_answer(person):
    """G8: not that the agent didn't use the gateway."""
    async with model_server([]) as server:
        sets_up(person, server, GATEWAY)
    said = await allstop(person, "agents", "test", "codex", code=1)

    assert "the connection to the provider failed: Connection refused" in said
    assert "of its model, and the provider answered none" in said


BUDGET = """
[budget.task]
tokens = 40_000
[budget]
at_limit = "stop"
"""


@pytest.mark.parametrize("agent", AGENT_NAMES)
async def test_g5_a_budget_holds_to_the_call_and_the_work_is_kept(person, agent):
    """G5, K5: the cap of each call is lowered to what is left, and the last one is refused."""

    def answer(asked):
        is_claude = asked.protocol is Protocol.MESSAGES
        tool = launch_claude.bash if is_claude else launch_codex.run
        said = tool("echo more >>count.txt && git add -A && git commit -qm work")
        return replace(said, input=6_000, output=1_000)

    async with model_server(answer) as server:
        sets_up(person, server, GATEWAY + BUDGET)
        await allstop(person, "run", "Count", "--agent", agent, code=None)
        log = await allstop(person, "log", "T1")

    names = ("max_output_tokens", "max_tokens")
    caps = [next(c for n in names if (c := r.body.get(n)) is not None) for r in server.requests]
    assert len(caps) >= 2
    assert 7_000 * len(caps) <= 40_000
    assert all(cap < 40_000 for cap in caps)
    assert caps == sorted(caps, reverse=True)
    assert "capped: the turn has used" in log
    assert "ended: braked" in log
    tree = person.repository / ".allstop" / "workspaces" / "T1" / "tree"
    assert (tree / "count.txt").read_text() == "more\n" * len(caps)


@pytest.mark.parametrize("agent", AGENT_NAMES)
async def test_g6_a_long_limit_ends_the_turn_and_holds_the_account(person, agent):
    """G6, K13: the agent doesn't wait for it."""
    limited = ErrorReply(429, {"error": {"message": "Slow down."}}, {"retry-after": "3600"})
    holds = person.home / ".local" / "state" / "allstop" / "account_holds.json"

    async with model_server([Say(error=limited)]) as server:
        sets_up(person, server, GATEWAY)
        process = start(person, "run", "Wait", "--agent", agent)
        await until(lambda: holds.exists() and "rate_limited" in holds.read_text())
        with anyio.fail_after(60):  # it is recorded right after
            while "rate limited: Slow down" not in await allstop(person, "log", "T1", code=None):
                pass
        await allstop(person, "stop")
        await anyio.to_thread.run_sync(process.communicate)
    assert len(server.requests) == 1


@pytest.mark.parametrize("agent", AGENT_NAMES)
async def test_g4_allstop_cuts_a_call_under_way(person, agent):
    """G4, K2: the provider's connection is closed, and no process survives."""
    async with model_server([Say(pieces=("word ",) * 5_000, pause_s=0.2)]) as server:
        sets_up(person, server, GATEWAY)
        process = start(person, "run", "Talk", "--agent", agent)
        await until(lambda: server.requests)
        stopped = await allstop(person, "stop")
        with anyio.fail_after(30):
            await server.left.wait()
        await anyio.to_thread.run_sync(process.communicate)

    assert process.returncode == 130
    assert f"{agent} takes a turn (1 model call cut off" in stopped
    assert server.disconnects >= 1


async def test_r1_a_room_of_agents_behind_the_gateway(person):
    """R1, G1: turns without a workspace go through it too."""

    def answer(asked):
        if asked.protocol is Protocol.MESSAGES:
            return envelope("claude words", final=True)
        return envelope("gpt words", handoff={"to": "claude", "task": "Answer."})

    async with model_server(answer) as server:
        sets_up(person, server, GATEWAY)
        said = await allstop(person, "room", "Talk.", "--agents", "codex,claude")

    assert "codex: gpt words" in said
    assert "claude: claude words" in said
