"""Numbers that people give: money and minutes."""

from __future__ import annotations

import math
from typing import Any

import click

from allstop.core import bounds


class Number(click.FloatRange):
    """More than the least, no more than makes sense; `nan` would be in every range."""

    def __init__(self, most: float, *, over: float = 0) -> None:
        super().__init__(min=over, max=most, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if math.isnan(number):
            self.fail("nan is no number.", param, ctx)
        return number


DOLLARS = Number(bounds.DOLLARS)
MINUTES = Number(bounds.MINUTES)
A_DAYS_MINUTES = Number(1_440)
TIMES = Number(100, over=1)
