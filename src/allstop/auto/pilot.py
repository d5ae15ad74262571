"""The Full Auto pilot: runs an agent's thread turn by turn until a decision ends it."""

from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from allstop.auto import guidance_stages, turn_record
from allstop.auto import next_move as moves
from allstop.auto import prompts as prompts
from allstop.auto.decision_record import decision_record
from allstop.auto.rules import after_gate, by_rules, gated, may_wait
from allstop.auto.safety import history_after_review, is_unsafe, resumed_decision
from allstop.auto.state import (
    Action,
    AutoSpec,
    AutoState,
    Decision,
    DecisionPolicy,
    OpenTurn,
    TurnSummary,
    read_decision,
)
from allstop.core import accounts, conversation, events
from allstop.core.commands import Answer, Command, Permit, Resume, Retry, Say
from allstop.core.decisions import Decided
from allstop.core.ids import MoveId
from allstop.core.moves import (
    BRAKED,
    LIMITED,
    OVER_MACHINE_LIMIT,
    RESUMABLE,
    UNFINISHED,
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
"""Number of remembered decisions; the journal has all of them."""


class AutoPilot:
    kind = "auto"
    ends_when_stopped = False
    needs_slots = True

    def begin(self, spec: dict[str, object]) -> AutoState:
        terms = msgspec.convert(spec, AutoSpec)
        roster = accounts.Roster(agents=(terms.agent, *terms.fallbacks))
        return _initial_state(AutoState(spec=terms, roster=roster))

    def evolve(self, state: AutoState, event: events.Event) -> AutoState:
        match event:
            case events.MoveStarted(move=TakeTurn() | Survey() as move, id=id_, at=at):
                begun = replace(state, doing=_open_turn(state, move, id_), wait_until=None)
                return _with_agent(begun, move, at)
            case events.MoveStarted():
                return replace(state, doing=None, wait_until=None)
            case events.MoveEnded(result=result, at=at):
                return _move_ended(state, result, at)
            case events.ChildClosed(outcome=outcome, note=note):
                return _merge_closed(replace(state, merge_waits=""), outcome, note)
            case events.ChildWaited(reason=reason):
                return replace(state, merge_waits=reason)
            case events.ChildWentOn() | events.ChildRested():
                return replace(state, merge_waits="")
            case events.Commanded(command=command, by=by):
                return _commanded(state, command, by)
            case _ if state.doing is not None:
                return turn_record.observe(state, state.doing, event)
            case _:
                return state

    def decided(self, before: AutoState, after: AutoState) -> Decided | None:
        return None if after.decisions is before.decisions else decision_record(after)

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
        if guidance_stages.has_stage(state):
            return guidance_stages.move(state)
        return moves.finish(state) if state.done else moves.turn(state, context.now)

    def completion(self, state: AutoState, context: PilotContext) -> Move | None:
        if state.spec.edition < 4 or not state.done:
            return None
        move = self.next_move(state, context)
        return None if isinstance(move, TakeTurn | Survey) else move


def _commanded(state: AutoState, command: Command, by: str) -> AutoState:
    match command:
        case Say():
            return _add_message(state, command.words)
        case Answer(text=text):
            return _add_message(state, text)
        case Permit() if state.doing is not None:
            return turn_record.permit_answered(state, state.doing, command)
        case Resume() | Retry():
            return _resume(state, by)
        case _:
            return state


def _resume(state: AutoState, by: str) -> AutoState:
    """Continue after a pause. After a safety pause, the stored decision is carried out."""
    decision = state.decision if state.paused else None
    history = history_after_review(state) if state.paused else state.history.forgiven()
    roster = accounts.release_all(state.roster)
    state = replace(_unpaused(state), wait_until=None, history=history, roster=roster)
    if decision is None or not is_unsafe(decision):
        return state
    return _decision_made(state, resumed_decision(decision, by))


def _add_message(state: AutoState, text: str) -> AutoState:
    """Pass a person's message to the agent; it also ends a pause."""
    done = state.done and state.merging
    history = history_after_review(state) if state.paused else state.history
    told = (*state.told, text)
    return replace(_unpaused(state), told=told, done=done, history=history)


def _unpaused(state: AutoState) -> AutoState:
    roster = accounts.release_all(state.roster) if state.paused else state.roster
    return replace(state, paused="", paused_by=None, standstill=NO_STREAK, roster=roster)


def _initial_state(state: AutoState) -> AutoState:
    summary = state.spec.summary
    state = guidance_stages.begin(state)
    if summary is not None:
        return _turn_summarized(state, summary, None)
    if state.guide is None:
        return state
    return _after_guidance(replace(state, summary=TurnSummary(turn=0, status="not begun")))


def _open_turn(state: AutoState, move: TakeTurn | Survey, id_: MoveId) -> OpenTurn:
    return OpenTurn(
        move=id_,
        compacts=isinstance(move, TakeTurn) and move.compacts > 0,
        is_decision=state.undecided,
        is_guidance=not state.undecided and guidance_stages.has_stage(state),
        is_review=state.reviews,
        plan=state.plan,
        hears=len(state.told),
    )


def _with_agent(state: AutoState, move: TakeTurn | Survey, at: datetime) -> AutoState:
    """Note which agent works. Another agent begins a conversation of its own."""
    if not isinstance(move, TakeTurn) or state.doing is None:
        return state
    if state.doing.compacts:
        return replace(state, talk=conversation.turn_started(state.talk, move))
    if state.doing.is_aside:
        return state
    thread = state.thread if state.agent in ("", move.agent) else None
    roster = accounts.turn_started(state.roster, state.agent, move.agent, at)
    talk = conversation.turn_started(state.talk, move)
    return replace(state, agent=move.agent, thread=thread, talk=talk, roster=roster)


def _move_ended(state: AutoState, result: object, at: datetime) -> AutoState:
    doing = state.doing
    if doing is None:
        return _other_move_ended(state, result)
    match result:
        case TurnDone() | Failed() if doing.compacts:
            return _compacted(state, doing, result, at)
        case _ if doing.is_guidance:
            return _after_guidance(guidance_stages.stage_ended(state, result))
        case TurnDone() if doing.is_decision:
            return _model_decided(state, result)
        case TurnDone():
            return _turn_done(state, doing, result, at)
        case Failed() if doing.is_decision:
            return (
                state
                if result.kind in RESUMABLE | BRAKED
                else _rules_decide(state, str(result.kind))
            )
        case Failed():
            return _turn_failed(state, doing, result, at)
        case _:
            return state


def _compacted(
    state: AutoState, doing: OpenTurn, result: TurnDone | Failed, at: datetime
) -> AutoState:
    """The turn that should compact the conversation has ended; it is no turn of the work."""
    state = replace(
        state,
        talk=conversation.compaction_ended(state.talk, result),
        change=result.change or state.change,
        thread=None if conversation.is_over(result) else state.thread,
    )
    if isinstance(result, Failed) and result.kind in UNFINISHED:
        return _turn_failed(state, doing, result, at)
    return state


def _other_move_ended(state: AutoState, result: object) -> AutoState:
    """The state after a move that isn't a turn."""
    match result:
        case WorkspaceOpen(base=base, gate=gate):
            return replace(state, base=base, gate=gate)
        case Spawned():
            return replace(state, merging=True, merges=state.merges + 1)
        case Failed():
            return _setup_failed(state, result)
        case ChecksDone(passed=True, tree=tree):
            return replace(state, checked=True, tree=tree)
        case ChecksDone():
            return _gate_failed(state, result)
        case _:
            return state


def _gate_failed(state: AutoState, gate: ChecksDone) -> AutoState:
    """Continue after a failed gate, by a decision that the stop conditions check too."""
    state = replace(state, done=False, news=prompts.failed_gate(gate))
    return _carry_out(state, after_gate(state.turns, gate)) if state.summary else state


def _setup_failed(state: AutoState, failed: Failed) -> AutoState:
    """Pause after a failure of the workspace or the gate."""
    if failed.kind in RESUMABLE:
        return replace(state, base="")
    reason = f"{failed.kind.value.replace('_', ' ')}: {one_line(failed.message, 300)}"
    return replace(state, paused=reason, paused_by=failed.kind)


def _turn_done(state: AutoState, doing: OpenTurn, turn: TurnDone, at: datetime) -> AutoState:
    summary = turn_record.completed(state, doing, turn)
    state = replace(
        state,
        thread=turn.thread or state.thread,
        talk=conversation.turn_done(state.talk, turn),
        failures=0,
        standstill=NO_STREAK,
        roster=accounts.turn_done(state.roster, state.agent),
        news=prompts.reviewed(turn.text) if summary.only_reviewed else "",
        told=state.told[doing.hears :],
        checked=False,
    )
    return _turn_summarized(state, summary, at)


def _turn_failed(state: AutoState, doing: OpenTurn, failed: Failed, at: datetime) -> AutoState:
    if failed.kind is FailureKind.OUT_OF_BUDGET:  # not started: a person may raise the limit
        return state
    if failed.kind in RESUMABLE or failed.kind in OVER_MACHINE_LIMIT:
        return replace(state, base="" if state.spec.name else state.base)
    if state.spec.fallbacks and not doing.unanswered and (held := _held(state, failed, at)):
        return held
    before = state.standstill
    if failed.kind in LIMITED and not doing.unanswered and may_wait(state.spec, failed, at, before):
        standstill = before.extended(failed, at)
        until = retry_time(failed.retry_at, at, standstill.times, state.spec.goal)
        waits = f"{state.spec.agent} is at its limit"
        return replace(state, standstill=standstill, wait_until=until, waits_for=waits)
    summary = turn_record.failed(state, doing, failed)
    if failed.kind is FailureKind.CAPPED:
        told = state.told[doing.hears :]
        return _turn_summarized(replace(state, news=prompts.CAPPED, told=told), summary, at)
    attempt = state.failures + 1
    delay: timedelta = state.spec.backoff.delay(attempt, state.spec.goal)
    state = _turn_summarized(replace(state, failures=attempt), summary, at)
    return replace(state, wait_until=at + delay, waits_for="tries again after a failure")


def _held(state: AutoState, failed: Failed, at: datetime) -> AutoState | None:
    """Hold the agents of a limited account; None if the run waits for none of its agents."""
    spec, agent = state.spec, state.agent
    sharing = spec.agents_sharing_account(agent)
    if failed.kind is FailureKind.BILLING:
        roster = accounts.after_billing(state.roster, sharing, failed, at)
        is_over = isinstance(accounts.pick(roster, at), datetime)
        return None if is_over else replace(state, roster=roster)
    if failed.kind not in LIMITED or spec.endurance is None:
        return None
    affected = (agent,) if failed.kind is FailureKind.OVERLOADED else sharing
    before = state.standstill
    after = accounts.after_limit(
        state.roster, agent, affected, failed, at, before, spec.endurance, spec.goal
    )
    if after.gave_up:
        return None
    return replace(state, roster=after.roster, standstill=before.extended(failed, at))


def _turn_summarized(state: AutoState, summary: TurnSummary, at: datetime | None) -> AutoState:
    """After a turn, decide by rules or ask a model."""
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
    return _decision_made(state, by_rules(spec, state.history, summary))


def _model_decided(state: AutoState, turn: TurnDone) -> AutoState:
    assert state.summary is not None, "a decision needs a summary"
    by = str(state.spec.decision_agent)
    decision = read_decision(turn.text, state.summary.turn, by)
    if isinstance(decision, str):
        return _rules_decide(state, decision)
    return _decision_made(state, decision)


def _rules_decide(state: AutoState, why: str) -> AutoState:
    """Decide by rules after the model failed."""
    assert state.summary is not None, "a decision needs a summary"
    decision = by_rules(state.spec, state.history, state.summary)
    return _decision_made(state, replace(decision, by=f"rules ({why})"))


def _decision_made(state: AutoState, decision: Decision) -> AutoState:
    """Carry out a decision; before continuing, run guidance."""
    assert state.summary is not None, "a decision needs a summary"
    carried_out = gated(state.spec, state.history, state.summary, decision)
    if state.spec.guide is None or carried_out.action is not Action.CONTINUE:
        return _carry_out(state, decision)
    return _after_guidance(guidance_stages.after_turn(replace(state, undecided=False), decision))


def _after_guidance(state: AutoState) -> AutoState:
    if guidance_stages.has_stage(state):
        return state
    return _carry_out(state, guidance_stages.decision(state))


def _carry_out(state: AutoState, decision: Decision) -> AutoState:
    spec, summary = state.spec, state.summary
    assert summary is not None, "a decision needs a summary"
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


def _merge_closed(state: AutoState, outcome: Outcome, note: str) -> AutoState:
    if outcome is Outcome.DONE:
        return replace(state, end=Outcome.DONE, note="merged", merging=False)
    return replace(state, merging=False, paused=f"it could not be merged: {note or outcome}")
