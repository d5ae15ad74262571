"""A group of commands that knows their names and loads only the one that is used."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

import click

from allstop.cli.output import UnknownCommandError, report_error

Table = Mapping[str, tuple[str, str]]


class Commands(click.Group):
    def __init__(self, *arguments: Any, commands_table: Table, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._table = commands_table

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._table:
            return None
        module = importlib.import_module(f"allstop.cli.{self._table[cmd_name][0]}")
        name = cmd_name if hasattr(module, cmd_name) else f"{cmd_name}_"  # list, next, import
        command: click.Command = getattr(module, name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:  # click would exit with 1, which means a failed run
            ctx.exit(report_error(error))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self._table and not args[0].startswith("-"):
            import difflib

            near = difflib.get_close_matches(args[0], self._table, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else " See `allstop --help`."
            raise UnknownCommandError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in self._table.items()])
