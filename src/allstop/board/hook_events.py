"""Which of a person's own commands an event on a board calls for, and what they are told."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import asdict, replace

from allstop.core.brakes import Tally
from allstop.core.commands import Pause
from allstop.core.events import ChildClosed, Commanded, Event, MoveStarted, Opened
from allstop.core.helm import Hold, hold_after, is_paused_beneath
from allstop.core.ids import RunId, child_of
from allstop.core.moves import Outcome, Spawn
from allstop.core.tasks import Task
from allstop.core.text import plain

LONGEST = 4000
"""Characters of one fact: the system refuses programs that are told too much."""


class Hook(StrEnum):
    PRE_START = "pre_start"
    POST_COMPLETE = "post_complete"
    PRE_MERGE = "pre_merge"
    POST_MERGE = "post_merge"
    ON_CONFLICT = "on_conflict"
    ON_PAUSE = "on_pause"
    ON_ERROR = "on_error"


class Facts(Struct, frozen=True, kw_only=True):
    """What a hook is told, each as a variable: ALLSTOP_TASK, ALLSTOP_TITLE, …"""

    hook: Hook
    task: str = ""
    title: str = ""
    status: str = ""
    target: str = ""
    branch: str = ""
    run: str = ""
    attempt: int = 0
    outcome: str = ""
    note: str = ""
    commit: str = ""  # the last of its work, or the one that brought it into the target
    workspace: str = ""
    cost_usd: float = 0.0  # this and what follows: of the run that ended
    tokens: int = 0
    iterations: int = 0


def variable_names() -> tuple[str, ...]:
    return tuple(f"ALLSTOP_{name.upper()}" for name in Facts.__struct_fields__)


def variables(facts: Facts) -> dict[str, str]:
    """Agents' words among them are made plain, and are only ever values."""
    return dict(zip(variable_names(), map(_value, asdict(facts).values()), strict=True))


def _value(fact: object) -> str:
    if isinstance(fact, float):
        return f"{fact:.6f}"
    return plain(str(fact)[:LONGEST]).encode(errors="replace").decode()


class Child(Struct, frozen=True, gc=False):
    """A run of the board that has not ended."""

    task: str
    branch: str
    merges: bool = False
    reverts: bool = False


class Watch(Struct, frozen=True, gc=False):
    """What must be remembered of a record, a board's or the helm's, to know what its next event means."""

    children: dict[str, Child] = {}
    hold: Hold = Hold.NONE
    pauses: bool = False  # beneath a freeze


class Ground(NamedTuple):
    """What else is known, as it is after the event."""

    board: RunId
    target: str
    task: Callable[[str], Task | None]
    workspace: Callable[[str], str] = lambda task: ""


def evolve(watch: Watch, event: Event) -> Watch:
    match event:
        case MoveStarted(move=Spawn() as spawn):
            return replace(watch, children={**watch.children, spawn.ref: child(spawn)})
        case ChildClosed(ref=ref):
            left = {name: each for name, each in watch.children.items() if name != ref}
            return replace(watch, children=left)
        case Commanded(command=command):
            hold = hold_after(watch.hold, command, pauses=watch.pauses)
            pauses = is_paused_beneath(watch.hold, command, pauses=watch.pauses)
            return replace(watch, hold=hold, pauses=pauses)
        case _:
            return watch


def fired(watch: Watch, event: Event, ground: Ground) -> Facts | None:
    """What to tell which hook; `watch` is from before the event."""
    match event:
        case MoveStarted(move=Spawn() as spawn):
            begun = child(spawn)
            run = child_of(ground.board, spawn.ref)
            return _facts(_before(begun), begun, run, ground)
        case ChildClosed(ref=ref, run=run, outcome=outcome) if ref in watch.children:
            ended = watch.children[ref]
            hook = _merged(ended, outcome) if ended.merges else _worked(outcome)
            return _facts(hook, ended, run, ground, event)
        case Commanded(command=Pause(), by=by) if evolve(watch, event) != watch:
            return paused(ground, f"by {by}")
        case _:
            return None


def paused(ground: Ground, note: str) -> Facts:
    """For a board that pauses by itself, too: its record says nothing of that moment."""
    return Facts(hook=Hook.ON_PAUSE, run=ground.board, target=ground.target, note=note)


def child(begun: Spawn | Opened) -> Child:
    """By what its board says of it, or its own record does."""
    task = str(begun.spec.get("task", begun.ref))
    return Child(
        task,
        str(begun.spec.get("branch") or f"allstop/{task}"),
        merges=begun.kind == "merge",
        reverts=bool(begun.spec.get("revert")),
    )


def _before(child: Child) -> Hook | None:
    if child.reverts:
        return None
    return Hook.PRE_MERGE if child.merges else Hook.PRE_START


def _worked(outcome: Outcome) -> Hook | None:
    match outcome:
        case Outcome.DONE:
            return Hook.POST_COMPLETE
        case Outcome.FAILED | Outcome.TIMED_OUT | Outcome.BRAKED | Outcome.CRASHED:
            return Hook.ON_ERROR
        case Outcome.BLOCKED | Outcome.ABORTED | Outcome.CONFLICT:
            return None


def _merged(child: Child, outcome: Outcome) -> Hook | None:
    match outcome:
        case Outcome.DONE:
            return None if child.reverts else Hook.POST_MERGE
        case Outcome.CONFLICT:
            return Hook.ON_CONFLICT
        case _:
            return _worked(outcome)


def _facts(
    hook: Hook | None, child: Child, run: RunId, ground: Ground, closed: ChildClosed | None = None
) -> Facts | None:
    if hook is None:
        return None
    task = ground.task(child.task)
    tally = closed.tally if closed else Tally()
    return Facts(
        hook=hook,
        task=child.task,
        title=task.title if task else "",
        status=task.status.value if task else "",
        target=(task.target if task else "") or ground.target,
        branch=child.branch,
        run=run,
        attempt=_attempt(task, run, child),
        outcome=closed.outcome.value if closed else "",
        note=closed.note if closed else "",
        commit=_commit(task, closed),
        workspace=ground.workspace(child.task),
        cost_usd=tally.cost_microusd / 1_000_000,
        tokens=tally.tokens,
        iterations=tally.turns,
    )


def _attempt(task: Task | None, run: RunId, child: Child) -> int:
    """The how-manieth it is; a merge is of the last one."""
    runs = [attempt.run for attempt in task.attempts] if task else []
    if run in runs:
        return runs.index(run) + 1
    return len(runs) if child.merges else len(runs) + 1


def _commit(task: Task | None, closed: ChildClosed | None) -> str:
    told = closed.facts.get("commit", "") if closed else ""
    return told or (task.merged if task else "")
