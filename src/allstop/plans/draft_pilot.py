"""The pilot of a draft: an agent reads the repository, may ask once, and writes a plan."""

from datetime import datetime

import msgspec
from msgspec.structs import replace

from allstop.core import accounts, events, moves, work_prompts
from allstop.core.accounts import Roster
from allstop.core.commands import Answer, Command, Resume, Retry, Say, Skip
from allstop.core.prompt import prompt
from allstop.core.retries import NO_STREAK
from allstop.core.run import PilotContext
from allstop.core.text import counted, one_line
from allstop.plans import draft_prompts
from allstop.plans.draft import (
    MOST_QUESTIONS,
    DraftSpec,
    DraftState,
    OpenQuestion,
    draft_problems,
    plan_in,
    questions_in,
)
from allstop.plans.plan import Problem
from allstop.plans.plan_file import read_plan

NO_PLAN = Problem(
    line=1, problem="the message has no plan", expected="the plan between <plan> and </plan>"
)
ASKED_AGAIN = Problem(
    line=1, problem="it asks questions again", expected="the plan, with assumptions"
)
NOT_ASKABLE = Problem(
    line=1, problem="it asks, but nobody can answer", expected="the plan, with assumptions"
)


class DraftPilot:
    kind = "draft"
    ends_when_stopped = False
    needs_slots = True

    def begin(self, spec: dict[str, object]) -> DraftState:
        draft = msgspec.convert(spec, DraftSpec)
        return DraftState(spec=draft, roster=Roster(agents=draft.agents))

    def evolve(self, state: DraftState, event: events.Event) -> DraftState:
        match event:
            case events.MoveStarted(move=moves.TakeTurn() as move, at=at):
                return _turn_started(state, move, at)
            case events.MoveStarted():
                return replace(state, wait_until=None)
            case events.MoveEnded(result=result, at=at):
                return _ended(replace(state, in_turn=False), result, at, in_turn=state.in_turn)
            case events.ThreadOpened(thread=thread):
                return replace(state, thread=thread)
            case events.Reached():
                return replace(state, heard=state.heard + 1)
            case events.Commanded(command=command):
                return _commanded(state, command)
            case _:
                return state

    def undelivered(self, state: DraftState) -> tuple[str, ...]:
        if not state.in_turn:
            return ()
        return tuple(map(work_prompts.from_person, state.told[state.heard :]))

    def next_move(self, state: DraftState, context: PilotContext) -> moves.Move:
        spec = state.spec
        if state.end is not None and state.is_discarded:
            return moves.Finish(outcome=state.end, note=state.note, failure=state.paused_by)
        if state.end is not None:
            return moves.Discard(workspace=spec.name)
        if state.paused:
            return moves.Wait(reason=state.paused, for_person=True, failure=state.paused_by)
        if state.waiting:
            return _wait_for_answers(state)
        if state.wait_until is not None and context.now < state.wait_until:
            return moves.Wait(reason=state.waits_for, until=state.wait_until)
        if not state.base:
            return moves.OpenWorkspace(workspace=spec.name, target=spec.target)
        return _turn(state, context.now)


# --- moves ---


def _turn(state: DraftState, now: datetime) -> moves.Move:
    agent = accounts.pick(state.roster, now, state.agent or None)
    if isinstance(agent, datetime):
        awaited = state.roster.awaited
        reason = f"{awaited} is at its limit" if awaited else "every agent is at its limit"
        return moves.Wait(reason=reason, until=agent)
    terms = state.spec.terms_of(agent)
    return moves.TakeTurn(
        agent=agent,
        prompt=prompt(draft_prompts.words(state)),
        thread=state.thread if agent == state.agent else None,
        workspace=state.spec.name,
        timeout_s=terms.turn_s,
        idle_s=terms.idle_s,
        max_tokens=terms.max_tokens,
        ask_s=state.spec.ask_s,
        discards=True,
    )


def _wait_for_answers(state: DraftState) -> moves.Move:
    waiting, asked = state.waiting, min(len(state.questions), MOST_QUESTIONS)
    number = asked - len(waiting) + 1
    reason = f"question {number} of {asked}: {waiting[0].text}"
    return moves.Wait(reason=reason, for_person=True, question=waiting[0].text)


# --- events ---


def _turn_started(state: DraftState, move: moves.TakeTurn, at: datetime) -> DraftState:
    return replace(
        state,
        in_turn=True,
        wait_until=None,
        agent=move.agent,
        thread=state.thread if move.agent == state.agent else None,
        heard=len(state.told),
        roster=accounts.turn_started(state.roster, state.agent, move.agent, at),
    )


def _ended(state: DraftState, result: moves.Result, at: datetime, *, in_turn: bool) -> DraftState:
    match result:
        case moves.WorkspaceOpen(base=base, gate=gate):
            return replace(state, base=base, gate=gate)
        case moves.Discarded():
            return replace(state, is_discarded=True)
        case moves.TurnDone():
            return _turn_done(state, result)
        case moves.Failed(kind=kind) if kind in moves.RESUMABLE:
            return replace(state, base="")  # a killed process may have left lock files
        case moves.Failed() if state.end is not None:  # the plan counts more than its workspace
            return replace(state, is_discarded=True)
        case moves.Failed(kind=kind) if kind in moves.BRAKED:
            return state  # a person may raise the limit; then the move is repeated
        case moves.Failed() if in_turn:
            return _turn_failed(state, result, at)
        case moves.Failed(kind=kind):
            return replace(state, paused=_described(result), paused_by=kind)
        case _:
            return state


def _turn_done(state: DraftState, turn: moves.TurnDone) -> DraftState:
    state = replace(
        state,
        turns=state.turns + 1,
        thread=turn.thread or state.thread,
        told=state.told[state.heard :],
        heard=0,
        news="",
        failures=0,
        standstill=NO_STREAK,
        roster=accounts.turn_done(state.roster, state.agent),
    )
    text, asked = plan_in(turn.text), questions_in(turn.text)
    if text is not None:
        return _plan_given(state, text, draft_problems(text, len(state.left_open)))
    if asked and state.spec.asks and not state.questions:
        return replace(state, questions=tuple(map(_question, asked, range(len(asked)))))
    if not asked:
        return _plan_given(state, turn.text, (NO_PLAN,))
    if state.questions:
        return _plan_given(state, turn.text, (ASKED_AGAIN,))
    left = tuple(OpenQuestion(text=text, answer="") for text in asked[:MOST_QUESTIONS])
    return _plan_given(replace(state, questions=left), turn.text, (NOT_ASKABLE,))


def _question(text: str, place: int) -> OpenQuestion:
    """A question for the person; those beyond the most that are asked are left to the agent."""
    return OpenQuestion(text=one_line(text, 500), answer=None if place < MOST_QUESTIONS else "")


def _plan_given(state: DraftState, text: str, problems: tuple[Problem, ...]) -> DraftState:
    state = replace(state, text=text, problems=problems)
    if not problems:
        return _ready(state)
    if state.corrected < state.spec.corrections:
        return replace(state, corrected=state.corrected + 1)
    first, more = problems[0], len(problems) - 1
    note = f"the agent's plan can't be used: line {first.line}: {first}"
    note += f"; and {counted(more, 'more problem')}" if more else ""
    return replace(state, end=moves.Outcome.FAILED, note=note)


def _ready(state: DraftState) -> DraftState:
    """End with the plan, unless a person has said something that the agent doesn't know yet."""
    if state.told:
        return state
    plan = read_plan("plan.md", state.text.encode(errors="replace")).plan
    phases, steps = len(plan.phases), sum(1 for _ in plan.steps())
    note = f"{counted(phases, 'phase')}, {counted(steps, 'step')}"
    return replace(state, is_ready=True, end=moves.Outcome.DONE, note=note)


def _turn_failed(state: DraftState, failed: moves.Failed, at: datetime) -> DraftState:
    if failed.kind is moves.FailureKind.BILLING:
        sharing = state.spec.agents_sharing_account(state.agent)
        state = replace(state, roster=accounts.after_billing(state.roster, sharing, failed, at))
        if not isinstance(accounts.pick(state.roster, at), datetime):
            return state  # another account continues
        return replace(state, paused=_described(failed), paused_by=failed.kind)
    if failed.kind in moves.LIMITED:
        return _at_limit(state, failed, at)
    if failed.kind is moves.FailureKind.CAPPED:
        state = replace(state, news=work_prompts.CAPPED, turns=state.turns + 1)
    failures, backoff = state.failures + 1, state.spec.backoff
    state = replace(state, failures=failures)
    if failures > backoff.retries:
        return replace(state, paused=_described(failed), paused_by=failed.kind)
    waits = f"retry {failures} of {backoff.retries}; {_described(failed)}"
    until = at + backoff.delay(failures, state.spec.name)
    return replace(state, wait_until=until, waits_for=waits)


def _at_limit(state: DraftState, failed: moves.Failed, at: datetime) -> DraftState:
    spec, agent = state.spec, state.agent
    is_agents_own = failed.kind is moves.FailureKind.OVERLOADED
    affected = (agent,) if is_agents_own else spec.agents_sharing_account(agent)
    before = state.standstill
    after = accounts.after_limit(
        state.roster, agent, affected, failed, at, before, spec.patience, spec.name
    )
    state = replace(state, roster=after.roster, standstill=before.extended(failed, at))
    if not after.gave_up:
        return state
    why = f"{_described(failed)}; {after.gave_up}"
    return replace(state, paused=why, paused_by=failed.kind)


def _described(failed: moves.Failed) -> str:
    return f"{failed.kind.value.replace('_', ' ')}: {one_line(failed.message, 300)}"


# --- commands ---


def _commanded(state: DraftState, command: Command) -> DraftState:
    if state.end is not None:
        return state
    match command:
        case Say():
            return _heard(state, command.words)
        case Answer(text=text):
            return _heard(state, text)
        case Skip() if state.waiting:
            return _answered(state, ("",))
        case Resume():
            return _tried_again(state) if state.paused else state
        case Retry(text=text):
            return _heard(state, text) if text else _tried_again(state)
        case _:
            return state


def _heard(state: DraftState, text: str) -> DraftState:
    """A person's text answers the next question, or all of them if it has a line for each."""
    if not state.waiting:
        state = replace(state, told=(*state.told, text))
        return _tried_again(state) if state.paused else state
    lines = tuple(line.strip() for line in text.split("\n"))
    return _answered(state, lines if len(lines) == len(state.waiting) else (text.strip(),))


def _answered(state: DraftState, answers: tuple[str, ...]) -> DraftState:
    """Give the answers to the first questions that wait; an empty one leaves it to the agent."""
    given = iter(answers)
    questions = tuple(
        replace(each, answer=next(given, None)) if each.answer is None else each
        for each in state.questions
    )
    return replace(state, questions=questions)


def _tried_again(state: DraftState) -> DraftState:
    return replace(
        state,
        paused="",
        paused_by=None,
        failures=0,
        wait_until=None,
        standstill=NO_STREAK,
        roster=accounts.release_all(state.roster),
    )
