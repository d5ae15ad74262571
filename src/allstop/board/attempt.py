"""How an attempt at a task stands, and how much of its time is left."""

from __future__ import annotations

import math
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from allstop.board import remedies
from allstop.core import brakes
from allstop.core.board_specs import EarlierAttempts, TaskSpec
from allstop.core.events import ChildClosed, MoveEnded
from allstop.core.fallback import Roster
from allstop.core.gate import Gate
from allstop.core.ids import AgentName
from allstop.core.moves import Change, Failed, FailureKind, Finding, Finish, Integrated, Outcome
from allstop.core.retries import NO_STREAK, LimitStreak
from allstop.core.signals import NO_CLAIM, SignalClaim
from allstop.core.tasks import Task
from allstop.core.text import counted, one_line

QUICK = 3
"""Work that took no more iterations needs less of a look."""


class TaskState(Struct, frozen=True, gc=False, kw_only=True):
    spec: TaskSpec
    roster: Roster
    base: str = ""
    gate: Gate | None = None  # the target's, when the workspace was last opened
    agent: AgentName = AgentName("")  # who had the last turn
    thread: str | None = None
    change: Change | None = None
    iteration: int = 0
    said: SignalClaim = NO_CLAIM
    news: str = ""  # what the next prompt adds to the goal
    told: tuple[str, ...] = ()  # by people, and not yet answered by a whole turn
    hears: int = 0  # how many of these the turn that is under way was told
    failures: int = 0
    standstill: LimitStreak = NO_STREAK
    wait_until: datetime | None = None
    checked: bool = False
    unable: bool = False  # the last gate had a check in it that could not be run at all
    tree: str = ""  # what passed the checks
    findings: tuple[Finding, ...] = ()
    delivered: bool = False
    asked: bool = False  # it once needed a person
    still: int = 0  # iterations since its last commit
    rebuff: str = ""  # why its last COMPLETE did not count
    rebuffs: int = 0  # how often that was so in a row
    progress: str = ""  # how far it says it is
    began: datetime | None = None  # the move that is under way
    busy_s: float = 0.0
    stash: bool = False  # a stop left something uncommitted
    onto: str = ""  # a commit of the target, to bring in
    behind: bool = False  # the target's tip is not in its history
    joined: Integrated | Failed | None = None  # merged with that tip, or why it can't be
    given: str = ""  # a commit of a person's, to bring in
    end: Outcome | None = None
    note: str = ""
    failure: FailureKind | None = None  # what led to its end

    @property
    def is_stuck(self) -> bool:
        """It may be thinking; a person should know."""
        return 0 < self.spec.stuck_after <= max(self.still, self.rebuffs)

    @property
    def warning(self) -> str:
        if not self.is_stuck:
            return ""
        if self.still < self.spec.stuck_after:
            return f"it said COMPLETE {self.rebuffs} times, but {self.rebuff}"
        return f"no commit for {counted(self.still, 'iteration')}"

    @property
    def held_to(self) -> Gate:
        """The gate that its work must pass."""
        return self.targets_gate or self.spec.gate

    @property
    def targets_gate(self) -> Gate | None:
        """As it was when the work was last merged with the target's tip, or opened."""
        joined = self.joined.gate if isinstance(self.joined, Integrated) else None
        return joined or self.gate


def ended(task: Task, closed: ChildClosed) -> Task:
    """The task, once the attempt that was under way is over."""
    attempt = replace(
        task.attempts[-1],
        ended_at=closed.at,
        outcome=closed.outcome,
        note=closed.note,
        failure=remedies.failure_in(closed),
        tally=closed.tally,
        flawed=_is_flawed(closed),
    )
    return replace(
        task,
        open="",
        attempts=(*task.attempts[:-1], attempt),
        given="" if closed.tally.turns else task.given,
        note=closed.note,
        changed_at=closed.at,
    )


def _is_flawed(closed: ChildClosed) -> bool:
    """What was ended from outside after a turn did not come to say whether it was."""
    match closed.outcome:
        case Outcome.DONE:
            return closed.facts.get("clean") != "yes"
        case Outcome.BLOCKED:
            return True
        case Outcome.ABORTED | Outcome.BRAKED:
            return closed.tally.turns > 0
        case _:
            return closed.facts.get("flawed") == "yes"


def before(task: Task) -> EarlierAttempts:
    """What the next attempt is told of all that went before."""
    flawed = any(attempt.flawed for attempt in task.attempts)
    return EarlierAttempts(iterations=task.tally.turns, flawed=flawed)


def is_flawed(state: TaskState) -> bool:
    """Whether it asked something, or its work as it was last checked has findings."""
    return state.asked or bool(state.findings)


def is_clean(state: TaskState) -> bool:
    """Whether nothing happened, in this attempt or in one before it, that a person should see."""
    before = state.spec.before
    is_quick = before.iterations + state.iteration <= QUICK
    return is_quick and not before.flawed and not is_flawed(state)


def seconds_left(state: TaskState, agent: AgentName | None = None) -> float:
    """With this agent at work; else with the one that had the last turn."""
    most_s = state.spec.attempt_s_of(state.agent if agent is None else agent)
    return math.inf if most_s is None else max(0.0, most_s - state.busy_s)


def why_not(change: Change | None) -> str:
    """Why a COMPLETE with this work does not count, whatever the gate would say; "" where it may."""
    if change is not None and change.loose:
        return f"{', '.join(change.loose)} would not come along"
    return "" if change is not None and change.files else "nothing has changed"


def rebuffed(state: TaskState, why: str, news: str) -> TaskState:
    """It said COMPLETE, and that does not count."""
    why = one_line(why, 150)
    times = state.rebuffs + 1 if why == state.rebuff else 1
    return replace(state, said=NO_CLAIM, news=news, rebuff=why, rebuffs=times)


def out_of_time(state: TaskState, agent: AgentName) -> Finish:
    minutes = (state.spec.attempt_s_of(agent) or 0) / 60
    return given_up(state, Outcome.TIMED_OUT, not_done(state, f"{minutes:g} minutes"))


def given_up(state: TaskState, outcome: Outcome, note: str) -> Finish:
    facts = {"flawed": "yes"} if is_flawed(state) else {}
    return Finish(outcome=outcome, note=note, failure=state.failure, facts=facts)


def not_done(state: TaskState, after: str) -> str:
    why = f"; it said COMPLETE, but {state.rebuff}" if state.rebuff else ""
    return f"not done after {after}{why}"


def rested(state: TaskState, ended: MoveEnded) -> TaskState:
    result = ended.result
    is_lost = isinstance(result, Failed) and result.kind is FailureKind.INTERRUPTED
    busy_s = state.busy_s if is_lost else _busy_s(state, ended.at)
    return replace(state, began=None, busy_s=max(0.0, busy_s - ended.held_s))


def alive(state: TaskState, at: datetime) -> TaskState:
    return state if state.began is None else replace(state, began=at, busy_s=_busy_s(state, at))


def _busy_s(state: TaskState, at: datetime) -> float:
    """Only the time in moves counts: waiting for people or for a rate limit is free.

    What a move was held for is taken off at its end. It is counted up to each sign of life: of a
    move that was interrupted nobody knows when it ended, and the hours until somebody took it up
    again were no work.
    """
    if state.began is None:
        return state.busy_s
    return state.busy_s + brakes.elapsed_seconds(at - state.began)
