"""What the policy says of commands, without running them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context

if TYPE_CHECKING:
    from allstop.policy.policy import Policy


@click.group()
def approvals() -> None:
    """What agents may run without being asked about."""


@approvals.command()
@click.argument("command", required=False)
@click.option("--stdin", "from_stdin", is_flag=True, help="Read one JSON string a line.")
@click.option(
    "--rules",
    "rules_file",
    type=click.Path(path_type=Path),
    help="Take the rules of this file instead of the settings'.",
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line.")
@click.pass_obj
def check(
    context: Context,
    command: str | None,
    from_stdin: bool,
    rules_file: Path | None,
    as_json: bool,
) -> None:
    """Say allow, ask or deny of COMMAND, and which rule says so; nothing is run."""
    if (command is None) is not from_stdin:
        raise click.UsageError("Give a COMMAND, or --stdin for one JSON string a line.")
    policy = _policy(context, rules_file)
    for each in _commands(sys.stdin.buffer) if command is None else [command]:
        _tell(policy, each, as_json=as_json)


def _policy(context: Context, rules_file: Path | None) -> Policy:
    from allstop.adapters.shell.links import links_out
    from allstop.policy.policy import Policy
    from allstop.settings.approval_rules import read_rules_file, rules_of

    with context.project() as project:
        folder = context.folder.resolve()
        rules = rules_of(project.settings.approvals.rules) if rules_file is None else ()
        if rules_file is not None:
            rules = read_rules_file(context.folder / rules_file)
        root = str(project.root or folder)
        return Policy(workspace=root, folder=str(folder), rules=rules, escapes=links_out(root))


def _commands(lines: Iterable[bytes]) -> Iterator[str]:
    import json

    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            command = json.loads(line.decode("utf-8", "replace"))
        except ValueError as error:
            raise click.UsageError(f"Line {number} is not JSON: {error}.") from error
        if not isinstance(command, str):
            raise click.UsageError(f"Line {number} is not a JSON string.")
        yield command


def _tell(policy: Policy, command: str, *, as_json: bool) -> None:
    import json

    from allstop.adapters.shell import check as judged
    from allstop.core.text import one_line

    verdict = judged(policy, command)
    if as_json:
        said = {"command": command, "decision": verdict.decision.value, "rule": verdict.rule}
        click.echo(json.dumps(said))
    else:
        click.echo(f"{verdict.decision.value:<6} {one_line(verdict.rule)}")
