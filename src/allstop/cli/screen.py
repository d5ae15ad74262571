"""What a driven run looks like: a live line on a terminal, plain lines or JSON elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

import click

from allstop.cli.record import as_text, print_records
from allstop.core.ids import RunId
from allstop.core.plain import one_line
from allstop.core.run import RunState
from allstop.core.views import describe, lines
from allstop.ports import Live, Record

if TYPE_CHECKING:
    from rich.console import RenderableType


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
    """Lines above, and below them one line that lives: what is being done, and for how long."""

    def __init__(self) -> None:
        super().__init__()
        from rich.console import Console
        from rich.live import Live as LiveDisplay
        from rich.spinner import Spinner

        self._console = Console(highlight=False)
        self._spinner = Spinner("dots")
        self._doing = "starts"
        self._used = ""
        self._words = ""
        self._since = self._console.get_time()
        self._live = LiveDisplay(
            console=self._console,
            get_renderable=self._line,
            refresh_per_second=8,
            transient=True,
        )

    def __enter__(self) -> Screen:
        self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._live.stop()

    def records(self, batch: Sequence[Record], state: RunState[Any] | None) -> None:
        super().records(batch, state)
        if state is not None:
            self._doing = describe(state.open_move.move) if state.open_move else "waits"
            self._used = f"{state.tally.turns} turns, {state.tally.tokens:,} tokens"
            self._words = ""
            self._since = self._console.get_time()

    def live(self, run: RunId, live: Live) -> None:
        super().live(run, live)
        self._words = one_line(live.text[-400:], 60) or self._words

    def note(self, text: str) -> None:
        if text:
            self._console.print(text, markup=False, style="bold")

    def _print(self, record: Record) -> None:
        for line in lines(record.event):
            style = {"✗": "red", "✓": "green", "■": "bold"}.get(line.mark, "")
            self._console.print(as_text(line), markup=False, style=style)

    def _line(self) -> RenderableType:
        from rich.text import Text

        seconds = self._console.get_time() - self._since
        line = Text(f"{self._doing} · {seconds:.0f} s · {self._used}", no_wrap=True)
        line.append(f"  {self._words}", style="dim")
        line.overflow = "ellipsis"
        self._spinner.update(text=line)
        return self._spinner
