"""Numbers for Prometheus, in its own text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from allstop.core.helm import Hold
from allstop.server.app_state import Desk
from allstop.views.board_phase import counts, stopped


async def text(desk: Desk) -> str:
    lines: list[str] = []
    named = ""
    async_samples = [*_samples(desk), *await _board(desk)]
    for name, kind, words, labels, value in async_samples:
        if name != named:
            lines += [f"# HELP {name} {words}", f"# TYPE {name} {kind}"]
            named = name
        lines.append(f"{name}{_labels(labels)} {value:g}")
    return "\n".join(lines) + "\n"


def _samples(desk: Desk) -> Iterator[tuple[str, str, str, dict[str, str], float]]:
    live_runs = desk.live_runs
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
    yield "allstop_listeners", "gauge", "Open event streams.", {}, desk.hub.listeners


async def _board(desk: Desk) -> list[tuple[str, str, str, dict[str, str], float]]:
    run = await desk.live_runs.board()
    if run is None:
        return []
    state, tally = run.pilot, run.tally
    halted = stopped(state, desk.live_runs.helm, await desk.live_runs.below(state))
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
    """Values are words of our own: kinds and statuses."""
    return (
        "{" + ",".join(f'{name}="{value}"' for name, value in labels.items()) + "}"
        if labels
        else ""
    )
