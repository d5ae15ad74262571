"""Q13, Q15: the time until all processes of hostile and of real agents are dead.

Each hostile agent starts seven kinds of children that try to survive: plain, ignoring TERM, in a
new session, daemons, daemons without environment, a chain of forks, and two that restart each
other. The real agents, codex and Claude Code, are stopped while they run a command.
Prints figures; asserts nothing.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from functools import partial
from pathlib import Path
from typing import NamedTuple

import anyio

from allstop.adapters.agents.claude_code import PermissionMode
from allstop.adapters.agents.command import CommandAgent
from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.core.events import Halted, MoveEnded
from allstop.core.ids import HELM
from allstop.core.moves import Failed, WorkspaceOpen
from allstop.engine.hands import Hands
from allstop.engine.local import LocalEngine
from allstop.kinds import PILOTS
from allstop.ports import Box, Launch
from allstop.testing.model_server import Call, Protocol, Say, model_server

sys.path.insert(0, str(Path(__file__).parent))
import coding_agents
from common import TINY, figure, sized

HOSTILE = (
    Path(__file__).parents[1]
    / "tests"
    / "adapters"
    / "processes"
    / "hostile_programs"
    / "hostile.py"
)
UNENDING = "import os, sys; sys.stdin.read(); os.dup2(os.pipe()[0], 0)\n"
"""The program ends at a line of input, so read the prompt and replace stdin with a silent pipe."""
KINDS = "plain,ignorer,session,daemonized,scrubbed,chain,guards"
BEGUN_WITHIN_S = 120  # time limit for the start


class Folders:
    """Workspaces without git."""

    def __init__(self, folder: Path, at: str = "/work", read: tuple[str, ...] = ()) -> None:
        self._folder, self._at, self._read = folder, at, read

    check_every_s = math.inf

    def shortage(self) -> str:
        return ""

    async def over_limit(self, workspace: str) -> str:
        return ""

    def box_of(self, workspace: str) -> Box:
        for name in ("home", "tree"):
            (self._folder / workspace / name).mkdir(parents=True, exist_ok=True)
        at = self._folder / workspace
        return Box(home=str(at / "home"), workspace=str(at / "tree"), at=self._at, read=self._read)

    async def open(self, workspace, target, label, *, onto="", stash=False, given=""):
        return WorkspaceOpen(base="none")

    async def keep(self, workspace, label):
        raise AssertionError("no turn ends here")


def alive(token: str) -> int:
    found = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found += token.encode() in (entry / "cmdline").read_bytes()
            except OSError:
                continue
    return found


async def until(condition) -> None:
    with anyio.fail_after(BEGUN_WITHIN_S):
        while not condition():
            await anyio.sleep(0.02)


async def all_beat(folder: Path, agents: int) -> None:
    beats = agents * len(KINDS.split(","))
    await until(lambda: len(list(folder.glob("*/tree/beat-*"))) >= beats)


class Round(NamedTuple):
    took_ms: float  # until none is alive
    there: int  # processes before
    survivors: int
    accepted: int  # events, after the stop


async def one_round(folder: Path, agents: int) -> Round:
    token = f"bench-{uuid.uuid4().hex}"
    journal = SqliteJournal(folder / "store", SystemClock())
    launcher = await make_launcher("on", folder / "live")
    agent = CommandAgent(
        ["/usr/bin/python3", "-c", UNENDING + HOSTILE.read_text(), KINDS, token],
        launcher=launcher,
        fallback_box=Box(home=str(folder)),
        clock=SystemClock(),
    )
    hands = Hands({"a": agent}, checks=None, workspaces=Folders(folder / "w"), launcher=launcher)
    engine = LocalEngine(
        journal=journal, hands=hands, clock=SystemClock(), pilots=PILOTS, launcher=launcher
    )
    async with engine.serving():
        for number in range(agents):
            spec = {"task": f"t{number}", "goal": "x", "agents": ["a"], "target": "main"}
            await engine.open(f"r{number}", "task", spec)
        await all_beat(folder / "w", agents)
        there = alive(token)
        await anyio.sleep(1)  # let the machine settle after the scan of /proc
        began = time.perf_counter()
        journal.stop_file.create("bench")
        launcher.kill("")  # as every stop of everything does
        await engine.allstop(by="bench")
        took = (time.perf_counter() - began) * 1000
        left = alive(token)
        accepted = 0
        for number in range(agents):
            events = [r.event for r in await journal.read(f"r{number}")]
            accepted += (
                sum(isinstance(e, MoveEnded) and not isinstance(e.result, Failed) for e in events)
                - 1
            )  # without OpenWorkspace
    journal.close()
    return Round(took, there, left, accepted)


def processes() -> dict[tuple[int, str], int]:
    """Parents of all living processes, by pid and start time."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] not in "ZX":
                found[int(entry.name), fields[19]] = int(fields[1])
    return found


def below(ancestor: int) -> set[tuple[int, str]]:
    """The descendants of a process."""
    everything, found = processes(), {ancestor}
    while more := {pid for (pid, _), parent in everything.items() if parent in found} - found:
        found |= more
    return {each for each in everything if each[0] in found - {ancestor}}


REAL = {
    "codex": coding_agents.codex,
    "claude": partial(coding_agents.claude, permissions=PermissionMode.ALL),
}


async def one_real_round(folder: Path, name: str) -> tuple[float, float, int, int, int]:
    """Milliseconds until the receipt is written, and by the receipt; processes before and after;
    number of receipts.
    """
    seconds = f"6{uuid.uuid4().int % 10**9}.25"
    command = f"tail -f /dev/null & sleep {seconds}"

    def answer(asked):
        if asked.protocol is Protocol.MESSAGES:
            arguments = {"command": command, "description": "wait"}
            return Say(text="begun", calls=(Call(name="Bash", arguments=arguments),))
        return Say(calls=(Call(name="exec_command", arguments={"cmd": command}),))

    room = folder / "room"
    room.mkdir(mode=0o700)
    journal = SqliteJournal(folder / "store", SystemClock())
    launcher = await make_launcher("on", folder / "live")
    folders = Folders(folder / "w", "/project", (str(coding_agents.program("claude")),))
    async with model_server(answer) as server:
        agent = REAL[name](server.anthropic_url, launcher, room)
        hands = Hands({"a": agent}, checks=None, workspaces=folders, launcher=launcher)
        engine = LocalEngine(
            journal=journal, hands=hands, clock=SystemClock(), pilots=PILOTS, launcher=launcher
        )
        others = below(os.getpid())
        async with engine.serving():
            spec = {"task": "t", "goal": "Wait.", "agents": ["a"], "target": "main"}
            await engine.open("r", "task", spec)
            await until(lambda: alive(f"sleep\0{seconds}"))
            started = below(os.getpid()) - others
            began = time.perf_counter()
            receipt = await engine.allstop(by="bench")
            took = (time.perf_counter() - began) * 1000
            left = len(started & processes().keys()) + alive(f"sleep\0{seconds}")
        await agent.close()
    journal.close()
    again = SqliteJournal(folder / "store", SystemClock())
    receipts = sum(isinstance(r.event, Halted) for r in await again.read(HELM))
    again.close()
    return took, receipt.took_ms, len(started), left, receipts


def real_rounds(name: str, rounds: int) -> None:
    results = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            results.append(anyio.run(one_real_round, Path(folder), name))
    took, said, before, after, receipts = zip(*results, strict=True)
    figure(f"Q13 Allstop, real {name}", f"{statistics.median(took):.0f} ms")
    print(
        f"Q13 Allstop of the real {name} in mid-command, {rounds} rounds: all ended and the receipt"
        f" on disk after a median of {statistics.median(took):.0f} ms, most {max(took):.0f} ms (by"
        f" the receipt {statistics.median(said):.0f} and {max(said):.0f} ms); of"
        f" {statistics.mean(before):.0f} processes {sum(after)} alive after it,"
        f" {sum(receipts)} receipts"
    )


def burn() -> None:
    while True:
        pass


def stop_rounds(agents: int, rounds: int, hogs: int) -> None:
    busy = [multiprocessing.Process(target=burn, daemon=True) for _ in range(hogs)]
    for each in busy:
        each.start()
    found: list[Round] = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            found.append(anyio.run(one_round, Path(folder), agents))
    for each in busy:
        each.kill()
    took = [each.took_ms for each in found]
    goal = "1 s" if hogs else "250 ms"
    busy_too = ", busy machine" if hogs else ""
    figure(
        f"Q13 Allstop, {agents} hostile agents{busy_too}",
        f"{statistics.median(took):.0f} ms",
        goal=goal,
    )
    print(
        f"Q13 Allstop of {agents} agents, {hogs} busy processes beside them, {rounds} rounds:"
        f" median {statistics.median(took):.0f} ms, most {max(took):.0f} ms;"
        f" of {min(each.there for each in found)} processes or more"
        f" {sum(each.survivors for each in found)} survived,"
        f" {sum(each.accepted for each in found)} events accepted after it"
    )


def killed_rounds(rounds: int) -> None:
    """Q15: kill the driving process with -9."""
    took = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            token_file = Path(folder) / "token"
            child = subprocess.Popen([sys.executable, __file__, "--child", folder])
            while not token_file.exists():
                time.sleep(0.01)
            began = time.perf_counter()
            os.kill(child.pid, signal.SIGKILL)
            while alive(token_file.read_text()):
                time.sleep(0.001)
            took.append((time.perf_counter() - began) * 1000)
            child.wait()
    figure("Q15 agents gone after kill -9", f"{statistics.median(took):.0f} ms", goal="1 s")
    print(
        f"Q15 kill -9 of the program, {rounds} rounds: its agents are gone after a median of"
        f" {statistics.median(took):.0f} ms, most {max(took):.0f} ms"
    )


async def hostile_child(folder: Path) -> None:
    token = f"bench-{uuid.uuid4().hex}"
    launcher = await make_launcher("on", folder / "live")
    place = Folders(folder / "w").box_of("one")
    launch = Launch(
        argv=("/usr/bin/python3", "-c", HOSTILE.read_text(), KINDS, token), box=place, label="x"
    )
    async with launcher.launch(launch) as child:
        await all_beat(folder / "w", 1)
        (folder / "token").write_text(token)
        while await child.receive():
            pass


BUSY_SETTINGS = """
[loop]
max_parallel = {agents}
agent = "busy"

[review]
mode = "skip"

[agents.busy]
driver = "command"
command = ["/bin/sh", "-c", "while :; do :; done"]
"""


def run(folder: Path, *argv: str) -> None:
    subprocess.run(argv, cwd=folder, check=True, capture_output=True)


def command_round(folder: Path, agents: int) -> tuple[float, int]:
    """Milliseconds that the command `allstop stop` takes beside busy agents; survivors."""
    allstop = str(Path(sys.executable).with_name("allstop"))
    token = f"bench-{uuid.uuid4().hex}"
    run(folder, "git", "init", "-q")
    run(folder, "git", "config", "user.name", "Bench")
    run(folder, "git", "config", "user.email", "bench@example.invalid")
    settings = BUSY_SETTINGS.format(agents=max(agents, 1)).replace("do :", f"do : {token}")
    (folder / "allstop.toml").write_text(settings)
    run(folder, "git", "add", ".")
    run(folder, "git", "commit", "-qm", "first")
    driver = None
    if agents:
        for number in range(agents):
            run(folder, allstop, "add", f"Task {number}")
        driver = subprocess.Popen(
            [allstop, "run"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        deadline = time.monotonic() + BEGUN_WITHIN_S
        while len(list(folder.glob(".allstop/live/*.json"))) < agents:
            if time.monotonic() > deadline:
                raise TimeoutError("the agents did not start")
            time.sleep(0.1)
        time.sleep(1)
    began = time.perf_counter()
    run(folder, allstop, "stop")
    took = (time.perf_counter() - began) * 1000
    left = alive(token)
    if driver is not None:
        driver.wait(60)
    return took, left


def command_rounds(agents: int, rounds: int) -> None:
    found = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            found.append(command_round(Path(folder), agents))
    took = [each for each, _ in found]
    beside = f"{agents} busy agents" if agents else "an idle machine"
    figure(
        f"Q13 the command `allstop stop`, {beside}",
        f"{statistics.median(took):.0f} ms",
        goal="1 s" if agents else "250 ms",
    )
    print(
        f"Q13 wall time of `allstop stop`, {beside}, {rounds} rounds: median"
        f" {statistics.median(took):.0f} ms, most {max(took):.0f} ms; {sum(n for _, n in found)}"
        " processes survived"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=sized(20, 1))
    parser.add_argument("--real-rounds", type=int, default=5)
    parser.add_argument("--only", choices=["command", "hostile", "real"])
    parser.add_argument("--child")
    arguments = parser.parse_args()
    if arguments.child:
        anyio.run(hostile_child, Path(arguments.child))
        return
    if arguments.only in (None, "command"):
        command_rounds(agents=0, rounds=max(1, arguments.rounds // 4))
        command_rounds(agents=sized(24, 1), rounds=max(1, arguments.rounds // 4))
    if arguments.only in (None, "hostile"):
        stop_rounds(agents=sized(8, 1), rounds=arguments.rounds, hogs=0)
        if not TINY:
            stop_rounds(agents=64, rounds=max(1, arguments.rounds // 5), hogs=2)
        killed_rounds(max(1, arguments.rounds // 2))
    if arguments.only in (None, "real") and not TINY:
        for name in ("codex", "claude"):
            real_rounds(name, arguments.real_rounds)


if __name__ == "__main__":
    main()
