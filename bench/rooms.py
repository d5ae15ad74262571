"""Q14: Allstop in a room during a model call, and rooms compared with other frameworks.

The model is a local server that answers after ten seconds, called through the real connectors. Then
two instant agents talk, durable after every turn, in Allstop, LangGraph (SQLite checkpointer),
AutoGen and a hand-written loop, each in its own virtual environment. Prints figures; asserts nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio

from allstop.app.project import Project
from allstop.app.rooms import threads
from allstop.app.rooms.driver import room_driver
from allstop.app.rooms.session_spec import SessionRequest, session_spec
from allstop.core.events import MoveEnded
from allstop.core.moves import TurnDone
from allstop.core.room_specs import TalkMode
from allstop.settings.sources.environment import Environment
from allstop.testing.model_server import Say, model_server
from common import TINY, figure, sized
from turns import size, talk, timed

SLOW_S = 10.0
PEERS = Path(__file__).parent / "room_peers"
PACKAGES = {
    "langgraph": ("langgraph==1.2.*", "langgraph-checkpoint-sqlite==3.*", "aiosqlite"),
    "autogen": ("autogen-agentchat==0.7.5", "autogen-core==0.7.5"),
    "by_hand": (),
}
INSTALL_S, RUN_S = 300, 200


def project_at(folder: Path, server) -> Project:
    """A project without a repository; the user's settings name the agents."""
    environment = Environment(
        home=folder,
        variables={
            "PATH": os.environ["PATH"],
            "OPENAI_API_KEY": "sk-nobody",
            "ANTHROPIC_API_KEY": "sk-nobody",
        },
    )
    environment.user_file.parent.mkdir(parents=True)
    environment.user_file.write_text(
        f"""
        [agents.gpt]
        driver = "openai"
        base_url = "{server.openai_url}"
        [agents.claude]
        driver = "anthropic"
        base_url = "{server.anthropic_url}"
        """
    )
    return Project(folder, environment)


async def stop_once(project: Project, thread: str, server, *, everything: bool) -> float:
    """Seconds from the command until the end of the session is written."""
    async with room_driver(project, thread) as place:
        asked = len(server.requests)
        await place.begin(session_spec(project, SessionRequest("Talk slowly.", TalkMode.AUTOPILOT)))
        while len(server.requests) == asked:
            await anyio.sleep(0.01)
        await anyio.sleep(0.05)
        began = time.perf_counter()
        if everything:
            await place.engine.allstop()
        else:
            await threads.stop(project, thread)
        while True:
            state = place.engine.state(place.run)
            if state is not None and state.pilot.session is None and state.open_move is None:
                break
            await anyio.sleep(0)
        took = time.perf_counter() - began
    events = [record.event for record in await project.journal.read(threads.run_of(thread))]
    posted = [e for e in events if isinstance(e, MoveEnded) and isinstance(e.result, TurnDone)]
    if posted:
        print("    a reply was posted after the stop!")
    if everything:
        from allstop.app.stop.everything import lift

        await lift(project, "bench")
    return took


async def bench_stop(times: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        slow = Say(text='{"message": "late"}', delay_s=SLOW_S)
        async with model_server([slow]) as server:
            project = project_at(Path(folder), server)
            for everything in (False, True):
                took = [
                    await stop_once(project, f"t{everything}{n}", server, everything=everything)
                    for n in range(times)
                ]
                took.sort()
                figure(
                    f"Q14 Allstop in a model call, {'all' if everything else 'one room'}",
                    f"{statistics.median(took) * 1e3:.1f} ms",
                    goal="50 ms",
                )
                what = "everything" if everything else "one room"
                print(
                    f"Q14 Allstop of {what}, model call of {SLOW_S:g} s in flight, {times} times:"
                    f" median {statistics.median(took) * 1e3:.1f} ms,"
                    f" p99 {took[min(len(took) - 1, int(len(took) * 0.99))] * 1e3:.1f} ms"
                )
            project.close()


def bench_peers(turns: int) -> None:
    print(f"{turns} turns of two agents that take no time, durable each turn")
    with tempfile.TemporaryDirectory() as folder:
        cost = timed(lambda: anyio.run(talk, Path(folder) / "room", 1, turns), turns)
        kb = size(Path(folder) / "room") / turns / 1e3
        print(
            f"    {'allstop':10} {cost.cpu_ms:.3f} ms CPU a turn, {cost.per_s:,.0f} turns/s,"
            f" {kb:.1f} KB written a turn"
        )
    ratios = []
    for name, packages in PACKAGES.items():
        if TINY and packages:
            continue
        with tempfile.TemporaryDirectory() as folder:
            python = _environment(Path(folder), packages)
            if python is None:
                print(f"    {name:10} can't be installed")
                continue
            done = subprocess.run(
                [python, str(PEERS / f"talk_{name}.py"), str(turns), folder],
                capture_output=True,
                text=True,
                timeout=RUN_S,
                check=False,
                env={"PATH": os.environ["PATH"], "HOME": folder},
            )
            if done.returncode != 0:
                print(f"    {name:10} failed: {done.stderr.strip().splitlines()[-1:]}")
                continue
            found = json.loads(done.stdout.splitlines()[-1])
            print(
                f"    {name:10} {found['cpu_ms']:.3f} ms CPU a turn, {found['per_s']:,.0f} turns/s,"
                f" {found['kb']:.1f} KB written a turn"
            )
            ratios.append(f"{cost.cpu_ms / found['cpu_ms']:.2f} x {name}")
    figure("Q1 turn of a room", f"{cost.cpu_ms:.3f} ms CPU", goal="0.3 ms", ratio=", ".join(ratios))


def _environment(folder: Path, packages: tuple[str, ...]) -> str | None:
    if not packages:
        return sys.executable
    home = folder / "venv"
    made = subprocess.run([sys.executable, "-m", "venv", str(home)], check=False)
    python = str(home / "bin" / "python")
    done = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", *packages],
        timeout=INSTALL_S,
        check=False,
        capture_output=True,
    )
    return python if made.returncode == done.returncode == 0 else None


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=sized(40, 1))
    parser.add_argument("--turns", type=int, default=sized(1000, 20))
    parser.add_argument("--only", choices=["stopping", "beside"])
    arguments = parser.parse_args()
    if arguments.only != "beside":
        anyio.run(bench_stop, arguments.times)
    if arguments.only != "stopping":
        bench_peers(arguments.turns)


if __name__ == "__main__":
    main()
