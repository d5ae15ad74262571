"""Argument types: amounts of money and time, and names of runs and tasks."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from allstop.core import number_bounds

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class Number(click.FloatRange):
    """A number above `over`, up to `most`; `nan` would pass every comparison."""

    def __init__(self, most: float, *, over: float = 0) -> None:
        super().__init__(min=over, max=most, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("nan is not a number.", param, ctx)
        return number


DOLLARS = Number(number_bounds.DOLLARS)
MINUTES = Number(number_bounds.MINUTES)
A_DAYS_MINUTES = Number(1_440)
TIMES = Number(100, over=1)


class Name(click.types.StringParamType):
    """A text that a shell completes with names from the journal."""

    def __init__(self, *, with_runs: bool) -> None:
        self._with_runs = with_runs

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        from allstop.cli.completion import stored_names

        root = ctx.find_root()
        try:
            names = stored_names(
                root.params.get("folder") or Path.cwd(), root.obj, with_runs=self._with_runs
            )
        except Exception:  # noqa: BLE001 - without the journal there are no names
            return []
        return [
            CompletionItem(name, help=title)
            for name, title in names.items()
            if name.startswith(incomplete)
        ]


TASK = Name(with_runs=False)
RUN_OR_TASK = Name(with_runs=True)

may_change_option = click.option(
    "--may-change",
    multiple=True,
    metavar="WHAT",
    help='Tests that it may change: a path, a test id or "behaviour of NAME"; may be repeated.',
)
"""Declared intent; only people give it."""
