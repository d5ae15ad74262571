"""The command `stats`: figures of the board, by agent, model, tag, operation or day."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from allstop.board.statistics_groups import GroupBy
from allstop.cli.output import Context, columns, echo, in_words, json_option, print_json, run
from allstop.cli.sparkline import sparkline
from allstop.cli.times import duration
from allstop.cli.times import since as since_
from allstop.core.text import counted, money, one_line

if TYPE_CHECKING:
    from allstop.app.board.statistics import StatisticsReport
    from allstop.board.forecast_quality import ForecastQuality
    from allstop.board.gate_catches import GateCatches
    from allstop.board.statistics import Statistics
    from allstop.board.statistics_groups import StatisticsGroup
    from allstop.board.time_use import TimeUse

NAME_CHARS = 32
SPARKS = 60
UNKNOWN = "-"


@click.command()
@click.option("--by", type=click.Choice([by.value for by in GroupBy]), default="agent", show_default=True, help="How to group the tasks.")  # fmt: skip
@click.option("--since", default="30d", show_default=True, metavar="TIME", help="A duration (7d, 12h) or a date.")  # fmt: skip
@click.option("--sprint", default="", metavar="NAME", help="Only this sprint, from its start to its end.")  # fmt: skip
@click.option("--csv", "as_csv", is_flag=True, help="One line for each group, for a spreadsheet.")
@json_option
@click.pass_obj
def stats(context: Context, by: str, since: str, sprint: str, as_csv: bool, as_json: bool) -> None:
    """Show what the board has done, by agent, tag, day or sprint.

    The figures are tasks, iterations, merges, tokens, cost, and where the time went.

    A task counts when its latest attempt ended; its cost includes all attempts. A dash means that
    a figure is unknown, or that there is nothing to take it from.

    \b
    Examples:
      allstop stats
      allstop stats --by tag --since 7d
      allstop stats --sprint sprint3
      allstop stats --by day --csv > days.csv
    """
    if as_csv and as_json:
        raise click.UsageError("--csv and --json exclude each other")
    from allstop.app.board import commands
    from allstop.app.board.sprints import named
    from allstop.app.board.statistics import statistics_since
    from allstop.app.runs.status import runs_below

    async def report() -> StatisticsReport:
        state = (await commands.read(project)).state
        children = await runs_below(project, state)
        under_way = {name: child.tally for name, child in children.items()}
        one = named(state, sprint) if sprint else None
        return await statistics_since(project, state, under_way, begins_at, GroupBy(by), sprint=one)

    with context.project() as project:
        begins_at = since_(project.clock.now(), since)
        found = run(report)
    if as_json:
        print_json(found)
        return
    for line in csv_lines(found) if as_csv else lines(found):
        echo(line)


def lines(found: StatisticsReport) -> Iterator[str]:
    if not found.attempts and not found.merged:
        yield "No task was worked on in this time."
        return
    yield from (in_words(line, " " * 12) for line in _total(found))
    yield ""
    yield from _table(found.by, found.groups)
    if len(found.days) > 1:
        yield ""
        yield from _sparklines(found.days)


def _total(found: StatisticsReport) -> Iterator[str]:
    from allstop.cli.board.screen import iterations_each

    parts = {
        "completed": found.completed,
        "failed": found.failed,
        "timed out": found.timed_out,
        "blocked": found.blocked,
    }
    how = ", ".join(f"{number} {name}" for name, number in parts.items() if number)
    left = "" if found.remaining is None else f", {found.remaining} remaining"
    yield f"tasks       {found.finished} finished{f' ({how})' if how else ''}{left}"  # fmt: skip
    if found.runtime_s is not None:
        pace = f", {found.per_hour:g} finished an hour" if found.per_hour is not None else ""
        yield f"runtime     {duration(found.runtime_s)} at work{pace}"
    each = ""
    if found.average is not None:
        each = f" (per completed task: {iterations_each(found)})"
    yield f"iterations  {found.iterations}{each}"
    conflicts = counted(found.conflicts_resolved, "conflict")
    pending = "" if found.pending_merges is None else f", {found.pending_merges} pending"
    yield f"merges      {found.merged} merged, {conflicts} resolved{pending}"
    tokens = UNKNOWN if found.tokens is None else f"{found.tokens:,}"
    merged = _merged(found)
    each = f"; {merged} a merged task" if merged != UNKNOWN else ""
    yield f"used        {tokens} tokens, {_cost(found)}{each}"
    if found.time.total_s:
        yield f"time        {_time(found.time)}"
    if found.gate.runs:
        yield f"gate        {_gate(found.gate)}"
    if found.forecasts.latest:
        yield f"forecasts   {_quality(found.forecasts)}"


def _time(time: TimeUse) -> str:
    parts = {
        "agents": time.agent_s,
        "checks": time.checks_s,
        "your answers": time.answer_s,
        "your reviews": time.review_s,
        "queues": time.queue_s,
        "the rest": time.other_s,
    }
    shares = [f"{name} {_percent(s / time.total_s)}" for name, s in parts.items() if s]
    return f"{' · '.join(shares)} of {duration(time.total_s)}"


_VERDICTS = {"fail": "failed", "ask": "asked about", "note": "noted"}


def _gate(gate: GateCatches) -> str:
    runs = f"{counted(gate.runs, 'run')}, {gate.failed} failed"
    found = [f"{each.count:,} {each.name} ({_VERDICTS[each.verdict]})" for each in gate.caught]
    return f"{runs}; {', '.join(found) or 'nothing was caught'}"


def _percent(share: float) -> str:
    return "< 1 %" if share < 0.01 else f"{100 * share:.0f} %"


def _quality(forecasts: ForecastQuality) -> str:
    if not forecasts.compared:
        return "none has come to its end yet"
    ends = f"{forecasts.inside} of {forecasts.compared} ended inside the range"
    if not forecasts.cost_compared:
        return ends
    return f"{ends}; {forecasts.cost_inside} of {forecasts.cost_compared} cost inside the range"


COLUMNS = (
    "finished", "completed", "failed", "merged", "iterations", "average", "tokens", "cost", "a merged task",
)  # fmt: skip


LEFT_OUT = ("completed", "average", "iterations", "failed")
"""What a narrow terminal doesn't show, in this order."""


def _table(by: GroupBy, groups: Sequence[StatisticsGroup]) -> Iterator[str]:
    names = [one_line(group.name, NAME_CHARS) or _unnamed(by) for group in groups]
    figures = zip(COLUMNS, *(_cells(group.statistics) for group in groups), strict=True)
    table: list[Sequence[str]] = [[by.value, *names], *figures]
    room = columns()
    for title in LEFT_OUT:
        if room is None or sum(_width(column) + 2 for column in table) - 2 <= room:
            break
        table = [table[0], *(column for column in table[1:] if column[0] != title)]
    for name, *row in zip(*table, strict=True):
        cells = (f"{cell:>{_width(column)}}" for cell, column in zip(row, table[1:], strict=True))
        yield f"{name:<{_width(table[0])}}  {'  '.join(cells)}"


def _width(column: Sequence[str]) -> int:
    return max(map(len, column))


def _unnamed(by: GroupBy) -> str:
    return {GroupBy.TAG: "no tag", GroupBy.OPERATION: "no operation"}.get(by, "unknown")


def _cells(made: Statistics) -> tuple[str, ...]:
    failed = made.failed + made.timed_out + made.blocked
    return (
        f"{made.finished:,}",
        f"{made.completed:,}",
        f"{failed:,}",
        f"{made.merged:,}",
        f"{made.iterations:,}",
        UNKNOWN if made.average is None else f"{made.average:g}",
        UNKNOWN if made.tokens is None else f"{made.tokens:,}",
        _cost(made),
        _merged(made),
    )


def _cost(made: Statistics) -> str:
    return UNKNOWN if made.cost_usd is None else money(made.cost_usd, partial=made.partial)


def _merged(made: Statistics) -> str:
    each = made.cost_per_merged_usd
    return UNKNOWN if each is None else money(each, partial=made.merged_partial)


def _sparklines(days: Sequence[StatisticsGroup]) -> Iterator[str]:
    made = [day.statistics for day in days]
    rows: dict[str, list[float | None]] = {
        "finished": [each.finished for each in made],
        "iterations": [each.average for each in made],
        "a merged task": [each.cost_per_merged_usd for each in made],
    }
    shown = days[-SPARKS:]
    yield f"by day      {shown[0].name} to {shown[-1].name}"
    for name, values in rows.items():
        known = [value for value in values[-SPARKS:] if value is not None]
        if known:
            most = money(max(known)) if name == "a merged task" else f"{max(known):g}"
            yield f"{name:<14}{sparkline(values, SPARKS)}  at most {most}"


def csv_lines(found: StatisticsReport) -> Iterator[str]:
    """A header and a line for each group; an unknown figure is empty."""
    import csv
    import io

    from msgspec import structs

    from allstop.board.statistics import Statistics

    fields = Statistics.__struct_fields__
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([found.by.value, *fields])
    for group in found.groups:
        values = structs.asdict(group.statistics)
        writer.writerow([_cell(group.name), *(values[field] for field in fields)])
    yield from out.getvalue().splitlines()


def _cell(name: str) -> str:
    """A name that a spreadsheet doesn't take for a formula."""
    return f"'{name}" if name.startswith(("=", "+", "-", "@")) else name
