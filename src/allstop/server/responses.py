"""HTTP responses: JSON, errors of one shape, and the headers of every response."""

from collections.abc import Iterable

import msgspec
from starlette.responses import Response

from allstop.app.setup.edit_setting import BadSettingError
from allstop.app.validation_errors import InvalidRequestError
from allstop.core.errors import AllstopError, NotFoundError
from allstop.ports import StoreBrokenError, StoreFullError, StoreTroubleError
from allstop.server import static_files
from allstop.server.access.admission import Refusal
from allstop.server.wire_types import Problem, Refused
from allstop.settings.problems import SettingsError

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        f"style-src 'self' {static_files.STYLE_SOURCE}",
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

COMMON_HEADERS = (
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
    (StoreFullError, 507),
    (StoreTroubleError, 503),
    (StoreBrokenError, 500),
    (BadSettingError, 422),
    (InvalidRequestError, 422),
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


def refused(refusal: Refusal) -> Response:
    problem = Problem(code=refusal.code, message=refusal.message, hint=refusal.hint)
    response = json(Refused(error=problem), refusal.status)
    if refusal.status == 401:
        response.headers["www-authenticate"] = 'Bearer realm="allstop"'
    return response


def method_not_allowed(method: str, methods: Iterable[str]) -> Response:
    allowed = ", ".join(sorted(methods))
    message = f"this path doesn't allow {method[:20]}"
    response = refused(Refusal(405, "method_not_allowed", message, f"use {allowed}"))
    response.headers["allow"] = allowed
    return response


def refusal_for(error: AllstopError | SettingsError) -> Refusal:
    if isinstance(error, SettingsError):
        message = "; ".join(str(problem) for problem in error.problems)
        return Refusal(409, "settings", message, "`allstop config` shows the settings in force")
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), CONFLICT)
    return Refusal(status, error.code, error.message, error.hint)
