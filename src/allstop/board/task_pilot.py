"""One task: turns in a workspace of its own until the agent says done and the checks agree."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from allstop.board import attempt as attempts
from allstop.board import moved_target, remedies
from allstop.board.attempt import TaskState
from allstop.core import fallback as roster
from allstop.core import work_prompts
from allstop.core.board_specs import AgentTerms, TaskSpec
from allstop.core.commands import Answer, Give, Retry, Say
from allstop.core.events import (
    Commanded,
    Event,
    MoveEnded,
    MoveStarted,
    Noted,
    Reached,
    ThreadOpened,
)
from allstop.core.fallback import Roster
from allstop.core.ids import AgentName
from allstop.core.moves import (
    BRAKED,
    LIMITED,
    RESUMABLE,
    Change,
    ChecksDone,
    Deliver,
    Delivered,
    Failed,
    FailureKind,
    Finish,
    Item,
    Move,
    OpenWorkspace,
    Outcome,
    Result,
    TakeTurn,
    TurnDone,
    Wait,
    WorkspaceOpen,
)
from allstop.core.retries import NO_STREAK, retry_time
from allstop.core.run import PilotContext
from allstop.core.signals import NO_CLAIM, Signal, SignalClaim, read_signal
from allstop.core.text import counted, last_line

AGAIN = frozenset(
    {
        FailureKind.NETWORK,
        FailureKind.UNAVAILABLE,
        FailureKind.CRASHED,
        FailureKind.STALLED,
    }
)
"""Worth another try after a while."""

UNSIGNALLED = frozenset({Signal.NONE, Signal.PROGRESS})
"""After which an agent simply goes on."""

CANNOT_RUN = frozenset({126, 127})
"""What a shell says of a program that isn't there, or that it may not start."""


class TaskPilot:
    kind = "task"
    ends_when_stopped = False
    needs_slots = True

    def begin(self, spec: dict[str, object]) -> TaskState:
        task = msgspec.convert(spec, TaskSpec)
        roster = Roster(agents=task.agents)
        news = _told_of_gift(task.news) if task.given else task.news
        return TaskState(
            spec=task,
            roster=roster,
            news=news,
            stash=task.stash,
            given=task.given,
            onto=task.onto,
        )

    def evolve(  # noqa: C901 - one case for each kind of event
        self, state: TaskState, event: Event
    ) -> TaskState:
        match event:
            case MoveStarted(move=TakeTurn(agent=agent), at=at):
                return _begun(state, agent, at)
            case MoveStarted(at=at):
                return replace(state, began=at)
            case MoveEnded(result=result, at=at):
                return _came_back(attempts.rested(state, event), result, at)
            case Noted(items=items, at=at):
                return _noted(attempts.alive(state, at), items)
            case Reached():
                return replace(state, hears=state.hears + 1)
            case ThreadOpened(thread=thread):
                return replace(state, thread=thread)
            case Commanded(command=Say() as said):
                return replace(state, told=(*state.told, said.words))
            case Commanded(command=Answer(text=text)) if state.said.signal is Signal.PENDING:
                news = work_prompts.answered(state.said.text, text)
                return replace(state, said=NO_CLAIM, news=news)
            case Commanded(command=Give(commit=commit)):
                return _given(state, commit)
            case Commanded(command=Retry()):
                return replace(state, wait_until=None, failures=0)
            case _:
                return state

    def undelivered(self, state: TaskState) -> tuple[str, ...]:
        return tuple(map(work_prompts.told, state.told[state.hears :]))

    def next_move(self, state: TaskState, context: PilotContext) -> Move:
        spec = state.spec
        if state.end is not None:
            return attempts.given_up(state, state.end, state.note)
        if state.wait_until is not None and context.now < state.wait_until:
            return Wait(reason="tries again later", until=state.wait_until)
        if attempts.seconds_left(state) <= 0 and not _is_verified(state):
            return attempts.out_of_time(state, state.agent)
        if spec.target is not None and not state.base:
            return OpenWorkspace(
                workspace=spec.task,
                target=spec.target,
                onto=state.onto,
                stash=state.stash,
                given=state.given,
            )
        if state.said.signal is Signal.PENDING:
            asks = state.said.text
            return Wait(reason=f"asks: {asks}", for_person=True, question=asks)
        if state.said.signal is Signal.COMPLETE and not _must_hear(state):
            return _completing(state)
        if state.iteration >= spec.iterations:
            note = attempts.not_done(state, counted(spec.iterations, "turn"))
            return attempts.given_up(state, Outcome.TIMED_OUT, note)
        return _turn(state, context)


def _begun(state: TaskState, agent: AgentName, at: datetime) -> TaskState:
    """However the turn ends, the work may be other work then: what was checked no longer counts."""
    return replace(
        moved_target.apart(state),
        agent=agent,
        wait_until=None,
        hears=len(state.told),
        began=at,
        said=NO_CLAIM,
        checked=False,
        delivered=False,
    )


def _must_hear(state: TaskState) -> bool:
    """Whether something was said too late for the last turn: it is not done before it has heard."""
    return bool(state.told) and state.iteration < state.spec.iterations


def _completing(state: TaskState) -> Move:
    spec = state.spec
    if not _is_verified(state):
        return moved_target.gate(state)
    if spec.branch and not state.delivered:
        return Deliver(workspace=spec.task, branch=spec.branch)
    return Finish(outcome=Outcome.DONE, facts=_facts(state))


def _is_verified(state: TaskState) -> bool:
    return state.said.signal is Signal.COMPLETE and (state.checked or not _has_gate(state))


def _has_gate(state: TaskState) -> bool:
    """What goes to a branch is looked at, also where no command and no path is configured."""
    gate, spec = state.held_to, state.spec
    is_looked_at = spec.edition >= 2 and spec.target is not None
    return is_looked_at or bool(gate.checks or gate.protected)


def _facts(state: TaskState) -> dict[str, str]:
    """What whoever started it may want to know."""
    if state.spec.target is None:
        return {}
    return {
        "commit": state.change.head if state.change else "",
        "tree": state.tree,
        **({"gate": gate.fingerprint} if (gate := state.targets_gate) else {}),
        "clean": "yes" if attempts.is_clean(state) else "",
    }


def _given(state: TaskState, commit: str) -> TaskState:
    """A person's work is work: what was said before it no longer counts."""
    news = _told_of_gift(state.news)
    state = moved_target.apart(state)
    return replace(state, base="", given=commit, said=NO_CLAIM, checked=False, news=news)


def _told_of_gift(news: str) -> str:
    return "\n\n".join(filter(None, [news, work_prompts.GIVEN]))


def _noted(state: TaskState, items: tuple[Item, ...]) -> TaskState:
    """How far it is may be said at any time, but only in the agent's own words."""
    for item in items:
        if item.kind == "progress":
            state = replace(state, progress=item.text)
        elif item.kind == "message":
            said = read_signal(item.text)
            if said.signal is Signal.PROGRESS:
                state = replace(state, progress=said.text)
    return state


def _turn(state: TaskState, context: PilotContext) -> Move:
    spec = state.spec
    agent = roster.pick(state.roster, context.now)
    if isinstance(agent, datetime):
        return Wait(reason="every agent is at its limit", until=agent)
    terms, left_s = spec.terms_of(agent), attempts.seconds_left(state, agent)
    if left_s <= 0:
        return attempts.out_of_time(state, agent)
    news = state.news
    if state.told:
        news = "\n\n".join(filter(None, [news, *map(work_prompts.told, state.told)]))
    return TakeTurn(
        agent=agent,
        prompt=work_prompts.turn(spec.goal, news, spec.edition),
        thread=state.thread if agent == state.agent else None,
        workspace=spec.task if spec.target is not None else None,
        timeout_s=min(terms.turn_s, left_s) if _is_cut_by_turns(spec) else left_s,
        idle_s=terms.idle_s,
        max_tokens=terms.max_tokens,
    )


def _is_cut_by_turns(spec: TaskSpec) -> bool:
    """Whether a turn has a limit of its own, besides that of the attempt."""
    return spec.edition < 2 or spec.attempt_s is None


def _came_back(state: TaskState, result: Result, at: datetime) -> TaskState:
    if (joined := moved_target.came_back(state, result)) is not None:
        return joined
    match result:
        case TurnDone():
            return _spoke(state, result)
        case WorkspaceOpen():
            return _opened(state, result)
        case ChecksDone(passed=True, tree=tree, findings=findings):
            return replace(state, checked=True, tree=tree, findings=findings)
        case ChecksDone():
            return _disagreed(state, result)
        case Delivered():
            return replace(state, delivered=True)
        case Failed():
            return _failed(state, result, at)
        case _:
            return state


def _disagreed(state: TaskState, gate: ChecksDone) -> TaskState:
    """The agent hears what failed. A check that can't be run on the target either is not for it to
    mend: it may be what it was to make, so it is told once; then a person has to look.
    """
    missing = [check for check in gate.failed if check.failed_before and check.code in CANNOT_RUN]
    if missing and state.unable:
        check = missing[0]
        note = f"{check.name} can't be run, on the target branch neither: {last_line(check.output)}"
        return replace(state, end=Outcome.BLOCKED, note=f"{note}; `allstop doctor` tries it")
    fatal = [finding.path for finding in gate.findings if finding.fatal]
    names = ", ".join([*(check.name for check in gate.failed), *fatal])
    state = moved_target.rebuffed(state, gate, names)
    return replace(state, findings=gate.findings, unable=bool(missing))


def _opened(state: TaskState, opened: WorkspaceOpen) -> TaskState:
    told = [
        work_prompts.conflicts(opened.conflicts) if opened.conflicts else "",
        work_prompts.STASHED if opened.stashed else "",
    ]
    new = [text for text in told if text not in state.news]  # it may have been cut off since
    news = "\n\n".join(filter(None, [state.news, *new]))
    return replace(state, base=opened.base, gate=opened.gate, stash=False, given="", news=news)


def _spoke(state: TaskState, turn: TurnDone) -> TaskState:
    said = _signal(state.spec.terms_of(state.agent), turn)
    state = replace(
        state,
        thread=turn.thread or state.thread,
        change=turn.change or state.change,
        iteration=state.iteration + 1,
        said=said,
        news=work_prompts.NO_SIGNAL if said.signal in UNSIGNALLED else "",
        told=state.told[state.hears :],
        hears=0,
        failures=0,
        standstill=NO_STREAK,
        still=_still(state, turn.change),
    )
    match said.signal:
        case Signal.NONE:
            return state
        case Signal.PENDING:
            return replace(state, asked=True)
        case Signal.PROGRESS:
            return replace(state, progress=said.text)
        case Signal.BLOCKED if not _must_hear(state):
            return replace(state, end=Outcome.BLOCKED, note=said.text)
        case Signal.COMPLETE if state.spec.target is not None and (
            why := attempts.why_not(state.change)
        ):
            loose = state.change.loose if state.change else ()
            news = work_prompts.loose(loose) if loose else work_prompts.NO_CHANGE
            return attempts.rebuffed(state, why, news)
        case _:
            return state


def _cut(state: TaskState, failed: Failed) -> TaskState:
    """A turn that came to its cap is a turn; the next one goes on from there, and is told the same."""
    return replace(
        state,
        change=failed.change or state.change,
        iteration=state.iteration + 1,
        news=work_prompts.CAPPED,
        still=_still(state, failed.change),
    )


def _still(state: TaskState, change: Change | None) -> int:
    """For how many iterations nothing was committed, with the one that has just ended."""
    head_before = state.change.head if state.change else state.base
    return 0 if change is not None and change.head != head_before else state.still + 1


def _signal(terms: AgentTerms, turn: TurnDone) -> SignalClaim:
    said = turn.claim
    if terms.done == "exit" and said.signal is Signal.NONE and _has_work(turn.change):
        return SignalClaim(signal=Signal.COMPLETE)
    return said


def _has_work(change: Change | None) -> bool:
    return change is not None and change.files > 0


def _failed(state: TaskState, failed: Failed, at: datetime) -> TaskState:
    if failed.kind in RESUMABLE:  # what was cut off may have left locks: take it up anew
        by_a_stop = failed.kind is not FailureKind.INTERRUPTED
        return replace(moved_target.apart(state), base="", stash=state.stash or by_a_stop)
    if failed.kind in BRAKED:
        return replace(state, change=failed.change or state.change)
    if failed.kind is FailureKind.CAPPED:
        return _cut(state, failed)
    note = remedies.note_of(failed)
    if failed.kind in LIMITED and not state.spec.endurance.is_out_of_guesses(
        failed, state.standstill
    ):
        return _limited(state, failed, at, note)
    if failed.kind is FailureKind.CRASHED and state.spec.crash_ends:
        return replace(state, end=Outcome.CRASHED, note=note, failure=failed.kind)
    if failed.kind in AGAIN and state.failures < state.spec.backoff.retries:
        attempt = state.failures + 1
        delay: timedelta = state.spec.backoff.delay(attempt, state.spec.task)
        return replace(state, failures=attempt, wait_until=at + delay)
    outcome = Outcome.TIMED_OUT if failed.kind is FailureKind.TIMED_OUT else Outcome.FAILED
    return replace(state, end=outcome, note=note, failure=failed.kind)


def _limited(state: TaskState, failed: Failed, at: datetime, note: str) -> TaskState:
    """It is left alone for longer and longer; one that never says until when, not for ever."""
    if overdue_reason := state.spec.endurance.overdue_reason(failed, at, state.standstill):
        note = f"{note}; {overdue_reason}"
        return replace(state, end=Outcome.FAILED, note=note, failure=failed.kind)
    standstill = state.standstill.extended(failed, at)
    until = retry_time(failed.retry_at, at, standstill.times, state.spec.task)
    is_accounts = failed.kind is not FailureKind.OVERLOADED
    held = state.roster
    for agent in state.spec.agents_sharing_account(state.agent) if is_accounts else (state.agent,):
        held = roster.hold(held, agent, until)
    return replace(state, roster=held, standstill=standstill)
