"""A click group that loads the module of a command only when the command is used."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from allstop.cli.output import UnknownCommandError, report_error

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class CommandEntry(NamedTuple):
    module: str
    summary: str


CommandTable = Mapping[str, Mapping[str, CommandEntry]]
"""Headings of the help page, with the commands below each."""


class LazyGroup(click.Group):
    def __init__(self, *arguments: Any, table: CommandTable, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._table = table
        self._entries = {name: each for part in table.values() for name, each in part.items()}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._entries:
            return None
        module = importlib.import_module(f"allstop.cli.{self._entries[cmd_name].module}")
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
        is_unknown = args and args[0] not in self._entries and not args[0].startswith("-")
        if is_unknown and not ctx.resilient_parsing:
            import difflib

            near = difflib.get_close_matches(args[0], self._entries, n=1)
            hint = f" Did you mean {near[0]!r}?" if near else " See `allstop --help`."
            raise UnknownCommandError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, self._entries))
        for heading, entries in self._table.items():
            with formatter.section(heading):
                rows = [(f"{name:<{width}}", each.summary) for name, each in entries.items()]
                formatter.write_dl(rows)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete from the table: click would load the module of every command."""
        from click.shell_completion import CompletionItem

        commands = [
            CompletionItem(name, help=each.summary)
            for name, each in self._entries.items()
            if name.startswith(incomplete)
        ]
        return [*commands, *click.Command.shell_complete(self, ctx, incomplete)]
