"""K5, K6: the daily budget of all runs, across processes."""

from datetime import UTC, timedelta, timezone

import anyio
import pytest

from allstop.adapters.journals.in_memory import MemoryJournal
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.core.brakes import AtLimit, Limits
from allstop.core.commands import AddTasks, Raise, StartSession
from allstop.core.events import Commanded, MoveEnded, MoveStarted, Opened, Waited
from allstop.core.ids import HELM
from allstop.core.moves import Outcome, TakeTurn, TurnDone
from allstop.core.prompt import prompt
from allstop.core.room_specs import Ending, Seat, SessionSpec, TalkMode
from allstop.core.tasks import NewTask
from allstop.engine.daily_budget import DailyBudget
from allstop.engine.hands import Hands
from allstop.engine.local import LocalEngine
from allstop.engine.steps import Waiting
from allstop.kinds import KINDS
from allstop.ports import Entry, Live
from allstop.testing.virtual_clock import EPOCH, LoopClock
from allstop.views.runs import view
from support.in_memory_world import DONE, InMemoryWorld, task

PAUSE = AtLimit.PAUSE
CAP = 40  # tokens that a turn may use
DAY_S = 24 * 3600


class Together(InMemoryWorld):
    """Runs that share a day; a turn uses 10 of the 40 tokens it may."""

    def __init__(self, limits, journal=None, zone=UTC, prices=0):
        super().__init__(journal)
        self.limits = limits
        self.zone = zone
        self.prices = prices

    def engine(self):
        engine = LocalEngine(
            journal=self.journal,
            hands=Hands(
                self.agents, checks=self.checks, workspaces=self.workspaces, launcher=self.launcher
            ),
            clock=LoopClock(),
            pilots=self.pilots,
            launcher=self.launcher,
            daily_budget=DailyBudget(self.journal, self.limits, self.zone),
            most_microusd=lambda agent, tokens: tokens * self.prices,
        )
        engine.view(lambda run, live: self.shown.append((run, live)))
        return engine


@pytest.fixture
def sqlite():
    """Opens stores, and closes them at the end."""
    opened = []

    def open_(folder):
        opened.append(SqliteJournal(folder, LoopClock()))
        return opened[-1]

    yield open_
    for journal in opened:
        journal.close()


async def begin(world, engine, name, *entries, at_limit=PAUSE, **more):
    world.agent(name, *entries, then=lambda turn: "more")
    spec = task(task=name, agents=[name], max_tokens=CAP, iterations=100, **more)
    await engine.open(name, "task", spec, limits=Limits(at_limit=at_limit))


async def used(world):
    """Usage by all events in the journal, of all processes."""
    return sum(
        placed.record.event.result.usage.tokens
        for placed in await world.journal.written(0, 100_000)
        if isinstance(placed.record.event, MoveEnded)
    )


async def test_k5_k6_runs_that_share_a_day_pause_before_it_is_passed_and_go_on_the_next():
    world = Together(Limits(tokens=100, at_limit=PAUSE))
    async with world.running() as engine:
        for name in ("a", "b"):
            await begin(world, engine, name, *[60.0, "more"] * 50)
        await anyio.sleep(3600)
        first = await used(world)
        waiting = {name: engine.state(name).waits for name in ("a", "b")}
        await anyio.sleep(DAY_S)
        second = await used(world)

    assert first == 70  # another turn might use 40: 110
    assert waiting == dict.fromkeys("ab", "limit reached: today: tokens 70 + 40 of 100")
    assert second == 140


async def test_k6_a_day_begins_at_local_midnight():
    """Five hours before UTC's, so the limit of the first day lasts from 1:00 to 5:00 only."""
    world = Together(Limits(turns=2, at_limit=PAUSE), zone=timezone(timedelta(hours=-5)))
    async with world.running() as engine:
        await anyio.sleep(3600)
        await begin(world, engine, "a", *[1.0, "more"] * 50)
        await anyio.sleep(3.9 * 3600)
        before = engine.state("a").tally.turns
        await anyio.sleep(0.2 * 3600)
        after = engine.state("a").tally.turns

    assert (before, after) == (2, 4)


async def test_k6_counters_survive_a_restart():
    journal = MemoryJournal()
    first, second = (Together(Limits(turns=3, at_limit=PAUSE), journal) for _ in range(2))
    async with first.running() as engine:
        await begin(first, engine, "a", "more", "more", 100_000.0)
        await anyio.sleep(10)
    second.agent("a", then=lambda turn: "more")
    async with second.running() as engine:
        await second.resume_all(engine)
        resting = await rests(engine, "a")

        assert engine.state("a").tally.turns == 3
        assert resting.reason == "limit reached: today: turns 3 + 1 of 3"


async def rests(engine, run):
    """The reason of a wait with an end, which `rested` doesn't return."""
    await anyio.sleep(60)
    driven_run = engine._driven_runs[run]
    assert isinstance(driven_run.resting, Waiting)
    return driven_run.resting


async def test_k6_a_raise_for_today_goes_on_everywhere_at_once():
    journal = MemoryJournal()
    worlds = [Together(Limits(turns=2, at_limit=PAUSE), journal) for _ in range(2)]
    async with worlds[0].running() as one, worlds[1].running() as two:
        await begin(worlds[0], one, "a", *[1.0, "more"] * 50)
        await begin(worlds[1], two, "b", *[1.0, "more"] * 50)
        await anyio.sleep(60)
        before = one.state("a").tally.turns + two.state("b").tally.turns
        raised = Commanded(at=LoopClock().now(), command=Raise(limits=Limits(turns=5)))
        await journal.append(Entry(HELM, raised))
        await anyio.sleep(60)
        after = one.state("a").tally.turns + two.state("b").tally.turns
        await anyio.sleep(DAY_S)
        tomorrow = one.state("a").tally.turns + two.state("b").tally.turns

    assert (before, after) == (2, 5)
    assert tomorrow == 7  # what was said of a day is over with it


async def test_k6_by_setting_the_limit_of_the_day_stops():
    world = Together(Limits(turns=2, at_limit=AtLimit.STOP))
    async with world.running() as engine:
        await begin(world, engine, "a", at_limit=AtLimit.STOP)
        await anyio.sleep(60)

    assert await world.outcome("a") == [Outcome.BRAKED]
    assert (await world.events("a"))[-1].note == "today: turns 2 + 1 of 2"


async def test_k5_the_most_a_turn_may_cost_is_reserved_and_what_nobody_saw_the_end_of_is_charged():
    journal = MemoryJournal()
    world = Together(Limits(cost_microusd=250, at_limit=PAUSE), journal, prices=2)
    async with world.running() as engine:
        await begin(world, engine, "a", 1000.0)
        await begin(world, engine, "b", 1000.0)
        await begin(world, engine, "c", 1000.0)
        await begin(world, engine, "d", 1000.0)
        await anyio.sleep(10)
        started = [e for n in "abcd" for e in await world.events(n) if isinstance(e, MoveStarted)]
    states = [await world.state(name) for name in "abcd"]

    assert [event.cost_microusd for event in started] == [80, 80, 80]
    assert sum(state.tally.cost_microusd for state in states) == 240


async def test_k5_who_could_fit_later_waits_for_the_turns_under_way_and_no_person():
    """60 of 100 tokens are reserved; after the turn used only 20, another turn fits."""
    world = Together(Limits(tokens=100, at_limit=PAUSE))
    async with world.running() as engine:
        await begin(world, engine, "a", 100.0, DONE)
        await begin(world, engine, "b", 200.0, DONE)
        await begin(world, engine, "c", 1.0, DONE)
        await anyio.sleep(50)
        waiting = view(
            "c",
            KINDS["task"],
            engine.state("c"),
            helm=engine.helm,
            now=LoopClock().now(),
            driven=True,
        )
        asked = [e for e in await world.events("c") if isinstance(e, Waited)]
        await anyio.sleep(100)

    assert not waiting.needs_you
    assert asked == []
    assert await world.outcome("c") == [Outcome.DONE]


async def test_k6_minutes_of_a_day_go_from_its_first_turn():
    world = Together(Limits(time_s=600, at_limit=PAUSE))
    async with world.running() as engine:
        await anyio.sleep(5000)
        await begin(world, engine, "a", *[50.0, "more"] * 100)
        await anyio.sleep(3600)

        assert engine.state("a").tally.turns == 12
        assert engine.state("a").waits == "limit reached: today: minutes 10 of 10"


async def test_k6_at_80_percent_there_is_a_note_once():
    world = Together(Limits(turns=10, at_limit=PAUSE))
    async with world.running() as engine:
        await begin(world, engine, "a")
        await anyio.sleep(60)

    notes = [live for _, live in world.shown if live.kind == "budget"]
    assert notes == [Live("budget", "today: turns: 8 of 10")]


async def test_k6_who_waits_for_another_day_is_seen_to_wait_until_then():
    world = Together(Limits(turns=1, at_limit=PAUSE))
    async with world.running() as engine:
        await begin(world, engine, "a")
        await anyio.sleep(60)
    state = await world.state("a")
    seen = [
        view(
            "a",
            KINDS["task"],
            state,
            helm=engine.helm,
            now=EPOCH + timedelta(seconds=s),
            driven=True,
        )
        for s in (100, DAY_S)
    ]

    assert [(each.status, each.needs_you) for each in seen] == [
        ("waiting", True),
        ("queued", False),
    ]
    assert seen[0].reason.startswith("limit reached: today: turns 1 + 1 of 1, until ")


async def test_k6_a_board_starts_nobody_who_would_only_wait_for_tomorrow():
    world = Together(Limits(turns=1, at_limit=PAUSE))
    world.agent("cli", then=lambda turn: "more")
    tasks = tuple(NewTask(id=f"t{n}", title=f"t{n}") for n in range(5))
    async with world.running() as engine:
        await engine.open("board", "board", {"target": "main", "agents": ["cli"], "slots": 1})
        await engine.command("board", AddTasks(tasks=tasks))
        await anyio.sleep(3600)
        heads = [head.run for head in await world.journal.heads()]

        assert heads == ["board", "board/t0.1"]
        assert engine.state("board").waits == "limit reached: today: turns 1 + 1 of 1"


@pytest.mark.parametrize("clock_goes", ["back", "on"])
async def test_k6_a_clock_that_is_set_makes_another_day(clock_goes):
    journal = MemoryJournal()
    days = DailyBudget(journal, Limits(turns=1), UTC)
    now = EPOCH + timedelta(days=3)
    await days.catch_up(now)
    then = now - timedelta(days=2) if clock_goes == "back" else now + timedelta(days=2)
    day = await days.catch_up(then)

    assert day.begins_at <= then < day.ends_at


@pytest.mark.parametrize("store", ["memory", "sqlite"])
async def test_k5_turns_that_begin_at_once_share_what_is_left(store, tmp_path, sqlite):
    """Written in one transaction: each turn sees the other reservations."""
    journal = MemoryJournal() if store == "memory" else sqlite(tmp_path)
    world = Together(Limits(tokens=100, at_limit=PAUSE), journal)
    async with world.running() as engine:
        async with anyio.create_task_group() as group:
            for name in "abcdef":
                group.start_soon(begin, world, engine, name, 1000.0)
        await anyio.sleep(10)
        at_work = [name for name in "abcdef" if engine.state(name).open_move is not None]

    assert len(at_work) == 2


async def test_k5_two_processes_on_one_store_share_a_day(tmp_path, sqlite):
    worlds = [Together(Limits(tokens=500, at_limit=PAUSE), sqlite(tmp_path)) for _ in range(2)]
    async with worlds[0].running() as one, worlds[1].running() as two:
        for name in "abc":
            await begin(worlds[0], one, name, *[0.5, "more"] * 50)
            await begin(worlds[1], two, name * 2, *[0.5, "more"] * 50)
        await anyio.sleep(600)

    assert 460 < await used(worlds[0]) <= 500


async def test_k6_a_talk_ends_at_the_limit_of_the_day_and_its_room_stays():
    world = Together(Limits(turns=2, at_limit=PAUSE))
    for name in ("anna", "ben"):
        world.agent(name, then=lambda turn: '{"message": "well"}')
    session = SessionSpec(
        id="s1",
        goal="talk",
        mode=TalkMode.AUTOPILOT,
        seats=(Seat(agent="anna"), Seat(agent="ben")),
        first="anna",
    )
    async with world.running() as engine:
        await engine.open("room", "room", {"thread": "default"})
        await engine.command("room", StartSession(session=session))
        await anyio.sleep(60)
        room = engine.state("room")

    assert room.closed is None
    assert room.pilot.session is None
    assert (room.pilot.last.reason, room.pilot.last.turns) == (Ending.EMERGENCY_CAP, 2)
    assert "today: turns 2 + 1 of 2" in room.pilot.last.detail


class SlowToRead(MemoryJournal):
    async def written(self, after, most):
        found = await super().written(after, most)
        await anyio.sleep(1)
        return found


@pytest.mark.parametrize("second_s", range(5))
@pytest.mark.parametrize("turn_s", range(5))
async def test_k5_two_runs_that_begin_a_day_at_once_count_all_of_it(second_s, turn_s):
    """Q17: the one would begin the count anew while the other was in the middle of it."""
    journal = SlowToRead()
    days = DailyBudget(journal, Limits(turns=9), UTC)
    now = LoopClock().now()

    async def take_turn(run):
        move = TakeTurn(agent="cli", prompt=prompt("go"), max_tokens=CAP)
        await journal.append(Entry(run, Opened(at=now, kind="task", spec=task())))
        await journal.append(Entry(run, MoveStarted(at=now, id=1, move=move)))
        await journal.append(Entry(run, MoveEnded(at=now, id=1, result=TurnDone(text=""))))

    async def later(seconds, do, *arguments):
        await anyio.sleep(seconds)
        await do(*arguments)

    await take_turn("a")
    async with anyio.create_task_group() as group:
        group.start_soon(days.catch_up, now)
        group.start_soon(later, second_s + 0.5, days.catch_up, now)
        group.start_soon(later, turn_s + 0.25, take_turn, "b")
    await days.catch_up(now)

    assert days.used().spent.turns == 2
