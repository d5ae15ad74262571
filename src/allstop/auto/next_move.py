"""The next move of a Full Auto run: a turn, a model's decision, the gate or the merge."""

from datetime import datetime

import msgspec

from allstop.auto import prompts as prompts
from allstop.auto.decision_prompt import decide
from allstop.auto.state import AutoSpec, AutoState, TurnSummary
from allstop.core import accounts, conversation
from allstop.core.board_specs import MergeSpec
from allstop.core.ids import AgentName
from allstop.core.moves import Adviser, Finish, Move, Outcome, RunChecks, Spawn, TakeTurn, Wait
from allstop.core.prompt import prompt, prompt_from
from allstop.core.run import PilotContext

MERGE = "merge"
DECISION_S = 120.0


def turn(state: AutoState, now: datetime) -> Move:
    spec = state.spec
    stays = state.agent if spec.endurance and spec.endurance.recover is False else None
    agent = accounts.pick(state.roster, now, stays)
    if isinstance(agent, datetime):
        awaited = state.roster.awaited
        reason = f"{awaited} is at its limit" if awaited else "every agent is at its limit"
        return Wait(reason=reason, until=agent)
    is_other = state.agent not in ("", agent)
    words = prompts.words(state)
    terms = spec.terms_of(agent)
    if state.talk.summary:
        words = f"{conversation.introduction(state.talk)}\n\n{words}"
    move = TakeTurn(
        agent=agent,
        prompt=prompt(
            f"{prompts.TAKEN_OVER}\n\n{words}" if is_other else words,
            review=prompts.own_review(state),
        ),
        thread=None if is_other else state.thread,
        workspace=spec.name or None,
        timeout_s=terms.turn_s,
        idle_s=terms.idle_s,
        max_tokens=terms.max_tokens,
        asks_first=spec.asks_first,
        ask_s=spec.ask_s,
        adviser=_adviser(spec),
    )
    return conversation.compacted_first(state.talk, move, spec.compact_at)


def decision(
    state: AutoState, judge: AgentName, summary: TurnSummary, context: PilotContext
) -> Move:
    """Ask a model for the decision after a turn."""
    talk = decide(state, summary, context)
    return TakeTurn(
        agent=judge,
        prompt=prompt_from(talk),
        timeout_s=DECISION_S,
        max_tokens=state.spec.max_tokens,
        ask_s=0.0,
    )


def _adviser(spec: AutoSpec) -> Adviser | None:
    if spec.adviser is None:
        return None
    return Adviser(agent=spec.adviser, min_confidence=spec.min_confidence)


def finish(state: AutoState) -> Move:
    """The moves after the last turn: gate, merge, end."""
    spec, gate = state.spec, state.gate or state.spec.gate
    if spec.name and state.change is not None and state.change.loose:
        names = ", ".join(state.change.loose)
        note = f"what was done in {names} is nowhere else; its work is kept in the workspace"
        return Finish(outcome=Outcome.FAILED, note=note)
    if not spec.name or state.change is None or not state.change.files:
        return Finish(outcome=Outcome.DONE, note=state.note)
    has_gate = spec.edition >= 3 or gate.has_commands or bool(gate.protected)
    if has_gate and not state.checked:
        unreviewed = spec.merge and gate.integrity is not None
        return RunChecks.for_gate(gate, spec.name, unreviewed=unreviewed)
    if not spec.merge:
        return Finish(outcome=Outcome.DONE, note="verified; its work is kept in the workspace")
    merge = MergeSpec(
        task=spec.name,
        target=spec.target,
        message=f"Merge {spec.name}: {spec.goal.strip().splitlines()[0][:60]}",
        gate=gate,
        verified=state.tree,
        verified_by=gate.fingerprint if state.gate else "",
        unreviewed=gate.integrity is not None,
    )
    return Spawn(kind="merge", ref=f"{MERGE}{state.merges + 1}", spec=msgspec.to_builtins(merge))
