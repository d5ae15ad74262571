"""What happened and why: log, receipts, replay."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from allstop.cli.output import Context, json_option, look, print_json, run
from allstop.core.ids import RunId
from allstop.core.text import counted, one_line
from allstop.views.runs import Line

if TYPE_CHECKING:
    from datetime import datetime

    from allstop.app.project import Project
    from allstop.app.runs.status import Recorded
    from allstop.core.helm import Helm
    from allstop.core.replay import DecisionDifference, Difference
    from allstop.ports import Record


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option("-f", "--follow", is_flag=True, help="Go on as it happens, until RUN ends.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_obj
def log(context: Context, run_id: str, follow: bool, as_json: bool) -> None:
    """What happened in RUN, line by line: of a task, all that was tried, and its merges.

    `allstop log helm` shows what was said to all.
    """
    with context.project() as project:
        go = run if follow else look
        go(lambda: _log(project, RunId(run_id), follow=follow, as_json=as_json))


async def _log(project: Project, run_id: RunId, *, follow: bool, as_json: bool) -> None:
    from allstop.app.runs.status import story_of
    from allstop.core.ids import HELM

    story = {run_id: ""}
    if run_id != HELM:
        story = {each.run: each.opened.kind for each in await story_of(project, run_id)}
    *before, last = story
    for each in before:
        _shower(each, story[each], as_json=as_json)(await project.journal.read(each))
    show = _shower(last, story[last], as_json=as_json)
    if not follow:
        show(await project.journal.read(last))
        return
    from allstop.app.runs.follow import follow as follow_run

    async with follow_run(project.journal, last) as batches:
        async for batch in batches:
            show(batch)


def _shower(run_id: RunId, kind: str, *, as_json: bool) -> Callable[[Iterable[Record]], None]:
    show = None if as_json else _printer(run_id, kind)
    return show or (lambda records: print_records(records, as_json=as_json))


def _printer(run_id: RunId, kind: str) -> Callable[[Iterable[Record]], None] | None:
    match kind:
        case "auto":
            return _auto_printer()
        case "task":
            return _task_printer()
        case _:
            return _room_printer(run_id)


def _task_printer() -> Callable[[Iterable[Record]], None]:
    """Of an attempt: also that it goes on without a commit."""
    from allstop.kinds import PILOTS
    from allstop.views.runs import lines
    from allstop.views.tasks import Stillness

    stillness = Stillness(PILOTS["task"])

    def show(records: Iterable[Record]) -> None:
        for record in records:
            for line in [*lines(record.event), *stillness.take(record.event)]:
                click.echo(as_text(line))

    return show


def _auto_printer() -> Callable[[Iterable[Record]], None]:
    """Of Full Auto: also what follows from the events, decisions first of all."""
    from allstop.app.auto.threads import PILOT
    from allstop.views.auto import Story

    story = Story(PILOT)

    def show(records: Iterable[Record]) -> None:
        for record in records:
            for line in story.take(record.event):
                click.echo(as_text(line))

    return show


def _room_printer(run_id: RunId) -> Callable[[Iterable[Record]], None] | None:
    """A room's log is what was said in it."""
    from allstop.app.rooms.threads import PILOT, thread_of

    if thread_of(run_id) is None:
        return None
    from allstop.cli.rooms.screen import lines_of
    from allstop.core.events import Opened
    from allstop.views.rooms import RoomView

    views: list[RoomView] = []

    def show(records: Iterable[Record]) -> None:
        for record in records:
            if isinstance(record.event, Opened):
                views.append(RoomView(PILOT, record.event))
                continue
            for event in views[0].take(record.event):
                for line in lines_of(event):
                    click.echo(line)

    return show


def print_records(records: Iterable[Record], *, as_json: bool) -> None:
    from allstop.views.runs import lines

    for record in records:
        if as_json:
            event = msgspec.to_builtins(record.event)
            entry = {"run": record.run, "seq": record.seq, **event} | {"run": record.run}
            click.echo(msgspec.json.encode(entry).decode())
        else:
            for line in lines(record.event):
                click.echo(as_text(line))


def as_text(line: Line) -> str:
    local = line.at.astimezone()
    return f"{local:%H:%M:%S}  {line.mark} {line.text}"


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_obj
def receipts(context: Context, run_id: str, as_json: bool) -> None:
    """Every decision of RUN: what was known, what was decided, what came of it."""
    from allstop.app.runs.status import helm_of, record_of
    from allstop.core.replay import receipts as all_receipts
    from allstop.views.runs import describe, outcome_of

    with context.project() as project:
        recorded = look(lambda: record_of(project, run_id))
        if recorded.opened.kind == "auto":
            helm, now = look(lambda: helm_of(project)), project.clock.now()
            _print_decisions(recorded, helm, now, as_json=as_json)
            return
    for receipt in all_receipts(recorded.pilot, recorded.events):
        if as_json:
            click.echo(msgspec.json.encode(receipt).decode())
            continue
        turns = counted(receipt.tally.turns, "turn")
        used = f"{turns}, {receipt.tally.tokens:,} tokens so far"
        click.echo(
            f"#{receipt.seq:<4} {receipt.at.astimezone():%H:%M:%S}  {describe(receipt.move)}"
        )
        click.echo(
            f"      known: {used}" + (f"; near: {receipt.warning}" if receipt.warning else "")
        )
        if receipt.result is not None:
            click.echo(f"      came of it: {outcome_of(receipt.result)}")
        if not receipt.same:
            click.echo("      the record does not follow from what was known: see `allstop replay`")


def _print_decisions(recorded: Recorded, helm: Helm, now: datetime, *, as_json: bool) -> None:
    """Of Full Auto: each decision, and what it was made from."""
    from allstop.core import run as runs
    from allstop.views.auto import decided, decisions, known, run_plan, stop_condition

    if not as_json:
        state = runs.fold(recorded.pilot, recorded.events)
        plan = run_plan(state.pilot, stop_condition(state, helm, now))
        click.echo(f"goal:  {one_line(plan.goal, 200)}")
        click.echo(f"done:  when {plan.done_when}")
        click.echo(f"next:  {plan.next}")
    for receipt in decisions(recorded.pilot, recorded.events):
        if as_json:
            click.echo(msgspec.json.encode(receipt).decode())
            continue
        click.echo(
            f"#{receipt.seq:<4} {receipt.at.astimezone():%H:%M:%S}  {decided(receipt.decision)}"
        )
        click.echo(f"      known: {known(receipt)}")


@click.command()
@click.argument("run_id", metavar="RUN")
@click.option(
    "--policy",
    "policy_file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Decide by the [auto] settings of this file instead; RUN may be `all`.",
)
@json_option
@click.pass_obj
def replay(context: Context, run_id: str, policy_file: Path | None, as_json: bool) -> int:
    """Decide everything in RUN again from its record and show each difference."""
    if policy_file is not None:
        return _backtest(context, run_id, policy_file, as_json=as_json)
    from allstop.app.runs.status import record_of
    from allstop.core.replay import count_decisions, differences, redecided
    from allstop.core.replay import receipts as all_receipts

    with context.project() as project:
        recorded = look(lambda: record_of(project, run_id))
    pilot, events = recorded.pilot, recorded.events
    decided = len(all_receipts(pilot, events)) + count_decisions(events)
    found: list[Difference | DecisionDifference] = [
        *differences(pilot, events),
        *redecided(pilot, events),
    ]
    found.sort(key=lambda each: each.seq)
    if as_json:
        print_json({"run": run_id, "decisions": decided, "differences": found})
    else:
        for difference in found:
            click.echo("\n      again:    ".join(_compared(difference)))
        same = decided - len(found)
        click.echo(f"{same} of {decided} decisions come out the same.")
    return 1 if found else 0


def _compared(difference: Difference | DecisionDifference) -> tuple[str, str]:
    """As recorded, and as it comes out."""
    from allstop.core.replay import Difference
    from allstop.views.auto import again, decided
    from allstop.views.runs import describe

    front = f"#{difference.seq:<4} recorded: "
    if isinstance(difference, Difference):
        return front + describe(difference.recorded), describe(difference.again)
    return front + decided(difference.recorded.decision), again(difference)


def _backtest(context: Context, run_id: str, policy_file: Path, *, as_json: bool) -> int:
    """What other rules would have done: stopped when, saved what, and wrongly or not."""
    from allstop.app.auto.threads import other_rules, recorded_autos
    from allstop.views.auto import backtest

    with context.project() as project:
        recorded = look(lambda: recorded_autos(project, run_id))
        rules = other_rules(policy_file)
        tests = {each.run: backtest(each.pilot, each.events, rules.of(each)) for each in recorded}
    if rules.note:
        click.echo(f"note: {rules.note}", err=True)
    if as_json:
        print_json({"runs": tests})
        return 0
    for run_name, test in tests.items():
        click.echo(f"{run_name}: {counted(test.turns, 'turn')}, {test.tokens:,} tokens")
        for difference in test.differences:
            click.echo(f"      {difference}")
        if test.stops_at is None:
            click.echo("      it would not have stopped earlier")
            continue
        wrongly = "; WRONGLY: the run reached its goal" if test.wrongly else ""
        ended = "been done" if test.done else "stopped"
        click.echo(
            f"      it would have {ended} after turn {test.stops_at}:"
            f" {counted(test.saved_turns, 'turn')} and {test.saved_tokens:,} tokens saved{wrongly}"
        )
    stopped = [test for test in tests.values() if test.stops_at is not None]
    wrong = sum(test.wrongly for test in stopped)
    saved = sum(test.saved_tokens for test in stopped)
    click.echo(
        f"{counted(len(tests), 'run')}: {len(stopped)} stopped earlier, {wrong} of them wrongly;"
        f" {saved:,} tokens saved"
    )
    return 0
