"""The command `mcp`: an MCP server on standard input and output."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from allstop.cli.output import Context, print_json_line, run

if TYPE_CHECKING:
    from allstop.app.project import Project

LONGEST = 1024 * 1024


@click.command()
@click.pass_obj
def mcp(context: Context) -> None:
    """Serve MCP: clients can inspect and stop runs.

    A client can't start anything. In its settings, use the command `allstop` with the arguments
    `-C REPOSITORY mcp`.

    In the sandbox of an agent, the command of this name serves the tools of its turn instead:
    signal, progress and ask.
    """
    with context.project() as project:
        run(lambda: _serve(project))


async def _serve(project: Project) -> None:
    from allstop.app.mcp.mcp_server import answer
    from allstop.cli.stdin_lines import piped_lines

    async for line in piped_lines(sys.stdin.fileno()):
        if not line.strip():
            continue
        reply = await answer(project, line[:LONGEST].encode())
        if reply is not None:
            print_json_line(reply)
