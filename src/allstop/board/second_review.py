"""The review of verified work by a second agent: when it is due, what it found, and its end.

Its findings are claims. They go back to the work's agent while rounds are left, and then to the
person; they neither pass nor fail the gate.
"""

import math
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from allstop.board import attempt as attempts
from allstop.board.attempt import TaskState
from allstop.core import moves, work_prompts
from allstop.core.ids import AgentName
from allstop.core.review_comments import ReviewFinding, SecondReview, Severity, open_findings
from allstop.core.signals import NO_CLAIM, without_signal_line
from allstop.core.text import last_chars, one_line

MAX_FINDINGS = 50
CLAIM_CHARS = 1000
SUMMARY_CHARS = 500
REPLY_CHARS = 8000


def is_due(state: TaskState) -> bool:
    """Whether the second agent reviews the verified work now."""
    spec = state.spec
    has_rounds = len(state.second) < spec.second_rounds and not state.second_ended
    return bool(spec.second and spec.target and has_rounds) and attempts.seconds_left(state) > 0


def turn(state: TaskState) -> moves.TakeTurn:
    """One round: the second agent looks at a copy of the work."""
    spec = state.spec
    agent = reviewer(state)
    terms, left_s = spec.terms_of(agent), attempts.seconds_left(state)
    earlier = state.second[-1] if state.second else None
    return moves.TakeTurn(
        agent=agent,
        prompt=work_prompts.second_review(spec.goal, state.base, earlier),
        workspace=spec.task,
        in_copy=True,
        timeout_s=terms.turn_s if left_s == math.inf else min(terms.turn_s, left_s),
        idle_s=terms.idle_s,
        max_tokens=terms.max_tokens,
        ask_s=spec.ask_s,
    )


def reviewer(state: TaskState) -> AgentName:
    """The first of the reviewers with another account than the work's agent, where there is one."""
    spec, author = state.spec, state.agent
    account = spec.terms_of(author).account
    others = [
        agent
        for agent in spec.second
        if agent != author and not (account and spec.terms_of(agent).account == account)
    ]
    return (others or spec.second)[0]


def apply_result(state: TaskState, result: moves.Result) -> TaskState:
    """The state after a round, or after a round that failed."""
    agent, state = reviewer(state), replace(state, reviewing=False)
    match result:
        case moves.Failed(kind=kind) if kind in moves.RESUMABLE:
            return state  # the round is repeated
        case moves.TurnDone(text=text):
            return _with_review(state, read_review(text, agent))
        case moves.Failed(kind=kind, message=message):
            why = one_line(f"{kind.value.replace('_', ' ')}: {message}", 300)
            return _with_review(state, SecondReview(agent=agent, error=why))
        case _:
            return state


def _with_review(state: TaskState, review: SecondReview) -> TaskState:
    state = replace(state, second=(*state.second, review))
    if not (review.findings and _can_answer(state)):
        return replace(state, second_ended=True)
    news = work_prompts.reviewed(review.findings)
    return replace(attempts.person_spoke(state), claim=NO_CLAIM, checked=False, news=news)


def _can_answer(state: TaskState) -> bool:
    """Whether the work's agent gets the findings: a round, a turn and time must be left."""
    has_turn = state.iteration < state.spec.iterations
    return is_due(state) and has_turn


def with_reply(state: TaskState, said: str) -> TaskState:
    """Keep what the work's agent said to the last findings."""
    if not state.second or state.second_ended:
        return state
    reply = last_chars(without_signal_line(said).strip(), REPLY_CHARS)
    return replace(state, second=(*state.second[:-1], replace(state.second[-1], reply=reply)))


def serious_claims(reviews: Sequence[SecondReview]) -> str:
    """The open serious findings in one line; "" if there are none."""
    serious = [each for each in open_findings(reviews) if each.severity is Severity.SERIOUS]
    return "; ".join(f"second review: {one_line(each.claim, 150)}" for each in serious)


# --- the answer of the second agent ---


class _Answer(msgspec.Struct, frozen=True):
    findings: tuple[msgspec.Raw, ...]
    summary: str = ""


def read_review(text: str, agent: AgentName) -> SecondReview:
    """The review in an agent's message; without a readable one, a review with the error."""
    begin, end = text.find("{"), text.rfind("}")
    try:
        found = msgspec.json.decode(text[begin : end + 1].encode(errors="replace"), type=_Answer)
        findings = [_finding(raw) for raw in found.findings[:MAX_FINDINGS]]
    except (msgspec.DecodeError, RecursionError) as error:
        why = one_line(f"its answer could not be read: {error}", 300)
        return SecondReview(agent=agent, error=why)
    order = tuple(Severity)
    findings.sort(key=lambda finding: order.index(finding.severity))
    summary = one_line(found.summary, SUMMARY_CHARS)
    return SecondReview(agent=agent, findings=tuple(findings), summary=summary)


def _finding(raw: msgspec.Raw) -> ReviewFinding:
    found = msgspec.json.decode(raw, type=ReviewFinding, strict=False)
    return replace(
        found,
        claim=found.claim[:CLAIM_CHARS],
        check=found.check[:CLAIM_CHARS],
        file=one_line(found.file.removeprefix("./"), 300),
        line=max(0, found.line),
    )
