"""Real Codex and real Claude Code work together, offline, against one model server."""

import json
import os
import re
import signal
import subprocess
import sys

import anyio
import pytest

from adapters.agents.claude_code import launch_claude
from adapters.agents.codex import launch_codex
from allstop.testing.model_server import Call, Fault, Protocol, Say, envelope, model_server
from support import lean_python
from support.agent_programs import program
from support.person import MERGE_AT_ONCE
from support.sleepers import alive, begun, until, wake
from support.sweeps import short

AGENTS = """
[agents.codex]
driver = "codex"
model = "gpt-5.5"
base_url = "{openai}"
[agents.claude]
driver = "claude-code"
base_url = "{anthropic}"
"""
KEYS = {"OPENAI_API_KEY": "sk-dummy-openai-key", "ANTHROPIC_API_KEY": "sk-dummy-anthropic-key"}
DONE = "It is there.\n<promise>COMPLETE</promise>"


def sets_up(person, server, more=""):
    file = person.home / ".config" / "allstop" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    agents = AGENTS.format(openai=server.openai_url, anthropic=server.anthropic_url)
    file.write_text(agents + MERGE_AT_ONCE + more)


def start(person, *arguments):
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
    return process


async def allstop(person, *arguments, code=0):
    process = start(person, *arguments)
    said, _ = await anyio.to_thread.run_sync(process.communicate)
    assert code is None or process.returncode == code, said
    return said


def work(asked, command):
    """A model's answers for either agent: run one command, then report completion."""
    if asked.protocol is Protocol.MESSAGES:
        return DONE if launch_claude.came_back(asked) else launch_claude.bash(command)
    return DONE if launch_codex.outputs(asked) else launch_codex.run(command)


async def test_k9_a_board_of_four_tasks_by_codex_and_claude(person):
    """K9, B5: two tasks each, side by side, all checked and merged."""

    def answer(asked):
        number = re.findall(r"Write file (\d)", asked.user)[-1]  # others are in git's log
        return work(asked, f"echo {number} >file{number}.txt")

    async with model_server(answer) as server:
        check = '[[verification.commands]]\nname = "any"\nrun = "ls file*.txt"\n'
        person.write("allstop.toml", check)
        sets_up(person, server)
        for number in range(1, 5):
            agent = ("codex", "claude")[number % 2]
            await allstop(person, "add", f"Write file {number}", "--agent", agent)
        said = await allstop(person, "run", "--parallel", "2")
        protocols = {asked.protocol for asked in server.requests}

    assert "4 verified, 0 failed, 0 remaining" in said
    assert protocols == {Protocol.RESPONSES, Protocol.MESSAGES}
    files = person.git("ls-tree", "--name-only", "main").split()
    assert [f"file{n}.txt" in files for n in range(1, 5)] == [True] * 4
    assert not (person.home / ".codex").exists()
    assert not (person.home / ".claude").exists()


async def test_r1_a_room_where_codex_and_claude_speak(person):
    """R1, K9, G1: each with its own program, in envelopes; each sees the other's messages.

    By default each model call goes through the gateway.
    """

    def answer(asked):
        if asked.protocol is Protocol.MESSAGES:
            saw = "gpt words" in asked.user
            text = envelope(f"claude words, saw: {saw}", final=True)
        else:
            text = envelope("gpt words", handoff={"to": "claude", "task": "Answer."})
        return text

    async with model_server(answer) as server:
        sets_up(person, server)
        said = await allstop(person, "room", "Talk.", "--agents", "codex,claude")
        used = json.loads(await allstop(person, "usage", "--calls", "--json"))

    assert {call["agent"] for call in used["calls"]} == {"codex", "claude"}
    assert "codex: gpt words" in said
    assert "claude: claude words, saw: True" in said
    assert "Session summary: final" in said


async def test_f2_full_auto_with_real_codex(person):
    """F1, F2, F4, F9: work, a failed turn, more work, codex's own review, then one merge."""

    def answer(asked):
        if "Review all that was changed" in asked.user:
            return "Nothing is missing."
        begun = 1 + asked.user.count("The goal is still")
        if begun == 1:
            return work_once(asked, "echo lexer >lexer.txt", "The lexer is there.")
        if begun == 2:
            return Fault.CUT  # as often as codex tries within the turn
        if "A review of your work says:\nNothing is missing." in asked.user:
            return DONE
        count = len(launch_codex.outputs(asked))
        return launch_codex.run("echo parser >parser.txt") if count < 2 else DONE

    def work_once(asked, command, words):
        return words if launch_codex.outputs(asked) else launch_codex.run(command)

    async with model_server(answer) as server:
        sets_up(person, server, "[auto]\ncooldown_s = 0\n")
        said = await allstop(person, "auto", "Write a parser", "--agent", "codex")

    assert "turn 1: continue" in said
    assert "✗ network: stream disconnected" in said
    assert "turn 2: continue, the turn failed (network); it is tried again" in said
    assert "review: Nothing is missing." in said
    assert "ended: done (merged)" in said
    files = person.git("ls-tree", "--name-only", "main").split()
    assert {"lexer.txt", "parser.txt"} <= set(files)


async def test_r18_full_auto_goes_on_after_kill_9_in_mid_command(person):
    """F1, K2: no process of codex survives the kill, and its thread is resumed."""
    marker = f"4{os.getpid()}.25"

    calls = []

    def answer(asked):
        calls.append(asked)
        return DONE if len(calls) > 1 else launch_codex.run(f"echo x >x.txt; sleep {marker}")

    async with model_server(answer) as server:
        sets_up(person, server, '[auto]\ncooldown_s = 0\nreview = "never"\n')
        process = start(person, "auto", "Write a parser", "--agent", "codex")
        await until(lambda: begun(marker))
        process.send_signal(signal.SIGKILL)
        await anyio.to_thread.run_sync(process.communicate)
        await until(lambda: not alive(marker), 2)
        first = len(server.requests)
        said = await allstop(person, "resume", "auto1")

    assert "ended: done" in said
    threads = set(re.findall(r"conversation (\S+)", await allstop(person, "log", "auto1")))
    assert len(threads) == 1, "the same conversation went on"
    assert len(server.requests) > first


async def test_f2_full_auto_through_a_plan_a_compaction_and_a_stop(person):
    """F1, F2, F4, K2: with the real codex; a person stops the run in mid-turn and resumes it."""
    marker = f"5{os.getpid()}.25"
    plan = [{"step": "lex", "status": "completed"}, {"step": "parse", "status": "in_progress"}]
    stopped = []

    def answer(asked):
        if "helping the next LLM" in asked.blocks[-1]:
            return "a summary"
        if "a summary" in asked.user:
            return DONE if stopped else launch_codex.run(f"echo parser >parser.txt; sleep {marker}")
        steps = (
            Say(calls=(Call(name="update_plan", arguments={"plan": plan}),)),
            launch_codex.run("echo lexer >lexer.txt"),
            Say(text="The lexer is there.", input=250_000),  # its window is full
        )
        return steps[len(launch_codex.outputs(asked))]

    async with model_server(answer) as server:
        sets_up(person, server, '[auto]\ncooldown_s = 0\nreview = "never"\n')
        process = start(person, "auto", "Write a parser", "--agent", "codex")
        await until(lambda: begun(marker))
        stopped.append(await allstop(person, "stop", "auto1"))
        assert not alive(marker)
        said, _ = await anyio.to_thread.run_sync(process.communicate)
        assert process.returncode == 130, said
        resumed = await allstop(person, "resume", "auto1")
        log = await allstop(person, "log", "auto1")
        replayed = await allstop(person, "replay", "auto1")

    assert "plan: [x] lex [>] parse" in said
    assert "compaction: the conversation was compacted" in said
    assert "1 process tree killed, 1 turn discarded" in log
    assert "ended: done (merged)" in resumed
    assert len(set(re.findall(r"conversation (\S{36})", log))) == 1
    assert "decisions come out the same" in replayed
    files = person.git("ls-tree", "--name-only", "main").split()
    assert {"lexer.txt", "parser.txt"} <= set(files)


async def test_f2_full_auto_with_real_claude_code(person):
    """F1, F4, F9, G1, K9: it signals too early, gets the gate's findings, and is merged once."""

    def answer(asked):
        steps = (
            launch_claude.write(str(person.repository / "lexer.txt")),
            DONE,
            launch_claude.write(str(person.repository / "parser.txt")),
            DONE,
        )
        return steps[launch_claude.replies(asked)]

    async with model_server(answer) as server:
        check = '[[verification.commands]]\nname = "parser"\nrun = "ls parser.txt"\n'
        person.write("allstop.toml", check)
        person.commit()
        sets_up(person, server, '[auto]\ncooldown_s = 0\nreview = "never"\n')
        said = await allstop(person, "auto", "Write a parser", "--agent", "claude")
        log = await allstop(person, "log", "auto1")
        heard = server.requests[-1].user

    assert "the gate disagrees: parser" in said
    assert "ls parser.txt" in heard
    assert log.count("model call: ") == 4
    assert "ended: done (merged)" in said
    assert len(set(re.findall(r"conversation (\S{36})", log))) == 1
    files = person.git("ls-tree", "--name-only", "main").split()
    assert {"lexer.txt", "parser.txt"} <= set(files)
    assert not (person.home / ".claude").exists()


@pytest.mark.parametrize("approvals", ["policy", "never"])
@pytest.mark.parametrize("agent", ["codex", "claude"])
async def test_k18_a_rule_that_denies_holds_where_nobody_is_there(person, agent, approvals):
    """K18, F5: with either agent; its other work is kept."""

    def answer(asked):
        came = (
            launch_claude.came_back if asked.protocol is Protocol.MESSAGES else launch_codex.outputs
        )
        use = launch_claude.bash if asked.protocol is Protocol.MESSAGES else launch_codex.run
        steps = (use("touch denied.txt"), use("cp a.txt copied.txt"), DONE)
        return steps[min(len(came(asked)), 2)]

    async with model_server(answer) as server:
        rule = '[[approvals.rules]]\ndeny = "touch"\n'
        sets_up(person, server, f'{rule}[auto]\nreview = "never"\napprovals = "{approvals}"\n')
        said = await allstop(person, "auto", "Write a parser", "--agent", agent)

    assert "denied: touch denied.txt" in said
    files = person.git("ls-tree", "-r", "--name-only", "main").split()
    assert "denied.txt" not in files
    assert "copied.txt" in files


@pytest.mark.parametrize("agent", ["codex", "claude"])
async def test_k18_what_is_never_allowed_does_not_run_where_nobody_is_there(person, agent):
    """K18, F5: without any rule of a person, in a box, with either agent."""

    def answer(asked):
        came = (
            launch_claude.came_back if asked.protocol is Protocol.MESSAGES else launch_codex.outputs
        )
        use = launch_claude.bash if asked.protocol is Protocol.MESSAGES else launch_codex.run
        steps = (use("touch denied.txt; ssh -V"), use("cp a.txt copied.txt"), DONE)
        return steps[min(len(came(asked)), 2)]

    async with model_server(answer) as server:
        sets_up(person, server)
        said = await allstop(person, "run", "Write a parser", "--agent", agent)
        log = await allstop(person, "log", "T1")

    assert "1 done, unverified" in said
    assert "denied: touch denied.txt; ssh -V (never: carries data to other machines)" in log
    files = person.git("ls-tree", "-r", "--name-only", "main").split()
    assert "denied.txt" not in files
    assert "copied.txt" in files


@pytest.mark.parametrize("agent", ["codex", "claude"])
async def test_q13_allstop_in_mid_command(person, agent):
    """Q13, K2, F5: no process of a real agent survives; bench/stop.py measures the time."""
    marker = f"3{os.getpid()}.75"

    def answer(asked):
        return work(asked, f"echo begun; tail -f /dev/null & sleep {marker}")

    async with model_server(answer) as server:
        sets_up(person, server)
        process = start(person, "run", "Wait for it", "--agent", agent)
        await until(lambda: begun(marker))
        await allstop(person, "stop")
        await anyio.to_thread.run_sync(process.communicate)

    assert not alive(marker)
    assert process.returncode == 130


async def test_k3_a_pause_in_mid_command_waits_for_the_end_of_the_turn(person):
    """K3: codex ends its turn, no other starts, and `resume` continues its conversation."""
    marker = f"5{os.getpid()}.5"

    def answer(asked):
        steps = (launch_codex.run(f"sleep {marker}; echo x >x.txt"), "One more.", DONE)
        return steps[
            min(len(launch_codex.outputs(asked)) + asked.user.count("The goal is still"), 2)
        ]

    async with model_server(answer) as server:
        sets_up(person, server, '[auto]\ncooldown_s = 0\nreview = "never"\n')
        process = start(person, "auto", "Write a parser", "--agent", "codex")
        await until(lambda: begun(marker))
        await allstop(person, "pause", "auto1")
        pausing, still_on = person.runs(), alive(marker)
        wake(marker)
        await until(lambda: person.runs() == {"auto1": "paused"})
        asked = len(server.requests)
        resumed = await allstop(person, "resume", "auto1")
        await anyio.to_thread.run_sync(process.communicate)
        log = await allstop(person, "log", "auto1")

    assert (pausing, still_on) == ({"auto1": "pausing"}, True)
    assert asked == 2, "the call of the command, and the one that told of its end"
    assert "ended: done (merged)" in resumed
    assert len(server.requests) == 3
    assert len(set(re.findall(r"conversation (\S+)", log))) == 1
    assert person.git("show", "main:x.txt") == "x"


COMMANDS = (
    "python3 -m unittest -q",
    "python3 -c 'import os, sys; print(os.path.realpath(sys.prefix))' >python{n}.txt",
    "pytest -q",
    "npm test --silent >node{n}.txt && cat node{n}.txt",
    "make",
    "./run.sh",
    "cat >notes{n}.txt <<'EOF'\nfirst\nsecond\nEOF",
    "for i in 1 2 3; do echo $i >>loop{n}.txt; done",
    "git add -A && git commit -qm 'Work on {n}'",
)


TASKS = range(1, short(7, 3))
"""Each agent has a task in `make test`, and three in `make soak`."""


@pytest.mark.timeout(600)
async def test_k9_codex_and_claude_work_unattended_in_a_sandbox(person):
    """K9, K19: no command that people use every day asks a person, and each task is merged."""

    def answer(asked):
        number = re.findall(r"Do task (\d)", asked.user)[-1]
        is_claude = asked.protocol is Protocol.MESSAGES
        outputs = launch_claude.came_back(asked) if is_claude else launch_codex.outputs(asked)
        if len(outputs) >= len(COMMANDS):
            return DONE
        command = COMMANDS[len(outputs)].replace("{n}", number)
        return launch_claude.bash(command) if is_claude else launch_codex.run(command)

    lays_out_tools(person)
    async with model_server(answer) as server:
        person.write("package.json", '{"scripts": {"test": "node -p process.execPath"}}')
        person.write(
            "test_it.py", "import unittest\nclass T(unittest.TestCase):\n  def test(self): pass\n"
        )
        person.write(".gitignore", "__pycache__/\n.pytest_cache/\n")
        person.write("Makefile", "all:\n\tpython3 -m unittest -q\n")
        person.write("run.sh", "#!/bin/sh\necho ran\n")
        (person.repository / "run.sh").chmod(0o755)
        checks = "commands = ['make', 'pytest -q', 'npm test']"
        person.write("allstop.toml", f"[verification]\n{checks}\n")
        person.git("add", "-A")
        person.git("commit", "-qm", "Begin")
        sets_up(person, server)
        for number in TASKS:
            await allstop(
                person, "add", f"Do task {number}", "--agent", ("codex", "claude")[number % 2]
            )
        said = await allstop(person, "run", "--parallel", "2")

    assert f"{len(TASKS)} verified, 0 failed, 0 remaining" in said
    files = person.git("ls-tree", "--name-only", "main").split()
    assert [f"{kind}{n}.txt" in files for n in TASKS for kind in ("notes", "loop")] == [True] * (
        2 * len(TASKS)
    )
    for number in TASKS:
        assert person.git("show", f"main:python{number}.txt") == os.path.realpath(
            lean_python.folder().parent
        )
        assert person.git("show", f"main:node{number}.txt").endswith(str(program("node")))


def lays_out_tools(person):
    """A Python as a version of pyenv, behind shims, and a Node as nvm has it."""
    home = person.home
    versions, shims = home / ".pyenv" / "versions", home / ".pyenv" / "shims"
    for folder in (versions, shims):
        folder.mkdir(parents=True)
    (versions / "mine").symlink_to(lean_python.folder().parent)
    (home / ".pyenv" / "version").write_text("mine\n")
    for name in ("python3", "pytest"):
        (shims / name).write_text("#!/bin/sh\nexec pyenv exec nothing\n")
        (shims / name).chmod(0o755)
    node = home / ".nvm" / "versions" / "node" / "v24" / "bin"
    node.mkdir(parents=True)
    (node / "node").symlink_to(program("node"))
    npm = program("node").parents[1] / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    (node / "npm").symlink_to(npm)
    path = (node, shims, home / "bin", "/usr/local/bin", "/usr/bin", "/bin")
    person.variables["PATH"] = ":".join(map(str, path))
