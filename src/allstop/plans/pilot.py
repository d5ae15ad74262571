"""The pilot of a plan: its steps in order, each exactly once, then the gate and one merge."""

from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from allstop.core import accounts, conversation, events, moves, work_prompts
from allstop.core.accounts import Roster
from allstop.core.board_specs import MergeSpec
from allstop.core.commands import Answer, Approve, Command, Resume, Retry, Say, Skip
from allstop.core.gate import Check
from allstop.core.ids import AgentName
from allstop.core.prompt import prompt
from allstop.core.retries import NO_STREAK, retry_time
from allstop.core.run import PilotContext
from allstop.core.signals import Signal
from allstop.core.text import last_line, one_line
from allstop.plans import commit_messages as messages
from allstop.plans import step_prompts
from allstop.plans.state import ErrorStrategy, PlanMode, PlanSpec, PlanState, Skipped

MERGE = "merge"
EDITION = 2
"""The edition of new plans."""
STUCK = (Signal.BLOCKED, Signal.PENDING)
"""Signals with which the agent says that it can't do the step by itself."""


class PlanPilot:
    kind = "plan"
    ends_when_stopped = False
    needs_slots = True

    def begin(self, spec: dict[str, object]) -> PlanState:
        plan = msgspec.convert(spec, PlanSpec)
        state = PlanState(
            spec=plan, steps=tuple(plan.plan.steps()), roster=Roster(agents=plan.agents)
        )
        return replace(state, position=_next_open(state, 0))

    def evolve(self, state: PlanState, event: events.Event) -> PlanState:
        match event:
            case events.MoveStarted(move=move, at=at):
                return _started(state, move, at)
            case events.MoveEnded(result=result, at=at):
                return _ended(replace(state, moving=False, ended_at=at), result, at)
            case events.ThreadOpened(thread=thread):
                return replace(state, thread=thread)
            case events.Reached():
                return replace(state, heard=state.heard + 1)
            case events.ChildClosed(outcome=outcome, note=note):
                return _merge_closed(state, outcome, note)
            case events.ChildWaited(reason=reason):
                return replace(state, merge_waits=reason)
            case events.ChildWentOn() | events.ChildRested():
                return replace(state, merge_waits="")
            case events.Commanded(command=command, by=by, at=at):
                return _commanded(state, command, by, at)
            case _:
                return state

    def undelivered(self, state: PlanState) -> tuple[str, ...]:
        if not state.in_turn:
            return ()
        return tuple(map(work_prompts.from_person, state.told[state.heard :]))

    def is_within_step(self, state: PlanState) -> bool:
        """Whether a pause waits for the check or the commit that ends the step."""
        is_open = state.turn_done or bool(state.to_commit)
        return is_open and not state.paused and state.end is None

    def next_move(self, state: PlanState, context: PilotContext) -> moves.Move:
        spec = state.spec
        if state.end is not None:
            return moves.Finish(outcome=state.end, note=state.note, failure=state.paused_by)
        if state.paused:
            return moves.Wait(reason=state.paused, for_person=True, failure=state.paused_by)
        if state.to_commit and state.base:
            return moves.Commit(workspace=spec.name, message=state.to_commit)
        if state.wait_until is not None and context.now < state.wait_until:
            return moves.Wait(reason=state.waits_for, until=state.wait_until)
        if state.merging:
            waits = state.merge_waits
            reason = f"its merge waits: {waits}" if waits else "its work is being merged"
            return moves.Wait(reason=reason)
        if state.needs_approval and not state.to_commit:
            return moves.Wait(reason=_approval(state), for_person=True)
        if not state.base:
            return moves.OpenWorkspace(workspace=spec.name, target=spec.target)
        if state.turn_done:
            return _check(state)
        if state.step is not None or state.repairs:
            return _turn(state, context)
        return _finish(state)


# --- moves ---


def _turn(state: PlanState, context: PilotContext) -> moves.Move:
    agent = accounts.pick(state.roster, context.now, state.agent if _stays(state) else None)
    if isinstance(agent, datetime):
        awaited = state.roster.awaited
        reason = f"{awaited} is at its limit" if awaited else "every agent is at its limit"
        return moves.Wait(reason=reason, until=agent)
    terms = state.spec.terms_of(agent)
    turn = moves.TakeTurn(
        agent=agent,
        prompt=prompt(step_prompts.words(state)),
        thread=state.thread if agent == state.agent else None,
        workspace=state.spec.name,
        timeout_s=terms.turn_s,
        idle_s=terms.idle_s,
        max_tokens=terms.max_tokens,
        ask_s=state.spec.ask_s,
        uncommitted=state.spec.edition >= step_prompts.COMMITS_EDITION,
    )
    phase_limit = None if state.phase == state.talked_in else state.spec.phases_compact_at
    return conversation.compacted_first(state.talk, turn, state.spec.compact_at, phase_limit)


def _stays(state: PlanState) -> bool:
    """Whether a fallback agent keeps the plan. Between steps the first agent takes it back."""
    patience = state.spec.patience
    is_within_step = state.failures > 0 or state.repairs
    return patience.edition >= 2 and (patience.recover is False or is_within_step)


def _check(state: PlanState) -> moves.Move:
    assert state.step is not None, "only a step has a check of its own"
    check = Check(
        name=f"step {state.step.id}",
        run=state.step.check,
        timeout_s=state.spec.check_s,
        trusted=False,  # it comes from the plan's file
    )
    return moves.RunChecks(checks=(check,), workspace=state.spec.name)


def _finish(state: PlanState) -> moves.Move:
    """The moves after the last step: gate, merge, end."""
    spec, gate, change = state.spec, state.gate or state.spec.gate, state.change
    if change is not None and change.loose:
        note = f"what was done in {', '.join(change.loose)} is nowhere else; its work is kept"
        return moves.Finish(outcome=moves.Outcome.FAILED, note=note)
    if change is None or not change.files:
        return moves.Finish(outcome=moves.Outcome.DONE, note="nothing was changed")
    if state.uncommitted:
        return moves.Commit(workspace=spec.name, message=messages.of_plan(state))
    if not state.checked:
        unreviewed = spec.merge and gate.integrity is not None
        return moves.RunChecks.for_gate(
            gate, spec.name, unreviewed=unreviewed, may_change=spec.may_change
        )
    if not spec.merge:
        note = "verified; its work is kept in the workspace"
        return moves.Finish(outcome=moves.Outcome.DONE, note=note)
    merge = MergeSpec(
        task=spec.name,
        target=spec.target,
        message=f"Merge {spec.name}: {messages.title(state)}",
        gate=gate,
        verified=state.tree,
        verified_by=gate.fingerprint if state.gate else "",
        unreviewed=gate.integrity is not None,
        may_change=spec.may_change,
    )
    ref = f"{MERGE}{state.merges + 1}"
    return moves.Spawn(kind="merge", ref=ref, spec=msgspec.to_builtins(merge))


# --- events ---


def _started(state: PlanState, move: moves.Work, at: datetime) -> PlanState:
    state = replace(state, moving=True, in_turn=False)
    if isinstance(move, moves.Commit):
        return state
    state = replace(state, wait_until=None)
    if not isinstance(move, moves.TakeTurn):
        return state
    talk = conversation.turn_started(state.talk, move)
    if move.compacts:
        return replace(state, talk=talk)
    thread = state.thread if move.agent == state.agent else None
    return replace(
        state,
        in_turn=True,
        talk=talk,
        talked_in=state.phase,
        agent=move.agent,
        thread=thread,
        heard=len(state.told),
        roster=accounts.turn_started(state.roster, state.agent, move.agent, at),
        uncommitted=state.uncommitted or move.uncommitted,
    )


def _ended(state: PlanState, result: moves.Result, at: datetime) -> PlanState:
    if isinstance(result, moves.Committed):
        state = replace(state, change=result.change, uncommitted=False, to_commit="")
    if state.talk.compacting:
        return _compacted(state, result, at)
    if state.skip_asked:
        return _skip_asked(replace(state, in_turn=False), result, at)
    if isinstance(result, moves.Failed):
        return _move_failed(replace(state, in_turn=False), result, at, in_turn=state.in_turn)
    state = replace(state, in_turn=False)
    match result:
        case moves.TurnDone():
            return _turn_done(_turn_taken(state, result), result, at)
        case moves.WorkspaceOpen(base=base, gate=gate):
            return replace(state, base=base, gate=gate)
        case moves.ChecksDone():
            return _checks_done(state, result, at)
        case moves.Spawned():
            return replace(state, merging=True, merges=state.merges + 1)
        case _:
            return state


def _compacted(state: PlanState, result: moves.Result, at: datetime) -> PlanState:
    """The turn that should compact the conversation has ended; a failure doesn't fail the step."""
    if isinstance(result, moves.TurnDone | moves.Failed):
        is_over = conversation.is_over(result)
        state = replace(
            state,
            talk=conversation.compaction_ended(state.talk, result),
            change=result.change or state.change,
            thread=None if is_over else state.thread,
        )
    if state.skip_asked:
        base = "" if isinstance(result, moves.Failed) else state.base
        return _skip(replace(state, base=base), state.skip_asked, at)
    if isinstance(result, moves.Failed) and result.kind in moves.UNFINISHED:
        return _move_failed(state, result, at, in_turn=True)
    return state


def _skip_asked(state: PlanState, result: moves.Result, at: datetime) -> PlanState:
    """The move of a step that a person has skipped meanwhile has ended."""
    match result:
        case moves.TurnDone():
            state = _turn_taken(state, result)
        case moves.WorkspaceOpen(base=base, gate=gate):
            state = replace(state, base=base, gate=gate)
        case moves.Failed(change=change):
            state = replace(state, base="", change=change or state.change)
        case _:
            pass
    return _skip(state, state.skip_asked, at)


def _move_failed(
    state: PlanState, failed: moves.Failed, at: datetime, *, in_turn: bool
) -> PlanState:
    if failed.kind in moves.RESUMABLE:
        return replace(state, base="")  # a killed process may have left lock files
    if failed.kind in moves.BRAKED:  # a person may raise the limit; then the move is repeated
        return replace(state, change=failed.change or state.change)
    if in_turn:
        return _turn_failed(state, failed, at)
    return _pause(state, _described(failed), failed.kind)


def _turn_taken(state: PlanState, turn: moves.TurnDone) -> PlanState:
    return replace(
        state,
        turns=state.turns + 1,
        thread=turn.thread or state.thread,
        change=turn.change or state.change,
        told=state.told[state.heard :],
        heard=0,
        news="",
        talk=conversation.turn_done(state.talk, turn),
        standstill=NO_STREAK,
        roster=accounts.turn_done(state.roster, state.agent),
        checked=False,
    )


def _turn_done(state: PlanState, turn: moves.TurnDone, at: datetime) -> PlanState:
    step, claim = state.step, turn.claim
    if step is None:
        return replace(state, repairs=False)
    if step.check:
        return replace(state, turn_done=True)
    if claim.signal in STUCK:
        why = f"its agent can't do it: {one_line(claim.text, 300) or 'it gave no reason'}"
        return _failed(state, why, None, at, is_retried=False)
    return _step_done(state, at)


def _turn_failed(state: PlanState, failed: moves.Failed, at: datetime) -> PlanState:
    state = replace(state, change=failed.change or state.change)
    spec, before = state.spec, state.standstill
    is_auto = spec.mode is PlanMode.AUTOPILOT
    if is_auto and spec.patience.edition >= 2:
        if failed.kind is moves.FailureKind.BILLING:
            return _unpaid(state, failed, at)
        if failed.kind in moves.LIMITED:
            return _at_limit(state, failed, at)
    elif (
        failed.kind in moves.LIMITED
        and is_auto
        and not spec.patience.give_up_reason(failed, at, before)
    ):
        return _limited(state, failed, at)
    if failed.kind is moves.FailureKind.CAPPED:
        state = replace(state, news=work_prompts.CAPPED, turns=state.turns + 1)
    return _failed(state, _described(failed), failed.kind, at)


def _affected(state: PlanState, kind: moves.FailureKind) -> tuple[AgentName, ...]:
    """The agents that a failure of the last turn holds: those of its account."""
    if kind is moves.FailureKind.OVERLOADED:
        return (state.agent,)
    return state.spec.agents_sharing_account(state.agent)


def _unpaid(state: PlanState, failed: moves.Failed, at: datetime) -> PlanState:
    """Without credit another account continues, or the plan waits for a person."""
    held = accounts.after_billing(state.roster, _affected(state, failed.kind), failed, at)
    state = replace(state, roster=held)
    if isinstance(accounts.pick(held, at), datetime):
        return _pause(state, _described(failed), failed.kind)
    return state


def _at_limit(state: PlanState, failed: moves.Failed, at: datetime) -> PlanState:
    spec = state.spec
    after = accounts.after_limit(
        state.roster,
        state.agent,
        _affected(state, failed.kind),
        failed,
        at,
        state.standstill,
        spec.patience,
        spec.name,
    )
    standstill = state.standstill.extended(failed, at)
    state = replace(state, roster=after.roster, standstill=standstill)
    if after.gave_up:
        return _failed(state, f"{_described(failed)}; {after.gave_up}", failed.kind, at)
    return state


def _limited(state: PlanState, failed: moves.Failed, at: datetime) -> PlanState:
    """The rules of edition 1: hold the agent; a fallback agent continues meanwhile."""
    standstill = state.standstill.extended(failed, at)
    until = retry_time(failed.retry_at, at, standstill.times, state.spec.name)
    held = state.roster
    for agent in _affected(state, failed.kind):
        held = accounts.hold(held, agent, until)
    return replace(state, roster=held, standstill=standstill)


def _checks_done(state: PlanState, checks: moves.ChecksDone, at: datetime) -> PlanState:
    if state.step is not None:
        if checks.passed:
            return _step_done(state, at)
        state = replace(state, turn_done=False, news=work_prompts.failed_gate(checks))
        return _failed(state, f"its check fails{_last_output(checks)}", None, at)
    if checks.passed:
        return replace(state, checked=True, tree=checks.tree)
    state = replace(state, repairs=True, news=work_prompts.failed_gate(checks))
    names = [check.name for check in checks.failed]
    names += [finding.path for finding in checks.findings if finding.fatal]
    return _failed(state, f"the gate fails: {', '.join(names)}{_last_output(checks)}", None, at)


def _last_output(checks: moves.ChecksDone) -> str:
    said = last_line(checks.failed[0].output) if checks.failed else ""
    return f": {said}" if said else ""


def _described(failed: moves.Failed) -> str:
    return f"{failed.kind.value.replace('_', ' ')}: {one_line(failed.message, 300)}"


def _merge_closed(state: PlanState, outcome: moves.Outcome, note: str) -> PlanState:
    state = replace(state, merging=False, merge_waits="")
    if outcome is moves.Outcome.DONE:
        return replace(state, end=moves.Outcome.DONE, note="merged")
    return _pause(state, f"it could not be merged: {note or outcome}", None)


# --- steps ---


def _next_open(state: PlanState, place: int) -> int:
    """The first place from here on whose step is not ticked."""
    while place < len(state.steps) and state.steps[place][1].done:
        place += 1
    return place


def _advanced(state: PlanState, at: datetime) -> PlanState:
    place = _next_open(state, state.position + 1)
    rest = timedelta(seconds=state.spec.step_delay_s)
    has_next = place < len(state.steps)
    return replace(
        state,
        position=place,
        approved=False,
        turn_done=False,
        failures=0,
        skip_asked="",
        paused="",
        paused_by=None,
        wait_until=at + rest if has_next and rest else None,
        waits_for="a moment between steps",
    )


def _step_done(state: PlanState, at: datetime) -> PlanState:
    step = state.step
    assert step is not None, "it was its turn"
    failed = tuple(each for each in state.failed if each != step.id)
    state = _to_commit(state, messages.of_step(step))
    return replace(_advanced(state, at), completed=state.completed + 1, failed=failed)


def _skip(state: PlanState, reason: str, at: datetime) -> PlanState:
    step = state.step
    assert step is not None, "only steps are skipped"
    skipped = Skipped(step=step.id, reason=reason)
    state = _to_commit(state, messages.of_skipped(step, reason))
    return replace(_advanced(state, at), skipped=(*state.skipped, skipped), news="")


def _to_commit(state: PlanState, message: str) -> PlanState:
    """With `auto_commit`, the changes of a step that is over are committed before all else."""
    if not state.spec.auto_commit or not state.uncommitted or state.to_commit:
        return state
    return replace(state, to_commit=message)


def _failed(
    state: PlanState,
    why: str,
    kind: moves.FailureKind | None,
    at: datetime,
    *,
    is_retried: bool = True,
) -> PlanState:
    """What follows after a failure of the step, or of the gate at the end."""
    spec, step, failures = state.spec, state.step, state.failures + 1
    what = f"step {step.id} failed: {why}" if step else why
    state = replace(state, failures=failures)
    backoff = spec.backoff
    is_auto = spec.mode is PlanMode.AUTOPILOT
    retries = backoff.retries if is_auto and is_retried else 0
    if spec.on_error is ErrorStrategy.RETRY and failures <= retries:
        seed = f"{spec.name}:{step.id if step else 'gate'}"
        until = at + backoff.delay(failures, seed)
        waits = f"retry {failures} of {retries}; {what}"
        return replace(state, wait_until=until, waits_for=waits)
    if step is not None:
        state = replace(state, failed=(*(i for i in state.failed if i != step.id), step.id))
    if is_auto and spec.on_error is ErrorStrategy.SKIP and step is not None:
        return _skip(state, why, at)
    if is_auto and spec.on_error is ErrorStrategy.ABORT:
        return replace(state, end=moves.Outcome.FAILED, note=what, paused_by=kind)
    return _pause(state, what, kind)


def _pause(state: PlanState, why: str, kind: moves.FailureKind | None) -> PlanState:
    return replace(state, paused=why, paused_by=kind)


def _approval(state: PlanState) -> str:
    assert state.step is not None, "only steps are approved"
    approve = f"`allstop plan approve {state.spec.name}`"
    return f"step {state.step.id} waits for your approval ({approve}): {one_line(state.step.title)}"


# --- commands ---


def _commanded(state: PlanState, command: Command, by: str, at: datetime) -> PlanState:
    match command:
        case Say():
            return _told(state, command.words)
        case Answer(text=text):
            return _told(state, text)
        case Approve() if state.step is not None:
            return replace(state, approved=True)
        case Retry(text=text):
            return _tried_again(_told(state, text) if text else state)
        case Resume():
            return _tried_again(state) if state.paused else state
        case Skip() if state.step is not None and state.end is None:
            reason = f"skipped by {by}"
            if state.moving:
                return replace(state, skip_asked=reason)
            return _skip(state, reason, at)
        case _:
            return state


def _told(state: PlanState, text: str) -> PlanState:
    """Pass a person's message to the agent; it also ends a pause after a failure."""
    state = replace(state, told=(*state.told, text))
    if state.step is None and not state.merging:
        state = replace(state, repairs=True)
    return _tried_again(state) if state.paused else state


def _tried_again(state: PlanState) -> PlanState:
    return replace(
        state,
        paused="",
        paused_by=None,
        failures=0,
        wait_until=None,
        standstill=NO_STREAK,
        roster=accounts.release_all(state.roster),
    )
