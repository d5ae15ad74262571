"""What is written down of a decision of Full Auto."""

from __future__ import annotations

import msgspec

from allstop.auto.state import AutoState, History, TurnSummary
from allstop.core.decisions import Decided

OF_A_TURN = (
    *("turn", "status", "error", "kind", "said", "text", "plan", "change", "usage", "compactions"),
    *("unanswered", "was_review", "pending", "denied", "thread", "move", "did"),
)
OF_BEFORE = (
    *("footprints", "errors", "compactions", "reviews", "reviewed", "looked_at", "vouched"),
)


def written(state: AutoState) -> Decided | None:
    """The latest decision, as the record keeps it."""
    if state.decision is None or state.summary is None:
        return None
    inputs = _digest(state.summary, state.history)
    return Decided(decision=state.decision, edition=state.spec.edition, inputs=inputs)


def _digest(summary: TurnSummary, history: History) -> str:
    """Of fields by name: one that comes later must not make old records look forged."""
    from hashlib import blake2b  # it loads OpenSSL, and whoever only looks makes no digest

    known = [getattr(summary, name) for name in OF_A_TURN]
    known += [getattr(history, name) for name in OF_BEFORE]
    return blake2b(msgspec.json.encode(known), digest_size=8).hexdigest()
