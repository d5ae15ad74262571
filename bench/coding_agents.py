"""CPU that the drivers add to the real codex, Claude Code and an ACP agent; sixteen codex threads.

The model is a local server in another process that answers at once. CPU is that of this process,
without the agents. Prints figures; asserts nothing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, contextmanager
from functools import partial
from pathlib import Path

import anyio

from allstop.adapters.agents.acp import AcpAgent
from allstop.adapters.agents.acp import Setup as AcpSetup
from allstop.adapters.agents.claude_code import ClaudeCodeAgent, PermissionMode, Program
from allstop.adapters.agents.codex import CodexAgent, Setup
from allstop.adapters.clock import SystemClock
from allstop.adapters.processes.launcher import ProcessLauncher
from allstop.adapters.processes.sandbox.boxed_program import boxed
from allstop.adapters.processes.sandbox.host_tools import this_host
from allstop.adapters.processes.sandbox_probe import BOXED
from allstop.core.moves import TurnDone
from allstop.ports import Box, Launch
from allstop.programs import Tail, run_to_end
from allstop.testing.agent_contract import RecordingWatch, turn
from common import figure, print_load, raise_priority, skip_if_tiny

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from support.agent_programs import program

Launched = Callable[[], Awaitable[None]]

KEY = "sk-nobody"
THREADS, ROUNDS = 16, 5


@contextmanager
def served():
    """The address of a model server in another process."""
    words = [sys.executable, "-m", "allstop.testing.model_server", "--say", "Done."]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    try:
        yield server.stdout.readline().strip()
    finally:
        server.terminate()
        server.wait()


def codex(url: str, launcher: ProcessLauncher, home: Path) -> CodexAgent:
    setup = Setup(
        program=str(program("codex")), fallback_box=Box(home=str(home)), model="gpt-5.5", base_url=f"{url}/v1",
        key=KEY, key_name="BENCH_API_KEY", retries=0,
    )  # fmt: skip
    return CodexAgent(setup, name="codex", launcher=launcher, clock=SystemClock())


def claude(
    url: str,
    launcher: ProcessLauncher,
    home: Path,
    permissions: PermissionMode = PermissionMode.ASK,
) -> ClaudeCodeAgent:
    how = Program(
        path=str(program("claude")), key=KEY, base_url=url, env={}, permissions=permissions
    )
    return ClaudeCodeAgent(
        how, launcher=launcher, clock=SystemClock(), fallback_box=Box(home=str(home))
    )


def acp(url: str, launcher: ProcessLauncher, home: Path) -> AcpAgent:
    """Claude Code behind the ACP adapter that editors use."""
    shown = home.parent / "bin"
    shown.mkdir()
    for name, real in (("claude-agent-acp", "claude-acp"), ("node", "node")):
        (shown / name).symlink_to(program(real))
    setup = AcpSetup(
        argv=(str(shown / "claude-agent-acp"),), fallback_box=Box(home=str(home)), key=KEY,
        key_name="ANTHROPIC_API_KEY",
        env={
            "ANTHROPIC_BASE_URL": url,
            "CLAUDE_CODE_EXECUTABLE": str(program("claude")),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        },
    )  # fmt: skip
    return AcpAgent(setup, launcher=launcher, clock=SystemClock())


async def cost(what: str, agent, place: Box | None, turns: int, alone: Launched | None) -> None:
    """CPU of this process for a turn; the first turn isn't counted.

    `alone` starts an idle sandbox after each turn, so that both run with the same processor caches.
    Medians are printed, because the machine sometimes stalls.
    """
    thread = None
    used, took, boxes = [], [], []
    for _ in range(turns + 1):
        cpu, wall = time.process_time(), time.perf_counter()
        result = await agent.take_turn(turn(place, "Go on.", thread), RecordingWatch())
        used.append(time.process_time() - cpu)
        took.append(time.perf_counter() - wall)
        if not isinstance(result, TurnDone):
            print(f"{what}: {result}")
            return
        thread = result.thread
        cpu = time.process_time()
        if alone:
            await alone()
        boxes.append(time.process_time() - cpu)
    own, whole, box = (statistics.median(each[1:]) * 1e3 for each in (used, took, boxes))
    without = sorted((a - b) * 1e3 for a, b in zip(used[1:], boxes[1:], strict=True))
    figure(
        f"driver, {what}", f"{own - box:.2f} ms CPU", ratio=f"{(own - box) / whole:.1%} of the turn"
    )
    print(
        f"{what:<44} {own:6.2f} ms of our CPU a turn, {own - box:5.2f} without the box (a tenth of"
        f" the turns above {without[-1 - turns // 10]:.2f}), of {whole:6.0f} ms in all"
    )


async def start_alone(launcher: ProcessLauncher, place: Box, *shown: str) -> None:
    """Start an idle sandbox that exposes these programs."""
    launch = Launch(argv=("true",), box=place, label="floor", programs=shown)
    await run_to_end(launcher, launch, b"", Tail(1000), lambda live: None)


async def crowd(agent: CodexAgent) -> None:
    """Sixteen concurrent conversations in one app-server: is any of them starved?"""
    ended: dict[int, list[float]] = {n: [] for n in range(THREADS)}

    async def converse(number: int) -> None:
        thread = None
        for _ in range(ROUNDS):
            result = await agent.take_turn(turn(None, f"I am {number}.", thread), RecordingWatch())
            assert isinstance(result, TurnDone), result
            thread = result.thread
            ended[number].append(time.perf_counter() - began)

    await agent.take_turn(turn(None, "Wake up."), RecordingWatch())
    began, cpu = time.perf_counter(), time.process_time()
    async with anyio.create_task_group() as group:
        for number in range(THREADS):
            group.start_soon(converse, number)
    spent = time.process_time() - cpu
    last = sorted(times[-1] for times in ended.values())
    gaps = [b - a for times in ended.values() for a, b in zip([0.0, *times], times, strict=False)]
    print(
        f"{THREADS} threads of {ROUNDS} turns in one app-server: the first is done after"
        f" {last[0]:.2f} s, the last after {last[-1]:.2f} s ({last[-1] / last[0]:.2f} x);"
        f" longest turn {max(gaps):.2f} s, mean {sum(gaps) / len(gaps):.2f} s;"
        f" {spent / THREADS / ROUNDS * 1e3:.2f} ms of our CPU a turn"
    )


async def main(turns: int) -> None:
    with served() as url, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rooms = {}
        for part in ("home", "work", "codex", "claude", "acp"):
            rooms[part] = folder / part
            rooms[part].mkdir(mode=0o700)
        launcher = ProcessLauncher(
            isolation=BOXED, start=boxed(this_host()), live_dir=folder / "live"
        )
        place = Box(
            home=str(rooms["home"]), workspace=str(rooms["work"]), at="/project",
            read=(str(program("claude")),),
        )  # fmt: skip
        async with AsyncExitStack() as stack:
            for label, make, where in (
                ("codex, one server for all", codex, None),
                ("codex, a box and a server for each turn", codex, place),
                ("claude, a box and a process for each turn", claude, place),
                ("ACP, a box and a process for each turn", acp, place),
            ):
                agent = make(url, launcher, rooms[make.__name__])
                stack.push_async_callback(agent.close)
                shown = str(
                    folder / "bin/claude-agent-acp" if make is acp else program(make.__name__)
                )
                alone = partial(start_alone, launcher, where, shown) if where else None
                await cost(label, agent, where, turns, alone)
            agent = codex(url, launcher, rooms["codex"])
            stack.push_async_callback(agent.close)
            await crowd(agent)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=30)
    arguments = parser.parse_args()
    skip_if_tiny("real agents")
    print_load()
    raise_priority()
    anyio.run(main, arguments.turns)
