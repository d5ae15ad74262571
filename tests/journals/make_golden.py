"""Makes journals to keep: once committed they are never made again, only more are added.

PYTHONPATH=tests .venv/bin/python -m journals.make_golden tests/journals/v2 board
"""

import sys
from pathlib import Path

import anyio
import msgspec
import trio
import trio.testing

from allstop.adapters.journals.in_memory import MemoryJournal
from allstop.core.asks import Ask, Decision, Rule
from allstop.core.commands import Answer, Permit, Resume, Retry, RollBack, Say
from allstop.core.events import Opened
from allstop.core.ids import HELM
from allstop.core.moves import Failed, FailureKind, Item
from allstop.ports import Entry
from allstop.testing.virtual_clock import EPOCH
from support.board_runs import board_spec, board_world, person
from support.faulty_ports import MergingWorkspaces, SecondTimeChecks
from support.in_memory_world import DONE, InMemoryWorld, task


async def finished(world):
    """A task that is mended after a failed check, and comes home."""
    world.agent("cli", Item(kind="did", text="wrote a file"), DONE, f"mended\n{DONE}")
    world.checks.codes = {"pytest": [1, 0]}
    checks = [{"name": "Tests", "run": "pytest"}]
    async with world.running() as engine:
        spec = task(target="main", branch="allstop/t", checks=checks)
        await engine.open("t", "task", spec, title="Mend it")
        await engine.command("t", Say(text="mind the tabs"))
        await engine.rested("t")


async def stopped(world):
    """A turn that is cut by an Allstop, and taken again."""
    world.agent("cli", 100.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(10)
        await engine.allstop(by="test")
        await engine.command(HELM, Resume())
        await anyio.sleep(200)
        await engine.rested("t")


async def asked(world):
    """Questions, limits and failures on the way."""
    ask = Ask(id="a1", argv=("pip", "install", "x"), text="pip install x")
    limited = Failed(kind=FailureKind.RATE_LIMITED, message="429")
    question = "<promise>PENDING: which one?</promise>"
    world.agent("cli", ask, "once", limited, RuntimeError("boom"), question, DONE)
    rules = (Rule(prefix=("rm",), decision=Decision.DENY, why="never"),)
    opened = Opened(at=EPOCH, kind="task", spec=task(), rules=rules)
    await world.journal.append(Entry("t", opened))
    async with world.running() as engine:
        await engine.take("t")
        await anyio.sleep(60)
        await engine.command("t", Permit(ask="a1", allow=True))
        await anyio.sleep(600)
        await engine.command("t", Answer(text="the second"))
        await anyio.sleep(60)
        await engine.rested("t")


async def board(world):
    """Tasks that need each other, fail their checks, ask, don't fit; a stop, and a rollback."""
    async with world.running() as engine:
        await engine.open("board", "board", board_spec(slots=2))
        with anyio.move_on_after(9):
            await person(world, engine)
        await engine.allstop(by="test")
        await engine.command(HELM, Resume())
        await person(world, engine)
        await engine.command("board", RollBack(task="b"))
        await anyio.sleep(60)
        await engine.command("board", Retry(task="b", text="once more"))
        await anyio.sleep(600)


THREAD = {
    "goal": "Write a parser.",
    "agent": "coder",
    "policy": "model",
    "decision_agent": "judge",
    "review": "end",
    "name": "thread",
    "target": "main",
    "gate": {"checks": [{"name": "Tests", "run": "pytest"}]},
}


async def auto_second(world):
    """The same by the second edition of the rules, which tells the model more."""
    await auto(world, edition=2)


async def auto(world, **more):
    """A model decides: plans, a denial, a question, a failure, a pause, a review, the gate."""
    world.workspaces = MergingWorkspaces()
    world.checks = SecondTimeChecks(world.workspaces)
    plan = Item(kind="plan", text="[x] lexer\n[ ] parser")
    work = [Item(kind="command", text="$ pytest\n[exit 1]"), Item(kind="compaction", text="")]
    world.agent(
        "coder",
        *[plan, Ask(id="a1", argv=("rm", "x"), text="rm x"), "the lexer is there"],
        *[*work, Ask(id="a2", argv=("make", "install"), text="make install"), "installed"],
        *[
            Failed(kind=FailureKind.NETWORK, message="no route"),
            "<promise>BLOCKED: no key</promise>",
        ],
        *["more of it", DONE, f"looked\n{DONE}", f"mended\n{DONE}", f"again\n{DONE}"],
    )
    advice = '{"action": "%s", "reason": "so it looks", "confidence": %s}'
    world.agent(
        "judge",
        *[advice % ("continue", 0.9), advice % ("continue", '"0.62"'), "no idea"],
        *[advice % ("pause", 1), advice % ("continue", 0.3)],
        *[advice % ("stop", 0.9)] * 3,
    )
    rules = (Rule(prefix=("rm",), decision=Decision.DENY, why="never"),)
    opened = Opened(at=EPOCH, kind="auto", spec={**THREAD, **more}, rules=rules)
    await world.journal.append(Entry("auto1", opened))
    async with world.running() as engine:
        await engine.take("auto1")
        await anyio.sleep(60)
        await engine.command("auto1", Permit(ask="a2", allow=True))
        await anyio.sleep(600)
        await engine.command("auto1", Say(text="the key is there now"))
        await anyio.sleep(600)
        await engine.command("auto1", Resume())
        await anyio.sleep(600)


STORIES = {story.__name__: story for story in (finished, stopped, asked, board, auto, auto_second)}


async def record(story):
    world = board_world(MemoryJournal()) if story is board else InMemoryWorld()
    await story(world)
    runs = [head.run for head in await world.journal.heads()]
    return {run: await world.events(run) for run in (*runs, HELM)}


def main(folder, names):
    for name in names:
        clock = trio.testing.MockClock(autojump_threshold=0)
        for run, events in trio.run(record, STORIES[name], clock=clock).items():
            if events:
                lines = b"".join(msgspec.json.encode(event) + b"\n" for event in events)
                with (folder / f"{name}.{run.replace('/', '~')}.jsonl").open("xb") as file:
                    file.write(lines)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    main(target, sys.argv[2:])
