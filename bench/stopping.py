"""Q13, Q15: how long it takes until nothing of hostile agents is alive.

Each agent starts seven kinds of children that try to live on: plain, deaf to TERM, in a session of
their own, daemons, daemons without environment, a chain of forks, and two that start each other
again. Prints figures; asserts nothing.
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
from pathlib import Path

import anyio

from allstop.adapters.agents.command import CommandAgent
from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.adapters.processes.probe import make_launcher
from allstop.core.events import MoveEnded
from allstop.core.moves import Failed
from allstop.engines.local import LocalEngine
from allstop.loop.hands import Hands
from allstop.pilots import PILOTS
from allstop.ports import Box

HOSTILE = Path(__file__).parents[1] / "tests" / "adapters" / "processes" / "zoo" / "hostile.py"
KINDS = "plain,ignorer,session,daemonized,scrubbed,chain,guards"


class Folders:
    """Workspaces without git: this measures stopping."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    look_every_s = math.inf

    def shortage(self) -> str:
        return ""

    def place(self, workspace: str) -> Box:
        for name in ("home", "tree"):
            (self._folder / workspace / name).mkdir(parents=True, exist_ok=True)
        at = self._folder / workspace
        return Box(home=str(at / "home"), workspace=str(at / "tree"))

    async def open(self, workspace, target, label):
        from allstop.core.moves import WorkspaceOpen

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


async def all_beat(folder: Path, agents: int) -> None:
    while len(list(folder.glob("*/tree/beat-*"))) < agents * len(KINDS.split(",")):
        await anyio.sleep(0.02)


async def one_round(folder: Path, agents: int) -> tuple[float, int, int]:
    """Milliseconds until none is alive, survivors at that moment, events accepted after the stop."""
    token = f"bench-{uuid.uuid4().hex}"
    journal = SqliteJournal(folder / "store", SystemClock())
    launcher = await make_launcher("on", folder / "live")
    agent = CommandAgent(
        ["/usr/bin/python3", "-c", HOSTILE.read_text(), KINDS, token],
        launcher=launcher,
        room=Box(home=str(folder)),
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
        began = time.perf_counter()
        await engine.allstop(by="bench")
        took = (time.perf_counter() - began) * 1000
        left = alive(token)
        accepted = 0
        for number in range(agents):
            events = [r.event for r in await journal.read(f"r{number}")]
            accepted += (
                sum(isinstance(e, MoveEnded) and not isinstance(e.result, Failed) for e in events)
                - 1
            )  # the workspace was opened before
    journal.close()
    return took, left, accepted


def burn() -> None:
    while True:
        pass


def stop_rounds(agents: int, rounds: int, hogs: int) -> None:
    busy = [multiprocessing.Process(target=burn, daemon=True) for _ in range(hogs)]
    for each in busy:
        each.start()
    took, survivors, accepted = [], 0, 0
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            ms, left, late = anyio.run(one_round, Path(folder), agents)
        took.append(ms)
        survivors += left
        accepted += late
    for each in busy:
        each.kill()
    print(
        f"Q13 Allstop of {agents} agents, {hogs} busy processes beside them, {rounds} rounds:"
        f" median {statistics.median(took):.0f} ms, most {max(took):.0f} ms,"
        f" {survivors} survivors, {accepted} events accepted after it"
    )


def killed_rounds(rounds: int) -> None:
    """Q15: the driving process is killed with -9."""
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
    print(
        f"Q15 kill -9 of the program, {rounds} rounds: its agents are gone after a median of"
        f" {statistics.median(took):.0f} ms, most {max(took):.0f} ms"
    )


async def hostile_child(folder: Path) -> None:
    token = f"bench-{uuid.uuid4().hex}"
    launcher = await make_launcher("on", folder / "live")
    from allstop.ports import Launch

    place = Folders(folder / "w").place("one")
    launch = Launch(
        argv=("/usr/bin/python3", "-c", HOSTILE.read_text(), KINDS, token), box=place, label="x"
    )
    async with launcher.launch(launch) as child:
        await all_beat(folder / "w", 1)
        (folder / "token").write_text(token)
        while await child.receive():
            pass


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--child")
    arguments = parser.parse_args()
    if arguments.child:
        anyio.run(hostile_child, Path(arguments.child))
        return
    stop_rounds(agents=8, rounds=arguments.rounds, hogs=0)
    stop_rounds(agents=64, rounds=max(1, arguments.rounds // 5), hogs=2)
    killed_rounds(max(1, arguments.rounds // 2))


if __name__ == "__main__":
    main()
