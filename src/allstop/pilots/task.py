"""One task: turns in a workspace of its own until the agent says done and the checks agree."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from allstop.core import prompts, roster
from allstop.core.commands import Answer, Retry, Say
from allstop.core.events import Commanded, Event, MoveEnded, MoveStarted, ThreadOpened
from allstop.core.ids import AgentName
from allstop.core.moves import (
    LIMITED,
    OURS,
    Change,
    Check,
    ChecksDone,
    Deliver,
    Delivered,
    Failed,
    FailureKind,
    Finish,
    Move,
    OpenWorkspace,
    Outcome,
    RunChecks,
    TakeTurn,
    TurnDone,
    Wait,
    WorkspaceOpen,
    prompt,
)
from allstop.core.plain import one_line
from allstop.core.replies import NOTHING_SAID, Said, Signal, read_signal
from allstop.core.retries import Backoff
from allstop.core.roster import Roster
from allstop.core.run import Brief

AGAIN = frozenset({FailureKind.NETWORK, FailureKind.CRASHED, FailureKind.STALLED})
"""Worth another try after a while."""

LIMIT_WAITS = Backoff(first_s=5.0, factor=3.0, retries=3)
"""How long a limited agent is left alone when it doesn't say."""


class TaskSpec(Struct, frozen=True, gc=False, kw_only=True):
    task: str
    goal: str
    agents: tuple[AgentName, ...]  # the first choice, then what to fall back on
    target: str | None = None  # the branch to start from; None means no workspace
    branch: str = ""  # where the work is brought; "" keeps it in the workspace
    checks: tuple[Check, ...] = ()
    done: Literal["signal", "exit"] = "signal"
    iterations: int = 50
    turn_s: float = 1800.0
    idle_s: float = 600.0
    max_tokens: int | None = None
    backoff: Backoff = Backoff()


class TaskState(Struct, frozen=True, gc=False, kw_only=True):
    spec: TaskSpec
    roster: Roster
    base: str = ""
    agent: AgentName = AgentName("")  # who had the last turn
    thread: str | None = None
    change: Change | None = None
    iteration: int = 0
    said: Said = NOTHING_SAID
    news: str = ""  # what the next prompt adds to the goal
    told: tuple[str, ...] = ()  # by people, and not yet answered by a whole turn
    hears: int = 0  # how many of these the turn that is under way was told
    failures: int = 0
    limits: int = 0
    wait_until: datetime | None = None
    checked: bool = False
    delivered: bool = False
    end: Outcome | None = None
    note: str = ""


class TaskPilot:
    kind = "task"

    def begin(self, spec: dict[str, object]) -> TaskState:
        task = msgspec.convert(spec, TaskSpec)
        return TaskState(spec=task, roster=Roster(agents=task.agents))

    def evolve(self, state: TaskState, event: Event) -> TaskState:
        match event:
            case MoveStarted(move=TakeTurn(agent=agent)):
                return replace(state, agent=agent, wait_until=None, hears=len(state.told))
            case ThreadOpened(thread=thread):
                return replace(state, thread=thread)
            case MoveEnded(result=result, at=at):
                return _came_back(state, result, at)
            case Commanded(command=Say(text=text)):
                return replace(state, told=(*state.told, text))
            case Commanded(command=Answer(text=text)) if state.said.signal is Signal.PENDING:
                news = prompts.answered(state.said.text, text)
                return replace(state, said=NOTHING_SAID, news=news)
            case Commanded(command=Retry()):
                return replace(state, wait_until=None, failures=0)
            case _:
                return state

    def next_move(self, state: TaskState, brief: Brief) -> Move:
        spec = state.spec
        if state.end is not None:
            return Finish(outcome=state.end, note=state.note)
        if state.wait_until is not None and brief.now < state.wait_until:
            return Wait(reason="tries again later", until=state.wait_until)
        if spec.target is not None and not state.base:
            return OpenWorkspace(workspace=spec.task, target=spec.target)
        if state.said.signal is Signal.PENDING:
            return Wait(reason=f"asks: {state.said.text}", for_person=True)
        if state.said.signal is Signal.COMPLETE:
            return _completing(state)
        if state.iteration >= spec.iterations:
            note = f"not done after {spec.iterations} turns"
            return Finish(outcome=Outcome.TIMED_OUT, note=note)
        return _turn(state, brief)


def _completing(state: TaskState) -> Move:
    spec = state.spec
    if spec.checks and not state.checked:
        return RunChecks(checks=spec.checks, workspace=spec.task)
    if spec.branch and not state.delivered:
        return Deliver(workspace=spec.task, branch=spec.branch)
    return Finish(outcome=Outcome.DONE)


def _turn(state: TaskState, brief: Brief) -> Move:
    spec = state.spec
    agent = roster.pick(state.roster, brief.now)
    if isinstance(agent, datetime):
        return Wait(reason="every agent is at its limit", until=agent)
    news = "\n\n".join(filter(None, [state.news, *map(prompts.told, state.told)]))
    text = prompts.again(spec.goal, news) if news else prompts.first(spec.goal)
    return TakeTurn(
        agent=agent,
        prompt=prompt(text),
        thread=state.thread if agent == state.agent else None,
        workspace=spec.task if spec.target is not None else None,
        timeout_s=spec.turn_s,
        idle_s=spec.idle_s,
        max_tokens=spec.max_tokens,
    )


def _came_back(state: TaskState, result: object, at: datetime) -> TaskState:
    match result:
        case WorkspaceOpen(base=base):
            return replace(state, base=base)
        case TurnDone():
            return _spoke(state, result)
        case ChecksDone(failed=()):
            return replace(state, checked=True)
        case ChecksDone(failed=failed):
            return replace(state, said=NOTHING_SAID, news=prompts.failed_checks(failed))
        case Delivered():
            return replace(state, delivered=True)
        case Failed():
            return _failed(state, result, at)
        case _:
            return state


def _spoke(state: TaskState, turn: TurnDone) -> TaskState:
    state = replace(
        state,
        thread=turn.thread or state.thread,
        change=turn.change or state.change,
        iteration=state.iteration + 1,
        said=_signal(state.spec, turn),
        news="",
        told=state.told[state.hears :],
        hears=0,
        failures=0,
        limits=0,
        checked=False,
    )
    match state.said.signal:
        case Signal.BLOCKED:
            return replace(state, end=Outcome.BLOCKED, note=state.said.text)
        case Signal.COMPLETE if state.spec.target is not None and not _has_work(state.change):
            return replace(state, said=NOTHING_SAID, news=prompts.NO_CHANGE)
        case Signal.NONE | Signal.PROGRESS:
            return replace(state, news=prompts.NO_SIGNAL)
        case _:
            return state


def _signal(spec: TaskSpec, turn: TurnDone) -> Said:
    said = read_signal(turn.text)
    if spec.done == "exit" and said.signal is Signal.NONE and _has_work(turn.change):
        return Said(signal=Signal.COMPLETE)
    return said


def _has_work(change: Change | None) -> bool:
    return change is not None and change.files > 0


def _failed(state: TaskState, failed: Failed, at: datetime) -> TaskState:
    if failed.kind in OURS:
        return replace(state, base="")  # what was cut off may have left locks: take it up anew
    if failed.kind is FailureKind.OUT_OF_BUDGET:
        return state
    if failed.kind in LIMITED:
        wait = LIMIT_WAITS.delay(state.limits + 1, state.spec.task)
        told = failed.retry_at if failed.retry_at and failed.retry_at > at else at + wait
        held = roster.hold(state.roster, state.agent, told)
        return replace(state, roster=held, limits=state.limits + 1)
    if failed.kind in AGAIN and state.failures < state.spec.backoff.retries:
        attempt = state.failures + 1
        delay: timedelta = state.spec.backoff.delay(attempt, state.spec.task)
        return replace(state, failures=attempt, wait_until=at + delay)
    outcome = Outcome.TIMED_OUT if failed.kind is FailureKind.TIMED_OUT else Outcome.FAILED
    return replace(state, end=outcome, note=f"{failed.kind}: {one_line(failed.message, 300)}")
