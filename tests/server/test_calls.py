"""G7: the model calls behind the gateway, by API and at the terminal."""

from datetime import UTC, datetime, timedelta

import anyio
import pytest
from msgspec.structs import replace

from allstop.adapters.clock import SystemClock
from allstop.adapters.journals.sqlite import SqliteJournal
from allstop.app.call_list import CallLine, CallReport, call_lines
from allstop.core.events import MoveStarted, Noted, Opened
from allstop.core.ids import AgentName, RunId
from allstop.core.moves import Item, ModelCall, TakeTurn
from allstop.core.prompt import prompt
from allstop.ports import Entry

RUN = RunId("auto1")
AGENTS = ("codex", "claude", "codex")


def _item(number):
    call = ModelCall(
        model="m-1",
        status=200,
        input=1_000,
        cached=400,
        output=50,
        cost_microusd=None if number else 2_500,
        first_ms=30,
        total_ms=90,
        request_id=f"req_{number}",
        cut=number == 2,
    )
    return Item(kind="model call", text="", call=call)


async def _record(journal):
    now = SystemClock().now()
    entries = [Entry(RUN, Opened(at=now - timedelta(days=3), kind="auto", spec={}))]
    for number, agent in enumerate(AGENTS):
        at = now - timedelta(minutes=9 - number)
        move = TakeTurn(agent=AgentName(agent), prompt=prompt("x"))
        entries.append(Entry(RUN, MoveStarted(at=at, id=number + 1, move=move)))
        entries.append(Entry(RUN, Noted(at=at, id=number + 1, items=(_item(number),))))
    await journal.append(*entries)


@pytest.fixture
def calls(room):
    """A room whose journal has three calls."""
    journal = SqliteJournal(room.person.repository / ".allstop", SystemClock())
    anyio.run(_record, journal)
    journal.close()
    return room


def test_g7_calls_are_listed_the_newest_first(calls):
    report = calls.read("/calls?days=1")
    newest, _, oldest = report["calls"]

    assert (newest["request_id"], newest["agent"], newest["cut"]) == ("req_2", "codex", True)
    assert (newest["cost_usd"], oldest["cost_usd"]) == (None, 0.0025)
    numbers = ("input", "cached", "output", "first_ms", "total_ms", "status")
    assert [oldest[name] for name in numbers] == [1_000, 400, 50, 30, 90, 200]
    assert not report["more"]


def test_g7_calls_of_one_agent_and_only_so_many(calls):
    assert [each["agent"] for each in calls.read("/calls?agent=claude")["calls"]] == ["claude"]
    report = calls.read("/calls?limit=1")

    assert ([each["request_id"] for each in report["calls"]], report["more"]) == (["req_2"], True)


def test_g7_calls_at_the_terminal(calls):
    person = calls.person
    head, newest, *_, oldest = person.allstop("usage", "--calls", "--since", "1h").splitlines()

    assert head.split()[:4] == ["time", "run", "agent", "model"]
    assert newest.split()[newest.split().index("auto1") :][:3] == ["auto1", "codex", "m-1"]
    assert newest.endswith("200  req_2 cut")
    assert "$0.0025" in oldest
    assert len(person.json("usage", "--calls", "--agent", "claude")["calls"]) == 1


def test_g7_calls_of_today_fit_on_a_line():
    """G7: without the date, and without numbers that are all zero."""
    now = datetime(2026, 11, 19, 12, tzinfo=UTC)
    line = CallLine(
        at=now, run=RunId("T1"), agent="codex", model="m", input=10, cached=0, output=2, reasoning=0,
        cost_usd=0.1, first_ms=1, total_ms=2, status=200, request_id="req", cut=False,
        estimated=False, provider="openai",
    )  # fmt: skip
    report = CallReport(since=now, calls=[line], more=False)

    head, row = call_lines(report, now)
    assert head.split() == ["time", "run", "agent", "model", "input", "output", "cost",
                            "first", "ms", "all", "ms", "HTTP", "request"]  # fmt: skip
    assert row.split()[1:5] == ["T1", "codex", "m", "10"]
    _, later = call_lines(report, now + timedelta(days=2))
    assert later.split()[2:6] == ["T1", "codex", "m", "10"]
    head, _ = call_lines(replace(report, calls=[replace(line, cached=3)]), now)
    assert "cached" in head


def test_g7_calls_are_not_grouped_and_none_are_said_to_be_none(room):
    said = room.person.allstop("usage", "--calls")

    assert "No model call is recorded for this time." in said
    assert "--by" in room.person.refuses("usage", "--calls", "--by", "model")
