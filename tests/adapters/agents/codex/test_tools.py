"""B7, F5: the real codex uses the turn's tools signal, progress and ask."""

import json
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from adapters.agents.codex.launch_codex import outputs
from allstop.adapters.agents.codex.tools import dynamic_tools
from allstop.adapters.agents.offered_tools import SERVER
from allstop.adapters.processes.sandbox.box_ownership import hand_over
from allstop.adapters.processes.sandbox.host_tools import this_host
from allstop.core.asks import Ask, Option, Question
from allstop.core.moves import Item, TurnDone
from allstop.core.signals import Signal, SignalClaim
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import Call, Say


def use(name, **arguments):
    return Say(text="", calls=(Call(name=name, arguments=arguments),))


def offered(asked):
    return [tool.get("name") for tool in asked.body.get("tools", [])]


async def test_b7_it_signals_and_tells_how_far_it_is(stage, place):
    """B7: its calls are items of the turn, and a claim like the last line of its message."""
    agent = await stage.agent_that(
        use("allstop_progress", percent=40, text="the parser reads"),
        use("allstop_signal", signal="COMPLETE"),
        "That is it.",
    )
    watch = RecordingWatch()

    result = await agent.take_turn(turn(place), watch)

    assert isinstance(result, TurnDone), result
    assert result.claim == SignalClaim(signal=Signal.COMPLETE)
    assert result.text == "That is it."
    assert watch.items == [
        Item(kind="progress", text="40% the parser reads"),
        Item(kind="signal", text="COMPLETE"),
        Item(kind="message", text="That is it."),
    ]


async def test_b7_it_asks_and_is_answered(stage, place):
    """B7, F5: within the turn, by a person, with its options."""
    call = use("allstop_ask", question="Which colour?", options=["Red", "Blue"])
    server = await stage.model(lambda asked: (outputs(asked) or [call])[-1])
    watch = RecordingWatch(allows=True, answers=("Blue",))

    result = await stage.agent(server).take_turn(turn(place), watch)

    assert "Blue" in result.text
    question = Question(text="Which colour?", options=(Option(label="Red"), Option(label="Blue")))
    assert watch.asks == [
        Ask(id="allstop-1", kind="question", text=question.text, questions=(question,))
    ]


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (use("allstop_signal", signal="DONE"), "signal: Invalid enum value 'DONE'"),
        (use("allstop_signal", signal="BLOCKED"), "BLOCKED needs a text"),
        (use("allstop_signal", signal="COMPLETE", run="r2"), "unknown field `run`"),
        (use("allstop_progress", percent=140, text="x"), "progress: Expected `int` <= 100"),
    ],
)
async def test_b7_what_makes_no_sense_is_told_so_and_counts_for_nothing(stage, place, call, why):
    """B7: there is no argument that names another run."""
    server = await stage.model(lambda asked: (outputs(asked) or [call])[-1])
    watch = RecordingWatch()

    result = await stage.agent(server).take_turn(turn(place), watch)

    assert why in result.text
    assert result.claim.signal is Signal.NONE
    assert [item.kind for item in watch.items] == ["message"]


async def test_b7_the_tools_are_there_when_a_conversation_goes_on(stage, place):
    """B7: also in the next turn, in another process; never without a workspace."""
    signal = use("allstop_signal", signal="BLOCKED", text="no access")
    answers = iter(["one", signal, "two", "three"])
    server = await stage.model(lambda asked: next(answers))
    agent = stage.agent(server)

    first = await agent.take_turn(turn(place), RecordingWatch())
    second = await agent.take_turn(turn(place, thread=first.thread), RecordingWatch())
    await agent.take_turn(turn(None), RecordingWatch())

    names = {tool["name"] for tool in dynamic_tools()}
    assert first.claim.signal is Signal.NONE
    assert second.claim == SignalClaim(signal=Signal.BLOCKED, text="no access")
    at_work, turn_with_talk = offered(server.requests[1]), offered(server.requests[-1])
    assert names <= set(at_work)
    assert not names & set(turn_with_talk)


BEHIND_MCP = """
import json, sys
tools = json.loads({tools!r})
for line in sys.stdin:
    said = json.loads(line)
    hello = dict(protocolVersion="2025-06-18", serverInfo=dict(name="x", version="1"))
    answers = {{
        "initialize": dict(hello, capabilities=dict(tools={{}})),
        "tools/list": dict(tools=tools),
        "tools/call": dict(content=[dict(type="text", text="zebra")], isError=False),
    }}
    if "id" in said:
        result = answers.get(said["method"], {{}})
        print(json.dumps(dict(jsonrpc="2.0", id=said["id"], result=result)), flush=True)
"""


def with_server(place, tools):
    """Name an MCP server in codex's settings, as an adapter does."""
    work, home = Path(place.workspace), Path(place.home, ".codex")
    (work / "server.py").write_text(BEHIND_MCP.format(tools=json.dumps(tools)))
    home.mkdir()
    start = {"command": str(Path(sys.base_prefix, "bin", "python3")), "args": ["server.py"]}
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in start.items())
    (home / "config.toml").write_text(f"[mcp_servers.allstop]\n{lines}\n")
    for folder in (work, Path(place.home)):
        hand_over(folder, this_host())
    return replace(place, read=(sys.base_prefix,))


@pytest.mark.parametrize(
    ("annotations", "came"),
    [(SERVER.tools[0]["annotations"], "zebra"), ({"destructiveHint": True}, "rejected")],
    ids=["ours", "other"],
)
async def test_b7_it_uses_our_tools_unasked_where_they_come_by_mcp(stage, place, annotations, came):
    """B7, K18: an agent that honours tool annotations asks only about other tools."""
    place = with_server(place, [{**SERVER.tools[0], "annotations": annotations}])
    call = Call(name="signal", group="mcp__allstop", arguments={"signal": "COMPLETE"})
    use = Say(text="", calls=(call,))
    server = await stage.model(lambda asked: (outputs(asked) or [use])[-1])

    result = await stage.agent(server).take_turn(turn(place), RecordingWatch())

    assert came in result.text
