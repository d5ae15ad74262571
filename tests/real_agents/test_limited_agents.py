"""P5, P6, P16, P19: real Codex and real Claude Code at their providers' limits, in plans."""

import json
import re
import subprocess
import sys
from datetime import datetime, timedelta

import anyio

from adapters.agents.claude_code import launch_claude
from adapters.agents.codex import launch_codex
from allstop.adapters.clock import SystemClock
from allstop.testing.model_server import ErrorReply, Protocol, Say, model_server
from support.person import MERGE_AT_ONCE

SETTINGS = """
[agents.codex]
driver = "codex"
model = "gpt-5.5"
base_url = "{openai}"
[agents.claude]
driver = "claude-code"
base_url = "{anthropic}"
[loop]
agent = "{first}"
fallback = "{second}"
[retry]
step_delay_ms = 0
max_rate_limit_retries = 1
"""
KEYS = {"OPENAI_API_KEY": "sk-dummy-openai-key", "ANTHROPIC_API_KEY": "sk-dummy-anthropic-key"}
PLAN = "# Files\n\n## All\n\n- Write file 1\n- Write file 2\n"
DONE = "It is there."
CLOCK = SystemClock()


def sets_up(person, server, first, second):
    file = person.home / ".config" / "allstop" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    urls = {"openai": server.openai_url, "anthropic": server.anthropic_url}
    file.write_text(SETTINGS.format(first=first, second=second, **urls) + MERGE_AT_ONCE)
    person.write("plan.md", PLAN)


async def allstop(person, *arguments, code=0):
    process = subprocess.Popen(
        [sys.executable, "-m", "allstop", *arguments],
        cwd=person.repository,
        env={**person.environment, **KEYS},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    person.started.append(process)
    said, _ = await anyio.to_thread.run_sync(process.communicate)
    assert process.returncode == code, said
    return said


def work(asked):
    """A model's answers for either agent: write the file of the newest step, then end the turn."""
    number = re.findall(r"Write file (\d)", asked.user)[-1]
    command = f"echo {number} >file{number}.txt"
    if asked.protocol is Protocol.MESSAGES:
        return DONE if _is_result(asked.body["messages"][-1]) else launch_claude.bash(command)
    last = asked.body["input"][-1]
    return DONE if last.get("type", "").endswith("_output") else launch_codex.run(command)


def _is_result(message):
    content = message["content"]
    return isinstance(content, list) and any(each["type"] == "tool_result" for each in content)


def refusal(limited, error):
    """The limited provider's error for each of its calls; the other one works."""
    return lambda asked: Say(error=error) if asked.protocol is limited else work(asked)


def rate_limited(more=""):
    """Claude Code passes on the words; with a key it drops a long `retry-after`."""
    words = f"This request would exceed your rate limit.{more}"
    error = {"type": "rate_limit_error", "message": words}
    return ErrorReply(429, {"type": "error", "error": error})


def calls(server, protocol):
    return sum(asked.protocol is protocol for asked in server.requests)


async def events_of(person, run):
    said = await allstop(person, "log", run, "--json")
    return [json.loads(line) for line in said.splitlines()]


def turns(events):
    return [
        each["move"]["agent"]
        for each in events
        if each["event"] == "move_started" and each["move"]["move"] == "take_turn"
    ]


async def test_p5_a_long_announced_limit_of_claude_moves_the_plan_to_codex(person):
    """P6, P19: codex does all steps; another process doesn't call the held account at all."""
    reset = CLOCK.now() + timedelta(hours=2)
    error = rate_limited(" Try again in 2 hours.")
    async with model_server(refusal(Protocol.MESSAGES, error)) as server:
        sets_up(person, server, "claude", "codex")
        await allstop(person, "plan", "run", "plan.md")
        first = calls(server, Protocol.MESSAGES)
        await allstop(person, "plan", "run", "plan.md")
        second = calls(server, Protocol.MESSAGES)
        status = json.loads(await allstop(person, "status", "--json"))
        events = await events_of(person, "plan1")

    assert first >= 1
    assert second == first
    assert turns(events) == ["claude", "codex", "codex"]
    (held,) = [each for each in status["accounts"] if each["hold"]]
    until = datetime.fromisoformat(held["hold"]["until"])
    assert held["name"].startswith("claude")
    assert timedelta(minutes=-5) < until - reset < timedelta(minutes=5)


async def test_p5_a_limit_of_claude_without_a_time_is_tried_again_before_the_fallback(person):
    """P5: 5 s, then the fallback, after the one retry that the settings allow."""
    async with model_server(refusal(Protocol.MESSAGES, rate_limited())) as server:
        sets_up(person, server, "claude", "codex")
        await allstop(person, "plan", "run", "plan.md")
        events = await events_of(person, "plan1")

    assert turns(events)[:3] == ["claude", "claude", "codex"]
    files = person.git("ls-tree", "--name-only", "main").split()
    assert {"file1.txt", "file2.txt"} <= set(files)


async def test_p16_a_used_up_window_of_codex_moves_the_plan_to_claude(person):
    """P16: the window and its reset are known afterwards."""
    body = {
        "error": {
            "type": "usage_limit_reached",
            "message": "The usage limit has been reached",
            "plan_type": "plus",
            "resets_in_seconds": 7200,
        }
    }
    headers = {
        "x-codex-primary-used-percent": "100",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": str(int(CLOCK.now().timestamp()) + 7200),
    }
    async with model_server(refusal(Protocol.RESPONSES, ErrorReply(429, body, headers))) as server:
        sets_up(person, server, "codex", "claude")
        await allstop(person, "plan", "run", "plan.md")
        events = await events_of(person, "plan1")
        agents = json.loads(await allstop(person, "agents", "--json"))

    assert turns(events) == ["codex", "claude", "claude"]
    (account,) = [each for each in agents["accounts"] if each["agents"] == ["codex"]]
    assert account["hold"]["kind"] == "usage_limited"
    (window,) = account["windows"]
    assert (window["name"], window["used"], window["pace"]) == ("5 hours", 1.0, "ahead")


async def test_p16_windows_of_a_working_codex_are_recorded(person):
    """P16, G1, G6: a plan uses the gateway by default; it reads them from the headers."""
    headers = {
        "x-codex-primary-used-percent": "34",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-at": str(int(CLOCK.now().timestamp()) + 3600),
        "x-codex-secondary-used-percent": "22",
        "x-codex-secondary-window-minutes": "10080",
        "x-codex-secondary-reset-at": str(int(CLOCK.now().timestamp()) + 86400),
    }

    def answer(asked):
        said = work(asked)
        return Say(text=said, headers=headers) if isinstance(said, str) else said

    async with model_server(answer) as server:
        sets_up(person, server, "codex", "claude")
        await allstop(person, "plan", "run", "plan.md")
        said = await allstop(person, "status")
        log = await allstop(person, "log", "plan1")

    assert "model call: gpt-5.5" in log
    assert "5 hours 34 % used, behind even use, resets " in said
    assert "week 22 % used, behind even use, resets " in said
