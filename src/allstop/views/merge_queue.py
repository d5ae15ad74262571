"""The merge queue as people see it: its batch, what runs, who waits, and who was thrown out."""

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum
from itertools import islice

from msgspec import Struct

from allstop.board.state import BoardState
from allstop.core.ids import BOARD, RunId, child_of
from allstop.core.moves import RunChecks
from allstop.core.run import RunState
from allstop.core.tasks import Task
from allstop.core.text import one_line
from allstop.merges import queue as merge_queue
from allstop.merges.pilot import MergeState
from allstop.merges.queue import LARGEST_BATCH
from allstop.views.log import describe

MOST_WAITING = 200


class Place(StrEnum):
    """How far a change of the queue has come."""

    NEXT = "next"  # in the batch, not merged yet
    MERGED = "merged"  # with the batch, not checked yet
    LEFT_OUT = "left_out"  # of the batch; it stays in the queue
    LANDED = "landed"  # on the target; only its record is missing
    WAITING = "waiting"


class QueuedChange(Struct, frozen=True, kw_only=True):
    id: str
    title: str
    place: Place
    note: str  # why it has that place; "" if that needs no words


class RunningMerge(Struct, frozen=True, kw_only=True):
    """The batch under way: changes that are merged, checked and landed together."""

    run: RunId
    target: str
    changes: tuple[QueuedChange, ...]
    doing: str
    since: datetime  # when it began with that
    checks: tuple[str, ...]  # the checks that run now
    again: bool  # they have failed once, and run once more


class TargetBatches(Struct, frozen=True, kw_only=True):
    """How large batches for one target are, and from which results that follows."""

    target: str
    failed: int
    counted: int
    largest: int


class ThrownOutChange(Struct, frozen=True, kw_only=True):
    """A change that was not merged."""

    id: str
    title: str
    at: datetime
    reason: str
    status: str  # of its task now


class MergeQueueView(Struct, frozen=True, kw_only=True):
    merge: RunningMerge | None
    waiting: tuple[QueuedChange, ...]  # the next one first
    more: int  # that wait beyond these
    held: str  # why no merge begins; "" if one may
    split: str  # why the latest batch is merged in smaller ones
    batches: tuple[TargetBatches, ...]
    thrown_out: tuple[ThrownOutChange, ...]  # the latest first


def merge_run(state: BoardState) -> RunId | None:
    """The merge under way."""
    return child_of(BOARD, state.merging) if state.merging else None


def merge_queue_view(state: BoardState, merge: RunState[MergeState] | None) -> MergeQueueView:
    """The queue of a board. `merge` is the state of its `merge_run`."""
    running = None if merge is None else _running(state, merge)
    mine = {change.id for change in running.changes} if running else set[str]()
    left = [name for _, name in state.board.merges if name not in mine]
    return MergeQueueView(
        merge=running,
        waiting=tuple(_waiting(state, state.board[name]) for name in left[:MOST_WAITING]),
        more=max(0, len(left) - MOST_WAITING),
        held=state.brake_reason,
        split=state.queue.split,
        batches=tuple(_batches(state)),
        thrown_out=tuple(_thrown_out(state)),
    )


def _running(state: BoardState, merge: RunState[MergeState]) -> RunningMerge:
    spec, move = merge.pilot.spec, merge.open_move
    checks = move.move.checks if move and isinstance(move.move, RunChecks) else ()
    return RunningMerge(
        run=child_of(BOARD, state.merging),
        target=spec.target,
        changes=tuple(_members(state, merge.pilot)),
        doing=one_line(describe(move.move) if move else merge.waits, 300),
        since=move.started_at if move else merge.opened.at,
        checks=tuple(check.name for check in checks),
        again=bool(merge.pilot.again),
    )


def _members(state: BoardState, pilot: MergeState) -> Iterator[QueuedChange]:
    """The changes of the batch; those that are left out are among them until it ends."""
    first = Place.MERGED if pilot.made else Place.NEXT
    yield _change(state, pilot.spec.task, Place.LANDED if pilot.spec.landed else first)
    added = {each.task for each in pilot.added}
    for number, other in enumerate(pilot.spec.others):
        if other.task in added:
            yield _change(state, other.task, Place.MERGED)
        elif number < pilot.tried:
            note = "can't be merged with the changes before it; the next batch begins with it"
            yield _change(state, other.task, Place.LEFT_OUT, note)
        elif pilot.is_full:
            note = "it waits for the next batch"
            yield _change(state, other.task, Place.LEFT_OUT, note)
        else:
            yield _change(state, other.task, Place.NEXT)


def _waiting(state: BoardState, task: Task) -> QueuedChange:
    if task.id in state.queue.landed:
        return _change(state, task.id, Place.LANDED, "its batch has passed")
    if not state.acts_on(task.id):
        return _change(state, task.id, Place.WAITING, "this run of the board leaves it alone")
    if task.merged:
        return _change(state, task.id, Place.WAITING, "its merge is rolled back, alone")
    limit = state.queue.limit_of(task.id)
    if limit >= LARGEST_BATCH:
        return _change(state, task.id, Place.WAITING)
    size = "alone" if limit == 1 else f"in a batch of at most {limit}"
    return _change(state, task.id, Place.WAITING, f"{size}: {state.queue.split}".rstrip(": "))


def _change(state: BoardState, name: str, place: Place, note: str = "") -> QueuedChange:
    return QueuedChange(id=name, title=_title(state, name), place=place, note=one_line(note, 300))


def _title(state: BoardState, name: str) -> str:
    task = state.board.get(name)
    return task.title if task is not None else ""


def _batches(state: BoardState) -> Iterator[TargetBatches]:
    targets = dict.fromkeys([state.spec.target, *state.queue.results])
    for target in filter(None, targets):
        results = state.queue.results.get(target, ())
        yield TargetBatches(
            target=target,
            failed=results.count(False),
            counted=len(results),
            largest=state.queue.largest(target, state.spec.batch),
        )


def _thrown_out(state: BoardState) -> Iterator[ThrownOutChange]:
    for each in islice(reversed(state.queue.thrown_out), merge_queue.SHOWN):
        task = state.board.get(each.task)
        yield ThrownOutChange(
            id=each.task,
            title=_title(state, each.task),
            at=each.at,
            reason=each.reason,
            status=task.status.value if task is not None else "",
        )
