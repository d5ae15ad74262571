"""The lines of a log: every event, move and result of a run in words."""

from datetime import datetime
from typing import Any, NamedTuple

from allstop.board import gate_summary
from allstop.board.attempt import incomplete_reason
from allstop.core import commands, events, moves
from allstop.core import run as runs
from allstop.core.accounts import Roster
from allstop.core.asks import describe_with_options
from allstop.core.board_specs import target_in_words
from allstop.core.review_comments import in_words
from allstop.core.run import Pilot, RunState
from allstop.core.signals import Signal, SignalClaim, last_line_with_hint, without_signal_line
from allstop.core.text import counted, last_line, one_line, token_count
from allstop.views.accounts import event_lines
from allstop.views.model_calls import describe_call


class Line(NamedTuple):
    """One line of a log."""

    at: datetime
    mark: str
    text: str


def describe(move: moves.Move) -> str:  # noqa: C901 - one case for each kind of move
    match move:
        case moves.TakeTurn(agent=agent, compacts=tokens) if tokens:
            return f"{agent} compacts its conversation of {tokens:,} tokens"
        case moves.TakeTurn(agent=agent, in_copy=in_copy):
            return f"{agent} reviews the work" if in_copy else f"{agent} takes a turn"
        case moves.RunChecks(checks=(), held_out=held_out):
            return "runs held-out checks" if held_out else "examines the changes"
        case moves.RunChecks(checks=checks):
            return f"runs {', '.join(check.name for check in checks)}"
        case moves.OpenWorkspace(target=target):
            return f"opens a workspace from {target}"
        case moves.Commit(message=message):
            first_line = one_line(message.partition("\n")[0])
            return f"commits the work: {first_line}"
        case moves.Deliver(branch=branch):
            return f"delivers the work to {branch}"
        case moves.Integrate(workspace=workspace, target=target):
            return f"merges {workspace} with {target}"
        case moves.Revert(commit=commit, target=target):
            return f"reverts {commit[:10]} on {target}"
        case moves.Land(target=target, commit=commit):
            return f"moves {target} to {commit[:10]}"
        case moves.Survey(workspace=workspace, target=target):
            return f"lists the files of {workspace or target}"
        case moves.Discard(workspace=workspace):
            return f"removes the workspace {workspace}"
        case moves.MakeCheckpoint(checkpoint=name, target=target):
            return f"makes checkpoint {name} of {target}"
        case moves.EndSprint(sprint=sprint, reason=reason):
            return f"ends {sprint}: {reason}"
        case moves.Spawn(kind=kind, ref=ref):
            return f"starts {kind} {ref}"
        case moves.Wait(reason=reason):
            return f"waits: {reason}"
        case moves.Finish(outcome=outcome, note=note):
            return f"ends: {outcome}" + (f" ({note})" if note else "")


def describe_result(result: moves.Result) -> str:  # noqa: C901 - one case for each kind of result
    match result:
        case moves.TurnDone(compacted=moves.Compaction() as done, usage=usage):
            return f"{_shortened(done)}, {_used(usage)}".removesuffix(", ")
        case moves.TurnDone(text=text, claim=claim, usage=usage, change=change):
            parts = [_last_words(text, claim), _used(usage), _changed(change, claim)]
            return " · ".join(part for part in parts if part)
        case moves.ChecksDone():
            return gate_summary.summary(result)
        case moves.WorkspaceOpen(base=base, stashed=is_stashed, conflicts=conflicts):
            left = "; uncommitted changes are in its git stash" if is_stashed else ""
            clash = f"; conflicts in {one_line(', '.join(conflicts))}" if conflicts else ""
            return f"from commit {base[:10]}{left}{clash}"
        case moves.Committed(change=change):
            return f"the work is at {change.head[:10]}"
        case moves.Delivered(branch=branch, commit=commit):
            return f"{branch} is at {commit[:10]}"
        case moves.Integrated(commit=commit, tip=tip):
            return f"merged as {commit[:10]} onto {tip[:10]}"
        case moves.Landed(commit=commit):
            return f"landed as {commit[:10]}"
        case moves.Surveyed(commit=commit, paths=paths, more=more):
            return f"{counted(len(paths) + more, 'file')} at {commit[:10]}"
        case moves.Discarded():
            return "nothing of it is kept"
        case moves.CheckpointMade(checkpoint=name, commit=commit):
            return f"checkpoint {name} is at {commit[:10]}"
        case moves.SprintEnded(sprint=sprint):
            return f"{sprint} has ended"
        case moves.Spawned(run=run):
            return f"started {run}"
        case moves.Failed(kind=kind, message=message):
            about = f": {one_line(message, 300)}" if message else ""
            return f"{kind.value.replace('_', ' ')}{about}"


def _last_words(text: str, claim: SignalClaim) -> str:
    """Return the signal, if there is one, and the last line of the text."""
    if claim.signal is Signal.NONE:
        return last_line_with_hint(text) or "(no text)"
    before = last_line(without_signal_line(text))
    signal = f"{claim.signal.upper()}" + (f": {one_line(claim.text)}" if claim.text else "")
    return f"{signal} · {before}" if before else signal


def _shortened(done: moves.Compaction) -> str:
    after = (
        f"about {done.after:,}" if done.summary else f"{done.after:,}" if done.after else "fewer"
    )
    return f"the conversation has {after} tokens instead of {done.before:,}"


def _used(usage: moves.Usage) -> str:
    return token_count(usage.tokens, partial=usage.partial) if usage.tokens else ""


def _changed(change: moves.Change | None, claim: SignalClaim) -> str:
    if change is None:
        return ""
    if claim.signal is Signal.COMPLETE and (why := incomplete_reason(change)):
        return f"but {why}"
    if not change.commits:
        return ""
    return f"{counted(change.commits, 'commit')}, {counted(change.files, 'file')} changed"


def lines(event: events.Event) -> list[Line]:  # noqa: C901 - one case for each kind of event
    """Return the log lines of an event."""
    at = event.at
    match event:
        case events.Opened(kind=kind, title=title):
            return [Line(at, "●", f"{kind} opened" + (f": {one_line(title)}" if title else ""))]
        case events.MoveStarted(move=move):
            return [Line(at, "▶", describe(move))]
        case events.ThreadOpened(thread=thread):
            return [Line(at, " ", f"conversation {one_line(thread)}")]
        case events.CallReserved():
            return []  # the call has a line of its own when it has ended
        case events.Noted(items=items):
            return [
                Line(at, " ", f"{one_line(item.kind)}: {one_line(item.text, 200)}")
                for item in items
            ]
        case events.Reached():
            return [Line(at, "→", "the agent received the message during its turn")]
        case events.Asked(ask=ask):
            return [Line(at, "?", f"asks: {one_line(describe_with_options(ask), 200)}")]
        case events.MoveEnded(result=result):
            notes = (
                result.notes
                if isinstance(result, moves.WorkspaceOpen | moves.ChecksDone | moves.Failed)
                else ()
            )
            return [
                *_call_lines(at, result),
                Line(at, _mark(result), describe_result(result)),
                *(Line(at, " ", f"warning: {one_line(note, 300)}") for note in notes),
            ]
        case events.Commanded(by=by):
            return [Line(at, "!", f"{by}: {_describe_command(event)}")]
        case events.ChildClosed(run=run, outcome=outcome, note=note):
            return [
                Line(at, "◆", f"{run} ended: {outcome}" + (f" ({one_line(note)})" if note else ""))
            ]
        case events.ChildWaited(run=run, reason=reason):
            return [Line(at, "?", f"{run} waits: {one_line(reason)}")]
        case events.ChildRested(run=run, reason=reason, until=until):
            return [Line(at, "?", f"{run} waits: {with_time(one_line(reason), until, at)}")]
        case events.ChildWentOn(run=run):
            return [Line(at, "▶", f"{run} continues")]
        case events.Waited(reason=reason):
            return [Line(at, "?", f"waits: {one_line(reason, 300)}")]
        case events.Rested(reason=reason, until=until):
            return [Line(at, "?", f"waits: {with_time(one_line(reason, 300), until, at)}")]
        case events.Stopped():
            return [Line(at, "■", "allstop")]
        case events.Closed(outcome=outcome, note=note):
            return [
                Line(at, "■", f"ended: {outcome}" + (f" ({one_line(note, 300)})" if note else ""))
            ]
        case events.Halted():
            return [Line(at, "■", receipt(event))]
        case events.AccountHeld() | events.AccountReleased() | events.WindowsSeen():
            return [Line(at, mark, text) for mark, text in event_lines(event)]


def _call_lines(at: datetime, result: moves.Result) -> list[Line]:
    call = result.call if isinstance(result, moves.Billable) else None
    return [Line(at, " ", f"model call: {describe_call(call)}")] if call else []


def _mark(result: moves.Result) -> str:
    match result:
        case moves.Failed(kind=moves.FailureKind.MOVED):
            return "→"  # not a failure: the move is repeated
        case moves.ChecksDone(passed=False) | moves.Failed():
            return "✗"
        case _:
            return "✓"


def _describe_command(event: events.Commanded) -> str:  # noqa: C901 - one case for each kind
    match event.command:
        case commands.Say() as message:
            return one_line(message.words, 200)
        case commands.Answer(text=text):
            return one_line(text, 200)
        case (commands.Redo() | commands.Retry()) as again if again.remarks:
            return f"{_plain_name(again)}: {one_line(in_words(again.text, again.remarks), 200)}"
        case commands.Permit() as permit:
            return _permitted(permit)
        case commands.Equip() | commands.Raise() | commands.RecordForecast():
            return _OF_BOARD[type(event.command)]
        case commands.StartSession(session=session):
            return f"{session.mode} with {', '.join(session.agents)}: {one_line(session.goal, 200)}"
        case commands.StartSprint(sprint=sprint):
            return f"starts a sprint: {target_in_words(sprint.target)}"
        case commands.PauseSprint():
            return "pauses the sprint"
        case commands.ResumeSprint():
            return "resumes the sprint"
        case commands.CancelSprint():
            return "cancels the sprint"
        case commands.AddTasks(tasks=tasks):
            return f"adds {one_line(', '.join(task.id for task in tasks))}"
        case commands.Order(tasks=tasks):
            return f"orders {one_line(', '.join(tasks))}"
        case command:
            return _plain_name(command)


_OF_BOARD: dict[type[commands.Command], str] = {
    commands.Equip: "applies the settings",
    commands.Raise: "raises the limits",
    commands.RecordForecast: "records a forecast",
}


def _plain_name(command: commands.Command) -> str:
    about = getattr(command, "task", "")
    return type(command).__name__.lower() + (f" {one_line(about)}" if about else "")


def _permitted(permit: commands.Permit) -> str:
    verb = "allows" if permit.allow else "denies"
    if permit.answers:
        verb = "answers"
    more = one_line("; ".join(permit.answers) or permit.message, 200)
    again = " for the session" if permit.session else ""
    return f"{verb} {one_line(permit.ask)}{again}" + (f": {more}" if more else "")


def receipt(halted: events.Halted) -> str:
    killed = counted(len(halted.killed), "process tree")
    lost = counted(len(halted.discarded), "turn")
    silent = f"; no answer from {', '.join(halted.unanswered)}" if halted.unanswered else ""
    took = f"stopped in {halted.took_ms:.0f} ms by {halted.by}"
    return f"{took}: {killed} killed, {lost} discarded{silent}"


def with_time(reason: str, until: datetime | None, now: datetime) -> str:
    """Add the machine's local time at which the wait ends, or the seconds of a short wait."""
    if until is None:
        return reason
    seconds = (until - now).total_seconds()
    if 0 < seconds < 60:
        return f"{reason}, for {seconds:.0f} s"
    return f"{reason}, until {local_time(until, now)}"


def local_time(at: datetime, now: datetime) -> str:
    """A time in the machine's zone, with its date unless that is today."""
    local, today = at.astimezone(), now.astimezone().date()
    return f"{local:{'%H:%M' if local.date() == today else '%Y-%m-%d %H:%M'}}"


def switch_lines(before: Roster | None, after: Roster) -> list[Line]:
    """The line of a switch to another agent, with its reason."""
    if before is None or after.switches is before.switches:
        return []
    switch = after.switches[-1]
    why = switch.reason.replace("_", " ")
    return [Line(switch.at, "◇", f"{switch.after} replaces {switch.before}: {why}")]


def state_after_stop(pilot: Pilot[Any], state: RunState[Any], now: datetime) -> str:
    """Describe a run's state after an allstop, and its next move when that is lifted."""
    if state.closed is not None:
        return state.closed.outcome.value
    if state.open_move is not None:
        return f"stopped during a move: {describe(state.open_move.move)}"
    return f"stopped; next: {describe(runs.expected_move(pilot, state, now))}"
