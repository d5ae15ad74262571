"""The day's budget and the holds of accounts are shared by all processes, on every store."""

import itertools
import os
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.postgres import PostgresJournal
from allstop.adapters.journals.postgres_run_budgets import PostgresRunBudgets
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.app.agents.accounts import AccountNames, Accounts
from allstop.app.agents.shared_holds import SharedHolds
from allstop.core.brakes import Limits
from allstop.core.budget import NOTHING, Amount
from allstop.core.commands import Raise, Say
from allstop.core.events import CallReserved, Commanded, MoveEnded, MoveStarted, Noted, Opened
from allstop.core.helm import Helm
from allstop.core.moves import Failed, FailureKind, Item, ModelCall, TakeTurn, TurnDone, Usage
from allstop.core.prompt import prompt
from allstop.core.run import NO_CALLS
from allstop.engine.daily_budget import DailyBudget, DayCheck, OpenTurn
from allstop.engine.parent_budgets import ParentBudgets
from allstop.ports import Cursor, Entry, Holder, StaleError
from support.postgres_fixtures import database, postgres
from support.process_fixtures import asyncio_backend
from support.sweeps import short

__all__ = ["asyncio_backend", "database", "postgres"]

pytestmark = pytest.mark.anyio

FIRST_DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)
LIMITS = Limits(turns=9, tokens=1000, cost_microusd=5000)
STEPS = 150


@pytest.fixture(params=["sqlite", "postgres"])
def opened(request, tmp_path):
    """Opens journals on one store, each as another process would; a machine has its own folder."""
    journals = []

    def journal():
        if request.param == "sqlite":
            journals.append(SqliteJournal(tmp_path / "store", SystemClock()))
        else:
            server, name = (request.getfixturevalue(each) for each in ("postgres", "database"))
            own = Holder(pid=os.getpid(), host="here", command="test", since=FIRST_DAY, world="a")
            folder = tmp_path / f"machine{len(journals)}"
            made = PostgresJournal(server.url(name), folder, SystemClock(), own=own)
            journals.append(made)
        return journals[-1]

    yield journal
    for each in journals:
        each.close()


class ParentBudget:
    """The budget of the run above a worker's, used like the day's."""

    def __init__(self, worker):
        self._worker = worker
        self._budgets = ParentBudgets(PostgresRunBudgets(worker.journal))

    async def catch_up(self, now):
        await self._budgets.catch_up(self._worker.run)

    def reserve(self, run, asked, used, now, helm):
        return self._budgets.reserve(run, asked, used)

    def check(self, asked, now, helm):
        (room,) = self._budgets.rooms(self._worker.run, asked)
        return DayCheck(0, room)

    def left(self, now, helm):
        return self._budgets.left(self._worker.run)

    def hold(self, run, own, account):
        self._budgets.hold(run, OpenTurn(own, account.calls))

    def withdraw(self, run):
        self._budgets.withdraw(run)


class Worker:
    """A process that drives one run after the other. Each step ends where another may come first."""

    def __init__(self, name, journal, now, chance, parent=""):
        self.journal, self.now, self.chance = journal, now, chance
        self.day = ParentBudget(self) if parent else DailyBudget(journal, LIMITS, UTC)
        above = f"{parent}/" if parent else ""
        self.names = (f"{above}{now:%j}{name}{number}" for number in itertools.count())
        self.conflicts = 0
        self.rest()

    def rest(self):
        self.run, self.seq, self.calls, self.number, self.own = "", 0, NO_CALLS, 0, NOTHING
        self.step = self.look

    async def write(self, event, check=None):
        place, rooms = (check.place, (check.room,)) if check else (None, ())
        await self.journal.append(
            Entry(self.run, event), expect=Cursor(self.run, self.seq, 0, place, rooms)
        )
        self.seq += 1

    async def look(self):
        """Choose a turn, and see whether the day has room for it."""
        self.run = next(self.names)
        await self.journal.append(Entry(self.run, Opened(at=self.now, kind="room", spec={})))
        self.seq = 1
        tokens = self.chance.choice([0, self.chance.randrange(400)])
        cost = self.chance.randrange(2000) if tokens else 0
        self.own = Amount(turns=1, tokens=tokens, cost_microusd=cost)
        await self.day.catch_up(self.now)
        refused = self.day.reserve(self.run, self.own, NOTHING, self.now, Helm())
        self.step = self.rest_soon if refused else self.begin

    async def rest_soon(self):
        self.rest()

    async def begin(self):
        move = TakeTurn(agent="a", prompt=prompt("x"), max_tokens=self.own.tokens or None)
        started = MoveStarted(at=self.now, id=1, move=move, cost_microusd=self.own.cost_microusd)
        try:
            await self.write(started, self.day.check(self.own, self.now, Helm()))
        except StaleError:
            self.conflicts += 1
            self.day.withdraw(self.run)
            self.rest()
            return
        self.step = self.work

    async def work(self):
        if self.chance.random() < 0.3:
            await self.end()
        elif self.calls.under_way and self.chance.random() < 0.5:
            await self.settle()
        else:
            await self.plan()

    async def plan(self):
        """Reserve a call in this process, as far as the day has room."""
        await self.day.catch_up(self.now)
        left = self.day.left(self.now, Helm())
        if self.own.tokens or left.tokens < 10 or left.microusd < 10:
            return
        self.number += 1
        asked = Amount(
            tokens=self.chance.randrange(1, min(left.tokens, 300) + 1),
            cost_microusd=self.chance.randrange(min(left.microusd, 900) + 1),
        )
        self.calls = self.calls.reserve(self.number, asked)
        self.day.hold(self.run, self.own, self)
        self.asked, self.step = asked, self.call

    async def call(self):
        asked = self.asked
        reserved = CallReserved(
            at=self.now, id=1, number=self.number, tokens=asked.tokens,
            cost_microusd=asked.cost_microusd,
        )  # fmt: skip
        try:
            await self.write(reserved, self.day.check(asked, self.now, Helm()))
        except StaleError:
            self.conflicts += 1
            self.calls = self.calls.settle(self.number, Usage())
            self.day.hold(self.run, self.own, self)
        self.step = self.work

    async def settle(self):
        number, asked = self.chance.choice(list(self.calls.under_way.items()))
        used = self.chance.randrange(asked.tokens + 1)
        cost = self.chance.randrange(asked.cost_microusd + 1)
        call = ModelCall(number=number, input=used, model="m", status=200, cost_microusd=cost)
        self.calls = self.calls.settle(number, Usage(input=used, cost_microusd=cost))
        item = Item(kind="call", text="", call=call)
        await self.write(Noted(at=self.now, id=1, items=(item,)))
        self.day.hold(self.run, self.own, self)

    async def end(self):
        most = self.own.tokens, self.own.cost_microusd
        if not self.own.tokens:
            most = self.calls.most.tokens, self.calls.most.cost_microusd
        usage = Usage(
            input=self.chance.randrange(most[0] + 1),
            cost_microusd=self.chance.randrange(most[1] + 1),
        )
        await self.write(MoveEnded(at=self.now, id=1, result=TurnDone(text="", usage=usage)))
        self.day.withdraw(self.run)
        self.rest()


async def used_by_record(journal, now):
    used = DailyBudget(journal, LIMITS, UTC)
    await used.catch_up(now)
    return used.used().spent.plus(used.used().reserved)


def used_by_rows(postgres, database, now):
    sql = "select coalesce(sum(turns), 0), coalesce(sum(tokens), 0), coalesce(sum(cost), 0)"
    since = f"{now:%Y-%m-%d}"
    row = postgres.execute(f"{sql} from allstop.turns where began_at >= '{since}'", database)
    return tuple(int(each) for each in row.strip().split("|"))


async def test_z7_what_all_processes_use_never_passes_the_days_limit(opened, request):
    journals = [opened() for _ in range(3)]
    counts_rows = isinstance(journals[0], PostgresJournal)
    most = NOTHING
    for seed in range(short(300, 5)):
        now, chance = FIRST_DAY + timedelta(days=seed), Random(seed)
        workers = [Worker(name, journals[at], now, chance) for at, name in enumerate("abc")]
        for _ in range(STEPS):
            await chance.choice(workers).step()
            used = await used_by_record(journals[0], now)
            assert used.turns <= LIMITS.turns
            assert used.tokens <= LIMITS.tokens
            assert used.cost_microusd <= LIMITS.cost_microusd
        if counts_rows:
            server, name = (request.getfixturevalue(each) for each in ("postgres", "database"))
            by_rows = used_by_rows(server, name, now)
            assert by_rows == (used.turns, used.tokens, used.cost_microusd), seed
        most = Amount(
            turns=max(most.turns, used.turns),
            tokens=max(most.tokens, used.tokens),
            cost_microusd=max(most.cost_microusd, used.cost_microusd),
        )

    assert most.turns == LIMITS.turns  # the limits were reached, so they were tried


async def test_z7_runs_of_several_processes_never_pass_the_limit_of_the_run_above_them(
    tmp_path, postgres, database
):
    journals = []
    for name in "abc":
        own = Holder(pid=1, host=name, command="test", since=FIRST_DAY, world=name)
        path = tmp_path / name
        journals.append(PostgresJournal(postgres.url(database), path, SystemClock(), own=own))
    most = [0, 0, 0]
    try:
        for seed in range(short(300, 5)):
            parent, chance = f"board{seed}", Random(seed)
            limits = Raise(limits=LIMITS)  # at first, the run above has none
            await journals[0].append(
                Entry(parent, Opened(at=FIRST_DAY, kind="room", spec={})),
                Entry(parent, Commanded(at=FIRST_DAY, command=limits)),
            )
            workers = [
                Worker(name, journals[at], FIRST_DAY, chance, parent)
                for at, name in enumerate("abc")
            ]
            for _ in range(STEPS):
                await chance.choice(workers).step()
                used = await used_below_by_rows(journals[0], parent)
                assert used[0] <= LIMITS.turns
                assert used[1] <= LIMITS.tokens
                assert used[2] <= LIMITS.cost_microusd
            assert used == await used_below_by_record(journals[0], parent), seed
            most = list(map(max, most, used))
    finally:
        for journal in journals:
            journal.close()

    assert most[0] == LIMITS.turns  # the limits were reached, so they were tried


async def used_below_by_rows(journal, parent):
    rows = "select turns, tokens, cost from allstop.used_below where run = %s"
    return next(iter(await journal.query(rows, (parent,))), (0, 0, 0))


async def used_below_by_record(journal, parent):
    """What the runs below used and have reserved, in turns, tokens and money."""
    used = DailyBudget(journal, LIMITS, UTC)
    heads = [head for head in await journal.heads() if head.run.startswith(f"{parent}/")]
    day = await used.catch_up(FIRST_DAY)
    below = DailyBudget(journal, LIMITS, UTC)
    for head in heads:
        for record in await journal.read(head.run):
            below._fold(day, head.run, record.event)
    total = below.used().spent.plus(below.used().reserved)
    return total.turns, total.tokens, total.cost_microusd


async def test_z7_on_a_server_writes_of_others_refuse_no_turn_that_fits(
    tmp_path, postgres, database
):
    def opened(name):
        own = Holder(pid=1, host=name, command="test", since=FIRST_DAY, world=name)
        return PostgresJournal(postgres.url(database), tmp_path / name, SystemClock(), own=own)

    one, other = opened("one"), opened("other")
    try:
        worker = Worker("a", one, FIRST_DAY, Random(1))
        await worker.look()
        said = Commanded(at=FIRST_DAY, command=Say(text="x"))
        await other.append(Entry("elsewhere", Opened(at=FIRST_DAY, kind="room", spec={})))
        await other.append(*[Entry("elsewhere", said)] * 5)
        await worker.begin()

        assert worker.conflicts == 0
        assert worker.step == worker.work
    finally:
        one.close()
        other.close()


async def test_z7_a_turn_that_another_process_left_no_room_for_is_refused(opened):
    one, other = (Worker(name, opened(), FIRST_DAY, Random(5)) for name in "ab")
    for worker in (one, other):
        await worker.look()
        worker.own = Amount(turns=1, tokens=600)
    for worker in (one, other):  # both see that there is room
        await worker.day.catch_up(FIRST_DAY)
        assert not worker.day.reserve(worker.run, worker.own, NOTHING, FIRST_DAY, Helm())
    await one.begin()
    await other.begin()

    assert (one.conflicts, other.conflicts) == (0, 1)
    assert (await used_by_record(one.journal, FIRST_DAY)).tokens == 600


async def test_z7_a_hold_that_one_process_has_met_counts_for_all(opened, tmp_path):
    clock, account = SystemClock(), AccountNames("work", "")
    ones, others = (
        Accounts(opened(), clock, SharedHolds(tmp_path / f"home{name}")) for name in "ab"
    )
    until = clock.now() + timedelta(hours=1)
    announced = Failed(kind=FailureKind.USAGE_LIMITED, message="no more today", retry_at=until)
    unannounced = Failed(kind=FailureKind.RATE_LIMITED, message="slower")
    assert await ones.failure(account, "a") is None
    assert await others.failure(account, "b") is None

    await ones.settle(account, "a", unannounced)
    assert (await others.failure(account, "b")).kind is FailureKind.RATE_LIMITED
    await others.settle(account, "b", TurnDone(text="it works again", usage=Usage()))
    assert await ones.failure(account, "a") is None
    await ones.settle(account, "a", announced)
    held = await others.failure(account, "b")

    assert (held.kind, held.retry_at) == (FailureKind.USAGE_LIMITED, until)
