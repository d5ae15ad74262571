"""The inbox: everything that waits for a person, the oldest first."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from allstop.board import remedy_hints
from allstop.board.attempt import NO_PROGRESS
from allstop.core import run as runs
from allstop.core.asks import Ask, Question, describe_ask
from allstop.core.helm import Helm, Hold
from allstop.core.ids import BOARD, RunId, root_of
from allstop.core.moves import OVER_MACHINE_LIMIT, Wait
from allstop.core.run import RunState
from allstop.core.tasks import STALLED, Status, Task
from allstop.core.text import one_line
from allstop.views.failure_reasons import FAILURE_REASONS
from allstop.views.kind import Kind as RunKind

TEXT_CHARS = 2000


class Kind(StrEnum):
    LEAVE = "leave"  # an agent asks for permission
    QUESTION = "question"  # an agent's tool asks a question during its turn
    PENDING = "pending"  # an agent ended its turn with a question
    BLOCKED = "blocked"
    FAILED = "failed"  # or ran out of turns or time, or its agent died
    REVIEW = "review"
    MERGE = "merge"  # uncommitted changes block the merge, or it failed
    LIMIT = "limit"
    PAUSED = "paused"  # a run can't continue without a person
    INTERRUPTED = "interrupted"  # no process drives it


class Waiting(Struct, frozen=True, gc=False, kw_only=True):
    id: str  # the name for `answer`, `allow` and `deny`
    run: RunId
    kind: Kind
    text: str
    since: datetime
    do: str  # a command that helps
    options: tuple[str, ...] = ()  # the question's own options, or commands
    questions: tuple[Question, ...] = ()
    task: str = ""
    title: str = ""
    hint: str = ""  # what to do, in words


class OpenRun(NamedTuple):
    """An open run with the facts that the inbox needs."""

    run: RunId
    kind: RunKind
    state: RunState[Any]
    last_at: datetime
    driven: bool
    idle: bool = False  # a board that only waits for tasks

    @property
    def task(self) -> str:
        opened = self.state.opened
        return str(opened.spec.get("task", "")) if opened.parent == BOARD else ""

    @property
    def resume_command(self) -> str:
        return self.kind.resume_command(self.run, self.state.opened)


def inbox(
    open_runs: Iterable[OpenRun], tasks: Iterable[Task], now: datetime, helm: Helm
) -> list[Waiting]:
    """List the waits of all open runs and of the board's tasks; each task appears once."""
    found = [each for open_run in open_runs for each in _run_items(open_run, now, helm)]
    shown = {each.task for each in found}
    found += [_task_item(task) for task in tasks if needs_person(task) and task.id not in shown]
    return sorted(found, key=lambda each: (each.since, each.id))


# --- runs ---


def _run_items(open_run: OpenRun, now: datetime, helm: Helm) -> Iterator[Waiting]:
    state = open_run.state
    if state.closed is not None:
        return
    if state.asks and open_run.driven:
        yield from (_ask_item(open_run, ask) for ask in state.asks.values())
        return
    if Hold.NONE is not helm.hold or state.hold is not Hold.NONE:
        return
    if open_run.driven and state.open_move is not None:
        return
    move = runs.expected_move(open_run.kind.pilot, state, now, helm)
    if not isinstance(move, Wait):
        if not open_run.driven and not open_run.idle:
            text, do = "no process drives it", open_run.resume_command
            yield _item(open_run, Kind.INTERRUPTED, text, do, "resume", "abort")
    elif move.for_person and (not open_run.idle or move.at_limit):
        yield _wait_item(open_run, move, now)


def wait_command(open_run: OpenRun, wait: Wait, now: datetime) -> str:
    """The command that ends a wait for a person."""
    return _wait_item(open_run, wait, now).do


def _wait_item(open_run: OpenRun, wait: Wait, now: datetime) -> Waiting:
    name = open_run.task or open_run.run
    do = open_run.kind.go_on_words(open_run.run, open_run.state)
    if wait.at_limit:
        do, *options = _limit_commands(open_run, name, now)
        return _item(open_run, Kind.LIMIT, wait.reason, do, *options)
    if open_run.kind.waits_as:
        kind = open_run.kind
        return _item(open_run, Kind(kind.waits_as), wait.reason, do, *kind.wait_options)
    if wait.question:
        do = f'allstop answer {name} "…"'
        return _item(open_run, Kind.PENDING, wait.question, do, "answer")
    if open_run.run == BOARD and open_run.driven:
        do = "allstop resume board"
    if open_run.run == BOARD and open_run.state.pilot.sprint_pause:
        return _item(open_run, Kind.PAUSED, wait.reason, "allstop sprint resume", "resume_sprint")
    paused = _item(open_run, Kind.PAUSED, wait.reason, do, "resume", "tell")
    return replace(paused, hint=FAILURE_REASONS[wait.failure].person) if wait.failure else paused


def _limit_commands(open_run: OpenRun, name: str, now: datetime) -> tuple[str, ...]:
    """Return the suggested command, then the options."""
    if runs.waits_for_budget(open_run.state, now):
        return "allstop today", "abort"  # raises the budget of all runs
    if open_run.state.limit_failure in OVER_MACHINE_LIMIT:  # raising a budget doesn't help
        return open_run.resume_command, "resume", "abort"
    if root_of(open_run.run) == BOARD and not open_run.state.limit_reached:
        return f"allstop limit {name} --times 2", "limit", "abort"
    if root_of(open_run.run) == BOARD:  # the limit of the board
        do = f"allstop limit {BOARD} --times 2" if open_run.driven else "allstop run --budget USD"
        return do, "limit", "abort"
    if open_run.state.limit_reached:  # the limit of a parent run
        return open_run.resume_command, "limit", "resume", "abort"
    return f"allstop limit {name} --times 2", "limit", "abort"


def _ask_item(open_run: OpenRun, ask: Ask) -> Waiting:
    id_ = f"{open_run.run}:{ask.id}"
    since = open_run.state.asked_at.get(ask.id, open_run.last_at)
    is_question = bool(ask.questions)
    labels = tuple(option.label for each in ask.questions[:1] for option in each.options)
    return Waiting(
        id=id_,
        run=open_run.run,
        kind=Kind.QUESTION if is_question else Kind.LEAVE,
        text=describe_ask(ask)[:TEXT_CHARS],
        since=since,
        do=f'allstop answer {id_} "…"' if is_question else f"allstop allow {id_}",
        options=labels if is_question else ("allow", "session", "deny"),
        questions=ask.questions,
        task=open_run.task,
        title=open_run.state.opened.title,
    )


def _item(open_run: OpenRun, kind: Kind, text: str, do: str, *options: str) -> Waiting:
    return Waiting(
        id=open_run.run,
        run=open_run.run,
        kind=kind,
        text=text[:TEXT_CHARS],
        since=open_run.last_at,
        do=do,
        options=options,
        task=open_run.task,
        title=open_run.state.opened.title,
    )


# --- tasks ---


def needs_person(task: Task) -> bool:
    """Whether a task waits for a person; a merge does if uncommitted changes block it."""
    waits_to_land = task.status is Status.MERGING and bool(task.note)
    is_offered = task.status is Status.REVIEW or task.has_crashed
    return task.status in STALLED or is_offered or waits_to_land


def suggested_command(task: Task) -> str:
    """Return the command that lets a waiting task continue."""
    if task.status is Status.REVIEW or task.lacks_merge:
        return f"allstop approve {task.id}"
    if task.status is Status.MERGING:
        return "allstop run"  # once the blocking changes are committed
    if task.asks and task.note.startswith(_QUESTION_PREFIX):
        return f'allstop answer {task.id} "…"'
    if task.asks and task.note.startswith(NO_PROGRESS):
        return f"allstop resume {task.id}"
    if task.asks and task.note.startswith("limit reached"):
        return f"allstop limit {task.id} --times 2"
    if task.asks:
        return f"allstop log {task.id}"
    return remedy_hints.command(task)


def review_note(task: Task) -> str:
    """What a person should know before approving its work; "" if nothing."""
    if task.status is not Status.REVIEW:
        return ""
    return task.findings or ("unverified: no checks are configured" if task.unverified else "")


_QUESTION_PREFIX = "asks: "
"""The note of a task begins with this if its agent asks a question."""

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
    """Return the kind of a waiting task; one that waits and asks nothing could not be merged."""
    if task.status is Status.WAITING and not task.asks:
        return Kind.MERGE
    if task.status is Status.WAITING and not task.note.startswith(_QUESTION_PREFIX):
        return Kind.PAUSED  # it asks no question; it may have reached a limit
    return _KINDS.get(task.status, Kind.FAILED)


def _options(task: Task, kind: Kind) -> tuple[str, ...]:
    if task.status is Status.MERGING:
        return ("retry",)
    return _OPTIONS.get(kind) or remedy_hints.remedies(task)


def _task_item(task: Task) -> Waiting:
    kind = _kind_of(task)
    run = task.attempts[-1].run if task.attempts else BOARD
    assert task.changed_at is not None, "a task that waits has changed its status"
    return Waiting(
        id=task.id,
        run=run,
        kind=kind,
        text=task.note.removeprefix(_QUESTION_PREFIX)[:TEXT_CHARS]
        or review_note(task)
        or one_line(task.title),
        since=task.changed_at,
        do=suggested_command(task),
        options=_options(task, kind),
        task=task.id,
        title=task.title,
        hint=remedy_hints.hint(task),
    )
