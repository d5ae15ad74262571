"""Metrics in the text format of Prometheus."""

from collections import Counter
from collections.abc import Iterator

from allstop.core.helm import Hold
from allstop.server.app_state import AppState
from allstop.views.board_phase import counts, stopped


async def text(app: AppState) -> str:
    lines: list[str] = []
    last = ""
    for name, kind, help_text, labels, value in [*_samples(app), *await _board(app)]:
        if name != last:
            lines += [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]
            last = name
        lines.append(f"{name}{_labels(labels)} {value:g}")
    return "\n".join(lines) + "\n"


def _samples(app: AppState) -> Iterator[tuple[str, str, str, dict[str, str], float]]:
    live_runs = app.live_runs
    runs: Counter[tuple[str, str]] = Counter()
    for head in live_runs.heads:
        runs[head.kind, "over" if head.closed else "open"] += 1
    for (kind, state), count in sorted(runs.items()):
        yield "allstop_runs", "gauge", "Runs.", {"kind": kind, "state": state}, count
    yield "allstop_driven", "gauge", "Runs that a process drives.", {}, len(live_runs.holders())
    stopped = float(live_runs.helm.hold is Hold.STOPPED)
    yield "allstop_stopped", "gauge", "1 while an Allstop is in force.", {}, stopped
    yield "allstop_stops_total", "counter", "Allstops so far.", {}, live_runs.helm.stops
    yield "allstop_events_total", "counter", "Events in the journal.", {}, live_runs.pos
    yield "allstop_listeners", "gauge", "Open event streams.", {}, app.broadcast.listeners


async def _board(app: AppState) -> list[tuple[str, str, str, dict[str, str], float]]:
    run = await app.live_runs.board()
    if run is None:
        return []
    state, tally = run.pilot, run.tally
    halted = stopped(state, app.live_runs.helm, await app.live_runs.below(state))
    shown = {status.value: 0 for status in state.board.counts} | counts(state.board, halted)
    tasks = [
        ("allstop_tasks", "gauge", "Tasks of the board.", {"status": status}, float(count))
        for status, count in sorted(shown.items())
    ]
    cost = tally.cost_microusd / 1e6
    return [
        *tasks,
        ("allstop_board_tokens_total", "counter", "Tokens of all its runs.", {}, tally.tokens),
        ("allstop_board_cost_usd_total", "counter", "Money of all its runs.", {}, cost),
    ]


def _labels(labels: dict[str, str]) -> str:
    """Format labels; their values are kinds and statuses and need no escaping."""
    return (
        "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}"
        if labels
        else ""
    )
