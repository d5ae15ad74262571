"""The state of an attempt at a task, its time limit, and its end."""

import math
import re
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from allstop.board import remedy_hints
from allstop.core import brakes
from allstop.core.accounts import Roster
from allstop.core.board_specs import TARGET_FAILS, EarlierAttempts, TaskSpec
from allstop.core.conversation import EMPTY, Conversation
from allstop.core.events import ChildClosed, MoveEnded
from allstop.core.gate import Gate
from allstop.core.ids import AgentName
from allstop.core.moves import (
    Change,
    CheckResult,
    ChecksDone,
    Failed,
    FailureKind,
    Finding,
    Finish,
    Integrated,
    Outcome,
)
from allstop.core.retries import LIMIT_BACKOFF, NO_STREAK, LimitStreak
from allstop.core.review_comments import SecondReview, open_findings
from allstop.core.signals import NO_CLAIM, SignalClaim
from allstop.core.tasks import Task
from allstop.core.text import counted, one_line

NO_PROGRESS = "no progress"
"""The reason of a task's wait begins with this if it makes no progress."""

NO_PROGRESS_WAIT = f"{NO_PROGRESS}; the next turn starts later"
"""The reason of the wait before another turn of a task that makes no progress."""

QUICK_ITERATIONS = 3
"""Work that took at most this many iterations can pass review automatically."""


class TaskState(Struct, frozen=True, gc=False, kw_only=True):
    spec: TaskSpec
    roster: Roster
    base: str = ""
    gate: Gate | None = None  # the target's, when the workspace was last opened
    agent: AgentName = AgentName("")  # of the last turn
    thread: str | None = None
    talk: Conversation = EMPTY
    change: Change | None = None
    iteration: int = 0
    claim: SignalClaim = NO_CLAIM
    news: str = ""  # added to the goal in the next prompt
    messages: tuple[str, ...] = ()  # of people, since the last complete turn
    messages_delivered: int = 0  # how many of them the current turn has received
    failures: int = 0
    standstill: LimitStreak = NO_STREAK
    wait_until: datetime | None = None
    checked: bool = False
    is_due: bool = False  # the checks of each turn run before the next one
    check_missing: bool = False  # the last gate had a check that could not be started
    tree: str = ""  # the tree that passed the checks
    findings: tuple[Finding, ...] = ()
    delivered: bool = False
    asked: bool = False  # it has asked a person
    idle_iterations: int = 0  # iterations since its last commit
    rejection: str = ""  # why its last COMPLETE did not count
    rejections: int = 0  # how often in a row for the same reason
    said: str = ""  # in the last turn
    unchanged_turns: int = 0  # turns in a row that changed nothing, since a person last spoke
    gate_failure: str = ""  # how the last gate failed
    gate_failures: int = 0  # how often in a row in the same way, since a person last spoke
    move_ended_at: datetime | None = None  # of the last turn or gate
    progress: str = ""  # as the agent reports it
    move_began_at: datetime | None = None  # of the current move, or its last activity
    busy_s: float = 0.0
    stash: bool = False  # a stop left uncommitted changes
    onto: str = ""  # a commit of the target to merge in
    is_behind: bool = False  # the target's tip is not in its history
    target_merge: Integrated | Failed | None = None  # the work merged with that tip, or the failure
    given: str = ""  # a person's commit to merge in
    target_failure: str = ""  # the check that ended it because it fails on the target, too
    end: Outcome | None = None
    note: str = ""
    failure: FailureKind | None = None  # the cause of its end
    gate_result: ChecksDone | None = None  # of the last gate
    reviewing: bool = False  # the current turn is that of the second agent
    second: tuple[SecondReview, ...] = ()  # its rounds
    second_ended: bool = False  # no further round follows

    @property
    def is_stuck(self) -> bool:
        """Whether people are warned that it makes no progress."""
        return 0 < self.spec.stuck_after <= max(self.idle_iterations, self.rejections)

    @property
    def warning(self) -> str:
        if not self.is_stuck:
            return ""
        if self.idle_iterations < self.spec.stuck_after:
            return f"it said COMPLETE {self.rejections} times, but {self.rejection}"
        return f"no commit for {counted(self.idle_iterations, 'iteration')}"

    @property
    def standing(self) -> int:
        """How many turns in a row made no progress."""
        return max(self.unchanged_turns, self.gate_failures)

    @property
    def no_progress_reason(self) -> str:
        """Why only a person can let it take another turn; "" if it may take one."""
        if self.spec.stuck_waits and self.is_stuck:
            return f"{NO_PROGRESS}: {self.warning}"
        if not 0 < self.spec.no_progress <= self.standing:
            return ""
        if self.unchanged_turns >= self.spec.no_progress:
            return f"{NO_PROGRESS}: nothing changed in {counted(self.unchanged_turns, 'turn')}"
        return f"{NO_PROGRESS}: {self.rejection}, {self.gate_failures} times in the same way"

    @property
    def effective_gate(self) -> Gate:
        """The gate that the work must pass."""
        return self.target_gate or self.spec.gate

    @property
    def target_gate(self) -> Gate | None:
        """The target's gate when the work was last merged with its tip, or the workspace opened."""
        merged = self.target_merge.gate if isinstance(self.target_merge, Integrated) else None
        return merged or self.gate


def end_attempt(task: Task, closed: ChildClosed) -> Task:
    """The task after the end of its current attempt."""
    attempt = replace(
        task.attempts[-1],
        ended_at=closed.at,
        outcome=closed.outcome,
        note=closed.note,
        failure=remedy_hints.failure_in(closed),
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
    """An attempt that was ended from outside after a turn could not report it: assume so."""
    match closed.outcome:
        case Outcome.DONE:
            return closed.facts.get("clean") != "yes"
        case Outcome.BLOCKED:
            return True
        case Outcome.ABORTED | Outcome.BRAKED:
            return closed.tally.turns > 0
        case _:
            return closed.facts.get("flawed") == "yes"


def earlier_attempts(task: Task) -> EarlierAttempts:
    """The summary of a task's attempts for the next one."""
    flawed = any(attempt.flawed for attempt in task.attempts)
    return EarlierAttempts(iterations=task.tally.turns, flawed=flawed)


def is_flawed(state: TaskState) -> bool:
    """Whether it asked a person, or the last check or review of its work had findings."""
    is_found = any(not finding.is_note for finding in state.findings)
    return state.asked or is_found or bool(open_findings(state.second))


def is_clean(state: TaskState) -> bool:
    """Whether this and all earlier attempts were quick and without anything a person should see."""
    before = state.spec.before
    is_quick = before.iterations + state.iteration <= QUICK_ITERATIONS
    return is_quick and not before.flawed and not is_flawed(state)


def wait_without_progress(state: TaskState) -> datetime | None:
    """When the next turn may start, if the last two or more made no progress: later each time."""
    if not state.spec.no_progress or state.standing < 2 or state.move_ended_at is None:
        return None
    return state.move_ended_at + LIMIT_BACKOFF.delay(state.standing - 1, state.spec.task)


def person_spoke(state: TaskState) -> TaskState:
    state = replace(state, unchanged_turns=0, gate_failures=0, gate_failure="")
    return replace(state, idle_iterations=0, rejections=0) if state.spec.stuck_waits else state


def failure_mark(gate: ChecksDone) -> str:
    """How a gate failed; equal for equal failures, whatever time the checks took."""
    checks = [f"{check.run} {check.code} {_what_failed(check)}" for check in gate.failed]
    fatal = [f"{finding.kind} {finding.path}" for finding in gate.findings if finding.fatal]
    return "\n".join([*checks, *fatal])


_TIMES = re.compile(
    r"\d\d:\d\d(:\d\d)?(\.\d+)?|\d+(\.\d+)?\s?(ms|m?s(ec(ond)?s?)?|minutes?)\b|0x[0-9a-f]+"
)


def _what_failed(check: CheckResult) -> str:
    """The tests if all of them fail on the target as well; else what the check printed."""
    tests = check.fails_on_target if check.failed_before else ()
    return " ".join(tests) or _timeless(check.output)


def _timeless(output: str) -> str:
    return _TIMES.sub("", output).strip()


def seconds_left(state: TaskState, agent: AgentName | None = None) -> float:
    """The time left for the attempt with this agent, or with that of the last turn."""
    most_s = state.spec.attempt_s_of(state.agent if agent is None else agent)
    return math.inf if most_s is None else max(0.0, most_s - state.busy_s)


def incomplete_reason(change: Change | None) -> str:
    """Why a COMPLETE with this change doesn't count even before the gate; "" if it may."""
    if change is not None and change.loose:
        return f"{', '.join(change.loose)} would not come along"
    return "" if change is not None and change.files else "nothing has changed"


def reject_completion(state: TaskState, why: str, news: str) -> TaskState:
    """The state after a COMPLETE that doesn't count."""
    why = one_line(why, 150)
    times = state.rejections + 1 if why == state.rejection else 1
    return replace(state, claim=NO_CLAIM, news=news, rejection=why, rejections=times)


def out_of_time(state: TaskState, agent: AgentName) -> Finish:
    minutes = (state.spec.attempt_s_of(agent) or 0) / 60
    return give_up(state, Outcome.TIMED_OUT, not_done_note(state, f"{minutes:g} minutes"))


def give_up(state: TaskState, outcome: Outcome, note: str) -> Finish:
    facts = {"flawed": "yes"} if is_flawed(state) else {}
    if state.target_failure:
        facts[TARGET_FAILS] = state.target_failure
    return Finish(outcome=outcome, note=note, failure=state.failure, facts=facts)


def not_done_note(state: TaskState, after: str) -> str:
    why = f"; it said COMPLETE, but {state.rejection}" if state.rejection else ""
    return f"not done after {after}{why}"


def add_busy_time(state: TaskState, ended: MoveEnded) -> TaskState:
    result = ended.result
    is_lost = isinstance(result, Failed) and result.kind is FailureKind.INTERRUPTED
    busy_s = state.busy_s if is_lost else _busy_s(state, ended.at)
    return replace(state, move_began_at=None, busy_s=max(0.0, busy_s - ended.held_s))


def add_activity_time(state: TaskState, at: datetime) -> TaskState:
    return (
        state
        if state.move_began_at is None
        else replace(state, move_began_at=at, busy_s=_busy_s(state, at))
    )


def _busy_s(state: TaskState, at: datetime) -> float:
    """Time in moves; waiting for people or for a rate limit doesn't count.

    The time a move was held is subtracted at its end. The time is added at each activity, because
    the end of an interrupted move is unknown and the hours until it is resumed are not work.
    """
    if state.move_began_at is None:
        return state.busy_s
    return state.busy_s + brakes.elapsed_seconds(at - state.move_began_at)
