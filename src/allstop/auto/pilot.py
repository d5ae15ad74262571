"""Full Auto: an agent's thread is kept going, turn after turn, until a decision ends it."""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from allstop.auto import guidance_stages, turn_record
from allstop.auto import next_move as moves
from allstop.auto import prompts as prompts
from allstop.auto.decision_record import written
from allstop.auto.rules import after_gate, by_rules, gated, may_wait
from allstop.auto.safety import is_unsafe, let_go_on, looked_at
from allstop.auto.state import (
    Action,
    AutoSpec,
    AutoState,
    Decision,
    DecisionPolicy,
    Doing,
    TurnSummary,
    read_decision,
)
from allstop.core.commands import Answer, Command, Permit, Resume, Retry, Say
from allstop.core.decisions import Decided
from allstop.core.events import (
    ChildClosed,
    ChildRested,
    ChildWaited,
    ChildWentOn,
    Commanded,
    Event,
    MoveEnded,
    MoveStarted,
)
from allstop.core.ids import MoveId
from allstop.core.moves import (
    BRAKED,
    LIMITED,
    OVER_MACHINE_LIMIT,
    RESUMABLE,
    ChecksDone,
    Failed,
    FailureKind,
    Finish,
    Move,
    OpenWorkspace,
    Outcome,
    Spawned,
    Survey,
    TakeTurn,
    TurnDone,
    Wait,
    WorkspaceOpen,
)
from allstop.core.retries import NO_STREAK, retry_time
from allstop.core.run import PilotContext
from allstop.core.text import one_line

KEPT = 50
"""How many decisions are remembered; all of them are in the record."""


class AutoPilot:
    kind = "auto"
    ends_when_stopped = False
    needs_slots = True

    def begin(self, spec: dict[str, object]) -> AutoState:
        return _begun(AutoState(spec=msgspec.convert(spec, AutoSpec)))

    def evolve(self, state: AutoState, event: Event) -> AutoState:
        match event:
            case MoveStarted(move=TakeTurn() | Survey(), id=move):
                return replace(state, doing=_began(state, move), wait_until=None)
            case MoveStarted():
                return replace(state, doing=None, wait_until=None)
            case MoveEnded(result=result, at=at):
                return _came_back(state, result, at)
            case ChildClosed(outcome=outcome, note=note):
                return _merged(replace(state, merge_waits=""), outcome, note)
            case ChildWaited(reason=reason):
                return replace(state, merge_waits=reason)
            case ChildWentOn() | ChildRested():
                return replace(state, merge_waits="")
            case Commanded(command=command, by=by):
                return _commanded(state, command, by)
            case _ if state.doing is not None:
                return turn_record.told(state, state.doing, event)
            case _:
                return state

    def decided(self, before: AutoState, after: AutoState) -> Decided | None:
        return None if after.decisions is before.decisions else written(after)

    def undelivered(self, state: AutoState) -> tuple[str, ...]:
        if state.doing is None or state.doing.is_aside:
            return ()
        return tuple(map(prompts.from_person, state.told[state.doing.hears :]))

    def next_move(self, state: AutoState, context: PilotContext) -> Move:
        spec = state.spec
        if state.end is not None:
            return Finish(outcome=state.end, note=state.note)
        if state.paused:
            return Wait(reason=state.paused, for_person=True, failure=state.paused_by)
        if state.wait_until is not None and context.now < state.wait_until:
            return Wait(reason=state.waits_for, until=state.wait_until)
        if state.merging:
            waits = state.merge_waits
            return Wait(reason=f"its merge waits: {waits}" if waits else "its work is being merged")
        if spec.name and not state.base:
            return OpenWorkspace(workspace=spec.name, target=spec.target)
        if state.undecided and spec.decision_agent is not None and state.summary is not None:
            return moves.decision(state, spec.decision_agent, state.summary, context)
        if guidance_stages.is_ahead(state):
            return guidance_stages.move(state)
        return moves.finishing(state) if state.done else moves.turn(state)


def _commanded(state: AutoState, command: Command, by: str) -> AutoState:
    match command:
        case Say():
            return _heard(state, command.words)
        case Answer(text=text):
            return _heard(state, text)
        case Permit() if state.doing is not None:
            return turn_record.answered(state, state.doing, command)
        case Resume() | Retry():
            return _let_go_on(state, by)
        case _:
            return state


def _let_go_on(state: AutoState, by: str) -> AutoState:
    """After a pause. Where that was only for a look, what had been decided is carried out."""
    decision = state.decision if state.paused else None
    history = looked_at(state) if state.paused else state.history.forgiven()
    state = replace(_freed(state), wait_until=None, history=history)
    if decision is None or not is_unsafe(decision):
        return state
    return _chose(state, let_go_on(decision, by))


def _heard(state: AutoState, text: str) -> AutoState:
    """What a person says is told to the agent; it also frees a thread that was paused."""
    done = state.done and state.merging
    history = looked_at(state) if state.paused else state.history
    told = (*state.told, text)
    return replace(_freed(state), told=told, done=done, history=history)


def _freed(state: AutoState) -> AutoState:
    return replace(state, paused="", paused_by=None, standstill=NO_STREAK)


def _begun(state: AutoState) -> AutoState:
    summary = state.spec.summary
    state = guidance_stages.begin(state)
    if summary is not None:
        return _summed_up(state, summary, None)
    if state.guide is None:
        return state
    state = replace(state, summary=TurnSummary(turn=0, status="not begun"))
    return (
        state
        if guidance_stages.is_ahead(state)
        else _decided(state, guidance_stages.decision(state))
    )


def _began(state: AutoState, move: MoveId) -> Doing:
    return Doing(
        move=move,
        is_decision=state.undecided,
        is_guidance=not state.undecided and guidance_stages.is_ahead(state),
        is_review=state.reviews,
        plan=state.plan,
        hears=len(state.told),
    )


def _came_back(state: AutoState, result: object, at: datetime) -> AutoState:
    doing = state.doing
    if doing is None:
        return _went(state, result)
    match result:
        case _ if doing.is_guidance:
            return _guided(guidance_stages.came_back(state, result))
        case TurnDone() if doing.is_decision:
            return _advised(state, result)
        case TurnDone():
            return _spoke(state, doing, result, at)
        case Failed() if doing.is_decision:
            return (
                state if result.kind in RESUMABLE | BRAKED else _unadvised(state, str(result.kind))
            )
        case Failed():
            return _failed(state, doing, result, at)
        case _:
            return state


def _went(state: AutoState, result: object) -> AutoState:
    """What comes back of moves that are no turns."""
    match result:
        case WorkspaceOpen(base=base, gate=gate):
            return replace(state, base=base, gate=gate)
        case Spawned():
            return replace(state, merging=True, merges=state.merges + 1)
        case Failed():
            return _stuck(state, result)
        case ChecksDone(passed=True, tree=tree):
            return replace(state, checked=True, tree=tree)
        case ChecksDone():
            return _disagreed(state, result)
        case _:
            return state


def _disagreed(state: AutoState, gate: ChecksDone) -> AutoState:
    """It is not done after all. That is decided like all else, so that guards look at it."""
    state = replace(state, done=False, news=prompts.gate_failed(gate))
    return _decided(state, after_gate(state.turns, gate)) if state.summary else state


def _stuck(state: AutoState, failed: Failed) -> AutoState:
    """Its workspace or its gate is in trouble, not the agent."""
    if failed.kind in RESUMABLE:
        return replace(state, base="")
    reason = f"{failed.kind.value.replace('_', ' ')}: {one_line(failed.message, 300)}"
    return replace(state, paused=reason, paused_by=failed.kind)


def _spoke(state: AutoState, doing: Doing, turn: TurnDone, at: datetime) -> AutoState:
    summary = turn_record.completed(state, doing, turn)
    state = replace(
        state,
        thread=turn.thread or state.thread,
        failures=0,
        standstill=NO_STREAK,
        news=prompts.reviewed(turn.text) if summary.only_reviewed else "",
        told=state.told[doing.hears :],
        checked=False,
    )
    return _summed_up(state, summary, at)


def _failed(state: AutoState, doing: Doing, failed: Failed, at: datetime) -> AutoState:
    if failed.kind is FailureKind.OUT_OF_BUDGET:  # it was not begun: a person may allow more
        return state
    if failed.kind in RESUMABLE or failed.kind in OVER_MACHINE_LIMIT:
        return replace(state, base="" if state.spec.name else state.base)
    before = state.standstill
    if failed.kind in LIMITED and not doing.unanswered and may_wait(state.spec, failed, at, before):
        standstill = before.extended(failed, at)
        until = retry_time(failed.retry_at, at, standstill.times, state.spec.goal)
        waits = f"{state.spec.agent} is at its limit"
        return replace(state, standstill=standstill, wait_until=until, waits_for=waits)
    summary = turn_record.failed(state, doing, failed)
    if failed.kind is FailureKind.CAPPED:
        told = state.told[doing.hears :]
        return _summed_up(replace(state, news=prompts.CAPPED, told=told), summary, at)
    attempt = state.failures + 1
    delay: timedelta = state.spec.backoff.delay(attempt, state.spec.goal)
    state = _summed_up(replace(state, failures=attempt), summary, at)
    return replace(state, wait_until=at + delay, waits_for="tries again after a failure")


def _summed_up(state: AutoState, summary: TurnSummary, at: datetime | None) -> AutoState:
    """A turn is over: now it is decided, or a model is asked."""
    state = replace(
        state,
        turns=summary.turn,
        ended_at=at,
        plan=summary.plan,
        change=summary.change,
        summary=summary,
        history=state.history.after(summary),
        reviews=False,
    )
    spec = state.spec
    if spec.policy is DecisionPolicy.MODEL and spec.decision_agent is not None:
        return replace(state, undecided=True)
    return _chose(state, by_rules(spec, state.history, summary))


def _advised(state: AutoState, turn: TurnDone) -> AutoState:
    assert state.summary is not None, "a model is asked about one"
    by = str(state.spec.decision_agent)
    decision = read_decision(turn.text, state.summary.turn, by)
    if isinstance(decision, str):
        return _unadvised(state, decision)
    return _chose(state, decision)


def _unadvised(state: AutoState, why: str) -> AutoState:
    """The rules decide where a model can't."""
    assert state.summary is not None, "a model is asked about one"
    decision = by_rules(state.spec, state.history, state.summary)
    return _chose(state, replace(decision, by=f"rules ({why})"))


def _chose(state: AutoState, decision: Decision) -> AutoState:
    """It is carried out; but before it goes on, guidance says with what."""
    assert state.summary is not None, "what is decided about"
    carried_out = gated(state.spec, state.history, state.summary, decision)
    if state.spec.guide is None or carried_out.action is not Action.CONTINUE:
        return _decided(state, decision)
    return _guided(guidance_stages.after_turn(replace(state, undecided=False), decision))


def _guided(state: AutoState) -> AutoState:
    return (
        state
        if guidance_stages.is_ahead(state)
        else _decided(state, guidance_stages.decision(state))
    )


def _decided(state: AutoState, decision: Decision) -> AutoState:
    spec, summary = state.spec, state.summary
    assert summary is not None, "what is decided about"
    decision = gated(spec, state.history, summary, decision)
    state = replace(
        state,
        undecided=False,
        decided=None,
        decisions=(*state.decisions[1 - KEPT :], decision),
        step="",
    )
    reason = decision.condition or decision.reason
    if spec.guide is not None and spec.guide.rehearses:
        return replace(state, end=Outcome.DONE, note=f"{decision.action}: {reason}")
    match decision.action:
        case Action.CONTINUE:
            rest = timedelta(seconds=spec.cooldown_s)
            until = state.ended_at + rest if state.ended_at else None
            step = decision.next_input
            return replace(state, step=step, wait_until=until, waits_for="a moment between turns")
        case Action.REVIEW:
            return replace(state, reviews=True)
        case Action.PAUSE:
            return replace(state, paused=reason, paused_by=summary.kind)
        case Action.STOP if decision.condition:
            return replace(state, end=Outcome.FAILED, note=reason)
        case Action.STOP:
            return replace(state, done=not state.told, note=reason)


def _merged(state: AutoState, outcome: Outcome, note: str) -> AutoState:
    if outcome is Outcome.DONE:
        return replace(state, end=Outcome.DONE, note="merged", merging=False)
    return replace(state, merging=False, paused=f"it could not be merged: {note or outcome}")
