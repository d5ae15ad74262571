"""The pilot of one attempt at a task: turns until the agent says COMPLETE and the checks pass."""

from datetime import datetime, timedelta

import msgspec
from msgspec.structs import replace

from allstop.board import attempt as attempts
from allstop.board import moved_target, remedy_hints, second_review
from allstop.board.attempt import TaskState
from allstop.core import accounts, conversation, events, moves, work_prompts
from allstop.core.accounts import Roster
from allstop.core.board_specs import AgentTerms, TaskSpec
from allstop.core.commands import Answer, Give, Resume, Retry, Say
from allstop.core.gate import Integrity, Verdict
from allstop.core.ids import AgentName
from allstop.core.retries import NO_STREAK, retry_time
from allstop.core.run import PilotContext
from allstop.core.signals import NO_CLAIM, Signal, SignalClaim, read_signal
from allstop.core.text import counted, last_line
from allstop.gate.change_findings import serious_findings

RETRIED = frozenset(
    {
        moves.FailureKind.NETWORK,
        moves.FailureKind.UNAVAILABLE,
        moves.FailureKind.CRASHED,
        moves.FailureKind.STALLED,
    }
)
"""Failures that are retried after a while."""

UNSIGNALLED = frozenset({Signal.NONE, Signal.PROGRESS})
"""Signals after which the agent gets another turn."""

SHARED_FAILURES = 2
"""Equal failures of a check that fails on the target, too, after which a task is blocked."""

CANNOT_RUN = frozenset({126, 127})
"""Exit codes of a shell that can't find a program or may not start it."""


class TaskPilot:
    kind = "task"
    ends_when_stopped = False
    needs_slots = True

    def begin(self, spec: dict[str, object]) -> TaskState:
        task = msgspec.convert(spec, TaskSpec)
        roster = Roster(agents=task.agents)
        news = _with_given_note(task.news) if task.given else task.news
        return TaskState(
            spec=task,
            roster=roster,
            news=news,
            stash=task.stash,
            given=task.given,
            onto=task.onto,
        )

    def evolve(  # noqa: C901 - one case for each kind of event
        self, state: TaskState, event: events.Event
    ) -> TaskState:
        match event:
            case events.MoveStarted(move=moves.TakeTurn(in_copy=True), at=at):
                return replace(state, move_began_at=at, reviewing=True)
            case events.MoveStarted(move=moves.TakeTurn() as turn, at=at):
                return _turn_started(state, turn, at)
            case events.MoveStarted(at=at):
                return replace(state, move_began_at=at)
            case events.MoveEnded(result=result, at=at):
                state = replace(attempts.add_busy_time(state, event), move_ended_at=at)
                if state.reviewing:
                    return second_review.apply_result(state, result)
                return _apply_result(state, result, at)
            case events.Noted(items=items, at=at):
                state = attempts.add_activity_time(state, at)
                return state if state.reviewing else _noted(state, items)
            case events.Reached():
                return replace(state, messages_delivered=state.messages_delivered + 1)
            case events.ThreadOpened(thread=thread) if not state.reviewing:
                return replace(state, thread=thread)
            case events.Commanded(command=Say() as say):
                state = attempts.person_spoke(state)
                return replace(state, messages=(*state.messages, say.words))
            case events.Commanded(command=Answer(text=text)) if (
                state.claim.signal is Signal.PENDING
            ):
                news = work_prompts.answered(state.claim.text, text)
                return replace(attempts.person_spoke(state), claim=NO_CLAIM, news=news)
            case events.Commanded(command=Give(commit=commit)):
                return _given(attempts.person_spoke(state), commit)
            case events.Commanded(command=Retry()):
                return replace(attempts.person_spoke(state), wait_until=None, failures=0)
            case events.Commanded(command=Resume()):
                return attempts.person_spoke(state)
            case _:
                return state

    def undelivered(self, state: TaskState) -> tuple[str, ...]:
        if state.talk.compacting or state.reviewing:
            return ()
        return tuple(map(work_prompts.from_person, state.messages[state.messages_delivered :]))

    def next_move(self, state: TaskState, context: PilotContext) -> moves.Move:
        spec = state.spec
        if state.end is not None:
            return attempts.give_up(state, state.end, state.note)
        if state.wait_until is not None and context.now < state.wait_until:
            return moves.Wait(reason="tries again later", until=state.wait_until)
        if attempts.seconds_left(state) <= 0 and not _is_verified(state):
            return attempts.out_of_time(state, state.agent)
        if spec.target is not None and not state.base:
            return moves.OpenWorkspace(
                workspace=spec.task,
                target=spec.target,
                onto=state.onto,
                stash=state.stash,
                given=state.given,
            )
        if state.claim.signal is Signal.PENDING:
            asks = state.claim.text
            return moves.Wait(reason=f"asks: {asks}", for_person=True, question=asks)
        if state.claim.signal is Signal.COMPLETE and not _has_messages(state):
            return _completion_move(state)
        if state.iteration >= spec.iterations:
            note = attempts.not_done_note(state, counted(spec.iterations, "turn"))
            return attempts.give_up(state, moves.Outcome.TIMED_OUT, note)
        if reason := state.no_progress_reason:
            return moves.Wait(reason=reason, for_person=True)
        until = attempts.wait_without_progress(state)
        if until is not None and context.now < until:
            return moves.Wait(reason=attempts.NO_PROGRESS_WAIT, until=until)
        return moved_target.turn_checks(state) if state.is_due else _turn(state, context)

    def completion(self, state: TaskState, context: PilotContext) -> moves.Move | None:
        if state.spec.edition < 3 or state.claim.signal is not Signal.COMPLETE:
            return None
        move = self.next_move(replace(state, second_ended=True), context)
        return None if isinstance(move, moves.TakeTurn) else move


def _turn_started(state: TaskState, turn: moves.TakeTurn, at: datetime) -> TaskState:
    """A turn may change the work, so earlier checks and deliveries don't count."""
    talk = conversation.turn_started(state.talk, turn)
    if turn.compacts:
        return replace(state, talk=talk, move_began_at=at)
    return replace(
        moved_target.without_merge(state),
        agent=turn.agent,
        talk=talk,
        roster=accounts.turn_started(state.roster, state.agent, turn.agent, at),
        wait_until=None,
        messages_delivered=len(state.messages),
        move_began_at=at,
        claim=NO_CLAIM,
        checked=False,
        is_due=False,
        delivered=False,
    )


def _has_messages(state: TaskState) -> bool:
    """Whether a message came too late for the last turn: the agent gets another turn first."""
    return bool(state.messages) and state.iteration < state.spec.iterations


def _completion_move(state: TaskState) -> moves.Move:
    spec = state.spec
    if not _is_verified(state):
        return moved_target.gate_move(state)
    if second_review.is_due(state):
        return second_review.turn(state)
    if spec.branch and not state.delivered:
        return moves.Deliver(workspace=spec.task, branch=spec.branch)
    return moves.Finish(outcome=moves.Outcome.DONE, facts=_facts(state))


def _is_verified(state: TaskState) -> bool:
    return state.claim.signal is Signal.COMPLETE and (state.checked or not _has_gate(state))


def _has_gate(state: TaskState) -> bool:
    """Work for a branch is always inspected, even without checks and protected paths."""
    gate, spec = state.effective_gate, state.spec
    is_looked_at = spec.edition >= 2 and spec.target is not None
    return is_looked_at or gate.has_commands or bool(gate.protected)


def _facts(state: TaskState) -> dict[str, str]:
    """Facts about the work for the board."""
    if state.spec.target is None:
        return {}
    return {
        "commit": state.change.head if state.change else "",
        "tree": state.tree,
        **({"gate": gate.fingerprint} if (gate := state.target_gate) else {}),
        "clean": "yes" if attempts.is_clean(state) else "",
        **({"findings": found} if (found := _to_confirm(state)) else {}),
        **({"asks": "yes"} if _asks(state) else {}),
        **({} if state.effective_gate.has_commands else {"unverified": "yes"}),
    }


def _asks(state: TaskState) -> bool:
    """Whether a person must decide, even if the review mode has become `skip` meanwhile."""
    is_strict = (state.effective_gate.integrity or Integrity.REPORT) is not Integrity.REPORT
    return is_strict and any(found.verdict is Verdict.ASK for found in state.findings)


def _to_confirm(state: TaskState) -> str:
    """What a person confirms before the work is merged, in one line."""
    found = [serious_findings(state.findings), second_review.serious_claims(state.second)]
    return "; ".join(filter(None, found))


def _given(state: TaskState, commit: str) -> TaskState:
    """A person's commit changes the work, so earlier claims and checks don't count."""
    news = _with_given_note(state.news)
    state = moved_target.without_merge(state)
    return replace(state, base="", given=commit, claim=NO_CLAIM, checked=False, news=news)


def _with_given_note(news: str) -> str:
    return "\n\n".join(filter(None, [news, work_prompts.GIVEN]))


def _noted(state: TaskState, items: tuple[moves.Item, ...]) -> TaskState:
    """Progress may be reported at any time, in a message or through the tool."""
    for item in items:
        if item.kind == "progress":
            state = replace(state, progress=item.text)
        elif item.kind == "message":
            claim = read_signal(item.text)
            if claim.signal is Signal.PROGRESS:
                state = replace(state, progress=claim.text)
    return state


def _turn(state: TaskState, context: PilotContext) -> moves.Move:
    spec = state.spec
    stays = state.agent if spec.endurance.recover is False else None
    agent = accounts.pick(state.roster, context.now, stays)
    if isinstance(agent, datetime):
        only = spec.agents[0] if len(spec.agents) == 1 else state.roster.awaited
        reason = f"{only} is at its limit" if only else "every agent is at its limit"
        return moves.Wait(reason=reason, until=agent)
    terms, left_s = spec.terms_of(agent), attempts.seconds_left(state, agent)
    if left_s <= 0:
        return attempts.out_of_time(state, agent)
    news = state.news
    if state.messages:
        news = "\n\n".join(filter(None, [news, *map(work_prompts.from_person, state.messages)]))
    if state.talk.summary:
        news = "\n\n".join(filter(None, [conversation.introduction(state.talk), news]))
    turn = moves.TakeTurn(
        agent=agent,
        prompt=work_prompts.turn(spec.goal, news, spec.edition, criteria=spec.criteria),
        thread=state.thread if agent == state.agent else None,
        workspace=spec.task if spec.target is not None else None,
        timeout_s=min(terms.turn_s, left_s) if _is_cut_by_turns(spec) else left_s,
        idle_s=terms.idle_s,
        max_tokens=terms.max_tokens,
        ask_s=spec.ask_s,
    )
    return conversation.compacted_first(state.talk, turn, spec.compact_at)


def _is_cut_by_turns(spec: TaskSpec) -> bool:
    """Whether a turn has its own time limit besides that of the attempt."""
    return spec.edition < 2 or spec.attempt_s is None


def _apply_result(state: TaskState, result: moves.Result, at: datetime) -> TaskState:
    if state.talk.compacting and isinstance(result, moves.TurnDone | moves.Failed):
        return _compacted(state, result, at)
    if (applied := moved_target.apply_result(state, result)) is not None:
        return applied
    match result:
        case moves.TurnDone():
            return _turn_done(state, result)
        case moves.WorkspaceOpen():
            return _workspace_opened(state, result)
        case moves.ChecksDone() if state.is_due:
            return moved_target.turn_checked(state, result)
        case moves.ChecksDone(passed=True, tree=tree, findings=findings, skipped=skipped):
            tree = "" if skipped else tree  # what was skipped runs when it is merged
            return replace(state, checked=True, tree=tree, findings=findings, gate_result=result)
        case moves.ChecksDone():
            return replace(_gate_failed(state, result), gate_result=result)
        case moves.Delivered():
            return replace(state, delivered=True)
        case moves.Failed():
            return _failed(state, result, at)
        case _:
            return state


def _compacted(state: TaskState, result: moves.TurnDone | moves.Failed, at: datetime) -> TaskState:
    """The turn that should compact the conversation has ended; a failure doesn't end the attempt."""
    state = replace(
        state,
        talk=conversation.compaction_ended(state.talk, result),
        change=result.change or state.change,
        thread=None if conversation.is_over(result) else state.thread,
    )
    if isinstance(result, moves.Failed) and result.kind in moves.UNFINISHED:
        return _failed(state, result, at)
    return state


def _gate_failed(state: TaskState, gate: moves.ChecksDone) -> TaskState:
    """The agent is told which checks failed.

    If a check can't be started on the target either, the task may be to create its program. So the
    agent is told once, and after that a person has to fix it.
    """
    state = _with_gate_failure(state, gate)
    missing = [check for check in gate.failed if check.failed_before and check.code in CANNOT_RUN]
    if missing and state.check_missing:
        check = missing[0]
        note = f"{check.name} can't be run, on the target branch neither: {last_line(check.output)}"
        return _blocked_by_target(state, check, f"{note}; `allstop doctor` tries it")
    is_shared = bool(gate.failed) and all(check.failed_before for check in gate.failed)
    if is_shared and state.spec.no_progress and state.gate_failures >= SHARED_FAILURES:
        check = gate.failed[0]
        note = work_prompts.target_failure(check, state.spec.target or "")
        return _blocked_by_target(state, check, note)
    fatal = [finding.path for finding in gate.findings if finding.fatal]
    names = ", ".join([*(check.name for check in gate.failed), *fatal])
    state = moved_target.reject_completion(state, gate, names)
    return replace(state, findings=gate.findings, check_missing=bool(missing))


def _with_gate_failure(state: TaskState, gate: moves.ChecksDone) -> TaskState:
    mark = attempts.failure_mark(gate)
    times = state.gate_failures + 1 if mark == state.gate_failure else 1
    return replace(state, gate_failure=mark, gate_failures=times)


def _blocked_by_target(state: TaskState, check: moves.CheckResult, note: str) -> TaskState:
    """No work can pass this check, so the board starts no other task until a person has acted."""
    holds_board = check.name if state.spec.no_progress else ""
    return replace(state, end=moves.Outcome.BLOCKED, note=note, target_failure=holds_board)


def _workspace_opened(state: TaskState, opened: moves.WorkspaceOpen) -> TaskState:
    notes = [
        work_prompts.conflicts(opened.conflicts) if opened.conflicts else "",
        work_prompts.STASHED if opened.stashed else "",
    ]
    new = [text for text in notes if text not in state.news]  # the workspace may be opened twice
    news = "\n\n".join(filter(None, [state.news, *new]))
    return replace(state, base=opened.base, gate=opened.gate, stash=False, given="", news=news)


def _turn_done(state: TaskState, turn: moves.TurnDone) -> TaskState:
    claim = _signal(state.spec.terms_of(state.agent), turn)
    has_commit = _idle_iterations(state, turn.change) == 0
    state = replace(
        state,
        is_due=has_commit
        and claim.signal in (*UNSIGNALLED, Signal.PROGRESS)
        and bool(moved_target.checks_of_turns(state)),
        thread=turn.thread or state.thread,
        talk=conversation.turn_done(state.talk, turn),
        change=turn.change or state.change,
        iteration=state.iteration + 1,
        claim=claim,
        news=work_prompts.NO_SIGNAL if claim.signal in UNSIGNALLED else "",
        messages=state.messages[state.messages_delivered :],
        messages_delivered=0,
        failures=0,
        standstill=NO_STREAK,
        roster=accounts.turn_done(state.roster, state.agent),
        idle_iterations=_idle_iterations(state, turn.change),
        unchanged_turns=_unchanged_turns(state, turn.change, turn.text),
        said=turn.text,
    )
    state = second_review.with_reply(state, turn.text)
    match claim.signal:
        case Signal.NONE:
            return state
        case Signal.PENDING:
            return replace(state, asked=True)
        case Signal.PROGRESS:
            return replace(state, progress=claim.text)
        case Signal.BLOCKED if not _has_messages(state):
            return replace(state, end=moves.Outcome.BLOCKED, note=claim.text)
        case Signal.COMPLETE if state.spec.target is not None and (
            why := attempts.incomplete_reason(state.change)
        ):
            loose = state.change.loose if state.change else ()
            news = work_prompts.loose(loose) if loose else work_prompts.NO_CHANGE
            return attempts.reject_completion(state, why, news)
        case _:
            return state


def _unchanged_turns(state: TaskState, change: moves.Change | None, said: str) -> int:
    """Turns in a row that changed nothing, including the one that has just ended."""
    if state.spec.target is None:  # without a workspace only the replies can be compared
        return state.unchanged_turns + 1 if said == state.said else 1
    return state.unchanged_turns + 1 if _idle_iterations(state, change) else 0


def _turn_capped(state: TaskState, failed: moves.Failed) -> TaskState:
    """A turn that reached its token limit counts; the next one gets its messages again."""
    return replace(
        state,
        change=failed.change or state.change,
        iteration=state.iteration + 1,
        news=work_prompts.CAPPED,
        idle_iterations=_idle_iterations(state, failed.change),
        unchanged_turns=_unchanged_turns(state, failed.change, failed.message),
    )


def _idle_iterations(state: TaskState, change: moves.Change | None) -> int:
    """Iterations without a commit, including the one that has just ended."""
    head_before = state.change.head if state.change else state.base
    return 0 if change is not None and change.head != head_before else state.idle_iterations + 1


def _signal(terms: AgentTerms, turn: moves.TurnDone) -> SignalClaim:
    claim = turn.claim
    has_work = turn.change is not None and turn.change.files > 0
    if terms.done == "exit" and claim.signal is Signal.NONE and has_work:
        return SignalClaim(signal=Signal.COMPLETE)
    return claim


def _failed(state: TaskState, failed: moves.Failed, at: datetime) -> TaskState:
    if failed.kind in moves.RESUMABLE:
        # a killed process may have left lock files: reopen the workspace
        by_a_stop = failed.kind is not moves.FailureKind.INTERRUPTED
        stash = state.stash or (by_a_stop and state.spec.stop_stashes)
        return replace(moved_target.without_merge(state), base="", stash=stash)
    if failed.kind in moves.BRAKED:
        return replace(state, change=failed.change or state.change)
    if failed.kind is moves.FailureKind.CAPPED:
        return _turn_capped(state, failed)
    note = remedy_hints.note_of(failed)
    if failed.kind is moves.FailureKind.BILLING:
        return _unpaid(state, failed, at, note)
    if failed.kind in moves.LIMITED and state.spec.endurance.edition >= 2:
        return _at_limit(state, failed, at, note)
    if failed.kind in moves.LIMITED and not state.spec.endurance.is_out_of_guesses(
        failed, state.standstill
    ):
        return _limited(state, failed, at, note)
    if failed.kind is moves.FailureKind.CRASHED and state.spec.crash_ends:
        return replace(state, end=moves.Outcome.CRASHED, note=note, failure=failed.kind)
    if failed.kind in RETRIED and state.failures < state.spec.backoff.retries:
        attempt = state.failures + 1
        delay: timedelta = state.spec.backoff.delay(attempt, state.spec.task)
        return replace(state, failures=attempt, wait_until=at + delay)
    outcome = (
        moves.Outcome.TIMED_OUT
        if failed.kind is moves.FailureKind.TIMED_OUT
        else moves.Outcome.FAILED
    )
    return replace(state, end=outcome, note=note, failure=failed.kind)


def _unpaid(state: TaskState, failed: moves.Failed, at: datetime, note: str) -> TaskState:
    """Leave the account to a person: another account continues, or the attempt ends."""
    sharing = state.spec.agents_sharing_account(state.agent)
    held = accounts.after_billing(state.roster, sharing, failed, at)
    next_agent = accounts.pick(held, at)
    if isinstance(next_agent, datetime):
        return replace(state, end=moves.Outcome.FAILED, note=note, failure=failed.kind)
    return replace(state, roster=held)


def _affected(state: TaskState, kind: moves.FailureKind) -> tuple[AgentName, ...]:
    """The agents that a limit of the last turn holds: those of its account."""
    if kind is moves.FailureKind.OVERLOADED:
        return (state.agent,)
    return state.spec.agents_sharing_account(state.agent)


def _at_limit(state: TaskState, failed: moves.Failed, at: datetime, note: str) -> TaskState:
    spec = state.spec
    after = accounts.after_limit(
        state.roster,
        state.agent,
        _affected(state, failed.kind),
        failed,
        at,
        state.standstill,
        spec.endurance,
        spec.task,
    )
    if after.gave_up:
        note = f"{note}; {after.gave_up}"
        return replace(state, end=moves.Outcome.FAILED, note=note, failure=failed.kind)
    standstill = state.standstill.extended(failed, at)
    return replace(state, roster=after.roster, standstill=standstill)


def _limited(state: TaskState, failed: moves.Failed, at: datetime, note: str) -> TaskState:
    """The rules of edition 1: wait longer each time; an agent that never gives a retry time is given up at some point."""
    if overdue_reason := state.spec.endurance.overdue_reason(failed, at, state.standstill):
        note = f"{note}; {overdue_reason}"
        return replace(state, end=moves.Outcome.FAILED, note=note, failure=failed.kind)
    standstill = state.standstill.extended(failed, at)
    until = retry_time(failed.retry_at, at, standstill.times, state.spec.task)
    held = state.roster
    for agent in _affected(state, failed.kind):
        held = accounts.hold(held, agent, until)
    return replace(state, roster=held, standstill=standstill)
