"""What an agent's error means. ACP has no type for it: some agents add one, else words must do."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from allstop.adapters.agents import reset_times
from allstop.adapters.agents.api.error_kinds import Fault, failure_of, read_fault
from allstop.adapters.agents.api.reset_headers import retry_at
from allstop.adapters.agents.limit_patterns import is_limited
from allstop.adapters.agents.reset_times import LocalTime
from allstop.adapters.agents.rpc_messages import RpcError
from allstop.core.moves import Failed, FailureKind
from allstop.core.text import one_line

AUTH_REQUIRED = -32000
NOT_FOUND = -32002
BAD = 400
REASON_CHARS = 1000
REPLY_CHARS = 2000
"""No error that is worded as a reply is longer."""

_NAMED: Mapping[str, FailureKind] = {
    "authentication_failed": FailureKind.AUTH,
    "billing_error": FailureKind.USAGE_LIMITED,
    "overloaded": FailureKind.OVERLOADED,
    "rate_limit": FailureKind.RATE_LIMITED,
}
"""The names that say enough; of others the words say more."""

_STATUS = re.compile(
    r"(?:status|error|http|code|rejected)\W{0,4}(?:code|status)?\W{0,4}\b([45]\d\d)\b"
    r"|\b([45]\d\d)\b[ :]*(?:too many|overloaded|service|internal|bad|unauthori|forbidden)",
    re.IGNORECASE,
)
_USED_UP = re.compile(
    r"insufficient[_ ]quota|current quota|quota exceeded|usage limits?\b|credit balance"
    r"|out of credits",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context[_ ]length|context window|prompt is too long|input is too long|maximum context",
    re.IGNORECASE,
)
_NO_LEAVE = re.compile(
    r"api[ _-]?key|unauthori[sz]ed|authenticat|not logged in|log ?in again", re.IGNORECASE
)
_BROKEN = re.compile(
    r"ECONN\w+|ETIMEDOUT|ENOTFOUND|connection|network|fetch failed|socket|disconnected|stream",
    re.IGNORECASE,
)
_ERROR_REPLY = re.compile(
    r"(?:API Error\b|exceeded retry limit|unexpected status \d|stream (?:error|disconnected)"
    r"|You've hit your (?:usage )?limit|\{\"error\": ?\{)"
)
"""How the replies begin that are none."""


def refused(fault: RpcError, at: LocalTime) -> Failed:
    """An error in place of an answer."""
    words = _words(fault)
    if fault.code == AUTH_REQUIRED:
        return Failed(kind=FailureKind.AUTH, message=words)
    name = fault.data.get("errorKind") if isinstance(fault.data, dict) else None
    return failed(words, at, _NAMED.get(str(name)))


def is_error(reply: str) -> bool:
    """Whether a reply for which no tokens were used is the words of an error."""
    return len(reply) <= REPLY_CHARS and bool(_ERROR_REPLY.match(reply.lstrip()))


def failed(words: str, at: LocalTime, named: FailureKind | None = None) -> Failed:
    """By the exact before the vague: what can't be told apart is the agent's own failure."""
    reset = reset_times.claude_reset(words, at)
    if reset is not None or reset_times.says_limit_reached(words) or _USED_UP.search(words):
        until = reset or reset_times.codex_retry(words, at.now) or retry_at({}, words, at.now)
        return Failed(kind=FailureKind.USAGE_LIMITED, message=_shown(words), retry_at=until)
    if _TOO_LONG.search(words):
        return Failed(kind=FailureKind.CONTEXT, message=_shown(words))
    if (body := _body(words)) is not None:
        return failure_of(read_fault(BAD, {}, body), at.now)
    found = _STATUS.search(words)
    status = int(found[1] or found[2]) if found and named is None else 0
    kind = named or (None if status else _vaguely(words))
    return failure_of(Fault(message=_shown(words), status=status, kind=kind), at.now)


def _vaguely(words: str) -> FailureKind:
    if is_limited(words):
        overloaded = "overloaded" in words.lower()
        return FailureKind.OVERLOADED if overloaded else FailureKind.RATE_LIMITED
    if _NO_LEAVE.search(words):
        return FailureKind.AUTH
    return FailureKind.NETWORK if _BROKEN.search(words) else FailureKind.BAD_REQUEST


def _words(fault: RpcError) -> str:
    details = fault.data.get("details") if isinstance(fault.data, dict) else fault.data
    more = details if isinstance(details, str) and details not in fault.message else ""
    return " ".join(filter(None, (fault.message, more))) or f"error {fault.code}"


def _body(words: str) -> object | None:
    """A provider's own answer, where the agent passes that on."""
    start = words.find('{"error"')
    if start < 0:
        return None
    try:
        body: object = msgspec.json.decode(words[start:].strip())
    except (msgspec.DecodeError, RecursionError):
        return None
    return body


def _shown(words: str) -> str:
    return one_line(words, REASON_CHARS)
