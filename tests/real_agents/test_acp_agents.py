"""People set up, try and use a real ACP agent, offline."""

import json
import os
import signal
import subprocess
import sys

import anyio
import pytest

from adapters.agents.acp.launch_claude import install, readable, variables
from adapters.agents.claude_code.launch_claude import bash, came_back, write
from allstop.testing.model_server import Protocol, envelope, model_server
from support.person import MERGE_AT_ONCE, at_home
from support.sleepers import alive, begun, until

DONE = "It is there.\n<promise>COMPLETE</promise>"
AGENT = """
[agents.{name}]
driver = "acp"
command = ["claude-agent-acp"]
api_key_env = "ANTHROPIC_API_KEY"
[agents.{name}.env]
{env}
"""


@pytest.fixture
def person(tmp_path):
    person = at_home(tmp_path)
    install(person.home / "bin")
    yield person
    person.close()


def sets_up(person, server, more="", names=("it",)):
    """Write the person's own settings file, which may set base_url."""
    folder = person.home / "bin"
    own = variables(server.anthropic_url, folder)
    env = "\n".join(f'{name} = "{value}"' for name, value in own.items())
    agents = "".join(AGENT.format(name=name, env=env) for name in names)
    claude = f"[sandbox]\nread = {json.dumps(readable(folder))}\n"
    file = person.home / ".config" / "allstop" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(agents + claude + MERGE_AT_ONCE + more)


def start(person, *arguments):
    process = subprocess.Popen(
        [sys.executable, "-m", "allstop", *arguments],
        cwd=person.repository,
        env={**person.environment, "ANTHROPIC_API_KEY": "sk-ant-dummy-key"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    person.started.append(process)
    return process


async def allstop(person, *arguments, code=0):
    process = start(person, *arguments)
    said, _ = await anyio.to_thread.run_sync(process.communicate)
    assert process.returncode == code, said
    return said


def model(answer):
    """A model that also answers the agent's requests for a conversation's title."""
    return lambda asked: '{"title": "x"}' if asked.wants_structure else answer(asked)


async def test_k9_it_is_found_on_path_looked_at_and_tried(person):
    """K9: `allstop doctor`, `allstop agents`, `allstop agents test`."""
    async with model_server(model(lambda asked: "a zebra")) as server:
        sets_up(person, server)
        doctor = await allstop(person, "doctor")
        listed = await allstop(person, "agents")
        tried = await allstop(person, "agents", "test", "it")

    assert "claude-agent-acp, ANTHROPIC_API_KEY is set" in doctor
    assert "✓ it           acp" in listed
    assert "✓ it answered" in tried
    assert "a zebra" in tried


async def test_k9_what_is_missing_is_said_with_how_to_get_it(person):
    """K9: the program, with the command that installs it."""
    (person.home / "bin" / "claude-agent-acp").unlink()
    async with model_server(model(lambda asked: "a zebra")) as server:
        sets_up(person, server)
        doctor = await allstop(person, "doctor", code=1)
        tried = await allstop(person, "agents", "test", "it", code=2)

    for said in (doctor, tried):
        assert "'claude-agent-acp' is not on PATH" in said
        assert "npm install -g @agentclientprotocol/claude-agent-acp" in said


async def test_k18_nobody_is_there_to_ask_when_it_is_tried(person):
    """K18: the request is denied, and the agent is told."""

    def answer(asked):
        return f"it said: {came_back(asked)[-1]}" if came_back(asked) else bash("make install")

    async with model_server(model(answer)) as server:
        sets_up(person, server)
        tried = await allstop(person, "agents", "test", "it")

    assert "refused permission" in tried


async def test_k9_a_board_task_from_the_first_prompt_to_the_merge(person):
    """K9, B5: real agent, git, gate and merge; its requests go through the policy."""

    def answer(asked):
        steps = (write(f"{person.repository}/made.txt", "zebra\n"), bash("ls made.txt"), DONE)
        return steps[min(len(came_back(asked)), 2)]

    async with model_server(model(answer)) as server:
        check = '[[verification.commands]]\nname = "any"\nrun = "grep zebra made.txt"\n'
        person.write("allstop.toml", check)
        sets_up(person, server)
        await allstop(person, "add", "Make a zebra")
        said = await allstop(person, "run")
        log = await allstop(person, "log", "T1")

    assert "1 verified, 0 failed, 0 remaining" in said
    assert person.git("show", "main:made.txt") == "zebra"
    assert "made.txt" in log
    assert not (person.home / ".claude").exists()


async def test_k5_it_is_not_to_ask_its_model_what_a_person_might_say_next(person):
    """K5: nobody would use it, and each call sends the whole conversation again."""
    agent = person.home / "bin" / "claude-agent-acp"
    agent.unlink()
    agent.write_text("#!/bin/sh\nprintenv CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION >&2; exit 3\n")
    agent.chmod(0o755)
    async with model_server(model(lambda asked: "a zebra")) as server:
        sets_up(person, server)
        tried = await allstop(person, "agents", "test", "it", code=1)

    assert "ended with code 3" in tried
    assert "false" in tried


async def test_r1_a_room_where_two_of_it_speak(person):
    """R1, K9: in envelopes; each sees the other's messages."""

    def answer(asked):
        if "first words" in asked.user:
            return envelope("second words", final=True)
        return envelope("first words", handoff={"to": "other", "task": "Answer."})

    async with model_server(model(answer)) as server:
        sets_up(person, server, names=("it", "other"))
        said = await allstop(person, "room", "Talk.", "--agents", "it,other")

    assert "it: first words" in said
    assert "other: second words" in said
    assert "Session summary: final" in said


async def test_f2_full_auto(person):
    """F1, F2, F4: two turns of one conversation, then one merge."""

    def answer(asked):
        went_on = "The goal is still" in asked.user
        done = len(came_back(asked))
        if not went_on:
            return "The lexer is there." if done else write(f"{person.repository}/lexer.txt")
        return DONE if done > 1 else write(f"{person.repository}/parser.txt")

    async with model_server(model(answer)) as server:
        sets_up(person, server, '[auto]\ncooldown_s = 0\nreview = "never"\n')
        said = await allstop(person, "auto", "Write a parser", "--agent", "it")
        protocols = {asked.protocol for asked in server.requests}

    assert "turn 1: continue" in said
    assert "ended: done (merged)" in said
    assert protocols == {Protocol.MESSAGES}
    files = person.git("ls-tree", "--name-only", "main").split()
    assert {"lexer.txt", "parser.txt"} <= set(files)


async def test_k2_nothing_of_it_is_alive_after_a_stop(person):
    """K2, Q13: Allstop in the middle of a command of the agent."""
    marker = f"5{os.getpid()}.25"

    def answer(asked):
        return DONE if came_back(asked) else bash(f"tail -f /dev/null & sleep {marker}")

    async with model_server(model(answer)) as server:
        sets_up(person, server)
        process = start(person, "run", "Wait for it")
        await until(lambda: begun(marker))
        await allstop(person, "stop")
        await anyio.to_thread.run_sync(process.communicate)

    assert not alive(marker)
    assert process.returncode == 128 + signal.SIGINT
