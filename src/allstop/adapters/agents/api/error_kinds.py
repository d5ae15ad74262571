"""Maps a provider's errors to failures of the turn."""

import re
from collections.abc import Mapping
from datetime import datetime

from msgspec import Struct

from allstop.adapters.agents.api.reset_headers import retry_at
from allstop.core.moves import LIMITED, Failed, FailureKind
from allstop.core.text import one_line

MESSAGE_CHARS = 600


class Fault(Struct, frozen=True, kw_only=True):
    """An error as the provider reports it."""

    message: str
    status: int = 0  # 0: the error came within a stream, or there was no response
    codes: tuple[str, ...] = ()  # the most specific first
    kind: FailureKind | None = None  # if already known
    headers: Mapping[str, str] = {}


class CallError(Exception):
    def __init__(self, fault: Fault) -> None:
        super().__init__(fault.message)
        self.fault = fault


def invalid_reply(why: str) -> CallError:
    """The provider's response is incomplete or not valid."""
    return CallError(Fault(message=why, kind=FailureKind.NETWORK))


def rejected_reply(why: str) -> CallError:
    """The model responded, but not with a usable reply."""
    return CallError(Fault(message=why, kind=FailureKind.BAD_REQUEST))


_STATUSES = {
    401: FailureKind.AUTH,
    402: FailureKind.USAGE_LIMITED,
    403: FailureKind.AUTH,
    407: FailureKind.NETWORK,
    408: FailureKind.TIMED_OUT,
    409: FailureKind.OVERLOADED,
    413: FailureKind.CONTEXT,
    425: FailureKind.OVERLOADED,
    429: FailureKind.RATE_LIMITED,
}

_CODES = {
    "api_error": FailureKind.OVERLOADED,
    "authentication_error": FailureKind.AUTH,
    "billing_error": FailureKind.USAGE_LIMITED,
    "context_length_exceeded": FailureKind.CONTEXT,
    "insufficient_quota": FailureKind.USAGE_LIMITED,
    "invalid_api_key": FailureKind.AUTH,
    "overloaded_error": FailureKind.OVERLOADED,
    "permission_error": FailureKind.AUTH,
    "rate_limit_error": FailureKind.RATE_LIMITED,
    "rate_limit_exceeded": FailureKind.RATE_LIMITED,
    "request_too_large": FailureKind.CONTEXT,
    "server_error": FailureKind.OVERLOADED,
    "server_is_overloaded": FailureKind.OVERLOADED,
    "slow_down": FailureKind.RATE_LIMITED,
    "timeout_error": FailureKind.TIMED_OUT,
}

_OUT_OF_QUOTA = re.compile(
    r"insufficient[_ ]quota|current quota|usage limit|credit balance|out of credits"
    r"|billing[_ ](?:hard[_ ])?limit|spend(?:ing)?[_ ]limit",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"context[_ ]length|context window|context size|maximum context|prompt is too long"
    r"|input is too long|exceed(?:s|ed)? (?:the )?context|too many tokens in the prompt",
    re.IGNORECASE,
)
_REFUSING = frozenset({400, 402, 403, 413, 422, 429})
"""Statuses whose text says more than the number."""


def failure_of(fault: Fault, now: datetime) -> Failed:
    kind = fault.kind or _kind(fault)
    return Failed(
        kind=kind,
        message=_readable(fault),
        retry_at=retry_at(fault.headers, fault.message, now) if kind in LIMITED else None,
    )


def _kind(fault: Fault) -> FailureKind:
    text = " ".join((*fault.codes, fault.message))
    if fault.status < 300:
        known = (_CODES[code] for code in fault.codes if code in _CODES)
        return next(known, FailureKind.NETWORK)
    if fault.status in _REFUSING and _OUT_OF_QUOTA.search(text):
        return FailureKind.USAGE_LIMITED
    if fault.status in _REFUSING and fault.status != 429 and _TOO_LONG.search(text):
        return FailureKind.CONTEXT
    if fault.status >= 500:
        return FailureKind.OVERLOADED
    return _STATUSES.get(fault.status, FailureKind.BAD_REQUEST)


def _readable(fault: Fault) -> str:
    whole = fault.message.encode("utf-8", "replace").decode()  # without lone surrogates
    text = one_line(whole, MESSAGE_CHARS) or "the provider gave no reason"
    return f"{text} (HTTP {fault.status})" if fault.status >= 300 else text


def read_fault(status: int, headers: Mapping[str, str], body: object) -> Fault:
    """Read an error from a provider's response, or from an event of its stream."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if 300 <= status < 400:
        where = headers.get("location", "another address")
        return Fault(
            message=f"the server redirects to {where}, which is not followed", status=status
        )
    if isinstance(error, Mapping):
        details = error.get("details")
        exact = details.get("error_code") if isinstance(details, Mapping) else None
        codes = (exact, error.get("code"), error.get("type"))
        message = str(error.get("message") or "")
        if param := error.get("param"):
            message += f" [{param}]"
        named = tuple(str(code) for code in codes if code)
        return Fault(message=message, status=status, codes=named, headers=headers)
    message = one_line(str(error or ""), 200)
    if message.startswith("<"):
        message = "the server sent a web page instead of an API response"
    return Fault(message=message, status=status, headers=headers)


def redact_key(message: str, key: str) -> str:
    """The message without the key. A very short key is kept: it may be an ordinary word."""
    return message.replace(key, "[the key]") if len(key) > 8 else message


def rejects_parameters(fault: Fault, names: tuple[str, ...]) -> bool:
    """Whether the server says that it doesn't accept one of these parameters."""
    named = any(name in fault.message for name in names)
    return fault.status in (400, 422) and named and not _TOO_LONG.search(fault.message)


def is_unknown_path(fault: Fault) -> bool:
    """Whether the server doesn't know the URL; a missing model doesn't count."""
    return fault.status in (404, 405, 501) and not any(
        "model" in words for words in (*fault.codes, fault.message)
    )
