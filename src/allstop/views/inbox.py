"""What waits for a person, all of it in one list: the oldest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from allstop.board import remedies
from allstop.core import run as runs
from allstop.core.asks import Ask, Question, describe_ask
from allstop.core.helm import Helm, Hold
from allstop.core.ids import BOARD, RunId, root_of
from allstop.core.moves import OVER_MACHINE_LIMIT, Wait
from allstop.core.run import RunState
from allstop.core.tasks import STALLED, Status, Task
from allstop.core.text import one_line
from allstop.views.kind import Kind as RunKind

TEXT_CHARS = 2000


class Kind(StrEnum):
    LEAVE = "leave"  # an agent asks whether it may
    QUESTION = "question"  # an agent's tool wants to know something, within its turn
    PENDING = "pending"  # an agent ended its turn with a question
    BLOCKED = "blocked"
    FAILED = "failed"  # or ran out of turns or time, or its agent died
    REVIEW = "review"
    MERGE = "merge"  # somebody's changes are in the way, or it could not be merged
    LIMIT = "limit"
    PAUSED = "paused"  # a run does not know how to go on
    INTERRUPTED = "interrupted"  # nobody drives it


class Waiting(Struct, frozen=True, gc=False, kw_only=True):
    id: str  # `answer`, `allow` and `deny` know it by this
    run: RunId
    kind: Kind
    text: str
    since: datetime
    do: str  # a command that helps
    options: tuple[str, ...] = ()  # what can be said to it: the question's own, or commands
    questions: tuple[Question, ...] = ()
    task: str = ""
    title: str = ""
    hint: str = ""  # what helps, in words


class OpenRun(NamedTuple):
    """An open run, with its last event's time and whether a process drives it."""

    run: RunId
    kind: RunKind
    state: RunState[Any]
    last_at: datetime
    driven: bool
    idle: bool = False  # a board that waits for nothing but tasks


def inbox(
    sights: Iterable[OpenRun], tasks: Iterable[Task], now: datetime, helm: Helm
) -> list[Waiting]:
    """Of all open runs, and of a board's tasks. A task is not told twice when its run waits."""
    found = [each for sight in sights for each in _of_run(sight, now, helm)]
    told = {each.task for each in found}
    found += [_of_task(task) for task in tasks if needs_person(task) and task.id not in told]
    return sorted(found, key=lambda each: (each.since, each.id))


# --- runs ---


def _of_run(sight: OpenRun, now: datetime, helm: Helm) -> Iterator[Waiting]:
    state = sight.state
    if state.closed is not None:
        return
    if state.asks and sight.driven:
        yield from (_of_ask(sight, ask) for ask in state.asks.values())
        return
    if Hold.NONE is not helm.hold or state.hold is not Hold.NONE:
        return
    if sight.driven and state.open_move is not None:
        return
    move = runs.expected_move(sight.kind.pilot, state, now, helm)
    if not isinstance(move, Wait):
        if not sight.driven and not sight.idle:
            text = "nobody drives it"
            yield _item(sight, Kind.INTERRUPTED, text, _goes_on(sight), "resume", "abort")
    elif move.for_person and (not sight.idle or move.at_limit):
        yield _of_wait(sight, move, now)


def _goes_on(sight: OpenRun) -> str:
    return sight.kind.resume_command(sight.run, sight.state.opened)


def _of_wait(sight: OpenRun, wait: Wait, now: datetime) -> Waiting:
    name = _task_of(sight) or sight.run
    if wait.at_limit:
        do, *options = _at_limit(sight, name, now)
        return _item(sight, Kind.LIMIT, wait.reason, do, *options)
    if sight.kind.waits_as:
        return _item(sight, Kind(sight.kind.waits_as), wait.reason, _goes_on(sight), "retry")
    if wait.question:
        do = f'allstop answer {name} "…"'
        return _item(sight, Kind.PENDING, wait.question, do, "answer")
    do = "allstop resume board" if sight.run == BOARD and sight.driven else _goes_on(sight)
    paused = _item(sight, Kind.PAUSED, wait.reason, do, "resume", "tell")
    return replace(paused, hint=remedies.hint_on(wait.failure)) if wait.failure else paused


def _at_limit(sight: OpenRun, name: str, now: datetime) -> tuple[str, ...]:
    """A command that helps, and what can be said to it."""
    if runs.waits_for_budget(sight.state, now):
        return "allstop today", "abort"  # allows all runs more
    if sight.state.limit_failure in OVER_MACHINE_LIMIT:  # raising a budget doesn't help
        return _goes_on(sight), "resume", "abort"
    if root_of(sight.run) == BOARD:
        return f"allstop log {name}", "limit", "abort"
    if sight.state.limit_reached:  # that of a run above it
        return _goes_on(sight), "limit", "resume", "abort"
    return f"allstop limit {name} --times 2", "limit", "abort"


def _of_ask(sight: OpenRun, ask: Ask) -> Waiting:
    id_ = f"{sight.run}:{ask.id}"
    since = sight.state.asked_at.get(ask.id, sight.last_at)
    is_question = bool(ask.questions)
    labels = tuple(option.label for each in ask.questions[:1] for option in each.options)
    return Waiting(
        id=id_,
        run=sight.run,
        kind=Kind.QUESTION if is_question else Kind.LEAVE,
        text=describe_ask(ask)[:TEXT_CHARS],
        since=since,
        do=f'allstop answer {id_} "…"' if is_question else f"allstop allow {id_}",
        options=labels if is_question else ("allow", "session", "deny"),
        questions=ask.questions,
        task=_task_of(sight),
        title=sight.state.opened.title,
    )


def _item(sight: OpenRun, kind: Kind, text: str, do: str, *options: str) -> Waiting:
    return Waiting(
        id=sight.run,
        run=sight.run,
        kind=kind,
        text=text[:TEXT_CHARS],
        since=sight.last_at,
        do=do,
        options=options,
        task=_task_of(sight),
        title=sight.state.opened.title,
    )


def _task_of(sight: OpenRun) -> str:
    opened = sight.state.opened
    return str(opened.spec.get("task", "")) if opened.parent == BOARD else ""


# --- tasks ---


def needs_person(task: Task) -> bool:
    """A merge waits only for people: for a checkout with changes of theirs."""
    waits_to_land = task.status is Status.MERGING and bool(task.note)
    is_offered = task.status is Status.REVIEW or task.has_crashed
    return task.status in STALLED or is_offered or waits_to_land


def what_helps(task: Task) -> str:
    """What a person can do for a task that can't go on without one."""
    if task.status is Status.REVIEW or task.lacks_merge:
        return f"allstop approve {task.id}"
    if task.status is Status.MERGING:
        return "allstop run"  # once the changes that are in the way are committed
    if task.asks and task.note.startswith(_ASKS):
        return f'allstop answer {task.id} "…"'
    if task.asks:
        return f"allstop log {task.id}"
    return remedies.command(task)


_ASKS = "asks: "
"""With this the note of a task begins whose agent asks something."""

_KINDS = {
    Status.REVIEW: Kind.REVIEW,
    Status.MERGING: Kind.MERGE,
    Status.BLOCKED: Kind.BLOCKED,
    Status.WAITING: Kind.PENDING,
}
_OPTIONS = {
    Kind.REVIEW: ("approve", "redo", "reject"),
    Kind.PENDING: ("answer",),
}


def _kind_of(task: Task) -> Kind:
    """One that waits and is at no work has work that could not be merged."""
    if task.status is Status.WAITING and not task.asks:
        return Kind.MERGE
    if task.status is Status.WAITING and not task.note.startswith(_ASKS):
        return Kind.PAUSED  # at a limit, say: there is no question to answer
    return _KINDS.get(task.status, Kind.FAILED)


def _options(task: Task, kind: Kind) -> tuple[str, ...]:
    if task.status is Status.MERGING:
        return ("retry",)
    return _OPTIONS.get(kind) or remedies.remedies(task)


def _of_task(task: Task) -> Waiting:
    kind = _kind_of(task)
    run = task.attempts[-1].run if task.attempts else BOARD
    assert task.changed_at is not None, "it has come to where it is"
    return Waiting(
        id=task.id,
        run=run,
        kind=kind,
        text=task.note.removeprefix(_ASKS)[:TEXT_CHARS] or one_line(task.title),
        since=task.changed_at,
        do=what_helps(task),
        options=_options(task, kind),
        task=task.id,
        title=task.title,
        hint=remedies.hint(task),
    )
