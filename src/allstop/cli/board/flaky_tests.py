"""The command `flaky`: the tests that failed and passed on one tree."""

from __future__ import annotations

from functools import partial

import click

from allstop.cli.output import Context, echo, json_option, print_json, run
from allstop.cli.times import duration
from allstop.core.text import counted, one_line


@click.command()
@json_option
@click.pass_obj
def flaky(context: Context, as_json: bool) -> None:
    """List the tests that failed and passed on one tree.

    The gate keeps the result of each test that its checks report. If the same tree gave both
    results, the test is flaky: its failure says little about a change.

    \b
    Examples:
      allstop flaky
    """
    from allstop.app.board.flaky_tests import flaky_tests

    with context.project() as project:
        found = run(partial(flaky_tests, project))
        now = project.clock.now()
    if as_json:
        print_json({"tests": found})
        return
    for test in found:
        ago = f", last {duration((now - test.last_at).total_seconds())} ago" if test.last_at else ""
        both = f"both on {counted(test.trees, 'tree')}"
        echo(f"{one_line(test.id, 300)}")
        echo(f"  {one_line(test.check)}: {test.failed} failed, {test.passed} passed, {both}{ago}")
    if not found:
        echo("No test is known to be flaky.")
