"""The MCP server: clients look and stop, and can never start."""

import json

import pytest

from support.person import MERGE_AT_ONCE, wait_for

SETTINGS = '[agents.coder]\ndriver = "scripted"\nscript = "coder.toml"\n'
HANGS = "[[turn]]\nsteps = [{ hang = true }]\n"


def request(method, number=1, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def call(name, **arguments):
    return request("tools/call", name=name, arguments=arguments)


def served(person, *messages):
    """What the server says to these lines, by a client that then goes away."""
    lines = [each if isinstance(each, str) else json.dumps(each) for each in messages]
    said = person.allstop("mcp", stdin="\n".join(lines) + "\n")
    return [json.loads(line) for line in said.splitlines()]


def test_it_introduces_itself_and_its_tools(person):
    first, tools, ping = served(
        person,
        request("initialize", protocolVersion="2025-06-18"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        request("tools/list"),
        request("ping"),
    )

    assert first["result"]["protocolVersion"] == "2025-06-18"
    assert first["result"]["serverInfo"]["name"] == "allstop"
    names = [tool["name"] for tool in tools["result"]["tools"]]
    assert names == ["list_runs", "inspect_run", "stop"]
    assert not any("start" in name or "run_" in name for name in names)
    assert all(tool["inputSchema"]["type"] == "object" for tool in tools["result"]["tools"])
    assert ping["result"] == {}


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("this is no JSON", -32700),
        ("[]", -32600),
        ("{}", -32600),
        ("{" * 5000, -32700),
        (request("tasks/start"), -32601),
        (call("start_run"), -32602),
        (call("inspect_run"), -32602),
        (call("inspect_run", run=5), -32602),
        (call("stop", run="x", force=True), -32602),
    ],
)
def test_what_makes_no_sense_is_an_error_and_the_server_goes_on(person, line, code):
    wrong, ping = served(person, line, request("ping"))

    assert wrong["error"]["code"] == code
    assert ping["result"] == {}


def test_a_run_that_is_not_there_is_told_with_a_hint(person):
    (answer,) = served(person, call("inspect_run", run="nope"))

    assert answer["result"]["isError"]
    assert "there is no run 'nope'" in answer["result"]["content"][0]["text"]


def test_k1_a_client_can_stop_everything(person):
    """K1: and what it stopped is seen by it."""
    person.write("allstop.toml", SETTINGS)
    person.write("coder.toml", HANGS)
    person.allstop("trust", "--yes")
    process = person.start("auto", "Write a parser")
    wait_for(lambda: "coder takes a turn" in person.allstop("status"), "it runs")

    listed, stopped, inspected = served(
        person, call("list_runs"), call("stop"), call("inspect_run", run="auto1")
    )
    process.communicate(timeout=60)

    assert '"auto1"' in listed["result"]["content"][0]["text"]
    assert not stopped["result"]["isError"]
    assert "cancelled" in inspected["result"]["content"][0]["text"]
    assert process.returncode == 130


AGENT = """#!/bin/sh
cat >/dev/null
echo zebra >made.txt
allstop mcp progress 40 "the zebra is there"
allstop mcp ask "Which colour?" Red Blue >told.txt
allstop mcp signal COMPLETE >/dev/null
echo "That is it."
"""


def test_b7_any_program_signals_tells_and_asks_by_the_command_in_its_box(person):
    """B7: what it says there counts like its last line; a question is answered by a person."""
    program = person.home / "bin" / "my-agent"
    program.parent.mkdir(exist_ok=True)
    program.write_text(AGENT)
    program.chmod(0o755)
    person.write("allstop.toml", MERGE_AT_ONCE)
    own = person.home / ".config" / "allstop" / "config.toml"
    own.parent.mkdir(parents=True)
    own.write_text('[agents.a]\ndriver = "command"\ncommand = ["my-agent"]\n[loop]\nagent = "a"\n')
    person.allstop("add", "Make a zebra")

    process = person.start("run")
    wait_for(lambda: "Which colour?" in person.allstop("status"), "it asks")
    person.allstop("answer", "T1", "Blue")
    said, _ = process.communicate(timeout=60)

    assert process.returncode == 0, said
    assert person.git("show", "main:told.txt") == "Blue"
    log = person.allstop("log", "T1")
    assert "40% the zebra is there" in log
    assert "COMPLETE" in log
    assert not list((person.repository / ".allstop" / "desks").iterdir())
