"""Parent and child runs: usage, budgets and brakes."""

import anyio
import pytest
from msgspec.structs import replace

from allstop.core.brakes import AtLimit, Limits
from allstop.core.commands import Abort, Allstop, Pause, Raise, Resume
from allstop.core.events import ChildClosed, Closed, MoveEnded, MoveStarted, Opened
from allstop.core.ids import HELM
from allstop.core.moves import Failed, FailureKind, Outcome
from allstop.core.replay import differences
from allstop.engine.steps import Waiting
from allstop.kinds import PILOTS
from allstop.ports import Entry
from allstop.testing.virtual_clock import LoopClock
from support.fan_out_pilot import FanOutPilot
from support.fault_scenarios import ALL_PILOTS, FAULT_RUNS, assert_finished, fault_world
from support.faulty_ports import CrashingJournal, GuardedJournal, SlowJournal
from support.in_memory_world import DONE, InMemoryWorld, task

TOKENS = 40


def fleet(names="abc", **more):
    ships = {
        name: task(task=name, agents=[name], max_tokens=TOKENS, iterations=20) for name in names
    }
    return {"tasks": ships, "at_once": 2, **more}


@pytest.fixture
def world():
    return InMemoryWorld(GuardedJournal(), pilots=ALL_PILOTS)


def children(events):
    return {e.ref: (e.outcome, e.tally.turns) for e in events if isinstance(e, ChildClosed)}


async def total_tokens(world, root):
    heads = await world.journal.heads()
    states = [await world.state(head.run) for head in heads if head.run.startswith(f"{root}/")]
    return sum(state.tally.tokens for state in states)


async def most_at_once(world):
    """How many children were open at the same time, by the order of the journal."""
    board_world = most = 0
    for _, entries in world.journal.writes:
        for event in (entry.event for entry in entries):
            board_world += isinstance(event, Opened) and event.parent is not None
            board_world -= isinstance(event, ChildClosed)
        most = max(most, board_world)
    return most


def test_a_new_pilot_touches_no_existing_file():
    """The litmus test: the package knows nothing of this one, and drives it."""
    assert "fleet" not in PILOTS
    assert FanOutPilot.__module__ == "support.fan_out_pilot"


async def test_children_are_born_so_many_at_a_time_and_the_parent_hears_of_their_end(world):
    world.agent("a", 10.0, DONE)
    world.agent("b", 20.0, "more", 20.0, DONE)
    world.agent("c", 5.0, "<promise>BLOCKED: no key</promise>")
    async with world.running() as engine:
        await engine.open("f", "fleet", fleet())
        await anyio.sleep(36_000)
        assert await world.outcome("f") == [Outcome.FAILED]

    events = await world.events("f")
    assert children(events) == {
        "a": (Outcome.DONE, 1),
        "b": (Outcome.DONE, 2),
        "c": (Outcome.BLOCKED, 1),
    }
    assert events[-1].note == "lost: c"
    assert await most_at_once(world) == 2
    for head in await world.journal.heads():
        assert differences(world.pilots[head.kind], await world.events(head.run)) == []


async def test_a_child_is_born_in_the_same_write_that_says_so(world):
    world.agent("a", DONE)
    async with world.running() as engine:
        await engine.open("f", "fleet", fleet("a"))
        await anyio.sleep(36_000)

    (birth,) = [
        [(entry.run, type(entry.event)) for entry in entries]
        for _, entries in world.journal.writes
        if any(isinstance(entry.event, Opened) and entry.event.parent for entry in entries)
    ]
    assert birth == [("f", MoveStarted), ("f", MoveEnded), ("f/a", Opened)]
    (end,) = [
        {entry.run for entry in entries}
        for _, entries in world.journal.writes
        if any(isinstance(entry.event, ChildClosed) for entry in entries)
    ]
    assert end == {"f", "f/a"}


async def test_k5_what_children_use_is_what_the_parent_used(world):
    for name in "abc":
        world.agent(name, 1.0, "more", DONE, tokens=7)
    async with world.running() as engine:
        await engine.open("f", "fleet", fleet())
        await anyio.sleep(36_000)
        assert await world.outcome("f") == [Outcome.DONE]

    tally = (await world.state("f")).tally
    assert (tally.turns, tally.tokens) == (6, 42)
    assert tally.tokens == await total_tokens(world, "f")


@pytest.mark.parametrize("tokens", [40, 100, 230, 400])
@pytest.mark.parametrize("at_limit", [AtLimit.STOP, AtLimit.PAUSE])
async def test_k5_children_at_once_never_pass_the_budget_of_their_parent(world, tokens, at_limit):
    """K5: each reserves its turn with the parent before it takes it."""
    for name in "abcd":
        world.agent(name, then=lambda turn: "more", tokens=TOKENS)
    limits = Limits(tokens=tokens, at_limit=at_limit)
    spec = fleet("abcd", at_once=4, limits={"at_limit": "pause"})
    async with world.running() as engine:
        await engine.open("f", "fleet", spec, limits=limits)
        await anyio.sleep(36_000)
        account = engine.budgets.account("f")

        assert tokens - TOKENS < await total_tokens(world, "f") <= tokens
        assert account.reserved.tokens == 0
    assert await total_tokens(world, "f") <= tokens


async def test_k5_a_budget_in_turns_is_shared_too(world):
    for name in "abcd":
        world.agent(name, then=lambda turn: "more")
    limits = Limits(turns=5, at_limit=AtLimit.PAUSE)
    async with world.running() as engine:
        await engine.open("f", "fleet", fleet("abcd", at_once=4), limits=limits)
        await anyio.sleep(36_000)
        assert await engine.rested("f") == Waiting("limit reached: turns: 5 of 5", for_person=True)

    assert (await world.state("f")).tally.turns == 5


async def test_k6_raising_the_budget_of_a_parent_lets_its_children_go_on(world):
    for name in "ab":
        world.agent(name, *["more"] * 5, DONE, tokens=TOKENS)
    limits = Limits(tokens=3 * TOKENS, at_limit=AtLimit.PAUSE)
    spec = fleet("ab", limits={"at_limit": "pause"})
    async with world.running() as engine:
        await engine.open("f", "fleet", spec, limits=limits)
        await anyio.sleep(100)
        assert await total_tokens(world, "f") == 3 * TOKENS
        await engine.command("f", Raise(limits=replace(limits, tokens=100 * TOKENS)))
        for name in "ab":
            await engine.command(f"f/{name}", Resume())
        await anyio.sleep(100)

    assert await world.outcome("f") == [Outcome.DONE]
    assert (await world.state("f")).tally.tokens == 12 * TOKENS


async def test_k6_a_budget_that_comes_later_counts_what_was_used_before(world):
    """Limits that are set while children are at work: nothing they used or hold is forgotten."""
    for name in "ab":
        world.agent(name, *[10.0, "more"] * 10, DONE, tokens=TOKENS)
    spec = fleet("ab", limits={"at_limit": "pause"})
    async with world.running() as engine:
        await engine.open("f", "fleet", spec)
        await anyio.sleep(25)  # each has had two turns, and is in its third
        most = Limits(tokens=7 * TOKENS, at_limit=AtLimit.PAUSE)
        await engine.command("f", Raise(limits=most))
        await anyio.sleep(1000)

        assert await total_tokens(world, "f") == 7 * TOKENS


@pytest.mark.parametrize("read_s", [0.0, 5.0])
@pytest.mark.parametrize("nth", range(4, 14))
async def test_k5_counters_survive_a_kill_and_an_interrupted_turn_counts_in_full(nth, read_s):
    """K5: an interrupted call is charged with its maximum usage, for the parent too."""
    world = InMemoryWorld(CrashingJournal(nth, "after"), pilots=ALL_PILOTS)
    for name in "abc":
        world.agent(name, then=lambda turn: "more", tokens=TOKENS)
    limits = Limits(tokens=6 * TOKENS, at_limit=AtLimit.PAUSE)
    spec = fleet("abc", at_once=3, limits={"at_limit": "pause"})
    async with anyio.create_task_group() as group, world.running() as engine:
        await engine.open("f", "fleet", spec, limits=limits)
        await world.journal.dead.wait()
        group.cancel_scope.cancel()
    journal = SlowJournal(
        read_s=read_s
    )  # none goes on before all are counted, however long it takes
    journal._records = world.journal.disk()._records
    world.journal = journal
    async with world.running() as engine:
        await world.resume_all(engine)
        await anyio.sleep(1000)

    assert await total_tokens(world, "f") == 6 * TOKENS


async def test_k5_a_child_may_have_a_budget_of_its_own_besides(world):
    for name in "ab":
        world.agent(name, then=lambda turn: "more", tokens=TOKENS)
    spec = fleet("ab", limits={"turns": 3})
    async with world.running() as engine:
        await engine.open("f", "fleet", spec, limits=Limits(turns=100))
        await anyio.sleep(36_000)
        assert await world.outcome("f") == [Outcome.FAILED]

    assert children(await world.events("f")) == {
        "a": (Outcome.BRAKED, 3),
        "b": (Outcome.BRAKED, 3),
    }


async def test_k5_a_parent_that_is_over_leaves_no_child_at_work_and_no_budget_open(world):
    """K5: its time is up while its children work: they end too, and use nothing more."""
    for name in "ab":
        world.agent(name, *[50.0, "more"] * 10)
    async with world.running() as engine:
        await engine.open("f", "fleet", fleet("ab"), limits=Limits(time_s=120.0))
        await anyio.sleep(121)

        assert await world.outcome("f") == [Outcome.BRAKED]
        assert [await world.outcome(f"f/{name}") for name in "ab"] == [[Outcome.ABORTED]] * 2


async def test_k5_children_that_were_left_behind_by_a_kill_end_when_they_are_taken_up(world):
    """The process died between the end of the parent and the end of its children."""
    for name in "ab":
        world.agent(name, 50.0, then=lambda turn: "more")
    async with world.running() as engine:
        await engine.open("f", "fleet", fleet("ab"))
        await anyio.sleep(10)
    closed = Closed(at=LoopClock().now(), outcome=Outcome.BRAKED)
    await world.journal.append(Entry("f", closed))
    async with world.running() as engine:
        await engine.take("f")
        await anyio.sleep(10)

    assert [await world.outcome(f"f/{name}") for name in "ab"] == [[Outcome.ABORTED]] * 2


async def test_k5_a_limit_in_time_holds_for_a_run_that_waits_for_somebody(world):
    world.agent("a", "<promise>PENDING: well?</promise>")
    async with world.running() as engine:
        await engine.open("t", "task", task(agents=["a"]), limits=Limits(time_s=60.0))
        assert await engine.rested("t") == Waiting("asks: well?", for_person=True)
        await anyio.sleep(61)

    assert await world.outcome("t") == [Outcome.BRAKED]


@pytest.mark.parametrize("at_limit", [AtLimit.PAUSE, AtLimit.STOP])
async def test_k5_a_limit_in_time_that_passes_while_all_is_stopped_disturbs_nobody(world, at_limit):
    world.agent("a", 1000.0, then=lambda turn: DONE)
    async with world.running() as engine:
        limits = Limits(time_s=60.0, at_limit=at_limit)
        await engine.open("t", "task", task(agents=["a"]), limits=limits)
        await anyio.sleep(10)
        await engine.allstop()
        await anyio.sleep(1000)
        assert await engine.rested("t") == Waiting("allstop")
        await engine.command(HELM, Resume())
        await anyio.sleep(1)

    expected = [Outcome.BRAKED] if at_limit is AtLimit.STOP else []
    assert await world.outcome("t") == expected


@pytest.mark.parametrize(
    ("command", "outcome"), [(Abort(), Outcome.ABORTED), (Allstop(), None), (Pause(), None)]
)
async def test_k1_what_is_said_to_a_parent_is_said_to_its_children(world, command, outcome):
    for name in "abc":
        world.agent(name, 100.0, then=lambda turn: DONE)
    async with world.running() as engine:
        await engine.open("f", "fleet", fleet())
        await anyio.sleep(10)
        await engine.command("f", command)
        await anyio.sleep(1000)
        if outcome is None:
            assert await world.outcome("f") == []
            await engine.command("f", Resume())
            await anyio.sleep(1000)

    expected = [outcome or Outcome.DONE]
    assert [await world.outcome(run) for run in ("f", "f/a", "f/b")] == [expected] * 3


async def test_k2_a_child_that_is_stopped_by_itself_does_not_stop_its_siblings(world):
    for name in "abc":
        world.agent(name, 100.0, then=lambda turn: DONE)
    async with world.running() as engine:
        await engine.open("f", "fleet", fleet())
        await anyio.sleep(10)
        await engine.command("f/a", Allstop())
        await anyio.sleep(1000)
        assert [await world.outcome(f"f/{name}") for name in "abc"] == [
            [],
            [Outcome.DONE],
            [Outcome.DONE],
        ]
        await engine.command("f/a", Resume())
        await anyio.sleep(1000)

    assert await world.outcome("f") == [Outcome.DONE]


async def test_fleets_of_fleets_add_up_to_the_top(world):
    for name in "ab":
        world.agent(name, 1.0, DONE, 1.0, DONE, tokens=5)
    fleets = {ref: fleet("ab") for ref in ("north", "south")}
    spec = {"tasks": fleets, "kind": "fleet", "at_once": 2}
    async with world.running() as engine:
        await engine.open("f", "fleet", spec, limits=Limits(tokens=1000))
        await anyio.sleep(36_000)
        assert await world.outcome("f") == [Outcome.DONE]
        assert engine.budgets.account("f").spent.tokens == 0  # closed with the run

    assert (await world.state("f")).tally.tokens == 20


def is_failed(ended):
    return isinstance(ended.result, Failed)


async def test_q16_a_turn_refused_for_want_of_budget_is_on_record_and_replays(world):
    for name in "ab":
        world.agent(name, then=lambda turn: "more", tokens=TOKENS)
    limits = Limits(tokens=3 * TOKENS, at_limit=AtLimit.PAUSE)
    async with world.running() as engine:
        await engine.open("f", "fleet", fleet("ab"), limits=limits)
        await anyio.sleep(100)

    for name in "ab":
        events = await world.events(f"f/{name}")
        failed = [e.result for e in events if isinstance(e, MoveEnded) and is_failed(e)]
        assert [(f.kind, f.message) for f in failed] == [
            (FailureKind.OUT_OF_BUDGET, "f: tokens 120 + 40 of 120")
        ]
        assert differences(ALL_PILOTS["task"], events) == []


async def test_q16_the_fleet_of_the_other_tests_arrives():
    world = fault_world(GuardedJournal())
    fault_run = FAULT_RUNS["fleet"]
    async with world.running() as engine:
        await engine.open("r", fault_run.kind, fault_run.spec())
        await anyio.sleep(36_000)
        assert await world.outcome("r") == [Outcome.DONE]

    await assert_finished(world, fault_run, "r")
