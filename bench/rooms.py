"""Q14: Allstop in a room while a model takes ten seconds; and rooms beside other programs' rooms.

The model is a server on the loopback that answers after ten seconds; it is asked through the real
connectors. Then the same talk of two agents that take no time, durable after every turn, in
LangGraph (SQLite checkpointer), in AutoGen and in a hand-written loop, each installed from the
package index into an environment of its own. Prints figures; asserts nothing.
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
from allstop.app.rooms.session_spec import Wish, session_spec
from allstop.core.events import MoveEnded
from allstop.core.moves import TurnDone
from allstop.core.room_specs import TalkMode
from allstop.settings import Environment
from allstop.testing.model_server import Say, model_server
from turns import size, talk, timed

SLOW_S = 10.0
PEERS = Path(__file__).parent / "peers_of_rooms"
PACKAGES = {
    "langgraph": ("langgraph==1.2.*", "langgraph-checkpoint-sqlite==3.*", "aiosqlite"),
    "autogen": ("autogen-agentchat==0.7.5", "autogen-core==0.7.5"),
    "by_hand": (),
}
INSTALL_S, RUN_S = 300, 200


def house_at(folder: Path, server) -> Project:
    """A room needs no repository; the agents are in the person's own settings."""
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
    """Seconds from the command until the session is over and that is on the disk."""
    async with room_driver(project, thread) as place:
        asked = len(server.requests)
        await place.begin(session_spec(project, Wish("Talk slowly.", TalkMode.AUTOPILOT)))
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
        from allstop.app.stop.allstop import lift

        await lift(project, "bench")
    return took


async def stopping(times: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        slow = Say(text='{"message": "late"}', delay_s=SLOW_S)
        async with model_server([slow]) as server:
            project = house_at(Path(folder), server)
            for everything in (False, True):
                took = [
                    await stop_once(project, f"t{everything}{n}", server, everything=everything)
                    for n in range(times)
                ]
                took.sort()
                what = "everything" if everything else "one room"
                print(
                    f"Q14 Allstop of {what}, model call of {SLOW_S:g} s in flight, {times} times:"
                    f" median {statistics.median(took) * 1e3:.1f} ms,"
                    f" p99 {took[min(len(took) - 1, int(len(took) * 0.99))] * 1e3:.1f} ms"
                )
            project.close()


def beside(turns: int) -> None:
    print(f"{turns} turns of two agents that take no time, durable each turn")
    with tempfile.TemporaryDirectory() as folder:
        cost = timed(lambda: anyio.run(talk, Path(folder) / "room", 1, turns), turns)
        kb = size(Path(folder) / "room") / turns / 1e3
        print(
            f"    {'allstop':10} {cost.cpu_ms:.3f} ms CPU a turn, {cost.per_s:,.0f} turns/s,"
            f" {kb:.1f} KB written a turn"
        )
    for name, packages in PACKAGES.items():
        with tempfile.TemporaryDirectory() as folder:
            python = _environment(Path(folder), packages)
            if python is None:
                print(f"    {name:10} can't be installed here")
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
    parser.add_argument("--times", type=int, default=40)
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--only", choices=["stopping", "beside"])
    arguments = parser.parse_args()
    if arguments.only != "beside":
        anyio.run(stopping, arguments.times)
    if arguments.only != "stopping":
        beside(arguments.turns)


if __name__ == "__main__":
    main()
