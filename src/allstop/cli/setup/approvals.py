"""The command `approvals check`: tests the policy on commands without running them."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context, echo

if TYPE_CHECKING:
    from allstop.policy.policy import Policy


@click.group()
def approvals() -> None:
    """Check whether agents may run a command."""


@approvals.command()
@click.argument("command", required=False)
@click.option(
    "--stdin", "from_stdin", is_flag=True, help="Read commands, one JSON string per line."
)
@click.option(
    "--rules",
    "rules_file",
    type=click.Path(path_type=Path),
    help="Use the rules of this file instead of the settings.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.pass_obj
def check(
    context: Context,
    command: str | None,
    from_stdin: bool,
    rules_file: Path | None,
    as_json: bool,
) -> None:
    """Print allow, ask or deny for COMMAND, and the rule; nothing is run.

    \b
    Examples:
      allstop approvals check "git push origin main"
    """
    if (command is None) is not from_stdin:
        raise click.UsageError("Give either a COMMAND or --stdin.")
    policy = _policy(context, rules_file)
    for each in _commands(sys.stdin.buffer) if command is None else [command]:
        _print_decision(policy, each, as_json=as_json)


def _policy(context: Context, rules_file: Path | None) -> Policy:
    from allstop.adapters.shell.file_matches import file_matches
    from allstop.adapters.shell.outward_links import links_out
    from allstop.policy.policy import Policy
    from allstop.settings.approval_rules import read_rules_file, rules_of

    with context.project() as project:
        folder = context.folder.resolve()
        rules = rules_of(project.settings.approvals.rules) if rules_file is None else ()
        if rules_file is not None:
            rules = read_rules_file(context.folder / rules_file)
        root = str(project.root or folder)
        return Policy(
            workspace=root,
            folder=str(folder),
            rules=rules,
            escapes=links_out(root),
            matches=file_matches(str(folder)),
        )


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


def _print_decision(policy: Policy, command: str, *, as_json: bool) -> None:
    import json

    from allstop.adapters.shell import check as judged
    from allstop.core.text import one_line

    verdict = judged(policy, command)
    if as_json:
        result = {"command": command, "decision": verdict.decision.value, "rule": verdict.rule}
        echo(json.dumps(result))
    else:
        echo(f"{verdict.decision.value:<6} {one_line(verdict.rule)}")
