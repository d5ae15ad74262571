"""P5, K13: errors as agents and providers send them, and texts that only look like them."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from msgspec import convert

from allstop.adapters.agents.provider_errors import failure_of, read_fault
from allstop.adapters.agents.reset_times import LocalTime
from allstop.app.agents.limit_check import Message, failure_in
from allstop.core.moves import LIMITED, Failed, FailureKind

CORPUS = Path(__file__).parent.parent.parent / "corpus" / "limits.jsonl"
NOON = LocalTime(now=datetime(2026, 9, 10, 12, tzinfo=UTC))
KINDS = {
    FailureKind.RATE_LIMITED: "rate",
    FailureKind.USAGE_LIMITED: "usage_window",
    FailureKind.BILLING: "quota_billing",
    FailureKind.OVERLOADED: "overload",
    FailureKind.CONTEXT: "context",
    FailureKind.AUTH: "auth",
    FailureKind.NETWORK: "network",
}
TYPED = frozenset({"context", "auth", "network"})
LEAST_RIGHT = 1
MOST_FALSE_ALARMS = 0


def entries() -> Iterator[dict]:
    for line in CORPUS.read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def read(entry: dict, at: LocalTime) -> Failed | None:
    """The failure that the driver for the entry's channel reports."""
    return failure_in(convert(entry, Message), at)


def problem(entry: dict) -> str:
    """What is wrong with the reading of a limit; "" if nothing."""
    cases = entry["cases"] or [["2026-09-10T12:00:00Z", "UTC", None, 0]]
    for now, zone, seconds, tolerance in cases:
        at = LocalTime(now=datetime.fromisoformat(now), local=ZoneInfo(zone))
        failed = read(entry, at)
        kind = KINDS.get(failed.kind, str(failed.kind)) if failed else "nothing"
        if kind not in entry["accept_kinds"]:
            return f"{kind} instead of {entry['accept_kinds']}"
        got = (failed.retry_at - at.now).total_seconds() if failed.retry_at else None
        if (got is None) != (seconds is None) or (got and abs(got - seconds) > tolerance):
            return f"{got} s instead of {seconds} s"
    return ""


def test_p5_k13_real_limit_messages_are_read():
    """P5, K13: found, with its kind, and with its time where one is announced."""
    limits = [entry for entry in entries() if entry["is_limit"]]
    wrong = {entry["id"]: found for entry in limits if (found := problem(entry))}

    assert len(wrong) <= len(limits) * (1 - LEAST_RIGHT), "\n".join(
        f"{id_}: {what}" for id_, what in wrong.items()
    )


def test_p5_look_alikes_are_no_limits():
    """P5: a text that merely talks about limits is not one."""
    others = [entry for entry in entries() if not entry["is_limit"]]
    alarms = {}
    for entry in others:
        failed = read(entry, NOON)
        if failed and (failed.kind in LIMITED or failed.kind is FailureKind.BILLING):
            alarms[entry["id"]] = f"{failed.kind}: {entry.get('text') or entry['http']}"

    assert len(alarms) <= len(others) * MOST_FALSE_ALARMS, "\n".join(
        f"{id_}: {what}" for id_, what in alarms.items()
    )


def test_p17_errors_of_other_kinds_are_told_apart():
    """P17: a conversation that is too long, a login, the network."""
    others = [entry for entry in entries() if entry["kind"] in TYPED]
    kinds = {entry["id"]: (read(entry, NOON), entry["kind"]) for entry in others}

    assert others
    assert {
        id_: str(failed and failed.kind)
        for id_, (failed, kind) in kinds.items()
        if failed is None or KINDS.get(failed.kind) != kind
    } == {}


def test_k13_the_time_of_a_header_stands_over_words():
    fault = read_fault(429, {"retry-after": "7"}, {"error": {"message": "try again in 1h"}})

    assert failure_of(fault, NOON).retry_at == NOON.now + timedelta(seconds=7)


def test_q18_errors_of_google_have_their_kinds():
    """Q18: a wrong key comes with status 400, and an overload within a reply without one."""
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
    wrong = {"code": 400, "message": "API key not valid.", "details": [info]}
    plain = {"code": 400, "message": "API key not valid.", "details": ["odd", {"reason": None}]}
    within = {"code": 500, "message": "An error.", "status": "INTERNAL"}

    kinds = [
        failure_of(read_fault(status, {}, {"error": error}), NOON).kind
        for status, error in ((400, wrong), (400, plain), (0, within))
    ]

    assert kinds == [FailureKind.AUTH, FailureKind.BAD_REQUEST, FailureKind.OVERLOADED]
