"""Which commands help a task that can't continue, best first, and a hint for people."""

from allstop.core.events import ChildClosed
from allstop.core.moves import Failed, FailureKind, Outcome
from allstop.core.tasks import Status, Task
from allstop.core.text import one_line

_USUAL = ("retry", "edit", "rollback", "split", "skip")
_FIRST = {FailureKind.BAD_REQUEST: "edit", FailureKind.CONTEXT: "split"}
"""The first remedy for failures that a mere retry would repeat."""


def note_of(failed: Failed) -> str:
    """The note on a failure that ends an attempt."""
    return f"{failed.kind}: {one_line(failed.message, 300)}"


def failure_in(closed: ChildClosed) -> FailureKind | None:
    """The failure that ended an attempt. Old journals have it only in the note."""
    if closed.failure is not None or closed.outcome is not Outcome.FAILED:
        return closed.failure
    kind, colon, _ = closed.note.partition(": ")
    return FailureKind(kind) if colon and kind in set(FailureKind) else None


def failure_of(task: Task) -> FailureKind | None:
    return task.attempts[-1].failure if task.status is Status.FAILED and task.attempts else None


def remedies(task: Task) -> tuple[str, ...]:
    """The commands that may help. Raising a limit helps only if turns or time ran out."""
    if task.status is Status.TIMEOUT:
        return ("retry", "limit", *_USUAL[1:])
    if task.lacks_merge:
        return ("approve", *_USUAL)
    is_unfit = task.status is Status.WAITING and not task.asks
    has_ended = task.status in {Status.FAILED, Status.BLOCKED} or task.has_crashed
    if not has_ended and not is_unfit:
        return ()
    kind = failure_of(task)
    first = _FIRST.get(kind, "retry") if kind else "retry"
    return (first, *(each for each in _USUAL if each != first))


def command(task: Task) -> str:
    """The command that helps most."""
    if task.has_crashed:
        return f"allstop run {task.id}"
    match failure_of(task):
        case FailureKind.AUTH:
            return _login(task.agent)
        case FailureKind.UNAVAILABLE:
            return _test(task.agent)
        case FailureKind.UNSAFE:
            return "allstop doctor"
        case FailureKind.BAD_REQUEST:
            return f"allstop edit {task.id}"
        case _:
            return f"allstop retry {task.id}"


def hint(task: Task) -> str:
    if task.status is Status.TIMEOUT:
        return "It ran out of turns or time: raise the limit and retry, or split it."
    if task.has_crashed:
        return (
            f"Its agent died; its work is kept: `allstop diff {task.id}` shows it,"
            f" `allstop take {task.id}` hands it to you, `allstop rollback {task.id}` undoes it."
            " On autopilot the board retries it by itself."
        )
    kind = failure_of(task)
    return hint_on(kind, task.agent) if kind else ""


def hint_on(kind: FailureKind, agent: str | None = None) -> str:
    match kind:
        case FailureKind.AUTH:
            return f"Its agent is not logged in: `{_login(agent)}`, or set its key; then retry."
        case FailureKind.NETWORK:
            return "Its provider could not be reached: check the network, then retry."
        case FailureKind.UNAVAILABLE:
            return f"Its agent can't be started: `{_test(agent)}` says why; then retry, or name another."
        case FailureKind.RATE_LIMITED | FailureKind.USAGE_LIMITED | FailureKind.OVERLOADED:
            return "Its provider limits it for now: retry later, or name another agent."
        case FailureKind.BILLING:
            return (
                "Its account has no credit, or reached its spending limit: pay or raise it with the"
                " provider, or name another agent; then retry."
            )
        case FailureKind.BAD_REQUEST:
            return "A retry would fail in the same way: edit the task, or name another agent."
        case FailureKind.CONTEXT:
            return "Its conversation is too long for its model: split the task, or retry it."
        case FailureKind.EXITED | FailureKind.CRASHED | FailureKind.STALLED:
            return "Its log shows the last output of its agent; then retry."
        case FailureKind.UNSAFE:
            return "There is no sandbox here: `allstop doctor` says what is missing."
        case _:
            return ""


def _test(agent: str | None) -> str:
    return f"allstop agents test {agent}" if agent else "allstop doctor"


def _login(agent: str | None) -> str:
    return f"allstop agents login {agent}" if agent else "allstop agents"
