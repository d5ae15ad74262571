"""Answers as they go out: JSON, errors of one shape, and the headers that each of them has."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from starlette.responses import Response

from allstop.app.setup.edit_setting import BadSettingError
from allstop.core.errors import AllstopError, NotFoundError
from allstop.ports import StoreBrokenError, StoreBusyError, StoreFullError
from allstop.server.access.admission import Refusal
from allstop.server.wire_types import Problem, Refused
from allstop.settings.problems import SettingsError

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "worker-src 'self'",
        "font-src 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "require-trusted-types-for 'script'",
        "trusted-types dompurify svelte-trusted-html allstop",
    )
)

ON_ALL = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=(), payment=(), usb=()"),
)

_STATUS: tuple[tuple[type[AllstopError], int], ...] = (
    (NotFoundError, 404),
    (StoreBusyError, 503),
    (StoreFullError, 507),
    (StoreBrokenError, 500),
    (BadSettingError, 422),
)
CONFLICT = 409
"""The status of every other error."""

_encode = msgspec.json.Encoder(enc_hook=str).encode


def json(value: object, status: int = 200) -> Response:
    return Response(
        _encode(value),
        status,
        {"cache-control": "no-store"},
        media_type="application/json",
    )


def refused(found: Refusal) -> Response:
    problem = Problem(code=found.code, message=found.message, hint=found.hint)
    answer = json(Refused(error=problem), found.status)
    if found.status == 401:
        answer.headers["www-authenticate"] = 'Bearer realm="allstop"'
    return answer


def not_so(method: str, methods: Iterable[str]) -> Response:
    """The address is asked by other methods."""
    takes = ", ".join(sorted(methods))
    wrong = Refusal(
        405, "method_not_allowed", f"{method[:20]} is not used here", f"it takes {takes}"
    )
    answer = refused(wrong)
    answer.headers["allow"] = takes
    return answer


def trouble(error: AllstopError | SettingsError) -> Refusal:
    """What a mistake that a person can put right is as an answer."""
    if isinstance(error, SettingsError):
        said = "; ".join(str(problem) for problem in error.problems)
        return Refusal(409, "settings", said, "`allstop config` shows what is in force")
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), CONFLICT)
    return Refusal(status, error.code, error.message, error.hint)
