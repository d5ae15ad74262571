"""Metrics in the text format of Prometheus."""

from collections import Counter
from collections.abc import Iterator
from typing import TypeAlias

from allstop.core.helm import Hold
from allstop.server.app_state import AppState
from allstop.views.board_phase import counts, stopped

Sample: TypeAlias = tuple[str, str, str, dict[str, str], float]
"""The name, type and help of a metric, and the labels and value of one of its samples."""


async def text(app: AppState) -> str:
    lines: list[str] = []
    last = ""
    for name, kind, help_text, labels, value in [*_samples(app), *await _board(app)]:
        if name != last:
            lines += [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]
            last = name
        lines.append(f"{name}{_labels(labels)} {_number(value)}")
    return "\n".join(lines) + "\n"


def _samples(app: AppState) -> Iterator[Sample]:
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
    yield from _calls(app)
    yield "allstop_listeners", "gauge", "Open event streams.", {}, app.broadcast.listeners


async def _board(app: AppState) -> list[Sample]:
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


def _calls(app: AppState) -> Iterator[Sample]:
    """Model calls that this process has seen in the journal since it started."""
    totals = sorted(app.call_totals.of.items())
    names = [{"provider": provider, "model": model} for (provider, model), _ in totals]
    sums = [total for _, total in totals]
    counted = list(zip(names, sums, strict=True))
    for labels, total in counted:
        for status, number in sorted(total.calls.items()):
            by = {**labels, "status": str(status)}
            yield "allstop_model_calls_total", "counter", "Model calls.", by, number
    for labels, total in counted:
        tokens = {"input": total.input, "cached": total.cached, "output": total.output}
        for kind, number in {**tokens, "reasoning": total.reasoning}.items():
            help_text = "Tokens of model calls; input includes cached, output reasoning."
            by = {**labels, "kind": kind}
            yield "allstop_model_tokens_total", "counter", help_text, by, number
    for labels, total in counted:
        cost, help_text = total.cost_microusd / 1e6, "Known cost of model calls."
        yield "allstop_model_cost_usd_total", "counter", help_text, labels, cost
    for labels, total in counted:
        yield "allstop_model_replies_total", "counter", "Replies of models.", labels, total.replies
    for labels, total in counted:
        waited, help_text = total.first_ms / 1e3, "Waits for the first piece of all replies."
        yield "allstop_model_first_token_seconds_total", "counter", help_text, labels, waited


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _labels(labels: dict[str, str]) -> str:
    """Format labels; a model's name may contain anything."""
    pairs = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())
    return f"{{{pairs}}}" if pairs else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
