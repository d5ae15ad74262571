"""Maps an ACP agent's errors to failures, by the type some agents add or else by the text."""

import re
from collections.abc import Mapping

from allstop.adapters.agents.provider_errors import failure_of, fault_of_text
from allstop.adapters.agents.reset_times import LocalTime
from allstop.adapters.agents.rpc_peer import RpcError
from allstop.core.moves import Failed, FailureKind

AUTH_REQUIRED = -32000
NOT_FOUND = -32002
REPLY_CHARS = 2000
"""A longer reply is never an error."""

_NAMED: Mapping[str, FailureKind] = {
    "authentication_failed": FailureKind.AUTH,
    "billing_error": FailureKind.BILLING,
    "overloaded": FailureKind.OVERLOADED,
}
"""Names that suffice; for others, the text says more."""

_ERROR_REPLY = re.compile(
    r"(?:\[?API Error\b|exceeded retry limit|unexpected status \d|stream (?:error|disconnected)"
    r"|You['’]ve hit your (?:usage )?limit|\{\"error\": ?\{)"
)
"""The beginning of replies that are errors."""


def failure_of_request(fault: RpcError, at: LocalTime) -> Failed:
    text = _text_of(fault)
    if fault.code == AUTH_REQUIRED:
        return Failed(kind=FailureKind.AUTH, message=text)
    data = fault.data if isinstance(fault.data, dict) else {}
    name = str(data.get("errorKind") or "")
    status = 429 if name == "rate_limit" else 0
    kind = _NAMED.get(name)
    return failure_of(fault_of_text(text, kind, status, otherwise=FailureKind.BAD_REQUEST), at)


def is_error(reply: str) -> bool:
    """Whether a reply that used no tokens is an error message."""
    return len(reply) <= REPLY_CHARS and bool(_ERROR_REPLY.match(reply.lstrip()))


def failure_of_text(text: str, at: LocalTime) -> Failed:
    return failure_of(fault_of_text(text, otherwise=FailureKind.BAD_REQUEST), at)


def _text_of(fault: RpcError) -> str:
    details = fault.data.get("details") if isinstance(fault.data, dict) else fault.data
    more = details if isinstance(details, str) and details not in fault.message else ""
    return " ".join(filter(None, (fault.message, more))) or f"error {fault.code}"
