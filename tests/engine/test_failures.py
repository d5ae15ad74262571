"""A failure of one run affects no other run and never prevents a stop."""

import anyio
import anyio.lowlevel
import msgspec
import pytest

from allstop.core.commands import Abort, Allstop, Freeze, Pause, Resume, Say, Thaw
from allstop.core.events import Halted, MoveEnded, MoveStarted
from allstop.core.helm import Hold
from allstop.core.ids import HELM
from allstop.core.moves import (
    CheckResult,
    ChecksDone,
    Failed,
    FailureKind,
    Item,
    Outcome,
    Spawn,
    TakeTurn,
    TurnDone,
    Usage,
    Wait,
)
from allstop.core.prompt import prompt
from allstop.engine.send import send_command
from allstop.engine.steps import Waiting
from allstop.ports import HeldError, Live, StoreFullError
from allstop.testing.virtual_clock import LoopClock
from support.fault_scenarios import ALL_PILOTS
from support.faulty_ports import FullJournal, GuardedJournal, SlowJournal
from support.in_memory_world import DONE, InMemoryWorld, task


class Sour:
    """A pilot that can't bear to be spoken to."""

    kind = "sour"
    ends_when_stopped = False
    needs_slots = True

    def begin(self, spec):
        return spec

    def evolve(self, state, event):
        if "say" in str(event):
            raise ZeroDivisionError("oops")
        return state

    def undelivered(self, state):
        return ()

    def next_move(self, state, context):
        return TURN if state.get("works") else Wait(reason="idle")


TURN = TakeTurn(agent="cli", prompt=prompt("go"))


@pytest.mark.parametrize("works", [False, True])
async def test_a_run_that_can_not_take_in_what_is_said_hurts_nobody_else(works):
    world = InMemoryWorld(GuardedJournal(), pilots={**ALL_PILOTS, "sour": Sour()})
    world.agent("cli", *[10.0, "more"] * 3, then=lambda turn: DONE)
    async with world.running() as engine:
        await engine.open("x", "sour", {"works": works})
        await engine.open("t", "task", task())
        await anyio.sleep(5)
        await engine.command("x", Say(text="say it"))
        assert await engine.rested("t") is Outcome.DONE
        await anyio.sleep(100)
        assert await engine.rested("x") == Waiting(
            "broken: ZeroDivisionError: oops", for_person=True
        )
        halted = await engine.allstop()

    assert "x" in halted.runs


class Careless:
    """Spawns a child of an unknown kind."""

    kind = "careless"
    ends_when_stopped = False
    needs_slots = True

    def begin(self, spec):
        return (spec, 0)

    def evolve(self, state, event):
        return (state[0], state[1] + isinstance(event, MoveStarted))

    def undelivered(self, state):
        return ()

    def next_move(self, state, context):
        spec, spawned = state
        return Wait(reason="waits") if spawned else Spawn(**spec)


@pytest.mark.parametrize(
    "child",
    [
        {"kind": "unheard of", "ref": "c", "spec": {}},
        {"kind": "task", "ref": "c", "spec": {"no": "task"}},
    ],
)
async def test_a_child_that_nobody_can_drive_hurts_nobody_else(child):
    world = InMemoryWorld(pilots={**ALL_PILOTS, "careless": Careless()})
    world.agent("cli", 10.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await engine.open("x", "careless", child)

        assert await engine.rested("t") is Outcome.DONE
    assert any(live.kind == "trouble" and run == "x/c" for run, live in world.shown)


async def test_p7_a_run_that_nobody_can_drive_does_not_keep_the_others_from_being_taken_up():
    world = InMemoryWorld(pilots={**ALL_PILOTS, "careless": Careless()})
    world.agent("cli", 10.0, then=lambda turn: DONE)
    async with world.running() as engine:
        await engine.open("x", "careless", {"kind": "unheard of", "ref": "c", "spec": {}})
        await engine.open("t", "task", task())
        await anyio.sleep(1)
    async with world.running() as engine:
        await world.resume_all(engine)

        assert await engine.rested("t") is Outcome.DONE


async def test_k2_two_who_stop_everything_at_once_both_get_their_receipt():
    world = InMemoryWorld()
    world.agent("cli", *[3600.0] * 2)
    receipts = []

    async def stop(engine, name):
        receipts.append(await engine.allstop(by=name))

    async with world.running() as engine:
        for run in "ab":
            await engine.open(run, "task", task())
        await anyio.sleep(10)
        with anyio.fail_after(60):
            async with anyio.create_task_group() as group:
                for name in ("anna", "ben", "cleo"):
                    group.start_soon(stop, engine, name)

    assert len(receipts) == 3
    assert engine.helm.stops == 3


async def test_q19_a_full_disk_is_waited_out_and_nothing_is_lost():
    world = InMemoryWorld(FullJournal())
    world.agent("cli", 10.0, "one", 10.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(5)
        world.journal.full = True
        await anyio.sleep(60)
        assert world.journal.refused > 10
        world.journal.full = False
        assert await engine.rested("t") is Outcome.DONE

    assert ("t", "trouble") in [(run, live.kind) for run, live in world.shown]


@pytest.mark.parametrize("reserve", [1, 2])
async def test_q19_on_a_full_disk_a_stop_takes_effect_and_the_engine_lives_on(reserve):
    """Q19: the stop is recorded from the reserve; its receipt may have to wait for room."""
    world = InMemoryWorld(FullJournal(reserve))
    world.agent("cli", 3600.0, then=lambda turn: DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(5)
        world.journal.full = True
        async with anyio.create_task_group() as group:
            group.start_soon(engine.allstop)
            await anyio.sleep(30)
            assert engine.helm.hold is Hold.STOPPED
            assert not engine._driven_runs["t"].drive.at_work
            world.journal.full = False
        await engine.command(HELM, Resume())
        await anyio.sleep(100)

    assert sum(isinstance(e, Halted) for e in await world.events(HELM)) == 1
    assert await world.outcome("t") == [Outcome.DONE]


@pytest.mark.parametrize(
    ("command", "rests"),
    [
        (Abort(), Outcome.ABORTED),
        (Allstop(), Waiting("stopped")),
        (Pause(), Waiting("paused")),
    ],
)
async def test_f6_a_run_that_waits_for_a_slot_hears_what_is_said_to_it(command, rests):
    """F6: a long turn holds all slots; queued runs still react to commands."""
    world = InMemoryWorld(slots=1)
    world.agent("slow", 3600.0, DONE)
    world.agent("cli", then=lambda turn: DONE)
    async with world.running() as engine:
        await engine.open("first", "task", task(agents=["slow"], idle_s=7200.0, turn_s=7200.0))
        await anyio.sleep(1)
        await engine.open("second", "task", task())
        await engine.open("third", "task", task())
        await anyio.sleep(1)
        await engine.command("second", command)
        with anyio.fail_after(10):
            assert await engine.rested("second") == rests
        assert await engine.rested("third") is Outcome.DONE
        assert await engine.rested("first") is Outcome.DONE

    assert not any(isinstance(e, MoveEnded) for e in await world.events("second"))


async def test_k1_a_run_that_was_frozen_stopped_and_resumed_works_again():
    """K1: the launcher thaws the label, or its next program would never start."""
    world = InMemoryWorld()
    world.agent("cli", 3600.0, 10.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(5)
        await engine.command("t", Freeze())
        await anyio.sleep(5)
        assert world.launcher.frozen == {"t"}
        await engine.command("t", Allstop())
        await engine.command("t", Resume())
        await anyio.sleep(5)
        assert world.launcher.frozen == set()
        assert await engine.rested("t") is Outcome.DONE


async def test_k1_a_turn_that_ends_while_it_is_frozen_leaves_nothing_frozen_behind():
    """A model's answer may still come in; the next turn's programs must start all the same."""
    world = InMemoryWorld()
    world.agent("cli", 10.0, "one", 10.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(5)
        await engine.command("t", Freeze())
        assert await engine.rested("t") == Waiting("frozen")
        await engine.command("t", Thaw())
        await anyio.sleep(1)
        assert world.launcher.frozen == set()
        assert await engine.rested("t") is Outcome.DONE


class FreezableChecks:
    """Takes 50 seconds of not being frozen, as a program would."""

    def __init__(self, launcher):
        self._launcher = launcher

    async def run(self, check, place, label, progress):
        left_s = 50
        while left_s:
            await anyio.sleep(1)
            left_s -= label not in self._launcher.frozen
        return CheckResult(name=check.name, run=check.run, passed=True, code=0)


async def test_k1_a_freeze_between_two_checks_stops_the_clock_of_the_second():
    """K1: a check that is begun while all is frozen doesn't time out."""
    world = InMemoryWorld(SlowJournal())
    world.agent("cli", DONE)
    world.checks = FreezableChecks(world.launcher)
    checks = [{"name": name, "run": name, "timeout_s": 60.0} for name in "ab"]
    async with world.running() as engine:
        await engine.open("t", "task", task(target="main", checks=checks))
        await anyio.sleep(49)
        world.journal.append_s = 5.0  # that the first has passed is being written
        await anyio.sleep(3)
        world.journal.append_s = 0.0
        await engine.command("t", Freeze())
        await anyio.sleep(500)
        assert world.launcher.frozen == {"t"}
        await engine.command("t", Thaw())
        assert await engine.rested("t") is Outcome.DONE

    (done,) = [
        e.result
        for e in await world.events("t")
        if isinstance(e, MoveEnded) and isinstance(e.result, ChecksDone)
    ]
    assert [result.timed_out for result in done.results] == [False, False]


@pytest.mark.parametrize("command", [Allstop(), Pause(), Freeze()])
async def test_k1_a_brake_on_a_fleet_reaches_the_child_that_is_born_in_that_moment(command):
    """K1: a child opens between the lookup of children and the write of the brake."""
    world = InMemoryWorld(SlowJournal(), pilots=ALL_PILOTS)
    world.agent("quick", 10.0, DONE)
    world.agent("slow", 1000.0, then=lambda turn: DONE)
    ships = {
        "a": task(agents=["quick"]),
        "b": {**task(agents=["slow"], turn_s=2000.0), "task": "b"},
    }
    async with world.running() as engine:
        await engine.open("f", "fleet", {"tasks": ships, "at_once": 1})
        await anyio.sleep(8)
        world.journal.heads_s = 5.0  # meanwhile a comes home and b sets out
        await engine.command("f", command)
        world.journal.heads_s = 0.0
        await anyio.sleep(1)

        assert {run: (await world.state(run)).hold for run in ("f", "f/b")} == {
            "f": (await world.state("f")).hold,
            "f/b": (await world.state("f")).hold,
        }
        assert (await world.state("f/b")).hold is not Hold.NONE


async def test_p7_a_second_engine_is_told_who_drives_a_run():
    """P7: two processes can't run the same session."""
    world = InMemoryWorld()
    world.agent("cli", 100.0, DONE)
    async with world.running() as first, world.running() as second:
        await first.open("t", "task", task())
        with pytest.raises(HeldError, match="t is driven by"):
            await second.take("t")
        with pytest.raises(HeldError):
            await second.open("t", "task", task())
        assert await first.rested("t") is Outcome.DONE


async def test_p7_an_engine_takes_up_what_another_has_let_go_of():
    world = InMemoryWorld()
    world.agent("cli", 100.0, then=lambda turn: DONE)
    async with world.running() as second:
        async with world.running() as first:
            await first.open("t", "task", task())
            await anyio.sleep(10)
        await second.take("t")
        assert await second.rested("t") is Outcome.DONE

    kinds = [
        e.result.kind
        for e in await world.events("t")
        if isinstance(getattr(e, "result", 0), Failed)
    ]
    assert kinds == [FailureKind.INTERRUPTED]


async def test_p7_a_drive_that_was_superseded_can_not_write():
    """After a lost claim (for example a sleeping machine) another process drives the run."""
    world = InMemoryWorld(GuardedJournal())
    world.agent("cli", 100.0, 50.0, DONE, then=lambda turn: DONE)
    async with world.running() as first, world.running() as second:
        await first.open("t", "task", task())
        await anyio.sleep(10)
        world.journal._claimed.clear()
        await second.take("t")
        assert await second.rested("t") is Outcome.DONE
        before = await world.events("t")
        await anyio.sleep(1000)

        assert await world.events("t") == before
    assert await world.outcome("t") == [Outcome.DONE]


async def test_k2_allstop_by_one_engine_stops_the_runs_of_another():
    """K2: every process that drives puts down its own and writes its own receipt."""
    world = InMemoryWorld()
    world.agent("cli", *[3600.0] * 2)
    async with world.running() as first, world.running() as second:
        await first.open("a", "task", task())
        await second.open("b", "task", task())
        await anyio.sleep(10)
        await first.allstop()
        await anyio.sleep(10)
        assert await second.rested("b") == Waiting("allstop")

    receipts = [e.runs for e in await world.events(HELM) if isinstance(e, Halted)]
    left = "stopped; next: cli takes a turn"
    assert sorted(receipts, key=str) == [{"a": left}, {"b": left}]


class ShieldedTalker:
    """Doesn't let itself be cut off while it talks."""

    async def take_turn(self, turn, watch):
        await anyio.sleep(10)
        with anyio.CancelScope(shield=True):
            await watch.saw(Item(kind="x", text="hm"))
        return TurnDone(text=DONE)


async def test_k2_a_stop_is_heard_by_whoever_waits_for_room_on_the_disk():
    """K2, Q19: the disk stays full; the agent's messages are dropped and its turn ends."""
    world = InMemoryWorld(FullJournal(reserve=2))
    world.agents["cli"] = ShieldedTalker()
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(5)
        world.journal.full = True
        await anyio.sleep(10)
        await engine.allstop()
        assert not engine._driven_runs["t"].drive.at_work
        world.journal.full = False
        await anyio.sleep(5)

    kinds = [e.result.kind for e in await world.events("t") if isinstance(e, MoveEnded)]
    assert kinds in ([FailureKind.CANCELLED], [FailureKind.DISCARDED])


async def test_p7_a_run_that_could_not_be_opened_is_not_held_on_to():
    world = InMemoryWorld(FullJournal())
    world.agent("cli", then=lambda turn: DONE)
    async with world.running() as first, world.running() as second:
        world.journal.full = True
        with pytest.raises(StoreFullError):
            await first.open("t", "task", task())
        world.journal.full = False
        assert await second.open("t", "task", task())
        assert await second.rested("t") is Outcome.DONE


async def test_p7_a_run_that_was_over_when_it_was_taken_is_not_held_on_to():
    world = InMemoryWorld()
    world.agent("cli", DONE)
    async with world.running() as first, world.running() as second:
        await first.open("t", "task", task())
        await first.rested("t")
        await second.take("t")

        assert list(world.journal.holders()) == []


async def test_p7_a_root_is_held_until_the_last_of_those_below_is_over():
    """Only one process drives the leftover children of a closed root, and then releases the claim."""
    world = InMemoryWorld(pilots=ALL_PILOTS)
    world.agent("cli", 100.0, 100.0)
    async with world.running() as engine:
        ships = {name: {**task(), "task": name} for name in "ab"}
        await engine.open("f", "fleet", {"tasks": ships, "at_once": 2})
        await anyio.sleep(10)
        await engine.command("f", Abort())
        await anyio.sleep(10)

        assert list(world.journal.holders()) == []
    assert all(head.closed for head in await world.journal.heads())


async def test_a_spec_that_makes_no_sense_is_not_even_written():
    world = InMemoryWorld()
    async with world.running() as engine:
        with pytest.raises(msgspec.ValidationError):
            await engine.open("t", "task", {"no": "task"})

        assert await world.journal.heads() == []
        assert list(world.journal.holders()) == []


async def test_whoever_writes_while_an_engine_ends_is_not_hurt():
    """The engine stops listening when it can't react any more."""
    for ticks in range(20):
        world = InMemoryWorld()
        world.agent("cli", 3600.0)
        async with anyio.create_task_group() as group:
            with anyio.CancelScope() as scope:
                async with world.running() as engine:
                    await engine.open("t", "task", task())
                    await anyio.sleep(1)

                    async def write(times=ticks, journal=world.journal):
                        for _ in range(times):
                            await anyio.lowlevel.checkpoint()
                        await send_command(journal, LoopClock(), HELM, Pause(), "somebody else")

                    group.start_soon(write)
                    scope.cancel()
                    await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize(
    ("entries", "kind"),
    [
        ([1000.0], FailureKind.STALLED),
        ([*[50.0, Live("text", "hm")] * 100], FailureKind.TIMED_OUT),
        ([RuntimeError("boom")], FailureKind.CRASHED),
    ],
)
async def test_k5_a_turn_that_nobody_saw_the_end_of_counts_as_all_it_might_have_used(entries, kind):
    world = InMemoryWorld()
    world.agent("cli", *entries)
    spec = task(max_tokens=70, idle_s=100.0, turn_s=500.0, backoff={"retries": 0})
    async with world.running() as engine:
        await engine.open("t", "task", spec)
        await engine.rested("t")

    (ended,) = [e.result for e in await world.events("t") if isinstance(e, MoveEnded)]
    assert (ended.kind, ended.usage.tokens) == (kind, 70)


async def test_k5_impossible_usage_counts_as_nothing_and_is_on_record():
    world = InMemoryWorld()
    world.agent("cli", TurnDone(text=DONE, usage=Usage(output=-2_999_700)))
    async with world.running() as engine:
        await engine.open("t", "task", task())
        assert await engine.rested("t") is Outcome.DONE

    (ended,) = [
        event.result
        for event in await world.events("t")
        if isinstance(event, MoveEnded) and isinstance(event.result, TurnDone)
    ]
    assert ended.usage == Usage()
    assert "cli reported impossible usage" in str(await world.events("t"))
