"""The command `gateway test`: tries to get out of boxes that have only a gateway."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context, echo, json_option, print_json, run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from allstop.app.project import Project
    from allstop.app.setup.escape_test import Attempt


@click.group()
def gateway() -> None:
    """Test the gateway between boxes and models."""


@gateway.command()
@json_option
@click.pass_obj
def test(context: Context, as_json: bool) -> int:
    """Try every way out of boxes that may reach only a model or one host, and show what got out.

    A program in the box tries addresses, ports, names, sockets of the host and system calls, and
    looks for a key. One call goes through the gateway to a model server of the test itself. In a
    second box, only one allowed host may be reached. The command ends with exit code 1 if anything
    else got out.
    """
    with context.project() as project:
        return run(lambda: _test(project, as_json=as_json))


async def _test(project: Project, *, as_json: bool) -> int:
    from allstop.app.setup.escape_test import WITH_HOSTS, try_escapes

    tried = await try_escapes(project)
    failed = [each for each in tried if not each.ok]
    if as_json:
        print_json({"ok": not failed, "attempts": tried})
    else:
        first = [each for each in tried if not each.name.startswith(WITH_HOSTS)]
        echo("In a box that reaches only its model:")
        _print(first, "")
        echo("In a box that also reaches one allowed host:")
        _print([each for each in tried if each not in first], WITH_HOSTS)
        echo(_verdict(len(failed)))
    return 1 if failed else 0


def _print(tried: Sequence[Attempt], prefix: str) -> None:
    names = [each.name.removeprefix(prefix) for each in tried]
    width = max(map(len, names))
    for name, each in zip(names, tried, strict=True):
        echo(f"  {'✓' if each.ok else '✗'} {name:<{width}}  {each.found}")


def _verdict(failed: int) -> str:
    return f"{failed} of these did what they must not." if failed else "Nothing got out."
