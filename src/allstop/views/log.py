"""The lines of a log: every event, move and result of a run in words."""

from datetime import datetime
from typing import Any, NamedTuple

from allstop.board import gate_summary
from allstop.board.attempt import incomplete_reason
from allstop.core import run as runs
from allstop.core.asks import describe_with_options
from allstop.core.commands import (
    AddTasks,
    Answer,
    Command,
    Equip,
    Order,
    Permit,
    Raise,
    Redo,
    Retry,
    Say,
    StartSession,
)
from allstop.core.events import (
    Asked,
    ChildClosed,
    ChildRested,
    ChildWaited,
    ChildWentOn,
    Closed,
    Commanded,
    Event,
    Halted,
    MoveEnded,
    MoveStarted,
    Noted,
    Opened,
    Reached,
    Rested,
    Stopped,
    ThreadOpened,
    Waited,
)
from allstop.core.moves import (
    Change,
    ChecksDone,
    Deliver,
    Delivered,
    Failed,
    FailureKind,
    Finish,
    Integrate,
    Integrated,
    Land,
    Landed,
    Move,
    OpenWorkspace,
    Result,
    Revert,
    RunChecks,
    Spawn,
    Spawned,
    Survey,
    Surveyed,
    TakeTurn,
    TurnDone,
    Wait,
    WorkspaceOpen,
)
from allstop.core.review_comments import in_words
from allstop.core.run import Pilot, RunState
from allstop.core.signals import Signal, SignalClaim, last_line_with_hint, without_signal_line
from allstop.core.text import counted, last_line, one_line


class Line(NamedTuple):
    """One line of a log."""

    at: datetime
    mark: str
    text: str


def describe(move: Move) -> str:  # noqa: C901 - one case for each kind of move
    match move:
        case TakeTurn(agent=agent):
            return f"{agent} takes a turn"
        case RunChecks(checks=()):
            return "examines the changes"
        case RunChecks(checks=checks):
            return f"runs {', '.join(check.name for check in checks)}"
        case OpenWorkspace(target=target):
            return f"opens a workspace from {target}"
        case Deliver(branch=branch):
            return f"delivers the work to {branch}"
        case Integrate(workspace=workspace, target=target):
            return f"merges {workspace} with {target}"
        case Revert(commit=commit, target=target):
            return f"reverts {commit[:10]} on {target}"
        case Land(target=target, commit=commit):
            return f"moves {target} to {commit[:10]}"
        case Survey(workspace=workspace, target=target):
            return f"lists the files of {workspace or target}"
        case Spawn(kind=kind, ref=ref):
            return f"starts {kind} {ref}"
        case Wait(reason=reason):
            return f"waits: {reason}"
        case Finish(outcome=outcome, note=note):
            return f"ends: {outcome}" + (f" ({note})" if note else "")


def describe_result(result: Result) -> str:
    match result:
        case TurnDone(text=text, claim=claim, usage=usage, change=change):
            parts = [_last_words(text, claim), _used(usage.tokens), _changed(change, claim)]
            return " · ".join(part for part in parts if part)
        case ChecksDone():
            return gate_summary.summary(result)
        case WorkspaceOpen(base=base, stashed=is_stashed, conflicts=conflicts):
            left = "; uncommitted changes are in its git stash" if is_stashed else ""
            clash = f"; conflicts in {one_line(', '.join(conflicts))}" if conflicts else ""
            return f"from commit {base[:10]}{left}{clash}"
        case Delivered(branch=branch, commit=commit):
            return f"{branch} is at {commit[:10]}"
        case Integrated(commit=commit, tip=tip):
            return f"merged as {commit[:10]} onto {tip[:10]}"
        case Landed(commit=commit):
            return f"landed as {commit[:10]}"
        case Surveyed(commit=commit, paths=paths, more=more):
            return f"{counted(len(paths) + more, 'file')} at {commit[:10]}"
        case Spawned(run=run):
            return f"started {run}"
        case Failed(kind=kind, message=message):
            about = f": {one_line(message, 300)}" if message else ""
            return f"{kind.value.replace('_', ' ')}{about}"


def _last_words(text: str, claim: SignalClaim) -> str:
    """Return the signal, if there is one, and the last line of the text."""
    if claim.signal is Signal.NONE:
        return last_line_with_hint(text) or "(no text)"
    before = last_line(without_signal_line(text))
    signal = f"{claim.signal.upper()}" + (f": {one_line(claim.text)}" if claim.text else "")
    return f"{signal} · {before}" if before else signal


def _used(tokens: int) -> str:
    return f"{tokens:,} tokens" if tokens else ""


def _changed(change: Change | None, claim: SignalClaim) -> str:
    if change is None:
        return ""
    if claim.signal is Signal.COMPLETE and (why := incomplete_reason(change)):
        return f"but {why}"
    if not change.commits:
        return ""
    return f"{counted(change.commits, 'commit')}, {counted(change.files, 'file')} changed"


def lines(event: Event) -> list[Line]:  # noqa: C901 - one case for each kind of event
    """Return the log lines of an event."""
    at = event.at
    match event:
        case Opened(kind=kind, title=title):
            return [Line(at, "●", f"{kind} opened" + (f": {one_line(title)}" if title else ""))]
        case MoveStarted(move=move):
            return [Line(at, "▶", describe(move))]
        case ThreadOpened(thread=thread):
            return [Line(at, " ", f"conversation {one_line(thread)}")]
        case Noted(items=items):
            return [
                Line(at, " ", f"{one_line(item.kind)}: {one_line(item.text, 200)}")
                for item in items
            ]
        case Reached():
            return [Line(at, "→", "the agent received the message during its turn")]
        case Asked(ask=ask):
            return [Line(at, "?", f"asks: {one_line(describe_with_options(ask), 200)}")]
        case MoveEnded(result=result):
            notes = result.notes if isinstance(result, WorkspaceOpen | ChecksDone | Failed) else ()
            return [
                Line(at, _mark(result), describe_result(result)),
                *(Line(at, " ", f"warning: {one_line(note, 300)}") for note in notes),
            ]
        case Commanded(by=by):
            return [Line(at, "!", f"{by}: {_describe_command(event)}")]
        case ChildClosed(run=run, outcome=outcome, note=note):
            return [
                Line(at, "◆", f"{run} ended: {outcome}" + (f" ({one_line(note)})" if note else ""))
            ]
        case ChildWaited(run=run, reason=reason):
            return [Line(at, "?", f"{run} waits: {one_line(reason)}")]
        case ChildRested(run=run, reason=reason, until=until):
            return [Line(at, "?", f"{run} waits: {with_time(one_line(reason), until, at)}")]
        case ChildWentOn(run=run):
            return [Line(at, "▶", f"{run} continues")]
        case Waited(reason=reason):
            return [Line(at, "?", f"waits: {one_line(reason, 300)}")]
        case Rested(reason=reason, until=until):
            return [Line(at, "?", f"waits: {with_time(one_line(reason, 300), until, at)}")]
        case Stopped():
            return [Line(at, "■", "allstop")]
        case Closed(outcome=outcome, note=note):
            return [
                Line(at, "■", f"ended: {outcome}" + (f" ({one_line(note, 300)})" if note else ""))
            ]
        case Halted():
            return [Line(at, "■", receipt(event))]


def _mark(result: Result) -> str:
    match result:
        case Failed(kind=FailureKind.MOVED):
            return "→"  # not a failure: the move is repeated
        case ChecksDone(passed=False) | Failed():
            return "✗"
        case _:
            return "✓"


def _describe_command(event: Commanded) -> str:
    match event.command:
        case Say() as message:
            return one_line(message.words, 200)
        case Answer(text=text):
            return one_line(text, 200)
        case (Redo() | Retry()) as again if again.remarks:
            return f"{_plain_name(again)}: {one_line(in_words(again.text, again.remarks), 200)}"
        case Permit() as permit:
            return _permitted(permit)
        case Equip():
            return "applies the settings"
        case Raise():
            return "raises the limits"
        case StartSession(session=session):
            return f"{session.mode} with {', '.join(session.agents)}: {one_line(session.goal, 200)}"
        case AddTasks(tasks=tasks):
            return f"adds {one_line(', '.join(task.id for task in tasks))}"
        case Order(tasks=tasks):
            return f"orders {one_line(', '.join(tasks))}"
        case command:
            return _plain_name(command)


def _plain_name(command: Command) -> str:
    about = getattr(command, "task", "")
    return type(command).__name__.lower() + (f" {one_line(about)}" if about else "")


def _permitted(permit: Permit) -> str:
    verb = "allows" if permit.allow else "denies"
    if permit.answers:
        verb = "answers"
    more = one_line("; ".join(permit.answers) or permit.message, 200)
    again = " for the session" if permit.session else ""
    return f"{verb} {one_line(permit.ask)}{again}" + (f": {more}" if more else "")


def receipt(halted: Halted) -> str:
    killed = counted(len(halted.killed), "process tree")
    lost = counted(len(halted.discarded), "turn")
    return f"stopped in {halted.took_ms:.0f} ms by {halted.by}: {killed} killed, {lost} discarded"


def with_time(reason: str, until: datetime | None, now: datetime) -> str:
    """Add the machine's local time at which the wait ends, or the seconds of a short wait."""
    if until is None:
        return reason
    seconds = (until - now).total_seconds()
    if 0 < seconds < 60:
        return f"{reason}, for {seconds:.0f} s"
    local, today = until.astimezone(), now.astimezone().date()
    return f"{reason}, until {local:{'%H:%M' if local.date() == today else '%Y-%m-%d %H:%M'}}"


def state_after_stop(pilot: Pilot[Any], state: RunState[Any], now: datetime) -> str:
    """Describe a run's state after an allstop, and its next move when that is lifted."""
    if state.closed is not None:
        return state.closed.outcome.value
    if state.open_move is not None:
        return f"stopped during a move: {describe(state.open_move.move)}"
    return f"stopped; next: {describe(runs.expected_move(pilot, state, now))}"
