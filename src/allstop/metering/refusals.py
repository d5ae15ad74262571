"""The gateway's own answers, in the form that each provider's clients can read."""

import json
from enum import Enum

from msgspec import Struct

from allstop.metering.wire_formats import Provider

CODE = "allstop_gateway"
"""The type of every error. Clients retry for ever on some words of the vendors."""


class Refusal(Enum):
    """Why the gateway answers itself: the HTTP status, and whether to try again makes sense."""

    LOGGED_OUT = 401
    OVER_BUDGET = 402  # never 429: most clients retry that for ever
    BAD_BODY = 400
    NOT_ALLOWED = 404
    TOO_LARGE = 413
    TURN_OVER = 410
    NO_UPGRADE = 426  # codex then uses HTTP at once
    HELD = 429
    UNREACHABLE = 502


JSON_HEADERS = (("content-type", "application/json"),)


class Answer(Struct, frozen=True, kw_only=True):
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


def answer(
    provider: Provider, refusal: Refusal, message: str, *, retry_after_s: int | None = None
) -> Answer:
    """`retry_after_s`: only for a short wait; without it clients are told not to try again."""
    headers = [*JSON_HEADERS]
    if retry_after_s is None:
        headers.append(("x-should-retry", "false"))
    else:
        headers.append(("retry-after", str(retry_after_s)))
    if refusal is Refusal.NO_UPGRADE:
        headers.append(("upgrade", "HTTP/1.1"))
    return Answer(
        status=refusal.value,
        headers=tuple(headers),
        body=json.dumps(_body(provider, refusal.value, message)).encode(),
    )


def _body(provider: Provider, status: int, message: str) -> dict[str, object]:
    match provider:
        case Provider.OPENAI:
            return {"error": {"message": message, "type": CODE, "code": CODE, "param": None}}
        case Provider.ANTHROPIC:
            return {"type": "error", "error": {"type": CODE, "message": message}}
        case Provider.GEMINI:
            return {"error": {"code": status, "message": message}}
