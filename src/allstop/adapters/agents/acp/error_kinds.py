"""Maps an ACP agent's errors to failures, by the type some agents add or else by the text."""

import re
from collections.abc import Mapping

import msgspec

from allstop.adapters.agents import reset_times
from allstop.adapters.agents.api.error_kinds import Fault, failure_of, read_fault
from allstop.adapters.agents.api.reset_headers import retry_at
from allstop.adapters.agents.limit_patterns import is_limited
from allstop.adapters.agents.reset_times import LocalTime
from allstop.adapters.agents.rpc_peer import RpcError
from allstop.core.moves import Failed, FailureKind
from allstop.core.text import one_line

AUTH_REQUIRED = -32000
NOT_FOUND = -32002
BAD_REQUEST_STATUS = 400
REASON_CHARS = 1000
REPLY_CHARS = 2000
"""A longer reply is never an error."""

_NAMED: Mapping[str, FailureKind] = {
    "authentication_failed": FailureKind.AUTH,
    "billing_error": FailureKind.USAGE_LIMITED,
    "overloaded": FailureKind.OVERLOADED,
    "rate_limit": FailureKind.RATE_LIMITED,
}
"""Names that suffice; for others, the text says more."""

_STATUS = re.compile(
    r"(?:status|error|http|code|rejected)\W{0,4}(?:code|status)?\W{0,4}\b([45]\d\d)\b"
    r"|\b([45]\d\d)\b[ :]*(?:too many|overloaded|service|internal|bad|unauthori|forbidden)",
    re.IGNORECASE,
)
_OUT_OF_QUOTA = re.compile(
    r"insufficient[_ ]quota|current quota|quota exceeded|usage limits?\b|credit balance"
    r"|out of credits",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context[_ ]length|context window|prompt is too long|input is too long|maximum context",
    re.IGNORECASE,
)
_UNAUTHORIZED = re.compile(
    r"api[ _-]?key|unauthori[sz]ed|authenticat|not logged in|log ?in again", re.IGNORECASE
)
_CONNECTION = re.compile(
    r"ECONN\w+|ETIMEDOUT|ENOTFOUND|connection|network|fetch failed|socket|disconnected|stream",
    re.IGNORECASE,
)
_ERROR_REPLY = re.compile(
    r"(?:API Error\b|exceeded retry limit|unexpected status \d|stream (?:error|disconnected)"
    r"|You've hit your (?:usage )?limit|\{\"error\": ?\{)"
)
"""The beginning of replies that are errors."""


def failure_of_request(fault: RpcError, at: LocalTime) -> Failed:
    text = _text_of(fault)
    if fault.code == AUTH_REQUIRED:
        return Failed(kind=FailureKind.AUTH, message=text)
    name = fault.data.get("errorKind") if isinstance(fault.data, dict) else None
    return failure_of_text(text, at, _NAMED.get(str(name)))


def is_error(reply: str) -> bool:
    """Whether a reply that used no tokens is an error message."""
    return len(reply) <= REPLY_CHARS and bool(_ERROR_REPLY.match(reply.lstrip()))


def failure_of_text(text: str, at: LocalTime, named: FailureKind | None = None) -> Failed:
    """The failure that a text describes, tried from the most specific pattern to the least."""
    reset = reset_times.claude_reset(text, at)
    if reset is not None or reset_times.says_limit_reached(text) or _OUT_OF_QUOTA.search(text):
        until = reset or reset_times.codex_retry(text, at.now) or retry_at({}, text, at.now)
        return Failed(kind=FailureKind.USAGE_LIMITED, message=_shown(text), retry_at=until)
    if _TOO_LONG.search(text):
        return Failed(kind=FailureKind.CONTEXT, message=_shown(text))
    if (body := _body(text)) is not None:
        return failure_of(read_fault(BAD_REQUEST_STATUS, {}, body), at.now)
    found = _STATUS.search(text)
    status = int(found[1] or found[2]) if found and named is None else 0
    kind = named or (None if status else _guess_kind(text))
    return failure_of(Fault(message=_shown(text), status=status, kind=kind), at.now)


def _guess_kind(text: str) -> FailureKind:
    if is_limited(text):
        overloaded = "overloaded" in text.lower()
        return FailureKind.OVERLOADED if overloaded else FailureKind.RATE_LIMITED
    if _UNAUTHORIZED.search(text):
        return FailureKind.AUTH
    return FailureKind.NETWORK if _CONNECTION.search(text) else FailureKind.BAD_REQUEST


def _text_of(fault: RpcError) -> str:
    details = fault.data.get("details") if isinstance(fault.data, dict) else fault.data
    more = details if isinstance(details, str) and details not in fault.message else ""
    return " ".join(filter(None, (fault.message, more))) or f"error {fault.code}"


def _body(text: str) -> object | None:
    """The provider's JSON error, if the agent passes it on."""
    start = text.find('{"error"')
    if start < 0:
        return None
    try:
        body: object = msgspec.json.decode(text[start:].strip())
    except (msgspec.DecodeError, RecursionError):
        return None
    return body


def _shown(text: str) -> str:
    return one_line(text, REASON_CHARS)
