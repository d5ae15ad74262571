"""The commands `log`, `receipts` and `replay`: the events and decisions of a run."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from allstop.cli.argument_types import RUN_OR_TASK
from allstop.cli.output import Context, echo, json_option, look, print_json, print_json_line, run
from allstop.cli.record_lines import as_text, print_records
from allstop.core.ids import RunId
from allstop.core.text import counted, token_count

if TYPE_CHECKING:
    from datetime import datetime

    from allstop.app.project import Project
    from allstop.app.runs.status import RunRecord
    from allstop.cli.terminal_kind import Print
    from allstop.core.helm import Helm
    from allstop.core.replay import DecisionDifference, Difference
    from allstop.ports import Record
    from allstop.views.auto import DecisionReceipt


@click.command()
@click.argument("run_id", metavar="RUN", type=RUN_OR_TASK)
@click.option("-f", "--follow", is_flag=True, help="Keep printing new events until RUN ends.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.pass_obj
def log(context: Context, run_id: str, follow: bool, as_json: bool) -> None:
    """Print what happened in a run.

    For a task, this includes all attempts and merges. `allstop log helm` prints the commands to
    all runs.

    \b
    Examples:
      allstop log T1
      allstop log auto1 --follow
    """
    with context.project() as project:
        go = run if follow else look
        go(lambda: _log(project, RunId(run_id), follow=follow, as_json=as_json))


async def _log(project: Project, run_id: RunId, *, follow: bool, as_json: bool) -> None:
    from allstop.app.runs.status import task_records
    from allstop.cli.kinds import terminal_kind
    from allstop.core.ids import STREAMS

    story = {run_id: _plain()}
    if run_id not in STREAMS:
        found = await task_records(project, run_id)
        story = {each.run: terminal_kind(each.opened.kind).log(each.kind) for each in found}
    *before, last = story
    for each in before:
        _show(await project.journal.read(each), story[each], as_json=as_json)
    if not follow:
        _show(await project.journal.read(last), story[last], as_json=as_json)
        return
    from allstop.app.runs.follow import follow as follow_run

    async with follow_run(project.journal, last) as batches:
        async for batch in batches:
            _show(batch, story[last], as_json=as_json)


def _plain() -> Print:
    from allstop.views.log import lines

    return lambda event: map(as_text, lines(event))


def _show(records: Iterable[Record], log: Print, *, as_json: bool) -> None:
    if as_json:
        print_records(records, as_json=True)
        return
    for record in records:
        for line in log(record.event):
            echo(line)


@click.command()
@click.argument("run_id", metavar="RUN", type=RUN_OR_TASK)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.pass_obj
def receipts(context: Context, run_id: str, as_json: bool) -> None:
    """Print each decision of a run and its reasons.

    A receipt has the known facts, the decision and its result.
    """
    from allstop.app.runs.status import helm_of, record_of
    from allstop.core.replay import receipts as all_receipts
    from allstop.views.log import describe, describe_result

    with context.project() as project:
        recorded = look(lambda: record_of(project, run_id))
        if decisions := recorded.kind.decisions(recorded.events):
            helm, now = look(lambda: helm_of(project)), project.clock.now()
            _print_decisions(recorded, decisions, helm, now, as_json=as_json)
            return
    for receipt in all_receipts(recorded.pilot, recorded.events):
        if as_json:
            print_json_line(receipt)
            continue
        turns = counted(receipt.tally.turns, "turn")
        tokens = token_count(receipt.tally.tokens, partial=receipt.tally.partial)
        used = f"{turns}, {tokens} so far"
        echo(f"#{receipt.seq:<4} {receipt.at.astimezone():%H:%M:%S}  {describe(receipt.move)}")
        echo(f"      known: {used}" + (f"; near: {receipt.warning}" if receipt.warning else ""))
        if receipt.result is not None:
            echo(f"      result: {describe_result(receipt.result)}")
        if not receipt.same:
            echo("      the journal differs from a repeated decision: see `allstop replay`")


def _print_decisions(
    recorded: RunRecord,
    decisions: list[DecisionReceipt],
    helm: Helm,
    now: datetime,
    *,
    as_json: bool,
) -> None:
    """Print the plan of the run, then each decision with the facts behind it."""
    from allstop.core import run as runs
    from allstop.views.auto import describe_decision, describe_inputs

    if not as_json:
        state = runs.fold(recorded.pilot, recorded.events)
        for line in recorded.kind.plan(state, helm, now):
            echo(line)
    for receipt in decisions:
        if as_json:
            print_json_line(receipt)
            continue
        echo(
            f"#{receipt.seq:<4} {receipt.at.astimezone():%H:%M:%S}  {describe_decision(receipt.decision)}"
        )
        echo(f"      known: {describe_inputs(receipt)}")


@click.command()
@click.argument("run_id", metavar="RUN", type=RUN_OR_TASK)
@click.option(
    "--policy",
    "policy_file",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Use the [auto] settings of this file; RUN may be `all`.",
)
@json_option
@click.pass_obj
def replay(context: Context, run_id: str, policy_file: Path | None, as_json: bool) -> int:
    """Repeat the decisions of a run and show differences.

    Nothing is started: the decisions are made again from the journal.
    """
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
            echo("\n      again:    ".join(_compared(difference)))
        same = decided - len(found)
        echo(f"{same} of {decided} decisions come out the same.")
    return 1 if found else 0


def _compared(difference: Difference | DecisionDifference) -> tuple[str, str]:
    """The recorded decision and the repeated one."""
    from allstop.core.replay import Difference
    from allstop.views.auto import describe_decision, describe_difference
    from allstop.views.log import describe

    front = f"#{difference.seq:<4} recorded: "
    if isinstance(difference, Difference):
        return front + describe(difference.recorded), describe(difference.again)
    return front + describe_decision(difference.recorded.decision), describe_difference(difference)


def _backtest(context: Context, run_id: str, policy_file: Path, *, as_json: bool) -> int:
    """Show when other rules would have stopped runs, and what that would have saved."""
    from allstop.app.auto.threads import auto_records, read_rule_overrides
    from allstop.views.auto import backtest

    with context.project() as project:
        recorded = look(lambda: auto_records(project, run_id))
        rules = read_rule_overrides(policy_file)
        tests = {each.run: backtest(each.pilot, each.events, rules.of(each)) for each in recorded}
    if rules.note:
        echo(f"note: {rules.note}", err=True)
    if as_json:
        print_json({"runs": tests})
        return 0
    for run_name, test in tests.items():
        echo(f"{run_name}: {counted(test.turns, 'turn')}, {test.tokens:,} tokens")
        for difference in test.differences:
            echo(f"      {difference}")
        if test.stops_at is None:
            echo("      it would not have stopped earlier")
            continue
        wrongly = "; WRONGLY: the run reached its goal" if test.wrongly else ""
        ended = "been done" if test.done else "stopped"
        echo(
            f"      it would have {ended} after turn {test.stops_at}:"
            f" {counted(test.saved_turns, 'turn')} and {test.saved_tokens:,} tokens saved{wrongly}"
        )
    stopped = [test for test in tests.values() if test.stops_at is not None]
    wrong = sum(test.wrongly for test in stopped)
    saved = sum(test.saved_tokens for test in stopped)
    echo(
        f"{counted(len(tests), 'run')}: {len(stopped)} stopped earlier, {wrong} of them wrongly;"
        f" {saved:,} tokens saved"
    )
    return 0
