"""M2, M3, Q16: a merge queue with batches, killed at every write."""

import itertools

import anyio
import pytest

from allstop.core.events import MoveStarted
from allstop.core.moves import CheckResult, Spawn
from allstop.core.tasks import NewTask
from support.board_runs import StatelessAgent, assert_all_done, board_spec, person, task_of
from support.faulty_ports import CrashingJournal, GuardedJournal, MergingWorkspaces
from support.in_memory_world import InMemoryWorld
from support.sweeps import every

LONG_S = 3600.0
TASKS = tuple(NewTask(id=name, title=name) for name in "abcdef")
BAD = "d"
"""With this change no tree passes before its agent has worked on it again."""


class TreeChecks:
    """Stateless: a tree is red that has the first version of the bad change beside another one."""

    def __init__(self, workspaces):
        self._workspaces = workspaces
        self.ran = []

    async def run(self, check, place, label, progress):
        await anyio.sleep(5)
        commit = self._workspaces.checked[place.workspace.rpartition("/")[2]]
        self.ran.append(commit)
        passed = not ("+" in commit and f"+{BAD}.1" in commit)
        return CheckResult(name=check.name, run=check.run, passed=passed, code=0 if passed else 1)


class QueueWorkspaces(MergingWorkspaces):
    """Remembers which commit is in the clean clone of a workspace."""

    def __init__(self):
        super().__init__()
        self.checked = {}

    async def candidate(self, workspace, label, **how):
        found = await super().candidate(workspace, label, **how)
        self.checked[workspace] = getattr(found, "commit", "")  # "": the target has moved
        return found

    async def land(self, target, tip, commit):
        """M3: the target never points at a red tree."""
        assert f"+{BAD}.1" not in commit, "a red tree lands"
        return await super().land(target, tip, commit)


def queue_world(journal):
    world = InMemoryWorld(journal)
    world.workspaces = QueueWorkspaces()
    world.checks = TreeChecks(world.workspaces)
    world.agents["cli"] = StatelessAgent()
    return world


async def run_to_end(world):
    async with world.running() as engine:
        if await world.journal.heads():
            await world.resume_all(engine)
        else:
            await engine.open("board", "board", board_spec(slots=6, batch=8))
        await person(world, engine, TASKS)


async def until_death(world):
    async with anyio.create_task_group() as group:
        group.start_soon(run_to_end, world)
        with anyio.move_on_after(LONG_S):
            await world.journal.dead.wait()
        group.cancel_scope.cancel()


async def test_m2_m3_a_batch_with_a_bad_change_is_split_until_only_that_one_goes_back():
    world = queue_world(GuardedJournal())
    await run_to_end(world)

    await assert_all_done(world, TASKS)
    events = await world.events("board")
    spawned = [e.move for e in events if isinstance(e, MoveStarted) and isinstance(e.move, Spawn)]
    sizes = [1 + len(s.spec.get("others", ())) for s in spawned if s.kind == "merge"]
    assert max(sizes) == 6, "all arrive at once"
    board = (await world.state("board")).pilot
    assert {t.id: len(t.attempts) for t in board.board.tasks()} == {
        name: 2 if name == BAD else 1 for name in "abcdef"
    }
    assert [thrown.task for thrown in board.queue.thrown_out] == [BAD]
    assert board.queue.limits == board.queue.landed == {}
    merges = [head.run for head in await world.journal.heads() if ".merge" in head.run]
    assert {task_of(run) for run in merges} == set("abcdef"), "each one has its own merge"


@pytest.mark.parametrize("when", ["before", "after"])
async def test_q16_m3_a_queue_killed_at_any_write_lands_everything_once_and_nothing_red(when):
    kills = 0
    for nth in every(7):
        world = queue_world(CrashingJournal(nth, when))
        await until_death(world)
        if not world.journal.dead.is_set():
            break
        kills += 1
        world.journal = world.journal.disk()
        with anyio.fail_after(LONG_S):
            await run_to_end(world)
        await assert_all_done(world, TASKS)

    assert kills > 15


async def test_q16_m3_a_queue_killed_again_and_again_still_arrives():
    world = queue_world(CrashingJournal(9, "after"))
    for deaths in itertools.count(1):
        await until_death(world)
        if not world.journal.dead.is_set():
            break
        journal = CrashingJournal(17 + deaths % 3, ("before", "after")[deaths % 2])
        journal._records = world.journal.disk()._records
        world.journal = journal

    assert deaths >= 5
    await assert_all_done(world, TASKS)
