"""Real programs besides codex and claude reach a model server only through the gateway."""

import itertools
import json
import re

import anyio
import pytest

from allstop.testing.model_server import Say, model_server
from real_agents.test_mixed_agents import allstop, start, until
from support.agent_programs import program
from support.any_agent import DONE, edit, has_result, shell
from support.person import MERGE_AT_ONCE, at_home
from support.sweeps import short

ACP = 'driver = "acp"\ncommand = ["{}", "{}"]\nmodel = "{}"\n'
PROGRAMS = {
    "goose": ACP.format("goose", "acp", "openai/gpt-4o"),
    "claude-acp": 'driver = "acp"\ncommand = ["claude-agent-acp"]\n',
    "gemini": ACP.format("gemini", "--acp", "gemini-2.5-pro"),
    "opencode": ACP.format("opencode", "acp", "openai/gpt-5"),
    "qwen": ACP.format("qwen", "--acp", "qwen3-coder-plus"),
    "aider": """
driver = "command"
command = ["aider", "--yes-always", "--no-pretty", "--message"]
model = "openai/gpt-4o"
prompt = "arg"
done = "exit"
""",
}
REFUSED = {"gemini": "play.", "opencode": "registry.", "aider": "raw."}
"""How the only name begins that a program wants although it is told to be quiet."""

KEY = "sk-the-real-key-0123456789"
PLACEHOLDER = "allstop-placeholder"
LOOK_FOR_KEYS = (
    "(env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; "
    'grep -rs --exclude=found.txt "" ~ . /tmp /run 2>/dev/null) | tr "\\0" "\\n" | grep -a '
    "-e sk- -e placeholder >found.txt; ls /proc >>found.txt"
)


@pytest.fixture
def person(tmp_path):
    person = at_home(tmp_path)
    (person.home / "bin").mkdir(exist_ok=True)
    yield person
    person.close()


def sets_up(person, server, agent, more=""):
    for name in (agent, "node"):
        own = "claude-agent-acp" if name == "claude-acp" else name
        (person.home / "bin" / own).symlink_to(program(name))
    is_openai = agent not in ("gemini", "claude-acp")
    url = server.openai_url if is_openai else server.anthropic_url
    settings = f'[agents.{agent}]\n{PROGRAMS[agent]}base_url = "{url}"\napi_key_env = "REAL_KEY"\n'
    box = '[sandbox]\nnetwork = "model-only"\n'
    if agent == "claude-acp":  # the adapter starts a program that it doesn't bring
        settings += f'env = {{ CLAUDE_CODE_EXECUTABLE = "{program("claude")}" }}\n'
        box += f'read = ["{program("claude")}"]\n'
    file = person.home / ".config" / "allstop" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(settings + box + MERGE_AT_ONCE + more)
    person.variables["REAL_KEY"] = KEY


def work(asked, agent):
    """One tool call, then the end; a request without tools is for a title."""
    if agent == "aider":
        said = Say(text=edit("found.txt", "hello"))
    elif has_result(asked):
        said = Say(text=DONE)
    else:
        said = shell(asked, LOOK_FOR_KEYS) or Say(text="A title")
    return said


@pytest.mark.parametrize("agent", short(list(PROGRAMS), ["goose", "gemini", "claude-acp"]))
async def test_g8_a_real_program_works_through_the_gateway(person, agent):
    """G1, G3, G7, G8, K16, NA3: its usage is what was served, and its key is nowhere."""
    async with model_server(lambda asked: work(asked, agent)) as server:
        sets_up(person, server, agent)
        said = await allstop(person, "run", "Look around", "--agent", agent)
        log = await allstop(person, "log", "T1")
        task = json.loads(await allstop(person, "show", "T1", "--json"))

    assert "1 done" in said
    assert task["tokens"] == 120 * len(server.requests) > 0
    names = ("authorization", "x-api-key", "x-goog-api-key")
    keys = {asked.headers.get(name) for asked in server.requests for name in names}
    is_plain = agent in ("gemini", "claude-acp")
    assert keys - {None} == {KEY if is_plain else f"Bearer {KEY}"}
    for names in re.findall(r"refused names: (.+)", log):
        assert all(name.startswith(REFUSED[agent]) for name in names.split(", "))
    assert "refused requests" not in log
    found = person.git("show", "main:found.txt")
    assert KEY not in found
    if agent != "aider":  # it has no tool with which it could look
        assert PLACEHOLDER in found, "the search would have found a key"


@pytest.mark.parametrize("agent", short(["goose", "opencode", "gemini"], ["goose"]))
async def test_g5_a_budget_holds_to_the_call_with_a_real_acp_agent(person, agent):
    """G5, NA2: the person's budget is never passed, and the work is kept."""

    numbers = itertools.count()

    def answer(asked):
        number = next(numbers)  # some agents end a turn that repeats itself
        said = shell(asked, f"echo {number} >>count.txt && git add -A && git commit -qm work")
        return Say(calls=said.calls, input=6_000, output=1_000) if said else Say(text="A title")

    budget = '[budget.task]\ntokens = 60_000\n[budget]\nat_limit = "stop"\n'
    async with model_server(answer) as server:
        sets_up(person, server, agent, budget)
        await allstop(person, "run", "Count", "--agent", agent, code=None)
        task = json.loads(await allstop(person, "show", "T1", "--json"))
        log = await allstop(person, "log", "T1")

    assert 0 < task["tokens"] <= 60_000
    assert "capped: the turn has used" in log
    tree = person.repository / ".allstop" / "workspaces" / "T1" / "tree"
    assert (tree / "count.txt").read_text()


@pytest.mark.parametrize("agent", short(["goose", "opencode", "gemini", "qwen"], ["goose"]))
async def test_g4_allstop_cuts_a_call_of_a_real_acp_agent(person, agent):
    """G4, K2: its provider's connection is closed, and no process survives."""
    async with model_server([Say(pieces=("word ",) * 5_000, pause_s=0.2)]) as server:
        sets_up(person, server, agent)
        process = start(person, "run", "Talk", "--agent", agent)
        await until(lambda: server.requests)
        stopped = await allstop(person, "stop")
        with anyio.fail_after(60):
            await server.left.wait()
        await anyio.to_thread.run_sync(process.communicate)

    assert process.returncode == 130
    assert re.search(r"takes a turn \(\d model calls? cut off", stopped)
