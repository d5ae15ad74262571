"""The journal record of a Full Auto decision."""

import msgspec

from allstop.auto.state import AutoState, History, TurnSummary
from allstop.core.decisions import Decided

SUMMARY_FIELDS = (
    *("turn", "status", "error", "kind", "said", "text", "plan", "change", "usage", "compactions"),
    *("unanswered", "was_review", "pending", "denied", "thread", "move", "did"),
)
HISTORY_FIELDS = (
    *("footprints", "errors", "compactions", "reviews", "reviewed", "looked_at", "vouched"),
)


def decision_record(state: AutoState) -> Decided | None:
    """The latest decision with a digest of its inputs."""
    if state.decision is None or state.summary is None:
        return None
    inputs = _digest(state.summary, state.history)
    return Decided(decision=state.decision, edition=state.spec.edition, inputs=inputs)


def _digest(summary: TurnSummary, history: History) -> str:
    """A digest of named fields, so that added fields don't change old digests."""
    from hashlib import blake2b  # loads OpenSSL, which read-only commands don't need

    known = [getattr(summary, name) for name in SUMMARY_FIELDS]
    known += [getattr(history, name) for name in HISTORY_FIELDS]
    return blake2b(msgspec.json.encode(known), digest_size=8).hexdigest()
