"""Usage since a moment, summed by agent, model, task, run, day or sprint."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from msgspec import Struct

from allstop.app.board import commands
from allstop.app.turns import TurnReader
from allstop.board.statistics import Period, shares_in, statistics
from allstop.core.ids import label_of
from allstop.core.text import money, one_line
from allstop.views.sprints import sprint_of_attempts
from allstop.views.usage import By, Sum, name_by

if TYPE_CHECKING:
    from allstop.app.project import Project

PARTIAL = (
    "≥ and unknown: an agent doesn't report all of its usage, or its model has no known price."
    " Budgets can't hold for it."
)


class UsageLine(Struct, frozen=True, kw_only=True):
    name: str  # "" if the model is unknown
    title: str = ""  # of a task
    turns: int
    input: int  # including cached tokens
    cached: int
    output: int
    cost_usd: float
    partial: bool = False  # more was used, or spent, than agents reported


class UsageReport(Struct, frozen=True, kw_only=True):
    """Turns that started since then, the most expensive line first.

    Failed turns are included, and the recorded calls of turns under way.
    """

    by: By
    since: datetime
    lines: list[UsageLine]
    total: UsageLine
    merged: int  # tasks merged since then; of one agent: those that it worked on
    merged_usd: float  # the cost of all attempts at these tasks
    merged_partial: bool = False  # more was spent on them than agents reported


async def usage_since(
    project: Project, since: datetime, by: By, agent: str = "", turns: TurnReader | None = None
) -> UsageReport:
    """The usage of one agent or all. A caller that asks repeatedly passes its own `turns`."""
    board = (await commands.read(project)).state
    sprints = sprint_of_attempts(board) if by is By.SPRINT else {}
    name_of = name_by(by, None, sprints)
    sums: dict[str, Sum] = {}
    worked: set[str] = set()
    total = Sum()
    turns = turns or (TurnReader(project.journal) if project.has_store else None)
    found = [*await turns.since(since), *turns.under_way(since)] if turns else []
    for turn in found:
        if agent not in ("", turn.agent):
            continue
        total = total.plus(turn)
        sums[name_of(turn)] = sums.get(name_of(turn), Sum()).plus(turn)
        worked.add(label_of(turn.run))
    tasks = board.board.tasks()
    titles = {task.id: task.title for task in tasks} if by is By.TASK else {}
    counted = [task for task in tasks if not agent or task.id in worked]
    period = Period(since)
    merged = statistics(shares_in(counted, period, {}), period)
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
        merged=merged.merged,
        merged_usd=round((merged.cost_per_merged_usd or 0) * merged.merged, 6),
        merged_partial=merged.merged_partial,
    )


def _line(name: str, used: Sum, title: str = "") -> UsageLine:
    return UsageLine(
        name=name,
        title=title,
        turns=used.turns,
        input=used.input,
        cached=used.cached,
        output=used.output,
        cost_usd=used.cost_microusd / 1e6,
        partial=used.partial,
    )


NAME_CHARS = 48


def usage_lines(report: UsageReport, most: int = NAME_CHARS) -> list[str]:
    """The report as a table; names and titles are cut to `most` characters."""
    shown = [*report.lines, report.total]
    names = [_name(line, most) for line in shown]
    width = max(map(len, [report.by.value, *names]))
    head = f"{report.by.value:<{width}}  {'turns':>7}  {'input':>13}  {'cached':>6}  {'output':>11}"
    rows = [f"{head}  {'cost':>10}"]
    for name, line in zip(names, shown, strict=True):
        share = f"{line.cached / line.input:.0%}" if line.input else "-"
        given, made = (_tokens(n, partial=line.partial) for n in (line.input, line.output))
        counts = f"{line.turns:>7,}  {given:>13}  {share:>6}  {made:>11}"
        cost = money(line.cost_usd, partial=line.partial)
        rows.append(f"{name:<{width}}  {counts}  {cost:>10}")
    if report.merged:
        each = money(report.merged_usd / report.merged, partial=report.merged_partial)
        rows.append(f"{report.merged:,} merged: {each} a task, all attempts included.")
    if report.total.partial:
        rows.append(PARTIAL)
    return rows


def _tokens(number: int, *, partial: bool) -> str:
    if partial and number == 0:
        return "unknown"
    return f"≥ {number:,}" if partial else f"{number:,}"


def _name(line: UsageLine, most: int) -> str:
    name = one_line(line.name or "unknown", most)
    room = most - len(name) - 2
    return f"{name}  {one_line(line.title, room)}".rstrip() if room > 0 else name
