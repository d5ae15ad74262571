"""K7, Q26: what was used is read once, however often somebody asks."""

from datetime import timedelta

import anyio

from allstop.adapters.journals.in_memory import MemoryJournal
from allstop.app.turns import READ_AT_ONCE, TurnReader
from allstop.app.usage import UsageLine, UsageReport, usage_lines
from allstop.core.events import MoveEnded, MoveStarted, Noted, Opened
from allstop.core.ids import AgentName, RunId
from allstop.core.moves import (
    Failed,
    FailureKind,
    Item,
    ModelCall,
    TakeTurn,
    TurnDone,
    Usage,
    without_prompt_text,
)
from allstop.core.prompt import prompt
from allstop.ports import Entry
from allstop.views.usage import By
from support.auto_runs import NOON

RUN = RunId("a")
MOVE = without_prompt_text(TakeTurn(agent=AgentName("cli"), prompt=prompt("x")))


class Counting(MemoryJournal):
    """How many records were read of it in order."""

    read = 0

    async def written(self, after, limit):
        records = await super().written(after, limit)
        if limit > 1:  # else a place is looked for
            self.read += len(records)
        return records


async def turn(journal, number):
    at = NOON + timedelta(minutes=number)
    started = MoveStarted(at=at, id=number + 1, move=MOVE)
    ended = MoveEnded(at=at, id=number + 1, result=TurnDone(text="", usage=Usage(input=10)))
    await journal.append(Entry(RUN, started), Entry(RUN, ended))


async def test_k7_q26_only_what_is_new_is_read_again():
    journal = Counting()
    await journal.append(Entry(RUN, Opened(at=NOON, kind="task", spec={})))
    many = READ_AT_ONCE  # two records each
    for number in range(many):
        await turn(journal, number)
    turns = TurnReader(journal)

    assert len(await turns.since(NOON)) == many
    before = journal.read
    await turn(journal, many)
    assert len(await turns.since(NOON)) == many + 1
    assert journal.read - before == 2
    assert len(await turns.since(NOON + timedelta(minutes=many - 1))) == 2
    assert journal.read - before == 2


async def test_g7_calls_of_a_turn_under_way_count_until_its_end_has_them():
    journal = MemoryJournal()
    call = ModelCall(model="m", status=200, input=1_000, output=50, cost_microusd=7)
    begun = [
        Opened(at=NOON, kind="task", spec={}),
        MoveStarted(at=NOON, id=1, move=MOVE),
        Noted(at=NOON, id=1, items=(Item(kind="model call", text="", call=call),)),
    ]
    await journal.append(*(Entry(RUN, event) for event in begun))
    turns = TurnReader(journal)

    ended = await turns.since(NOON)
    (under_way,) = turns.under_way(NOON)
    used = Usage(input=1_000, output=50, cost_microusd=7, model="m")
    await journal.append(Entry(RUN, MoveEnded(at=NOON, id=1, result=TurnDone(text="", usage=used))))

    assert (ended, under_way.usage, under_way.counts) == ([], used, False)
    assert [turn.usage for turn in await turns.since(NOON)] == [used]
    assert turns.under_way(NOON) == []


async def test_k7_an_earlier_moment_is_looked_for_again():
    journal = Counting()
    await journal.append(Entry(RUN, Opened(at=NOON, kind="task", spec={})))
    for number in range(300):
        await turn(journal, number)
    turns = TurnReader(journal)

    assert len(await turns.since(NOON + timedelta(minutes=290))) == 10
    assert len(await turns.since(NOON)) == 300


async def test_q26_two_who_ask_at_once_read_together():
    journal = Counting()
    await journal.append(Entry(RUN, Opened(at=NOON, kind="task", spec={})))
    await turn(journal, 0)
    turns, found = TurnReader(journal), []

    async def ask():
        found.append(len(await turns.since(NOON)))

    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(ask)

    assert found == [1, 1]


async def test_k7_a_turn_that_was_refused_is_none():
    """K7: there was no money for it, so nothing was asked."""
    journal = MemoryJournal()
    started = MoveStarted(at=NOON, id=1, move=MOVE)
    refused = MoveEnded(at=NOON, id=1, result=Failed(kind=FailureKind.OUT_OF_BUDGET))
    await journal.append(Entry(RUN, started), Entry(RUN, refused))

    assert await TurnReader(journal).since(NOON) == []


def line(name, usd, *, partial):
    return UsageLine(
        name=name, turns=1, input=10, cached=0, output=5, cost_usd=usd, partial=partial
    )


def test_k7_a_cost_that_is_not_known_is_not_shown_as_nothing():
    report = UsageReport(
        by=By.AGENT,
        since=NOON,
        lines=[line("acp", 0.0, partial=True), line("codex", 0.0, partial=False)],
        total=line("total", 1.5, partial=True),
        merged=2,
        merged_usd=0.0,
        merged_partial=True,
    )

    _, acp, codex, total, merged, note = usage_lines(report)

    assert acp.endswith("unknown")
    assert "≥ 10" in acp
    assert "≥ 5" in acp
    assert "≥ 10" not in codex
    assert codex.endswith("$0.00")
    assert total.endswith("≥ $1.50")
    assert merged == "2 merged: unknown a task, all attempts included."
    assert "Budgets can't hold" in note
