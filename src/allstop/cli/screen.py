"""What a driven run looks like: a live line on a terminal, plain lines or JSON elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Protocol

import click

from allstop.cli.record import as_text, print_records
from allstop.core.ids import RunId
from allstop.core.plain import one_line
from allstop.core.run import RunState
from allstop.core.views import describe, lines
from allstop.ports import Live, Record


class Screen(Protocol):
    seq: int

    def records(self, batch: Sequence[Record], state: RunState[Any] | None) -> None: ...
    def live(self, run: RunId, live: Live) -> None: ...
    def note(self, text: str) -> None: ...


def make_screen(*, as_json: bool) -> AbstractContextManager[Screen]:
    if as_json:
        return JsonScreen()
    return TerminalScreen() if sys.stdout.isatty() else PlainScreen()


class PlainScreen:
    """A line for everything that happened."""

    def __init__(self) -> None:
        self.seq = 0

    def __enter__(self) -> Screen:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def records(self, batch: Sequence[Record], state: RunState[Any] | None) -> None:
        for record in batch:
            if record.seq > self.seq:
                self.seq = record.seq
                self._print(record)

    def live(self, run: RunId, live: Live) -> None:
        if live.kind == "trouble":
            self.note(live.text)

    def note(self, text: str) -> None:
        if text:
            click.echo(text)

    def _print(self, record: Record) -> None:
        for line in lines(record.event):
            click.echo(as_text(line))


class JsonScreen(PlainScreen):
    """Events only, on standard output; everything else goes beside it."""

    def note(self, text: str) -> None:
        if text:
            click.echo(text, err=True)

    def _print(self, record: Record) -> None:
        print_records([record], as_json=True)


class TerminalScreen(PlainScreen):
    """Lines above, and below them one line that lives: what is being done, for how long."""

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.status import Status

        self._console = Console(highlight=False)
        self._status = Status("starting", console=self._console, spinner="dots")
        self._doing = "starting"
        self._words = ""

    def __enter__(self) -> Screen:
        self._status.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._status.stop()

    def records(self, batch: Sequence[Record], state: RunState[Any] | None) -> None:
        super().records(batch, state)
        if state is not None:
            move = state.open_move
            used = f"{state.tally.turns} turns, {state.tally.tokens:,} tokens"
            self._doing = f"{describe(move.move) if move else 'thinking'} · {used}"
            self._words = ""
            self._update()

    def live(self, run: RunId, live: Live) -> None:
        super().live(run, live)
        words = one_line(live.text[-400:], 80)
        if words:
            self._words = words
            self._update()

    def note(self, text: str) -> None:
        if text:
            self._console.print(text, markup=False, style="bold")

    def _print(self, record: Record) -> None:
        for line in lines(record.event):
            style = {"✗": "red", "✓": "green", "■": "bold"}.get(line.mark, "")
            self._console.print(as_text(line), markup=False, style=style)

    def _update(self) -> None:
        from rich.markup import escape

        said = f"  [dim]{escape(self._words)}[/dim]" if self._words else ""
        self._status.update(f"{escape(self._doing)}{said}")
