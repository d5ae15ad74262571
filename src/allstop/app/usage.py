"""What was used since a moment, put together by agent, model, task, run or day."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from allstop.app import board
from allstop.core.ids import AgentName
from allstop.core.ledger import By, Ledger, Sum, Turn, name_by
from allstop.loop.places import place_before

if TYPE_CHECKING:
    from allstop.app.house import House

READ_AT_ONCE = 1000


class UsageLine(Struct, frozen=True, kw_only=True):
    name: str  # "" where nobody told which model it was
    title: str = ""  # of a task
    turns: int
    input: int  # with what came from a cache
    cached: int
    output: int
    cost_usd: float


class UsageReport(Struct, frozen=True, kw_only=True):
    """Turns that began since, whether they ended well or not; the dearest line first."""

    by: By
    since: datetime
    lines: list[UsageLine]
    total: UsageLine
    merged: int  # tasks that took turns since and are merged
    merged_usd: float  # what those have cost


async def used_since(house: House, since: datetime, by: By, agent: str = "") -> UsageReport:
    """Of one agent, or of all of them."""
    name_of, task_of = name_by(by, None), name_by(By.TASK, None)
    sums: dict[str, Sum] = {}
    tasks: dict[str, Sum] = {}
    total = Sum()
    for turn in await _turns(house, since, AgentName(agent)):
        total = total.plus(turn.usage)
        for names, name in ((sums, name_of(turn)), (tasks, task_of(turn))):
            names[name] = names.get(name, Sum()).plus(turn.usage)
    known = {task.id: task for task in (await board.read(house)).state.board.tasks()}
    merged = [used for name, used in tasks.items() if name in known and known[name].merged]
    titles = {name: task.title for name, task in known.items()} if by is By.TASK else {}
    lines = [_line(name, used, titles.get(name, "")) for name, used in sums.items()]
    if by is By.DAY:
        lines.sort(key=lambda line: line.name)
    else:
        lines.sort(key=lambda line: (-line.cost_usd, -line.input - line.output, line.name))
    return UsageReport(
        by=by,
        since=since,
        lines=lines,
        total=_line("total", total),
        merged=len(merged),
        merged_usd=sum(used.cost_microusd for used in merged) / 1e6,
    )


async def _turns(house: House, since: datetime, agent: AgentName) -> list[Turn]:
    if not house.has_store:
        return []
    ledger, turns = Ledger(), []
    place = await place_before(house.journal, since)
    while records := await house.journal.written(place, READ_AT_ONCE):
        for _, record in records:
            turn = ledger.take(record.run, record.event)
            if turn and turn.began_at >= since and agent in ("", turn.agent):
                turns.append(turn)
        place = records[-1].pos
    return turns


def _line(name: str, used: Sum, title: str = "") -> UsageLine:
    return UsageLine(
        name=name,
        title=title,
        turns=used.turns,
        input=used.input,
        cached=used.cached,
        output=used.output,
        cost_usd=used.cost_microusd / 1e6,
    )


def usage_lines(report: UsageReport) -> list[str]:
    """For a terminal."""
    shown = [*report.lines, report.total]
    names = [f"{line.name or 'not told'}  {line.title}".rstrip()[:48] for line in shown]
    width = max(map(len, [report.by.value, *names]))
    head = f"{report.by.value:<{width}}  {'turns':>7}  {'input':>13}  {'cached':>6}  {'output':>11}"
    rows = [f"{head}  {'cost':>10}"]
    for name, line in zip(names, shown, strict=True):
        share = f"{line.cached / line.input:.0%}" if line.input else "-"
        counts = f"{line.turns:>7,}  {line.input:>13,}  {share:>6}  {line.output:>11,}"
        rows.append(f"{name:<{width}}  {counts}  {_money(line.cost_usd):>10}")
    if report.merged:
        each = _money(report.merged_usd / report.merged)
        rows.append(f"{report.merged:,} merged: {each} a task, all attempts included.")
    return rows


def _money(usd: float) -> str:
    return f"${usd:,.2f}" if usd == 0 or usd >= 0.01 else "<$0.01"
