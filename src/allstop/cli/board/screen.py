"""How a running board is shown: a live table on a terminal, else plain lines or JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from datetime import datetime
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from allstop.board.attempt import TaskState
from allstop.board.gate_summary import describe_failure
from allstop.board.statistics import Statistics
from allstop.board.task_pilot import TaskPilot
from allstop.cli.keyboard import hide_typing
from allstop.cli.output import echo
from allstop.cli.record_lines import as_text, print_records
from allstop.core import moves
from allstop.core.asks import answer_command, describe_with_options
from allstop.core.brakes import Tally
from allstop.core.commands import Equip, Raise
from allstop.core.events import Asked, Closed, Commanded, MoveEnded, Opened, Waited
from allstop.core.gate import Check
from allstop.core.helm import Hold
from allstop.core.ids import BOARD, RunId, child_of, label_of
from allstop.core.run import RunState
from allstop.core.signals import Signal
from allstop.core.tasks import OVER, Status
from allstop.core.text import counted, money, one_line, token_count
from allstop.gate.change_findings import summarize_findings
from allstop.ports import Clock, Live, Record
from allstop.views.log import Line, describe, describe_result, lines
from allstop.views.tasks import TaskNotices

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from allstop.board.state import BoardState


NARROWEST, WIDEST = 8, 24  # widths of the id column
MOST_TITLE_CHARS = 200
HOW_TO_STOP = "Ctrl-C pauses after this turn, twice is Allstop"


class RunningBoard(Protocol):
    """A board that this process or another one drives."""

    @property
    def since(self) -> datetime: ...
    @property
    def seqs(self) -> dict[RunId, int]: ...
    @property
    def clock(self) -> Clock: ...
    def run(self) -> RunState[BoardState]: ...
    def child(self, run: RunId) -> RunState[Any] | None: ...


class BoardScreen(Protocol):
    seqs: dict[RunId, int]
    prompt: Callable[[], str]
    """The line below the table in which a person answers; "" without a question."""

    @property
    def takes_answers(self) -> bool: ...
    def begin(self, session: RunningBoard, how_to_stop: str = HOW_TO_STOP) -> None: ...
    def records(self, batch: Sequence[Record]) -> None: ...
    def live(self, run: RunId, live: Live) -> None: ...
    def note(self, text: str) -> None: ...
    def end(self, stats: Statistics) -> None: ...


def make_board_screen(*, as_json: bool) -> AbstractContextManager[BoardScreen]:
    if as_json:
        return JsonBoardScreen()
    return TerminalBoardScreen() if sys.stdout.isatty() else PlainBoardScreen()


def log_lines(record: Record) -> list[Line]:
    """The log lines of a record; of the board's own events only commands, as tasks log the rest."""
    event = record.event
    if record.run == BOARD:
        is_command = isinstance(event, Commanded) and not isinstance(event.command, Equip | Raise)
        return lines(event) if is_command else []
    if isinstance(event, Opened):
        return [Line(event.at, "●", f"starts: {one_line(event.title, MOST_TITLE_CHARS)}")]
    if isinstance(event, Asked):
        do = answer_command(label_of(record.run), event.ask)
        return [line._replace(text=f"{line.text}   → {do}") for line in lines(event)]
    return lines(event)


def news_lines(record: Record) -> list[Line]:
    """The lines to print above the live table, which shows everything else."""
    event, run = record.event, record.run
    is_merge = is_merging(run)
    match event:
        case Opened() if is_merge:
            return []
        case MoveEnded(at=at, result=result):
            return [Line(at, *line) for line in _result_lines(result)]
        case Closed(at=at, outcome=moves.Outcome.DONE, facts=facts):
            text = "done, unverified" if facts.get("unverified") else "verified"
            return [] if is_merge else [Line(at, "✓", text)]
        case Closed(outcome=moves.Outcome.CONFLICT):
            return []  # the conflict was shown, and its resolution will be
        case Opened() | Closed() | Commanded() | Waited() | Asked():
            return log_lines(record)
        case _:
            return []


def _result_lines(result: moves.Result) -> list[tuple[str, str]]:
    match result:
        case moves.Landed(commit=commit):
            return [("✓", f"merged as {commit[:10]}")]
        case moves.Failed(kind=moves.FailureKind.MOVED):
            return []  # the move is repeated
        case moves.Failed():
            return [("✗", describe_result(result))]
        case moves.ChecksDone(failed=failed, warned=warned, findings=findings, notes=notes):
            found = [("!", line)] if (line := summarize_findings(findings)) else []
            found += [("!", one_line(note, 300)) for note in notes]
            back = [
                ("✗", f"failed, back to the agent: {describe_failure(check)}") for check in failed
            ]
            return [*back, *(("⚠", describe_failure(check)) for check in warned), *found]
        case moves.TurnDone(claim=said, change=change) if change is not None and not change.files:
            if said.signal is Signal.COMPLETE:
                return [("✗", "said COMPLETE, but nothing has changed: back to the agent")]
        case _:
            pass
    return []


def is_merging(run: RunId) -> bool:
    return run.rpartition(".")[2].startswith("merge")


class PlainBoardScreen:
    """Prints a line for every event, with its task."""

    def __init__(self) -> None:
        self.seqs: dict[RunId, int] = {}
        self.prompt: Callable[[], str] = lambda: ""
        self._wide = NARROWEST
        self._attempts: dict[RunId, TaskNotices] = {}

    @property
    def takes_answers(self) -> bool:
        """Whether a person sees the prompt and can type an answer."""
        return False

    def __enter__(self) -> BoardScreen:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass

    def begin(self, session: RunningBoard, how_to_stop: str = HOW_TO_STOP) -> None:
        """Start after the records that the session has already seen."""
        self.seqs = dict(session.seqs)
        nodes = session.run().pilot.board.nodes.values()
        ids = (node.task.id for node in nodes if node.task.status not in OVER)
        self._wide = max(NARROWEST, width_of(ids))
        for run in (child_of(BOARD, ref) for ref in session.run().pilot.refs):
            child = session.child(run)
            if child is not None and isinstance(child.pilot, TaskState):
                self._attempts[run] = TaskNotices(TaskPilot(), child.pilot)

    def records(self, batch: Sequence[Record]) -> None:
        for record in batch:
            if record.seq > self.seqs.get(record.run, 0):
                self.seqs[record.run] = record.seq
                self._print(record)

    def live(self, run: RunId, live: Live) -> None:
        pass

    def note(self, text: str) -> None:
        if text:
            echo(text)

    def end(self, stats: Statistics) -> None:
        for line in summary_lines(stats):
            self.note(line)

    def _print(self, record: Record) -> None:
        for line in [*log_lines(record), *self._warnings(record)]:
            echo(prefixed(record.run, line, self._wide))

    def _warnings(self, record: Record) -> list[Line]:
        event, run = record.event, record.run
        if isinstance(event, Opened) and event.kind == TaskPilot.kind:
            self._attempts[run] = TaskNotices(TaskPilot())
        found = self._attempts[run].take(event) if run in self._attempts else []
        if isinstance(event, Closed):
            self._attempts.pop(run, None)
        return found


class JsonBoardScreen(PlainBoardScreen):
    """Prints events as JSON on standard output, and notes on standard error."""

    def note(self, text: str) -> None:
        if text:
            echo(text, err=True)

    def _print(self, record: Record) -> None:
        print_records([record], as_json=True)


def prefixed(run: RunId, line: Line, wide: int) -> str:
    return as_text(Line(line.at, f"{label_of(run):<{wide}} {line.mark}", line.text))


def width_of(ids: Iterable[str]) -> int:
    """The width of the id column; ids longer than WIDEST are ignored."""
    return max((len(each) for each in ids if len(each) <= WIDEST), default=0)


def iterations_each(stats: Statistics) -> str:
    """How many iterations a completed task took."""
    if stats.fastest == stats.slowest:
        return str(stats.fastest)
    return f"{stats.average:g} on average, fastest {stats.fastest}, slowest {stats.slowest}"


def summary_lines(stats: Statistics) -> list[str]:
    other = {"timed out": stats.timed_out, "blocked": stats.blocked, "crashed": stats.crashed}
    ended = [f"{stats.failed} failed", *(f"{n} {how}" for how, n in other.items() if n)]
    verified = stats.completed - stats.unverified
    counts = [f"{stats.unverified} done, unverified"] if stats.unverified else []
    counts += [f"{verified} verified"] if verified or not counts else []
    done = f"{', '.join([*counts, *ended])}, {stats.remaining} remaining"
    resolved = counted(stats.conflicts_resolved, "conflict")
    merges = f"{stats.merged} merged, {resolved} resolved"
    if stats.pending_merges:
        merges += f", {stats.pending_merges} pending"
    turns = counted(stats.iterations, "iteration")
    if stats.failed_turns:
        turns += f", {counted(stats.failed_turns, 'failed turn')}"
    if stats.completed > 1:
        turns += f" (per completed task: {iterations_each(stats)})"
    shown = money(stats.cost_usd or 0, partial=stats.partial)
    cost = (
        f" · {'cost ' if stats.partial else ''}{shown}" if stats.cost_usd or stats.partial else ""
    )
    if stats.merged and not (stats.completed or stats.iterations or stats.failed_turns):
        return ["", merges]  # only approved work was merged
    return [
        "",
        f"{done} · {merges}",
        f"{turns} · {token_count(stats.tokens or 0, partial=stats.partial)}{cost} · {stats.runtime_s or 0:.0f} s",
    ]


class TerminalBoardScreen(PlainBoardScreen):
    """Prints news above a live table of the running tasks: agent, progress, time."""

    def __init__(self) -> None:
        super().__init__()
        from rich.live import Live as LiveDisplay

        from allstop.cli.safe_console import SafeConsole

        self._console = SafeConsole()
        self._session: RunningBoard | None = None
        self._how_to_stop = ""
        self._words: dict[RunId, str] = {}
        self._queued: dict[RunId, str] = {}
        self._gates: dict[RunId, dict[str, CheckProgress]] = {}
        self._exit_stack = ExitStack()
        self._live = LiveDisplay(
            console=self._console,
            get_renderable=self._table,
            refresh_per_second=8,
            transient=True,
        )

    @property
    def takes_answers(self) -> bool:
        return sys.stdin is not None and sys.stdin.isatty()

    def __enter__(self) -> BoardScreen:
        with ExitStack() as stack:
            stack.enter_context(hide_typing())
            stack.enter_context(self._live)
            self._exit_stack = stack.pop_all()
        return self

    def __exit__(self, *exception: object) -> None:
        self._exit_stack.close()

    def begin(self, session: RunningBoard, how_to_stop: str = HOW_TO_STOP) -> None:
        super().begin(session)
        self._session = session
        self._how_to_stop = how_to_stop

    def live(self, run: RunId, live: Live) -> None:
        if live.kind == "queued":
            self._queued[run] = live.text
            return
        if live.kind == "check":
            self._check(run, live.text)
            return
        self._words[run] = one_line(live.text[-400:], MOST_TITLE_CHARS) or self._words.get(run, "")

    def _check(self, run: RunId, text: str) -> None:
        """Keep the latest progress text of each check."""
        assert self._session is not None
        gate, child = self._gates.setdefault(run, {}), self._session.child(run)
        for check in checks_of(child):
            if text[2:].startswith(f"{check.name} "):
                gate[check.name] = CheckProgress(text, self._session.clock.now())

    def note(self, text: str) -> None:
        if text:
            self._console.print(text, style="bold")

    def end(self, stats: Statistics) -> None:
        self._session = None
        super().end(stats)

    def _print(self, record: Record) -> None:
        for line in news_lines(record):
            style = {"✗": "red", "✓": "green", "■": "bold", "?": "yellow"}.get(line.mark, "")
            text = prefixed(record.run, line, self._wide)
            if isinstance(record.event, Opened):
                self._console.print(text, style=style, no_wrap=True, overflow="ellipsis")
            else:
                self._console.print(text, style=style)

    # --- the table ---

    def _table(self) -> RenderableType:
        from rich.console import Group
        from rich.table import Table

        table = Table.grid(padding=(0, 2), expand=True)
        if self._session is None:
            return table
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=self._console.width // 3)
        table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
        table.add_column(no_wrap=True, justify="right")
        run = self._session.run()
        state = run.pilot
        for ref, task_id in state.refs.items():
            self._row(table, child_of(BOARD, ref), task_id)
        counts = state.board.counts
        totals = [f"{counts[s]} {s}" for s in Status if counts.get(s)]
        since = (self._session.clock.now() - self._session.since).total_seconds()
        children = [self._session.child(child_of(BOARD, ref)) for ref in state.refs]
        cost = _dollars(run.tally, *(child.tally for child in children if child is not None))
        below = f"{' · '.join(filter(None, [*totals, cost]))} · {since:.0f} s\n{self._how_to_stop}"
        rows: list[RenderableType] = [table, self._console.render_str(below, style="dim")]
        if prompt := self.prompt():
            rows.append(self._console.render_str(prompt, style="bold yellow"))
        return Group(*rows)

    def _row(self, table: Table, run: RunId, task_id: str) -> None:
        assert self._session is not None
        child = self._session.child(run)
        if child is None:
            return
        title = one_line(str(self._session.run().pilot.board[task_id].title), MOST_TITLE_CHARS)
        doing, seconds = _activity(child, self._session.clock.now(), self._queued.get(run, ""))
        words = self._words.get(run, "")
        progress_text = _progress(child)
        mark = "●" if child.open_move is not None and not child.asks else "?"
        checks = checks_of(child)
        text = (
            f"{progress_text}{doing}"
            if checks or child.asks
            else f"{progress_text}{doing}  {words}"
        )
        time = f"{_dollars(child.tally)} {seconds:.0f} s".strip()
        table.add_row(f"{mark} {task_id}", title, text, time)
        if not checks:
            self._gates.pop(run, None)
        for check in checks:
            tick = self._gates.get(run, {}).get(check.name)
            table.add_row("", "", check_line(check, tick, self._session.clock.now()), "")


class CheckProgress(NamedTuple):
    """The latest progress text of a check, and its time."""

    text: str
    at: datetime


def checks_of(child: RunState[Any] | None) -> tuple[Check, ...]:
    """The checks that a run is running."""
    open_move = child.open_move if child else None
    return (
        open_move.move.checks if open_move and isinstance(open_move.move, moves.RunChecks) else ()
    )


def check_line(check: Check, tick: CheckProgress | None, now: datetime) -> str:
    if tick is None:
        return f"○ {one_line(check.name)} waiting"
    if not tick.text.startswith("●"):
        return one_line(tick.text)
    seconds = (now - tick.at).total_seconds()
    return f"● {one_line(check.name)} running ({seconds:.0f}s / {check.timeout_s:.0f}s)"


def _dollars(*tallies: Tally) -> str:
    spent = sum(tally.cost_microusd for tally in tallies)
    partial = any(tally.partial for tally in tallies)
    if partial:
        return f"cost {money(spent / 1e6, partial=True)}"
    return money(spent / 1e6) if spent else ""


def _progress(child: RunState[Any]) -> str:
    pilot = child.pilot
    if not isinstance(pilot, TaskState):
        return ""
    stuck = f" ⚠ {pilot.warning}" if pilot.warning else ""
    progress = f" {one_line(pilot.progress, 30)}" if pilot.progress else ""
    is_next = child.open_move is not None and isinstance(child.open_move.move, moves.TakeTurn)
    return f"#{pilot.iteration + is_next}{progress}{stuck}  "


def _activity(child: RunState[Any], now: datetime, queued: str) -> tuple[str, float]:
    if child.hold is Hold.PAUSED and child.open_move is not None:
        return "pausing after this turn", (now - child.open_move.started_at).total_seconds()
    if child.open_move is None:
        return one_line(child.waits) or queued or "waits", (now - child.opened.at).total_seconds()
    asked = "; ".join(
        f"asks: {one_line(describe_with_options(ask))}" for ask in child.asks.values()
    )
    since = child.open_move.started_at
    return asked or describe(child.open_move.move), (now - since).total_seconds()
