"""The command `notify test`: sends a test message to every channel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context, echo, json_option, print_json, run

if TYPE_CHECKING:
    from allstop.app.project import Project


@click.group()
def notify() -> None:
    """Test the notifications."""


@notify.command()
@json_option
@click.pass_obj
def test(context: Context, as_json: bool) -> int:
    """Send a test message to every channel of [notify] and show the results."""
    with context.project() as project:
        return run(lambda: _test(project, as_json=as_json))


async def _test(project: Project, *, as_json: bool) -> int:
    from allstop.app.notify.channels import try_channels

    tried = await try_channels(project)
    if as_json:
        print_json({"told": tried})
    else:
        for each in tried:
            echo(f"✗ {each.name}: {each.why}" if each.why else f"✓ {each.name}")
        if not tried:
            echo("No channel is configured. Set [notify] urls in your settings.")
    return 0 if tried and not any(each.why for each in tried) else 1
