"""Alerts: which events a person is notified of at once, and the text for each."""

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from allstop.board.attempt import TaskState
from allstop.board.graph import Board
from allstop.board.sprint_states import Phase
from allstop.board.state import BoardState
from allstop.core import brakes, events
from allstop.core import run as runs
from allstop.core.asks import Ask, describe_ask
from allstop.core.board_specs import BoardSpec, ReviewMode, target_in_words
from allstop.core.brakes import SOFT_SHARE, BrakeLevel
from allstop.core.commands import CancelSprint, Raise, ResumeSprint, StartSprint
from allstop.core.helm import Helm
from allstop.core.ids import BOARD, RunId, label_of
from allstop.core.moves import (
    LIMITED,
    EndSprint,
    Failed,
    FailureKind,
    Outcome,
    TakeTurn,
    TurnDone,
    Wait,
)
from allstop.core.room_specs import Ending, TalkMode
from allstop.core.run import NO_HOLD, RunState
from allstop.core.tasks import OVER, Status, Task
from allstop.core.text import one_line
from allstop.rooms.session import Summary, closing_text
from allstop.views.kind import Kind
from allstop.views.log import receipt
from allstop.views.sprints import all_sprints, stats_of, summary

MAX_TEXT_CHARS = 500
"""The maximum length of an alert's text, which is shown in a corner of the screen."""

UNCUT = 1_000_000

BATCH = ReviewMode.BATCH

MIN_WAIT = timedelta(minutes=1)
"""Shorter waits for a provider's limit cause no alert."""


class Level(StrEnum):
    INFO = "info"
    NEEDS_YOU = "needs_you"
    ERROR = "error"
    DONE = "done"
    STOPPED = "stopped"


class Alert(Struct, frozen=True, kw_only=True):
    level: Level
    title: str
    text: str = ""
    run: RunId
    at: datetime


class Topic(StrEnum):
    """Subjects of which one alert is sent until the state changes."""

    BUDGET = "budget"
    LIMITED = "limited"
    REST = "rest"
    BILLING = "billing"
    STUCK = "stuck"
    SPRINT = "sprint"


class Grant(Struct, frozen=True):
    """A board's money limit, and the money it had used when the limit was set."""

    most: int | None
    used: int


class SentAlerts(Struct, frozen=True):
    """The alerts that were sent and must not be repeated."""

    topics: frozenset[tuple[RunId, Topic]] = frozenset()
    sessions: frozenset[str] = frozenset()
    grants: dict[RunId, Grant] = {}


class EventContext(NamedTuple):
    """The state of a run that an event examined; later events may already be included."""

    run: RunId
    state: RunState[Any] | None = None
    kind: Kind | None = None
    helm: Helm = NO_HOLD
    board: Board | None = None
    is_braked: bool = False  # the board stopped after tasks that failed in a row


def alerts_for(
    sent: SentAlerts, event: events.Event, context: EventContext
) -> tuple[SentAlerts, list[Alert]]:
    """Return the alerts for an event, and the updated record of sent alerts."""
    sent = _record_grant(_expire(sent, event, context), event, context)
    alerts = _event_alerts(event, context)
    for topic, alert in _state_alerts(event, context, sent.grants.get(context.run)):
        if (context.run, topic) not in sent.topics:
            sent = replace(sent, topics=sent.topics | {(context.run, topic)})
            alerts.append(alert)
    summary = _ended_session(event, context)
    if summary is not None and f"{context.run} {summary.session}" not in sent.sessions:
        sent = replace(sent, sessions=sent.sessions | {f"{context.run} {summary.session}"})
        alerts += _session_alerts(summary, event, context)
    return sent, alerts


def _expire(sent: SentAlerts, event: events.Event, context: EventContext) -> SentAlerts:
    run = context.run
    match event:
        case events.MoveEnded(result=result):
            past = {(run, Topic.LIMITED)} if isinstance(result, TurnDone) else set()
            if not _warning(context):
                past.add((run, Topic.STUCK))
        case events.MoveStarted():
            past = {(run, Topic.REST)}
        case events.Commanded(command=Raise()):
            past = {(run, Topic.REST), (run, Topic.BUDGET)}
        case events.Commanded():
            past = {(run, Topic.REST), (run, Topic.BILLING), (run, Topic.SPRINT)}
        case _:
            return sent
    return replace(sent, topics=sent.topics - past) if sent.topics & past else sent


def _record_grant(sent: SentAlerts, event: events.Event, context: EventContext) -> SentAlerts:
    """Note a board's money limit: each `allstop run` sets it on top of the money already used."""
    if context.state is None or context.board is None or not isinstance(event, events.MoveStarted):
        return sent
    grant, most = sent.grants.get(context.run), context.state.limits.cost_microusd
    if grant is not None and grant.most == most:
        return sent
    grant = Grant(most, context.state.tally.cost_microusd)
    return replace(sent, grants={**sent.grants, context.run: grant})


def _alert(level: Level, title: str, text: str, event: events.Event, run: RunId) -> Alert:
    return Alert(level=level, title=title, text=text, run=run, at=event.at)


def presentable(alert: Alert, where: str, clean: Callable[[str], str]) -> Alert:
    """Return an alert for display: plain, short, and with secrets removed by `clean`.

    Secrets are removed before the text is cut, so that no part of one remains.
    """
    title = f"{where}: {alert.title}" if where else alert.title
    title, text = (clean(one_line(each, UNCUT)) for each in (title, alert.text))
    return replace(alert, title=one_line(title), text=one_line(text, MAX_TEXT_CHARS))


def error_alert(run: RunId, text: str, at: datetime) -> Alert:
    """Alert of an error that no event records."""
    title = f"{label_of(run)} has a problem"
    return Alert(level=Level.ERROR, title=title, text=text, run=run, at=at)


def near_limit(run: RunId, text: str, at: datetime) -> Alert:
    """Alert of the budget that all runs share."""
    title = "Today's budget is nearly used up"
    return Alert(level=Level.INFO, title=title, text=text, run=run, at=at)


def _warning(context: EventContext) -> str:
    if context.state is None or context.kind is None or context.state.closed is not None:
        return ""
    return context.kind.warning(context.state)


# --- by event ---


def _event_alerts(event: events.Event, context: EventContext) -> list[Alert]:
    run = context.run
    match event:
        case events.Asked(ask=ask):
            title = f"{label_of(run)} asks {_request_kind(ask)}"
            return [_alert(Level.NEEDS_YOU, title, describe_ask(ask), event, run)]
        case events.ChildWaited(run=child, reason=reason):
            title = f"{label_of(child)} waits for you"
            return [_alert(Level.NEEDS_YOU, title, reason, event, child)]
        case events.ChildClosed() if context.board is not None:
            return _task_alerts(event, context.board.get(label_of(event.run)), context)
        case events.Closed() if "/" not in run:
            return _run_alerts(event, context)
        case events.Commanded() | events.MoveStarted() if context.board is not None:
            return _sprint_alerts(event, context)
        case events.Halted():
            return [_alert(Level.STOPPED, "Allstop", receipt(event), event, run)]
        case _:
            return []


def _request_kind(ask: Ask) -> str:
    match ask.kind:
        case "question":
            return "a question"
        case "edit":
            return "to change files"
        case _:
            return "to run a command"


_ENDED = {
    Outcome.FAILED: "failed",
    Outcome.TIMED_OUT: "ran out of time",
    Outcome.BRAKED: "reached a limit",
    Outcome.CRASHED: "crashed",
}


def _task_alerts(
    closed: events.ChildClosed, task: Task | None, context: EventContext
) -> list[Alert]:
    """Alert of a task that ended, unless it continues by itself or a person ended it."""
    if task is None or closed.outcome is Outcome.ABORTED:
        return []
    about = f"{task.title}: {closed.note}" if closed.note else task.title
    match task.status:
        case Status.REVIEW if _is_collected(task, context):
            return []
        case Status.REVIEW:
            level, title = Level.NEEDS_YOU, f"{task.id} waits for your review"
        case Status.WAITING:
            level, title = Level.NEEDS_YOU, f"{task.id} waits for you"
        case Status.BLOCKED:
            level, title = Level.NEEDS_YOU, f"{task.id} is blocked"
        case _ if closed.outcome in _ENDED:
            level, title = Level.ERROR, f"{task.id} {_ENDED[closed.outcome]}"
        case _:
            return []
    return [_alert(level, title, about, closed, closed.run)]


def _is_collected(task: Task, context: EventContext) -> bool:
    """Whether its review belongs to a batch, which gets one alert when no task runs."""
    if context.state is None:
        return False
    mode, sprint = context.state.pilot.spec.review_of(task.tags), context.state.pilot.sprint
    if sprint is not None and task.id in sprint.finished:
        mode = sprint.review_of(mode)
    return mode is BATCH


def _sprint_alerts(
    event: events.Commanded | events.MoveStarted, context: EventContext
) -> list[Alert]:
    """Alert of the start and the end of a sprint: the actions of document 003."""
    assert context.state is not None, "a board has a state"
    state: BoardState = context.state.pilot
    match event:
        case events.Commanded(command=StartSprint(sprint=spec)):
            started = [each for each in all_sprints(state) if each.started_at == event.at]
            about = target_in_words(spec.target)
            titles = [(Level.INFO, f"{each.id} has started", about) for each in started]
        case events.Commanded(command=ResumeSprint()) if state.sprint is not None:
            titles = [(Level.INFO, f"{state.sprint.id} continues", "")]
        case events.Commanded(command=CancelSprint()) | events.MoveStarted(move=EndSprint()):
            ended = [each for each in state.sprints if each.ended_at == event.at]
            titles = [
                (Level.DONE, f"{each.id} has ended: {each.reason}", summary(stats_of(each)))
                for each in ended
            ]
        case _:
            return []
    return [_alert(level, title, text, event, BOARD) for level, title, text in titles]


def _paused_sprint_alert(event: events.Event, context: EventContext) -> Alert | None:
    """Alert of a sprint that has paused by itself; a person's own pause is a command."""
    sprint = context.state.pilot.sprint if context.state and context.board is not None else None
    if sprint is None or sprint.phase is not Phase.PAUSED:
        return None
    return _alert(Level.NEEDS_YOU, f"{sprint.id} is paused", sprint.note, event, BOARD)


def _run_alerts(closed: events.Closed, context: EventContext) -> list[Alert]:
    run, title = context.run, context.state.opened.title if context.state else ""
    about = ": ".join(filter(None, [title, closed.note]))
    match closed.outcome:
        case Outcome.DONE:
            return [_alert(Level.DONE, f"{run} is done", about, closed, run)]
        case Outcome.BLOCKED | Outcome.CONFLICT as outcome:
            return [_alert(Level.NEEDS_YOU, f"{run} ended: {outcome}", about, closed, run)]
        case Outcome.ABORTED:
            return []
        case outcome:
            return [_alert(Level.ERROR, f"{run} {_ENDED[outcome]}", about, closed, run)]


# --- by state ---


def _state_alerts(
    event: events.Event, context: EventContext, grant: Grant | None
) -> list[tuple[Topic, Alert]]:
    if context.state is None:
        return []
    if isinstance(event, events.Opened) and context.board is None:  # it may wait from the start
        waits = _waiting_alert(event, context.state, context)
        return [(Topic.REST, waits)] if waits else []
    if not isinstance(event, events.MoveEnded | events.ChildClosed):
        return []
    found = {
        Topic.BUDGET: _budget_alert(event, context.state, context.run, grant),
        Topic.LIMITED: _limit_alert(event, context),
        Topic.BILLING: _billing_alert(event, context),
        Topic.REST: _waiting_alert(event, context.state, context),
        Topic.STUCK: _stuck_alert(event, context.state, context),
        Topic.SPRINT: _paused_sprint_alert(event, context),
    }
    return [(topic, alert) for topic, alert in found.items() if alert is not None]


def _budget_alert(
    event: events.Event, state: RunState[Any], run: RunId, grant: Grant | None
) -> Alert | None:
    if state.limits.cost_microusd is None:
        verdict = brakes.check(state.limits, state.tally, state.opened.at, event.at)
        if verdict.level is not BrakeLevel.SOFT:
            return None
        return _alert(Level.INFO, f"{label_of(run)} is near a limit", verdict.reason, event, run)
    before = grant.used if grant else 0
    most, used = state.limits.cost_microusd - before, state.tally.cost_microusd - before
    if most <= 0 or not SOFT_SHARE <= used / most < 1:
        return None
    title = f"{label_of(run)} has used {100 * used // most} % of its budget"
    return _alert(Level.INFO, title, f"${used / 1e6:.2f} of ${most / 1e6:.2f}", event, run)


def _limit_alert(event: events.Event, context: EventContext) -> Alert | None:
    """Alert of a wait for the end of a provider's limit."""
    if not isinstance(event, events.MoveEnded) or not isinstance(event.result, Failed):
        return None
    move = _expected_wait(event, context)
    if event.result.kind not in LIMITED or move is None or move.until is None:
        return None
    if move.until - event.at < MIN_WAIT:
        return None
    text = f"It continues by itself at {move.until.astimezone():%H:%M}."
    title = f"{label_of(context.run)}: {move.reason}"
    return _alert(Level.INFO, title, text, event, context.run)


def _billing_alert(event: events.Event, context: EventContext) -> Alert | None:
    """Alert of an account without credit while another agent continues: only a person can pay."""
    state = context.state
    is_billing = (
        isinstance(event, events.MoveEnded)
        and isinstance(event.result, Failed)
        and event.result.kind is FailureKind.BILLING
    )
    if not is_billing or state is None or context.kind is None or state.closed is not None:
        return None
    following = runs.expected_move(context.kind.pilot, state, event.at, context.helm)
    if state.open_move is None and not isinstance(following, TakeTurn):
        return None
    assert isinstance(event, events.MoveEnded), "a turn ended"
    assert isinstance(event.result, Failed), "it failed"
    title = f"{label_of(context.run)}: an account has no credit"
    text = f"{event.result.message} Another agent continues."
    return _alert(Level.NEEDS_YOU, title, text, event, context.run)


def _stuck_alert(event: events.Event, state: RunState[Any], context: EventContext) -> Alert | None:
    """Alert of a run that makes no progress; it continues, because it may be thinking."""
    warning = _warning(context)
    waits = isinstance(state.pilot, TaskState) and state.pilot.spec.stuck_waits
    if not warning or waits:  # a wait has an alert of its own
        return None
    title = f"{label_of(context.run)}: {warning}"
    return _alert(Level.INFO, title, f"It continues. {state.opened.title}", event, context.run)


def _waiting_alert(
    event: events.Event, state: RunState[Any], context: EventContext
) -> Alert | None:
    """Alert of a top-level run that waits for a person; child runs have an event for it."""
    if "/" in context.run:
        return None
    if context.board is not None:
        return _board_waiting_alert(event, state, context, context.board)
    move = _expected_wait(event, context)
    if move is None or not move.for_person:
        return None
    title = f"{context.run} waits for you"
    return _alert(Level.NEEDS_YOU, title, move.reason, event, context.run)


def _board_waiting_alert(
    event: events.Event, state: RunState[Any], context: EventContext, board: Board
) -> Alert | None:
    """Alert of a board that is complete or waits; single tasks have their own alerts."""
    left = {status: count for status, count in board.counts.items() if count}
    if left and all(status in OVER for status in left):
        counts = ", ".join(f"{count} {status}" for status, count in left.items())
        return _alert(Level.DONE, "The board is complete", counts, event, BOARD)
    move = _expected_wait(event, context)
    if move is None:
        return None
    if move.for_person and (context.is_braked or _at_limit(event, state)):
        return _alert(Level.NEEDS_YOU, "The board waits for you", move.reason, event, BOARD)
    return _batch_review_alert(event, state.pilot.spec, board)


def _batch_review_alert(event: events.Event, spec: BoardSpec, board: Board) -> Alert | None:
    """Alert of a batch of reviews after the last attempt has ended."""
    modes = {spec.review, *(rule.mode for rule in spec.review_rules)}
    count = board.count(Status.REVIEW)
    if not count or BATCH not in modes or not _was_last(event, board):
        return None
    title = "1 task waits for your review" if count == 1 else f"{count} tasks wait for your review"
    return _alert(Level.NEEDS_YOU, title, "No other task is running.", event, BOARD)


def _was_last(event: events.Event, board: Board) -> bool:
    """Whether the event ends an attempt at a task, not a merge, and no other task is active."""
    if not isinstance(event, events.ChildClosed) or board.count(Status.ACTIVE):
        return False
    task = board.get(label_of(event.run))
    return task is not None and bool(task.attempts) and task.attempts[-1].run == event.run


def _at_limit(event: events.Event, state: RunState[Any]) -> bool:
    verdict = brakes.check(state.limits, state.tally, state.opened.at, event.at)
    return (
        verdict.level is BrakeLevel.HARD
        or bool(state.limit_reached)
        or runs.waits_for_budget(state, event.at)
    )


def _expected_wait(event: events.Event, context: EventContext) -> Wait | None:
    state, kind = context.state, context.kind
    if state is None or kind is None or state.open_move is not None:
        return None
    move = runs.expected_move(kind.pilot, state, event.at, context.helm)
    return move if isinstance(move, Wait) else None


# --- sessions of rooms ---


def _ended_session(event: events.Event, context: EventContext) -> Summary | None:
    if context.state is None or context.kind is None or not isinstance(event, events.MoveEnded):
        return None
    return context.kind.last_session(context.state)


def _session_alerts(summary: Summary, event: events.Event, context: EventContext) -> list[Alert]:
    text = f"{closing_text(summary)} Goal: {summary.goal}"
    match summary.reason:
        case Ending.FINAL | Ending.NO_HANDOFF | Ending.CAP_REACHED:
            if summary.mode is TalkMode.SINGLE:
                return []  # the person who asked is present
            return [_alert(Level.DONE, "The session is over", text, event, context.run)]
        case Ending.EMERGENCY_CAP:
            return [_alert(Level.STOPPED, "A limit ended the session", text, event, context.run)]
        case Ending.AGENT_FAILED | Ending.MALFORMED:
            return [_alert(Level.ERROR, "The session failed", text, event, context.run)]
        case Ending.STOPPED_BY_USER | Ending.CANCELED_BY_USER | Ending.INTERRUPTED:
            return []
