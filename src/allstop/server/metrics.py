"""Metrics in the text format of Prometheus."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TypeAlias

from allstop.app.machines import machines
from allstop.app.project import SQLITE
from allstop.core.helm import Hold
from allstop.server.app_state import AppState
from allstop.views.board_phase import counts, stopped
from allstop.views.machines import WORKER, MachineProcess, ProcessState

Sample: TypeAlias = tuple[str, str, str, dict[str, str], float]
"""The name, type and help of a metric, and the labels and value of one of its samples."""


async def text(app: AppState) -> str:
    lines: list[str] = []
    last = ""
    samples = [*_samples(app), *await _board(app), *await _workers(app)]
    for name, kind, help_text, labels, value in samples:
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


async def _workers(app: AppState) -> list[Sample]:
    """Figures of each worker; a journal in a file has none."""
    if app.project.store_url == SQLITE:
        return []
    workers = [
        ({"worker": process.name or machine.name, "host": machine.name}, process)
        for machine in await machines(app.project, app.live_runs)
        for process in machine.processes
        if process.role == WORKER
    ]
    figures: list[tuple[str, str, Callable[[MachineProcess], float | None]]] = [
        ("up", "1 while the worker is heard.", lambda each: each.state is not ProcessState.LOST),
        ("draining", "1 while it takes no more work.", lambda each: bool(each.drained_by)),
        ("slots", "Slots of the worker.", lambda each: each.slots),
        ("slots_used", "Runs that it drives.", lambda each: len(each.work)),
        ("heard_seconds", "Seconds since its last sign of life.", lambda each: each.heard_s),
        ("cpu_ratio", "Share of its machine's processors in use.", lambda each: each.load.cpu),
        ("memory_used_bytes", "Memory in use.", lambda each: each.load.memory_used),
        ("disk_free_bytes", "Free space on its disk.", lambda each: each.load.disk_free),
    ]
    return [
        (f"allstop_worker_{name}", "gauge", words, labels, float(value))
        for name, words, figure in figures
        for labels, process in workers
        if (value := figure(process)) is not None
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
