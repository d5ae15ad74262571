"""The command `failures`: why a turn can fail, and what to do."""

import click

from allstop.cli.output import echo, in_words, json_option, print_json
from allstop.core.moves import FailureKind


@click.command()
@click.argument("kind", required=False, type=click.Choice([each.value for each in FailureKind]))
@json_option
def failures(kind: str | None, as_json: bool) -> None:
    """List why a turn can fail, and what to do.

    Each entry says what happens by itself and what you can do.

    \b
    Examples:
      allstop failures
      allstop failures billing
    """
    from allstop.views.failure_reasons import FAILURE_REASONS

    shown = [each for each in FAILURE_REASONS.values() if kind in (None, each.kind)]
    if as_json:
        print_json({"failures": shown})
        return
    for each in shown:
        echo(in_words(f"{each.kind}: {each.meaning}"))
        echo(in_words(f"  by itself:  {each.automatic}", " " * 14))
        echo(in_words(f"  you:        {each.person}  {each.command}", " " * 14))
