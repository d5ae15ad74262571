"""Board runs in memory: agents by task, a person who answers and approves, and final checks."""

from collections import Counter

import anyio

from allstop.core.commands import AddTasks, Answer, Approve
from allstop.core.events import Closed, MoveStarted, Opened
from allstop.core.moves import Item, Outcome, Spawn, TurnDone, Usage
from allstop.core.replay import differences
from allstop.core.tasks import NewTask, Status
from allstop.ports import Abilities
from support.fault_scenarios import assert_moves_alternate
from support.faulty_ports import MergingWorkspaces, SecondTimeChecks
from support.in_memory_world import DONE, InMemoryWorld

QUESTION = "<promise>PENDING: which one?</promise>"
CHECKS = [{"name": "Tests", "run": "pytest"}]
TASKS = (
    NewTask(id="a", title="first"),
    NewTask(id="b", title="after a", needs=("a",)),
    NewTask(id="asks", title="asks"),
    NewTask(id="clash", title="does not fit at first", needs=("a",)),
)


def board_spec(**more):
    return {
        "target": "main",
        "agents": ["cli"],
        "review": "skip",
        "gate": {"checks": CHECKS},
        **more,
    }


def task_of(run):
    """The task of a child run."""
    return run.partition("/")[2].rpartition(".")[0]


class TaskAgent:
    """Plays the listed turns of each task, then completes the task after some seconds."""

    abilities = Abilities()

    def __init__(self, takes_s=10.0, **scripts):
        self.takes_s = takes_s
        self.scripts = {name: list(script) for name, script in scripts.items()}
        self.heard = []  # (task, prompt) of each turn
        self.at_work = set()
        self.most = 0

    def told(self, task):
        return [turn.prompt.text for name, turn in self.heard if name == task]

    async def take_turn(self, turn, watch):
        task = task_of(turn.run)
        self.heard.append((task, turn))
        self.at_work.add(turn.run)
        self.most = max(self.most, len(self.at_work))
        try:
            return await self._turn(task, turn)
        finally:
            self.at_work.discard(turn.run)

    async def _turn(self, task, turn):
        script = self.scripts.get(task.replace("-", "_"), [])
        while script:
            match script.pop(0):
                case str() as text:
                    return self._said(text)
                case int() | float() as seconds:
                    await anyio.sleep(seconds)
                case BaseException() as error:
                    raise error
                case result:
                    return result
        await anyio.sleep(self.takes_s)
        return self._said(DONE)

    def _said(self, text):
        return TurnDone(text=text, thread="t", usage=Usage(output=10))

    async def close(self):
        pass


class StatelessAgent:
    """Has no state, so that it can be killed: its answer depends only on the prompt."""

    abilities = Abilities()

    async def take_turn(self, turn, watch):
        if turn.thread is None:
            await watch.opened("t1")
        await anyio.sleep(2)
        await watch.saw(Item(kind="x", text="hm"))
        await anyio.sleep(2)
        asks = task_of(turn.run) == "asks" and turn.thread is None
        return TurnDone(text=QUESTION if asks else DONE, thread="t1", usage=Usage(output=10))

    async def close(self):
        pass


def board_world(journal):
    """A world where each check fails once, one task asks a question and one has a conflict."""
    world = InMemoryWorld(journal)
    world.workspaces = MergingWorkspaces(fits_after={"clash": 3})
    world.checks = SecondTimeChecks(world.workspaces)
    world.agents["cli"] = StatelessAgent()
    return world


async def person(world, engine, tasks=TASKS):
    """Adds the tasks, answers and approves until all is done, by reading the journal only."""
    while True:
        board = (await world.state("board")).pilot.board
        if not board.nodes:
            await engine.command("board", AddTasks(tasks=tasks))
        for task in board.tasks():
            if task.asks:
                await engine.command(f"board/{task.open}", Answer(text="the second"))
            if task.status is Status.REVIEW:
                await engine.command("board", Approve(task=task.id))
        if board.nodes and board.count(Status.DONE) == len(board.nodes):
            return
        await anyio.sleep(7)


async def statuses(world):
    board = (await world.state("board")).pilot.board
    return {task.id: task.status.value for task in board.tasks()}


async def assert_all_done(world, tasks=TASKS, *, least_attempts=1):
    """All tasks are done and merged once, and replaying the journal gives the same state."""
    state = (await world.state("board")).pilot
    names = sorted(task.id for task in tasks)
    assert await statuses(world) == {task.id: "done" for task in tasks}
    assert sorted(world.workspaces.merged) == names
    assert (state.refs, state.merging, state.merged) == ({}, "", len(names))
    assert not state.board.merges
    for head in await world.journal.heads():
        events = await world.events(head.run)
        assert sum(isinstance(e, Opened) for e in events) == 1
        assert differences(world.pilots[head.kind], events) == []
        assert_moves_alternate(events)
        if head.run != "board":
            assert sum(isinstance(e, Closed) for e in events) == 1
    await assert_children_are_known(world, state.board)
    assert all(len(task.attempts) >= least_attempts for task in state.board.tasks())


async def assert_children_are_known(world, board):
    """The board started each run of each task once, as one of its attempts."""
    events = await world.events("board")
    refs = [e.move.ref for e in events if isinstance(e, MoveStarted) and isinstance(e.move, Spawn)]
    assert max(Counter(refs).values()) == 1
    runs = {head.run for head in await world.journal.heads()} - {"board"}
    assert runs == {f"board/{ref}" for ref in refs}
    for task in board.tasks():
        attempts = [attempt.run for attempt in task.attempts]
        assert attempts == [f"board/{task.id}.{n + 1}" for n in range(len(attempts))]
        assert task.attempts[-1].outcome is Outcome.DONE
