"""What the end of a merge does to its task, to the queue and to the board."""

from msgspec.structs import replace

from allstop.board import graph, task_commands
from allstop.board.state import BoardState
from allstop.core import board_specs
from allstop.core.events import ChildClosed
from allstop.core.moves import Outcome
from allstop.core.tasks import Status, Task
from allstop.core.text import one_line
from allstop.merges import queue as merge_queue


def target_of(spec: board_specs.BoardSpec, task: Task) -> str:
    """The branch that the work began from, even if the board's target has changed since.

    On another branch, the merge would also bring in that branch's missing commits.
    """
    return task.target or spec.target


def merge_closed(state: BoardState, task: Task, closed: ChildClosed) -> BoardState:
    if task.merged:
        queue = merge_queue.ended(state.queue, task.id)
        return _reverted(replace(state, queue=queue), task, closed)
    if merge_queue.has_failed_together(closed.facts):
        return _queued_again(state, task, closed)
    if board_specs.TARGET_FAILS in closed.facts and state.spec.no_progress:
        return _held_by_target(state, task, closed)
    state = replace(state, queue=_queue_after(state, task, closed))
    task = replace(task, changed_at=closed.at, note=closed.note)
    if closed.outcome is Outcome.DONE:
        done = replace(
            task,
            status=Status.DONE,
            merged=closed.facts.get("commit", ""),
            merged_at=closed.at,
            merge_s=closed.tally.busy_s,
            conflicts_resolved=task.conflicts,
            conflicts=0,
            note="",
        )
        resolved = state.resolved + bool(task.conflicts)
        board = graph.put(state.board, done)
        return replace(state, board=board, merged=state.merged + 1, resolved=resolved)
    task = replace(task, status=Status.WAITING)
    if closed.outcome is Outcome.CONFLICT:
        task = _after_conflict(task, state.spec, closed)
    return replace(state, board=graph.put(state.board, task))


def _queue_after(state: BoardState, task: Task, closed: ChildClosed) -> merge_queue.MergeQueue:
    queue, target, facts = state.queue, target_of(state.spec, task), closed.facts
    if closed.outcome is Outcome.DONE:
        return merge_queue.merged(queue, task.id, target, facts)
    if closed.outcome is Outcome.CONFLICT:
        note = one_line(closed.note, 300)
        return merge_queue.thrown_out(queue, task.id, target, facts, note, closed.at)
    return merge_queue.ended(queue, task.id)


def _queued_again(state: BoardState, task: Task, closed: ChildClosed) -> BoardState:
    """A batch failed: its first change takes its old place in the queue, in a smaller batch."""
    number = int(closed.ref.rpartition(".merge")[2].partition("-")[0])
    board = graph.put(state.board, task)
    board = replace(board, merges=board.merges.plus((number, task.id)))
    queue = merge_queue.failed_together(state.queue, closed.facts, one_line(closed.note, 300))
    return replace(state, board=board, queue=queue)


def _held_by_target(state: BoardState, task: Task, closed: ChildClosed) -> BoardState:
    """No merge can pass; the change waits in the queue until a person has mended the target."""
    board = graph.queue_merge(state.board, task, closed.at)
    return replace(
        state,
        board=graph.update(board, board[task.id], note=closed.note),
        queue=merge_queue.ended(state.queue, task.id),
        target_failure=closed.facts[board_specs.TARGET_FAILS],
    )


def _after_conflict(task: Task, spec: board_specs.BoardSpec, closed: ChildClosed) -> Task:
    """Send a conflict back to the agent; after too many of them the task waits for a person."""
    task = replace(
        task,
        onto=f"refs/heads/{target_of(spec, task)}",
        news=closed.facts.get("news", ""),
        verified="",
    )
    if task.conflicts >= spec.conflicts:
        return task
    return replace(task, status=Status.PENDING, assigned=True, conflicts=task.conflicts + 1)


def _reverted(state: BoardState, task: Task, closed: ChildClosed) -> BoardState:
    if closed.outcome is Outcome.DONE:
        return replace(state, board=task_commands.rolled_back(state.board, task, closed.at))
    task = replace(task, status=Status.DONE, note=f"not rolled back: {closed.note}")
    return replace(state, board=graph.put(state.board, task))
