"""The command `flaky`: the tests that failed and passed on one tree."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context, echo, json_option, print_json, run
from allstop.cli.times import duration
from allstop.core.text import counted, one_line

if TYPE_CHECKING:
    from allstop.gate.flaky_tests import FlakyTest


@click.command()
@json_option
@click.pass_obj
def flaky(context: Context, as_json: bool) -> None:
    """List the tests that failed and passed on one tree.

    The gate keeps the result of each test that its checks report. If the same tree gave both
    results, the test is flaky: its failure says little about a change. The failures of quarantined
    tests don't count: those that `quarantine` of [verification] names.

    \b
    Examples:
      allstop flaky
    """
    from allstop.app.board.flaky_tests import flaky_tests

    with context.project() as project:
        found = run(partial(flaky_tests, project))
        now = project.clock.now()
    if as_json:
        print_json({"tests": found.tests, "unknown": found.unknown})
        return
    for test in found.tests:
        _show(test, now)
    if not found.tests:
        echo("No test is known to be flaky.")
    if any(not test.quarantined for test in found.tests):
        echo("")
        echo("To let a test's failures not count until it is mended, put its id into allstop.toml:")
        echo('  [verification] quarantine = ["ID"]')
    for name in found.unknown:
        echo(f"! {one_line(name, 300)} is quarantined, but no check has reported it lately")


def _show(test: FlakyTest, now: datetime) -> None:
    ago = f", last {duration((now - test.last_at).total_seconds())} ago" if test.last_at else ""
    both = f"both on {counted(test.trees, 'tree')}"
    mark = " (quarantined)" if test.quarantined else ""
    echo(f"{one_line(test.id, 300)}{mark}")
    echo(f"  {one_line(test.check)}: {test.failed} failed, {test.passed} passed, {both}{ago}")
    if test.passes_alone:
        echo("  it passes when only it runs: it depends on the tests before it")
