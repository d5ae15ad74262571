"""Runs `allstop stop`: it kills the agents before it loads the rest of the program."""

from __future__ import annotations

import os
import sys
import time
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from allstop.app.project import SQLITE, Project
from allstop.app.stop.agents import kill_agents
from allstop.core.events import Halted
from allstop.core.text import counted
from allstop.settings.sources.environment import this_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from allstop.app.stop.agents import KilledAgents
    from allstop.app.stop.receipts import Stopped

BY = "allstop stop"


def quick_stop(began: float, *, as_json: bool, is_process: bool) -> int:
    """Stop everything, print the receipt and return the exit code.

    `began` is before the STOP file was created: driving processes may answer from then on. The
    receipt's time counts from the start of the process, if it was started for this.
    """
    with closing(Project(Path.cwd(), this_environment())) as project:
        asked_at = datetime.fromtimestamp(began, UTC)
        agents = kill_agents(project, BY, asked_at)
        if is_process:
            asked_at = project.clock.now() - timedelta(seconds=process_age_s())
        stopped = stop_everything(project, agents, asked_at)
        print_result(project, stopped, as_json=as_json)
    return 0 if stopped.holds else 1


def stop_everything(
    project: Project, agents: KilledAgents, asked_at: datetime | None = None
) -> Stopped:
    from allstop.app.stop.everything import stop
    from allstop.glance import run

    return run(lambda: stop(project, BY, agents, asked_at))


def process_age_s() -> float:
    """Seconds since the person pressed Enter; 0 where the system doesn't tell."""
    if sys.platform != "linux":
        return 0.0
    stat = Path("/proc/self/stat").read_bytes()
    ticks = int(stat.rpartition(b") ")[2].split()[19])
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))


def print_result(project: Project, stopped: Stopped, *, as_json: bool) -> None:
    from allstop.glance import write_text

    if as_json:
        import msgspec

        from allstop.core.text import escape_json

        document = {**msgspec.structs.asdict(stopped), "receipt": receipt_document(stopped.receipt)}
        text = escape_json(msgspec.json.format(msgspec.json.encode(document)).decode())
    else:
        text = "\n".join(result_lines(project.root, stopped, is_shared=project.store_url != SQLITE))
    write_text(text)


def receipt_document(receipt: Halted) -> dict[str, object]:
    """The receipt with every key, empty ones included."""
    from msgspec.structs import asdict

    return {"event": "halted", **asdict(receipt)}


def result_lines(root: Path | None, stopped: Stopped, *, is_shared: bool = False) -> Iterator[str]:
    """The lines for people; `is_shared` if several machines share the store."""
    receipt = stopped.receipt
    yield f"■ ALLSTOP: done {receipt.took_ms:.0f} ms after the request."
    yield from receipt_lines(receipt)
    for machine in stopped.machines:
        if machine.answered:
            killed = counted(len(machine.killed), "process tree")
            yield f"  machine    {machine.machine}: {killed} killed"
    for pid in stopped.silent:
        yield f"  ended      process {pid}, which did not answer; its records are kept"
    for name in stopped.unreached:
        yield f"  no answer  {name}; it ends its agents when it hears of this, or after its lease"
    if not (receipt.killed or receipt.discarded or stopped.silent):
        yield f"  nothing was running {_searched_place(root)}"
    if not stopped.holds:
        yield "Neither the store nor a STOP file can be written: nothing keeps runs from starting again."
        return
    if not stopped.recorded:
        yield "  The store can't be written; the STOP file holds until `allstop resume`."
        if is_shared:
            yield "  Other machines hear of the stop when the store answers this one."
    yield "Nothing starts until `allstop resume`."


def receipt_lines(receipt: Halted) -> Iterator[str]:
    for killed in receipt.killed:
        yield f"  killed     {killed.label}: process {killed.pid} and its children"
    for lost in receipt.discarded:
        yield f"  discarded  {lost}"
    for run, where in receipt.runs.items():
        yield f"  state      {run}: {where}"


def _searched_place(root: Path | None) -> str:
    """Name the repository: a person in a hurry may be in the wrong folder."""
    if root is not None:
        return f"in {root}"
    return "here, and this is not a git repository: use `allstop -C PATH stop`"
