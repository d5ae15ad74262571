"""The command `limits check`: says what an error of an agent or provider means."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from datetime import datetime

import click
import msgspec

from allstop.cli.output import Context, echo
from allstop.core.errors import AllstopError


@click.group()
def limits() -> None:
    """Check how errors of agents and providers are understood."""


@limits.command()
@click.argument("text", required=False)
@click.option("--channel", default="cli", show_default=True, type=click.Choice(["claude", "codex", "acp", "cli", "stdout", "reply"]), help="Where TEXT arrives.")  # fmt: skip
@click.option(
    "--stdin", "from_stdin", is_flag=True, help="Read messages, one JSON object per line."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.pass_obj
def check(context: Context, text: str | None, channel: str, from_stdin: bool, as_json: bool) -> int:
    """Print whether TEXT is a limit, of which kind, until when, and what a run does then.

    A line of --stdin has a `channel`, and `text`, `http` or `event`; also `now` and `tz`. A line
    that can't be read gives an error, and the next line is read.

    \b
    Examples:
      allstop limits check "429 Too Many Requests. Try again in 20s."
      echo '{"channel": "claude", "text": "5-hour limit reached ∙ resets 5pm"}' | allstop limits check --stdin
    """
    if (text is None) is not from_stdin:
        raise click.UsageError("Give either a TEXT or --stdin.")
    with context.project() as project:
        now, patterns = project.clock.now(), project.settings.retry.rate_limit_patterns
    if text is not None:
        line = json.dumps({"channel": channel, "text": text}).encode()
        return 0 if _print_meaning(line, now, patterns, as_json=as_json) else 2
    found = [
        _print_meaning(line, now, patterns, as_json=as_json)
        for line in sys.stdin.buffer
        if line.strip()
    ]
    return 0 if all(found) else 2


def _print_meaning(line: bytes, now: datetime, patterns: Sequence[str], *, as_json: bool) -> bool:
    """False if the line can't be read."""
    from allstop.app.agents.limit_check import meaning_of, read_message
    from allstop.views.accounts import local_time

    try:
        found = meaning_of(read_message(line), now, patterns)
    except AllstopError as error:
        told = {"code": error.code, "message": error.message, "hint": error.hint}
        echo(json.dumps({"error": told}) if as_json else f"error: {error.message} ({error.hint})")
        return False
    if as_json:
        echo(msgspec.json.encode(found).decode())
        return True
    until = f", until {local_time(found.at, now)}" if found.at is not None else ""
    echo(f"{'limit' if found.limit else 'no limit':<8}  {found.kind}{until}  → {found.action}")
    return True
