"""Guidance stages within a Full Auto run: the move of each stage and the state after it."""

from msgspec.structs import replace

from allstop.auto import guidance, guidance_prompts
from allstop.auto.guidance import SIGNATURES, Answer, Guide, Stage
from allstop.auto.state import Action, AutoState, Decision
from allstop.auto.structured_output import read
from allstop.core.moves import BRAKED, RESUMABLE, Failed, Move, Survey, Surveyed, TakeTurn, TurnDone
from allstop.core.prompt import prompt_from
from allstop.core.text import one_line

GUIDANCE_S = 120.0

RULES = "rules"


def has_stage(state: AutoState) -> bool:
    return state.guide is not None and bool(state.guide.ahead)


def begin(state: AutoState) -> AutoState:
    """Start guidance before the first turn, or after a given turn summary."""
    if state.spec.guide is None:
        return state
    first = guidance.initial_guide(state.spec.goal, has_repository=_has_repository(state))
    if state.spec.summary is not None:
        first = replace(first, ahead=())
    return by_rules_alone(replace(state, guide=first))


def after_turn(state: AutoState, decision: Decision) -> AutoState:
    """Start guidance for the next turn."""
    guide = state.guide or Guide()
    head = state.change.head if state.change else ""
    is_news = guide.survey is None or guide.survey.commit != head
    guide = guidance.next_round(guide, is_news=is_news and _has_repository(state))
    return by_rules_alone(replace(state, guide=guide, decided=decision))


def move(state: AutoState) -> Move:
    """The move of the next stage."""
    spec, guide = state.spec, _guide(state)
    if guide.ahead[0] is Stage.RESEARCH:
        return Survey(target=spec.target, workspace=spec.name)
    assert spec.guide is not None
    assert spec.guide.agent is not None, "the rules take no turns"
    return TakeTurn(
        agent=spec.guide.agent,
        prompt=prompt_from(guidance_prompts.ask(state, guide)),
        timeout_s=GUIDANCE_S,
        max_tokens=spec.guide.max_tokens,
        ask_s=0.0,
    )


def stage_ended(state: AutoState, result: object) -> AutoState:
    """The state after a stage; an interrupted stage is repeated."""
    guide, turn = _guide(state), state.turns
    match result:
        case Surveyed():
            return by_rules_alone(replace(state, guide=guidance.surveyed(guide, result, turn)))
        case Failed(kind=kind) if kind in RESUMABLE | BRAKED:
            return state
        case Failed(kind=kind, message=message) if guide.ahead[0] is Stage.RESEARCH:
            why = one_line(message, 200) or kind.value
            return by_rules_alone(replace(state, guide=guidance.not_surveyed(guide, why, turn)))
        case Failed(kind=kind):
            return _by_rules(state, f"{RULES} ({kind.value})")
        case TurnDone(text=text) if guide.ahead[0] in SIGNATURES:  # research has no signature
            answer = read(text, SIGNATURES[guide.ahead[0]])
            if isinstance(answer, str):
                return _by_rules(state, f"{RULES} ({one_line(answer)})")
            return _answered(state, answer, str(state.spec.guide and state.spec.guide.agent))
        case _:
            return state


def by_rules_alone(state: AutoState) -> AutoState:
    """Without a model, answer all stages by rules up to the next research."""
    has_model = state.spec.guide is not None and state.spec.guide.agent is not None
    while not has_model and has_stage(state) and _guide(state).ahead[0] is not Stage.RESEARCH:
        state = _by_rules(state, RULES)
    return state


def decision(state: AutoState) -> Decision:
    """The decision to continue with guidance's directive."""
    guide, before = _guide(state), state.decided
    directive = guide.directive.directive.strip() if guide.directive else ""
    return Decision(
        turn=state.turns,
        action=Action.CONTINUE,
        reason=guide.reason or "guidance is done",
        confidence=min(guide.confidence, before.confidence if before else 1.0),
        next_input=directive,
        by=f"guidance by {guide.steps[-1].by}",
    )


def _by_rules(state: AutoState, by: str) -> AutoState:
    answer = guidance.by_rules(_guide(state), state.spec.goal, state.plan)
    return _answered(state, answer, by)


def _answered(state: AutoState, answer: Answer, by: str) -> AutoState:
    guide = guidance.answered(_guide(state), answer, by, state.turns)
    state = replace(state, guide=guide)
    if guide.is_super and isinstance(answer, guidance.Understanding):
        return replace(state, spec=replace(state.spec, goal=answer.task))
    return state


def _guide(state: AutoState) -> Guide:
    assert state.guide is not None, "guidance is on"
    return state.guide


def _has_repository(state: AutoState) -> bool:
    return bool(state.spec.target)
