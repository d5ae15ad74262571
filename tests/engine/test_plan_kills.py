"""Q16, K2, P7: plans that are killed or stopped at every write."""

import re
from datetime import timedelta
from functools import partial

import anyio
import pytest

from allstop.core.commands import Pause, Resume
from allstop.core.events import MoveEnded, MoveStarted
from allstop.core.moves import Change, CheckResult, TurnDone, Usage
from allstop.core.replay import differences
from allstop.plans.pilot import PlanPilot
from allstop.ports import Abilities
from support.fault_scenarios import (
    assert_each_child_started_once,
    assert_each_run_done_once,
    kill_at_every_write,
    open_or_resume,
    run_until_death,
    stop_at_every_write,
)
from support.faulty_ports import CrashingJournal, GuardedJournal, MergingWorkspaces, RacingJournal
from support.in_memory_world import InMemoryWorld
from support.sweeps import every

RUN = "plan1"
LONG_S = 3600.0
STEPS = ["Sort it", "Count it", "Print it"]
SPEC = {
    "plan": {
        "phases": [
            {
                "name": "All",
                "steps": [
                    {"id": f"s{number}", "text": text, **({"check": "make"} if number == 2 else {})}
                    for number, text in enumerate(STEPS, 1)
                ],
            }
        ]
    },
    "name": RUN,
    "target": "main",
    "agents": ["coder"],
    "gate": {"checks": [{"name": "Tests", "run": "pytest"}]},
}


class Coder:
    """Does each step; remembers only what it was asked to do."""

    abilities = Abilities()

    def __init__(self):
        self.asked = []

    async def take_turn(self, turn, watch):
        self.asked.append(re.search(r"Step (s\d)", turn.prompt.whole)[1])
        if turn.thread is None:
            await watch.opened("t1")
        await anyio.sleep(2)
        return TurnDone(text="Done.", thread="t1", usage=Usage(output=10))

    async def close(self):
        pass


class CommittingWorkspaces(MergingWorkspaces):
    """Keeps changes of files apart from commits, as git does."""

    def __init__(self):
        super().__init__()
        self.changed = set()  # files with uncommitted changes
        self.log = []  # (message, files) of each commit

    async def keep(self, workspace, label, *, message="", uncommitted=False):
        await anyio.sleep(1)
        if self.changed and not uncommitted:
            self.log.append((message, sorted(self.changed)))
            self.changed = set()
        await anyio.sleep(1)
        number = self.commits[workspace] = len(self.log) + bool(self.changed)
        return Change(head=f"c{number}", commits=number, files=1)


class Writer(Coder):
    """Writes a file for each step, and nothing if it is there."""

    def __init__(self, workspaces):
        super().__init__()
        self.workspaces = workspaces

    async def take_turn(self, turn, watch):
        done = await super().take_turn(turn, watch)
        name = self.asked[-1]
        if name not in {file for _, files in self.workspaces.log for file in files}:
            self.workspaces.changed.add(name)
        await anyio.sleep(1)
        return done


class PassingChecks:
    async def run(self, check, place, label, progress):
        await anyio.sleep(1)
        return CheckResult(name=check.name, run=check.run, passed=True, code=0)


def at_work(journal):
    world = InMemoryWorld(journal)
    world.workspaces = MergingWorkspaces()
    world.checks = PassingChecks()
    world.agents = {"coder": Coder()}
    return world


async def go(world, spec=SPEC):
    """Open or resume the run until it ends or the process dies."""
    async with world.running() as engine:
        await open_or_resume(world, engine, RUN, "plan", spec)
        await anyio.sleep(LONG_S)


async def assert_each_step_counted_once(world):
    assert world.workspaces.merged == [RUN]
    await assert_each_run_done_once(world)
    await assert_each_child_started_once(world, RUN)
    events = await world.events(RUN)
    turns = [e for e in events if isinstance(e, MoveEnded) and isinstance(e.result, TurnDone)]
    state = (await world.state(RUN)).pilot
    assert (len(turns), state.completed, state.skipped) == (len(STEPS), len(STEPS), ())
    asked = world.agents["coder"].asked
    assert asked == sorted(asked), "a step was done out of order"
    assert set(asked) == {"s1", "s2", "s3"}


async def test_the_plan_of_the_other_tests_arrives():
    world = at_work(GuardedJournal())
    await go(world)

    await assert_each_step_counted_once(world)
    assert len(world.agents["coder"].asked) == len(STEPS)


async def test_p3_a_paused_plan_does_nothing_and_resumes_at_once():
    world = at_work(GuardedJournal())
    async with world.running() as engine:
        await engine.open(RUN, "plan", SPEC)
        await anyio.sleep(1)
        await engine.command(RUN, Pause())
        await anyio.sleep(LONG_S)
        paused = await world.events(RUN)
        await anyio.sleep(LONG_S)
        assert await world.events(RUN) == paused
        assert len(world.agents["coder"].asked) == 1
        await engine.command(RUN, Resume())
        await anyio.sleep(LONG_S)

    resumed, started = (await world.events(RUN))[len(paused) :][:2]
    assert isinstance(started, MoveStarted)
    assert started.at - resumed.at <= timedelta(milliseconds=200)
    await assert_each_step_counted_once(world)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_p7_killed_at_any_write_of_a_plan_no_step_is_lost_or_counted_twice(when):
    async def assert_whole(world):
        await assert_each_step_counted_once(world)
        assert len(world.agents["coder"].asked) <= len(STEPS) + 1, "finished steps were repeated"

    kills = await kill_at_every_write(
        every(2), lambda nth: at_work(CrashingJournal(nth, when)), go, assert_whole
    )

    assert kills > 5


EACH_STEP = [
    ("Step s1: Sort it", ["s1"]),
    ("Step s2: Count it", ["s2"]),
    ("Step s3: Print it", ["s3"]),
]
AT_THE_END = [("plan1: plan", ["s1", "s2", "s3"])]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("auto_commit", "log"), [(True, EACH_STEP), (False, AT_THE_END)])
async def test_p8_killed_at_any_write_each_step_is_committed_once(when, auto_commit, log):
    spec = {**SPEC, "edition": 2, "auto_commit": auto_commit}

    def make_world(nth):
        world = at_work(CrashingJournal(nth, when))
        world.workspaces = CommittingWorkspaces()
        world.agents = {"coder": Writer(world.workspaces)}
        return world

    async def assert_whole(world):
        assert world.workspaces.log == log
        await assert_each_step_counted_once(world)

    assert await kill_at_every_write(every(1), make_world, partial(go, spec=spec), assert_whole) > 9


@pytest.mark.parametrize("where", ["helm", "root", "writer"])
async def test_k2_allstop_wins_every_race_with_every_write_of_a_plan(where):
    stops = await stop_at_every_write(
        every(2),
        lambda nth: at_work(RacingJournal(nth, where)),
        lambda engine: engine.open(RUN, "plan", SPEC),
        lambda world, engine: anyio.sleep(LONG_S),
        assert_each_step_counted_once,
    )

    assert stops > 5


class Talker(Coder):
    """Each conversation grows by a thousand tokens a turn, and holds the steps that it knows of."""

    def __init__(self, *, compacts):
        super().__init__()
        self.abilities = Abilities(resume=True, compact=compacts)
        self.known = {}  # the steps that each conversation knows of
        self.tokens = {}

    async def take_turn(self, turn, watch):
        thread = turn.thread or f"t{len(self.known) + 1}"
        known = self.known.setdefault(thread, set())
        known |= set(re.findall(r"knows (s\d)", turn.prompt.whole))
        if turn.thread is None:
            await watch.opened(thread)
        await anyio.sleep(2)
        if step := re.search(r"Step (s\d)", turn.prompt.whole):
            assert known >= set(self.asked) - {step[1]}, "the conversation was lost"
            self.asked.append(step[1])
            known.add(step[1])
        own = turn.compacts and self.abilities.compact
        self.tokens[thread] = 100 if own else self.tokens.get(thread, 0) + 1000
        text = "" if own else " ".join(f"knows {each}" for each in sorted(known))
        usage = Usage(output=10)
        return TurnDone(text=text, thread=thread, usage=usage, context=self.tokens[thread])


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("compacts", [True, False])
async def test_p10_killed_at_any_write_a_compaction_loses_nothing(when, compacts):
    spec = {**SPEC, "compact_at": 1000}
    for nth in every(1):
        world = at_work(CrashingJournal(nth, when))
        world.agents = {"coder": Talker(compacts=compacts)}
        await run_until_death(world, partial(go, spec=spec))
        is_over = not world.journal.dead.is_set()
        if not is_over:
            world.journal = world.journal.disk()
            await go(world, spec)

        events = await world.events(RUN)
        done = [e.result for e in events if isinstance(e, MoveEnded)]
        sizes = [r.compacted for r in done if isinstance(r, TurnDone) and r.compacted]
        assert 1 <= len(sizes) <= 2
        assert all(size.before > size.after > 0 for size in sizes)
        assert {size.summary for size in sizes} == {not compacts}
        assert (await world.state(RUN)).pilot.completed == len(STEPS)
        assert world.workspaces.merged == [RUN]
        assert differences(PlanPilot(), events) == []
        if is_over:
            break

    assert nth > 10
