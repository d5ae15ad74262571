"""The latest model calls of all runs: `allstop usage --calls` and `GET /calls`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import anyio.lowlevel
from msgspec import Struct

from allstop.app.turns import READ_AT_ONCE
from allstop.core.ids import RunId
from allstop.engine.journal_position import position_before
from allstop.views.model_calls import CallLedger, RecordedCall

if TYPE_CHECKING:
    from allstop.app.project import Project

MOST_CALLS = 200


class CallLine(Struct, frozen=True, kw_only=True):
    """A model call that went through the gateway."""

    at: datetime
    run: RunId
    agent: str
    model: str
    input: int  # including cached tokens
    cached: int
    output: int  # including reasoning
    reasoning: int
    cost_usd: float | None  # None: the price is not known
    first_ms: int  # until the first piece of the reply
    total_ms: int
    status: int  # of HTTP
    request_id: str  # "" if the provider gave none
    cut: bool  # by the turn's budget
    estimated: bool  # the provider reported no usable numbers
    provider: str  # its name, or the host of a compatible server; "": an older record


class CallReport(Struct, frozen=True, kw_only=True):
    """The latest calls since then, the newest first."""

    since: datetime
    calls: list[CallLine]
    more: bool  # there are older ones since then


async def calls_since(
    project: Project, since: datetime, agent: str = "", most: int = MOST_CALLS
) -> CallReport:
    """The calls of one agent, or of all."""
    found: deque[RecordedCall] = deque(maxlen=most + 1)
    if project.has_store:
        ledger, journal = CallLedger(), project.journal
        position = await position_before(journal, since)
        while records := await journal.written(position, READ_AT_ONCE):
            for _, record in records:
                calls = ledger.take(record.run, record.event)
                found.extend(
                    call for call in calls if call.at >= since and agent in ("", call.agent)
                )
            position = records[-1].pos
            await anyio.lowlevel.checkpoint()
    newest = list(reversed(found))
    return CallReport(since=since, calls=[*map(_line, newest[:most])], more=len(newest) > most)


def _line(recorded: RecordedCall) -> CallLine:
    call = recorded.call
    return CallLine(
        at=recorded.at,
        run=recorded.run,
        agent=recorded.agent,
        model=call.model,
        input=call.input,
        cached=call.cached,
        output=call.output,
        reasoning=call.reasoning,
        cost_usd=None if call.cost_microusd is None else call.cost_microusd / 1e6,
        first_ms=call.first_ms,
        total_ms=call.total_ms,
        status=call.status,
        request_id=call.request_id,
        cut=call.cut,
        estimated=call.estimated,
        provider=call.provider,
    )


def call_lines(report: CallReport, now: datetime) -> Iterator[str]:
    """The report as a table, without columns that say nothing."""
    days = {line.at.astimezone().date() for line in report.calls}
    clock = "%H:%M:%S" if days == {now.astimezone().date()} else "%Y-%m-%d %H:%M:%S"
    rows = [_HEAD, *(_cells(line, clock) for line in report.calls)]
    columns = [
        (name, max(len(row[at]) for row in rows), at)
        for at, name in enumerate(_HEAD)
        if name not in _OFTEN_ZERO or any(row[at] != "0" for row in rows[1:])
    ]
    for row in rows:
        cells = [
            f"{row[at]:>{width}}" if name in _NUMBERS else f"{row[at]:<{width}}"
            for name, width, at in columns
        ]
        yield "  ".join(cells).rstrip()
    if report.more:
        yield f"These are the latest {len(report.calls):,}; there are more."


_HEAD = ("time", "run", "agent", "model", "input", "cached", "output", "reasoning", "cost",
         "first ms", "all ms", "HTTP", "request")  # fmt: skip
_NUMBERS = frozenset(_HEAD[4:12])
_OFTEN_ZERO = frozenset({"cached", "reasoning"})


def _cells(line: CallLine, clock: str) -> tuple[str, ...]:
    notes = [*(["cut"] if line.cut else []), *(["estimated"] if line.estimated else [])]
    return (
        f"{line.at.astimezone():{clock}}",
        line.run,
        line.agent or "unknown",
        line.model or "unknown",
        *(f"{n:,}" for n in (line.input, line.cached, line.output, line.reasoning)),
        "unknown" if line.cost_usd is None else f"${line.cost_usd:.4f}",
        f"{line.first_ms:,}",
        f"{line.total_ms:,}",
        str(line.status),
        " ".join([line.request_id, *notes]).strip(),
    )
