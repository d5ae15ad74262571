"""The drive of one run: moves, results, crashes, brakes."""

import anyio
import pytest

from allstop.core.asks import Ask, Decision, Rule
from allstop.core.brakes import AtLimit, Limits
from allstop.core.commands import Abort, Allstop, Freeze, Pause, Permit, Raise, Resume, Say, Thaw
from allstop.core.events import Halted, Killed, MoveEnded, MoveStarted, Noted, Opened
from allstop.core.ids import HELM
from allstop.core.moves import Failed, FailureKind, Item, Outcome, TurnDone, Usage
from allstop.engine.steps import Waiting
from allstop.ports import LATE_CALLS, Abilities, Entry, Live, TokenCap
from allstop.testing.virtual_clock import EPOCH
from support.in_memory_world import DONE, InMemoryWorld, ListedAgent, moves, task, turns


@pytest.fixture
def world():
    return InMemoryWorld()


def ends(events):
    return [
        e.result.kind if isinstance(e.result, Failed) else type(e.result).__name__
        for e in events
        if isinstance(e, MoveEnded)
    ]


async def test_a_task_without_a_repository_takes_turns_until_it_says_complete(world):
    agent = world.agent("cli", "working", "more", DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        assert await engine.rested("t") is Outcome.DONE

    assert turns(await world.events("t")) == ["cli"] * 3
    assert [turn.thread for turn in agent.heard] == [None, "t1", "t1"]


async def test_a_task_with_a_repository_is_opened_checked_and_brought_home(world):
    world.agent("cli", DONE, f"fixed\n{DONE}")
    world.checks.codes = {"pytest": [1, 0]}
    spec = task(target="main", branch="allstop/t", checks=[{"name": "Tests", "run": "pytest"}])
    async with world.running() as engine:
        await engine.open("t", "task", spec)
        assert await engine.rested("t") is Outcome.DONE

    events = await world.events("t")
    assert moves(events) == [
        "OpenWorkspace",
        "TakeTurn",
        "RunChecks",
        "TakeTurn",
        "RunChecks",
        "Deliver",
    ]
    assert world.workspaces.delivered == {"allstop/t": "c2"}


async def test_a_move_is_ended_and_the_next_begun_in_one_write(world):
    world.agent("cli", "a", "b", "c", DONE)
    writes = []
    append = world.journal.append

    async def counting(*entries, **options):
        writes.append([type(entry.event).__name__ for entry in entries])
        await append(*entries, **options)

    world.journal.append = counting
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await engine.rested("t")

    assert writes == [
        ["Opened"],
        ["MoveStarted"],
        *[["MoveEnded", "MoveStarted"]] * 3,
        ["MoveEnded", "Closed"],
    ]


async def test_a_drive_reads_only_when_somebody_else_wrote(world):
    world.agent("cli", *["more"] * 50, DONE)
    reads = []
    read = world.journal.read

    async def counting(run, after=0):
        reads.append(run)
        return await read(run, after)

    world.journal.read = counting
    async with world.running() as engine:
        await engine.open("t", "task", task(iterations=100))
        await engine.rested("t")

    assert reads.count("t") <= 3


async def test_an_agent_that_crashes_fails_its_turn_and_not_the_engine(world):
    world.agent("bad", RuntimeError("boom"), RuntimeError("boom"), RuntimeError("boom"))
    world.agent("good", 100.0, DONE)
    async with world.running() as engine:
        await engine.open("b", "task", task(agents=["bad"]))
        await engine.open("g", "task", task(agents=["good"]))
        assert await engine.rested("b") is Outcome.FAILED
        assert await engine.rested("g") is Outcome.DONE

    assert ends(await world.events("b")) == [FailureKind.CRASHED] * 3


async def test_an_unknown_agent_is_a_clear_failure(world):
    async with world.running() as engine:
        await engine.open("t", "task", task(agents=["ghost"]))
        assert await engine.rested("t") is Outcome.FAILED

    assert "no agent named 'ghost'" in (await world.events("t"))[-1].note


async def test_k12_silence_is_a_stall_and_words_are_signs_of_life(world):
    """K12: nothing for idle_s fails the turn as stalled; it is tried again."""
    world.agent("cli", *[90.0, Item(kind="x", text="hm")] * 10, 101.0, "never", DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task(idle_s=100.0))
        assert await engine.rested("t") is Outcome.DONE

    assert ends(await world.events("t")) == [FailureKind.STALLED, "TurnDone", "TurnDone"]


async def test_a_turn_has_a_wall_clock_limit(world):
    world.agent("cli", 500.0, "never")
    async with world.running() as engine:
        await engine.open("t", "task", task(turn_s=60.0))
        assert await engine.rested("t") is Outcome.TIMED_OUT

    assert ends(await world.events("t")) == [FailureKind.TIMED_OUT]


async def test_r12_a_runs_time_limit_holds_during_a_turn(world):
    """The reply that would have come later is not taken."""
    world.agent("cli", 500.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task(), limits=Limits(time_s=60.0))
        assert await engine.rested("t") is Outcome.BRAKED

    (closed,) = [e for e in await world.events("t") if type(e).__name__ == "Closed"]
    assert closed.at.timestamp() - EPOCH.timestamp() == pytest.approx(60, abs=1)
    assert closed.note == "seconds: 60 of 60"


async def test_k6_at_the_limit_it_asks_or_stops_and_raising_it_goes_on(world):
    world.agent("cli", "a", "b", "c", DONE)
    async with world.running() as engine:
        limits = Limits(turns=2, at_limit=AtLimit.PAUSE)
        await engine.open("t", "task", task(), limits=limits)
        assert await engine.rested("t") == Waiting("limit reached: turns: 2 of 2", for_person=True)
        await engine.command("t", Raise(limits=Limits(turns=9)))
        await anyio.sleep(1)
        assert await engine.rested("t") is Outcome.DONE


async def test_k5_tokens_are_reserved_before_a_turn(world):
    """K5: with a cap on each call the sum never passes the limit."""
    world.agent("cli", then=lambda turn: "more", tokens=40)
    async with world.running() as engine:
        await engine.open("t", "task", task(max_tokens=40), limits=Limits(tokens=100))
        assert await engine.rested("t") is Outcome.BRAKED

    assert (await world.state("t")).tally.tokens == 80


async def test_k5_a_budget_caps_the_turn_of_an_agent_that_reports_each_call(world):
    """K5: without a cap of its own, the turn ends after the call that uses up the budget."""
    world.agent("cli", then=lambda turn: "more", tokens=70)
    agent = world.agents["cli"]
    agent.abilities = Abilities(token_cap=TokenCap.AFTER)
    async with world.running() as engine:
        await engine.open("t", "task", task(), limits=Limits(tokens=100))
        assert await engine.rested("t") is Outcome.BRAKED

    assert [turn.max_tokens for turn in agent.heard] == [100, 30]


async def test_g5_a_turn_gets_the_money_that_the_limits_leave_and_none_without_such_a_limit(world):
    spent = TurnDone(text="more", usage=Usage(output=1, cost_microusd=30))
    left = []

    class Asks(ListedAgent):
        async def take_turn(self, turn, watch):
            left.append(turn.account.left.microusd)
            return await super().take_turn(turn, watch)

    world.agents["cli"] = Asks([spent, spent, DONE])
    async with world.running() as engine:
        await engine.open("t", "task", task(), limits=Limits(cost_microusd=100, turns=2))
        assert await engine.rested("t") is Outcome.BRAKED
        await engine.open("u", "task", task(task="u"), limits=Limits(turns=1))
        await engine.rested("u")

    assert left == [100, 70, None]


async def test_k1_pause_lets_the_turn_end_and_resume_goes_on(world):
    """K1: pause takes effect after the current turn."""
    world.agent("cli", 50.0, "one", DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(10)
        await engine.command("t", Pause())
        assert await engine.rested("t") == Waiting("paused")
        assert turns(await world.events("t")) == ["cli"]
        await engine.command("t", Resume())
        await anyio.sleep(1)
        assert await engine.rested("t") is Outcome.DONE

    assert ends(await world.events("t")) == ["TurnDone", "TurnDone"]


async def test_k1_freeze_stops_processes_and_clocks_and_thaw_lets_them_go_on(world):
    """K1: a frozen turn neither stalls nor times out."""
    world.agent("cli", 50.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task(turn_s=60.0, idle_s=55.0))
        await anyio.sleep(10)
        await engine.command("t", Freeze())
        await anyio.sleep(30)
        assert world.launcher.frozen == {"t"}
        await engine.command("t", Thaw())
        await anyio.sleep(1)
        assert world.launcher.frozen == set()
        assert await engine.rested("t") is Outcome.DONE


async def test_k2_allstop_cuts_every_turn_and_nothing_starts_after_it(world):
    """K2: in flight, waiting, and opened afterwards alike."""
    world.agent("cli", *[3600.0] * 3, then=lambda turn: DONE)
    async with world.running() as engine:
        for run in "ab":
            await engine.open(run, "task", task())
        await anyio.sleep(60)
        halted = await engine.allstop(by="test")
        await engine.open("late", "task", task())
        await anyio.sleep(7200)
        assert await engine.rested("late") == Waiting("allstop")

    assert sorted(halted.discarded) == ["a: cli takes a turn", "b: cli takes a turn"]
    assert halted.runs == dict.fromkeys("ab", "stopped; next: cli takes a turn")
    for run in "ab":
        assert ends(await world.events(run)) == [FailureKind.CANCELLED]
    assert turns(await world.events("late")) == []
    assert [type(e) for e in await world.events(HELM)][-1] is Halted


class CallsTooLate:
    """An agent whose gateway tells, after a stop, which calls came too late."""

    abilities = Abilities()

    async def take_turn(self, turn, watch):
        try:
            await anyio.sleep(3600)
        finally:
            watch.live(Live(LATE_CALLS, "2 model calls refused after the end"))

    async def close(self):
        pass


async def test_g4_model_calls_after_an_allstop_are_in_its_receipt(world):
    world.agents["cli"] = CallsTooLate()
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(60)
        halted = await engine.allstop(by="test")

    (lost,) = halted.discarded
    assert lost == "t: cli takes a turn (2 model calls refused after the end)"
    assert [live for _, live in world.shown if live.kind == LATE_CALLS] == []


async def test_k2_a_reply_that_comes_with_the_stop_is_discarded(world):
    """K2: the helm moved while the reply was on its way to the journal."""
    world.agent("cli", 10.0, DONE)
    append = world.journal.append

    async def stop_first(*entries, **options):
        if any(
            isinstance(e.event, MoveEnded) and isinstance(e.event.result, TurnDone) for e in entries
        ):
            world.journal.append = append
            await engine.allstop()
        await append(*entries, **options)

    async with world.running() as engine:
        world.journal.append = stop_first
        await engine.open("t", "task", task())
        await anyio.sleep(100)

    assert ends(await world.events("t")) == [FailureKind.DISCARDED]


async def test_an_allstop_survives_a_restart_and_only_resume_lifts_it(world):
    world.agent("cli", 100.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(10)
        await engine.allstop()
    async with world.running() as engine:
        await engine.take("t")
        await anyio.sleep(1000)
        assert await engine.rested("t") == Waiting("allstop")
        await engine.command(HELM, Resume())
        await anyio.sleep(1000)
        assert await engine.rested("t") is Outcome.DONE


async def test_the_word_for_one_run_stops_that_run_only(world):
    world.agent("cli", *[100.0, 100.0], then=lambda turn: DONE)
    async with world.running() as engine:
        for run in "ab":
            await engine.open(run, "task", task())
        await anyio.sleep(10)
        await engine.command("a", Allstop())
        assert await engine.rested("a") == Waiting("stopped")
        assert await engine.rested("b") is Outcome.DONE

    assert ends(await world.events("a")) == [FailureKind.CANCELLED]


async def test_abort_ends_a_run_now(world):
    world.agent("cli", 3600.0)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(10)
        await engine.command("t", Abort())
        assert await engine.rested("t") is Outcome.ABORTED


async def test_what_a_person_says_in_mid_turn_is_in_the_next_prompt(world):
    agent = world.agent("cli", 10.0, "one", DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(5)
        await engine.command("t", Say(text="use tabs"))
        assert await engine.rested("t") is Outcome.DONE

    assert ["use tabs" in turn.prompt.text for turn in agent.heard] == [False, True]


async def test_a_kill_in_a_turn_is_an_interrupted_turn_after_the_restart(world):
    world.agent("cli", 3600.0)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(10)
        frozen = {run: list(records) for run, records in world.journal._records.items()}
    world.journal._records = frozen
    world.agent("cli", DONE)
    async with world.running() as engine:
        await engine.take("t")
        assert await engine.rested("t") is Outcome.DONE

    assert ends(await world.events("t")) == [FailureKind.INTERRUPTED, "TurnDone"]


async def test_q16_a_kill_long_after_a_stop_is_no_stop(world):
    """Q16, P7: the move is recorded as interrupted, and the pause isn't counted as work."""
    world.agent("cli", 3600.0)
    async with world.running() as engine:
        await engine.allstop()
        await engine.command(HELM, Resume())
        await engine.open("t", "task", task())
        await anyio.sleep(10)
        frozen = {run: list(records) for run, records in world.journal._records.items()}
    world.journal._records = frozen
    world.agent("cli", DONE)
    await anyio.sleep(7200)
    async with world.running() as engine:
        await engine.take("t")
        assert await engine.rested("t") is Outcome.DONE

    assert ends(await world.events("t")) == [FailureKind.INTERRUPTED, "TurnDone"]
    assert (await world.state("t")).tally.busy_s < 3600


async def test_k4_a_receipt_tells_nothing_of_what_ended_before_the_stop(world):
    """K4: neither a tree that a stall put down, nor a turn that another stop cut off."""
    world.agent("cli", *[100.0] * 3)
    async with world.running() as engine:
        await engine.open("t", "task", task(idle_s=5.0, max_iterations=2))
        await engine.open("other", "task", task(goal="longer"))
        world.launcher.put_down.append(Killed(label="t", pid=7))
        await engine.rested("t")
        await engine.command("other", Allstop())
        await engine.rested("other")
        halted = await engine.allstop()

    assert (halted.killed, halted.discarded) == ((), ())


async def test_k4_a_receipt_tells_what_the_stop_put_down(world):
    world.agent("cli", 100.0)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(10)
        put_down = Killed(label="t", pid=7)
        world.launcher.put_down.append(put_down)
        halted = await engine.allstop()

    assert (halted.killed, halted.discarded) == ((put_down,), ("t: cli takes a turn",))


async def test_k2_a_stop_that_came_after_the_kill_cuts_off_the_turn(world):
    world.agent("cli", 3600.0)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(10)
        frozen = {run: list(records) for run, records in world.journal._records.items()}
    world.journal._records = frozen
    world.agent("cli", DONE)
    async with world.running() as engine:
        await engine.allstop()
        await engine.command(HELM, Resume())
    async with world.running() as engine:
        await engine.take("t")
        assert await engine.rested("t") is Outcome.DONE

    assert ends(await world.events("t")) == [FailureKind.CANCELLED, "TurnDone"]


async def test_a_process_that_ends_in_order_leaves_no_open_move(world):
    world.agent("cli", 3600.0)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(10)

    assert ends(await world.events("t")) == [FailureKind.INTERRUPTED]
    assert (await world.state("t")).tally.busy_s > 0  # it is known until when it went on


async def test_f5_an_agent_is_told_yes_or_no_or_waits_for_a_person(world):
    asks = [
        Ask(id=str(number), argv=tuple(line.split()))
        for number, line in enumerate(["git status", "rm -rf /", "pip install x"])
    ]
    rules = (
        Rule(prefix=("git", "status"), decision=Decision.ALLOW),
        Rule(prefix=("rm",), decision=Decision.DENY),
    )
    world.agent("cli", *asks, DONE)
    opened = Opened(at=EPOCH, kind="task", spec=task(idle_s=60.0), rules=rules)
    await world.journal.append(Entry("t", opened))
    async with world.running() as engine:
        await engine.take("t")
        await anyio.sleep(3000)
        assert await world.outcome("t") == []
        await engine.command("t", Permit(ask="2", allow=True))
        assert await engine.rested("t") is Outcome.DONE

    noted = [item for e in await world.events("t") if isinstance(e, Noted) for item in e.items]
    assert [item.text for item in noted if item.text[0].isdigit()] == [
        "0: True",
        "1: False",
        "2: True",
    ]
    answers = [(item.kind, item.text) for item in noted if not item.text[0].isdigit()]
    assert answers == [("allowed", "git status"), ("denied", "rm -rf /")]


async def test_many_items_are_few_writes_and_none_is_lost(world):
    items = [Item(kind="x", text=str(number)) for number in range(500)]
    world.agent("cli", *items, 2.0, Item(kind="x", text="late"), DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await engine.rested("t")

    noted = [e for e in await world.events("t") if isinstance(e, Noted)]
    assert [int(i.text) if i.text != "late" else 500 for e in noted for i in e.items] == list(
        range(501)
    )
    assert len(noted) <= 3


async def test_nb16_b14_the_result_of_a_check_is_recorded_before_the_next_one_ends(world):
    """B14: an optional check that fails quickly is seen while a slow one runs."""
    first, optional = Item(kind="check", text="✓ one"), Item(kind="check", text="⚠ two")
    world.agent("cli", first, optional, 300.0, DONE)
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(60)
        noted = [item for e in await world.events("t") if isinstance(e, Noted) for item in e.items]
        await engine.rested("t")

    assert noted == [first, optional]


async def test_f6_a_chatty_run_does_not_starve_a_quiet_one():
    """F6: one slot, three runs that always have something to say; turns go round."""
    world = InMemoryWorld(slots=1)
    for name in "abc":
        world.agent(name, *[1.0, "more"] * 4, 1.0, DONE)
    async with world.running() as engine:
        for name in "abc":
            await engine.open(name, "task", task(agents=[name]))
        for name in "abc":
            assert await engine.rested(name) is Outcome.DONE

    started = [e for name in "abc" for e in await world.events(name) if isinstance(e, MoveStarted)]
    order = [e.move.agent for e in sorted(started, key=lambda e: e.at)]
    assert [sorted(order[n : n + 3]) for n in range(0, 15, 3)] == [["a", "b", "c"]] * 5


async def test_a_run_with_a_broken_pilot_is_parked_with_the_reason(world):
    class Broken:
        kind = "broken"
        ends_when_stopped = False
        needs_slots = True

        def begin(self, spec):
            return 0

        def evolve(self, state, event):
            return state

        def undelivered(self, state):
            return ()

        def next_move(self, state, context):
            raise ZeroDivisionError("oops")

    world.pilots = {**world.pilots, "broken": Broken()}
    world.agent("cli", 5.0, DONE)
    async with world.running() as engine:
        await engine.open("x", "broken", {})
        await engine.open("t", "task", task())
        assert await engine.rested("x") == Waiting(
            "broken: ZeroDivisionError: oops", for_person=True
        )
        assert await engine.rested("t") is Outcome.DONE


async def test_k8_an_idle_day_makes_no_call(world):
    """K8: supervision costs nothing: a day of waiting for a person takes no turn."""
    agent = world.agent("cli", "<promise>PENDING: which?</promise>")
    async with world.running() as engine:
        await engine.open("t", "task", task())
        await anyio.sleep(24 * 3600)
        assert await engine.rested("t") == Waiting("asks: which?", for_person=True)

    assert len(agent.heard) == 1
    assert len(await world.events("t")) == 3
