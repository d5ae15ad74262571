"""The error responses of each provider, by fault."""

import json
from collections.abc import Mapping
from typing import Any

from allstop.testing.model_server.replies import ErrorReply, Fault, Protocol, ReceivedRequest

MODEL = "no-such-zebra"


def error_reply(request: ReceivedRequest, fault: Fault | None) -> ErrorReply | None:
    """The error response of a fault; None if the fault changes only the reply."""
    if fault is Fault.REDIRECT:
        return ErrorReply(307, {}, {"location": f"/elsewhere{request.path}"})
    if fault is Fault.NO_STRUCTURE:
        return _no_structure(request) if request.wants_structure else None
    return _ERRORS.get(request.protocol, _OPENAI).get(fault)


def as_json(body: Mapping[str, Any]) -> bytes:
    return json.dumps(body).encode()


def _openai(
    status: int,
    kind: str,
    message: str,
    code: str | None = None,
    headers: dict[str, str] | None = None,
    param: str | None = None,
) -> ErrorReply:
    error = {"message": message, "type": kind, "param": param, "code": code}
    return ErrorReply(status, {"error": error}, headers or {})


def _anthropic(
    status: int, kind: str, message: str, headers: dict[str, str] | None = None
) -> ErrorReply:
    body = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_0"}
    return ErrorReply(status, body, headers or {})


def _gemini(
    status: int, kind: str, message: str, reason: str = "", *, delay: str = ""
) -> ErrorReply:
    details = []
    if reason:
        info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}
        details.append(info)
    if delay:
        retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
        details.append(retry)
    error = {"code": status, "message": message, "status": kind, "details": details}
    return ErrorReply(status, {"error": error}, {})


_BAD = "invalid_request_error"

_OPENAI: Mapping[Fault | None, ErrorReply] = {
    Fault.UNAUTHORIZED: _openai(401, _BAD, "Incorrect API key provided", "invalid_api_key"),
    Fault.RATE_LIMITED: _openai(
        429,
        "requests",
        "Rate limit reached for requests",
        "rate_limit_exceeded",
        {"retry-after": "7", "x-ratelimit-reset-tokens": "6m0s"},
    ),
    Fault.QUOTA: _openai(
        429,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
    ),
    Fault.SERVER_ERROR: _openai(500, "server_error", "The server had an error"),
    Fault.OVERLOADED: _openai(503, "server_error", "The engine is currently overloaded"),
    Fault.BAD_REQUEST: _openai(400, _BAD, "Unknown parameter: 'zebra'."),
    Fault.TOO_LONG: _openai(
        400, _BAD, "Your input exceeds the context window.", "context_length_exceeded"
    ),
    Fault.NO_MODEL: _openai(404, _BAD, f"The model `{MODEL}` does not exist", "model_not_found"),
}

_ANTHROPIC: Mapping[Fault | None, ErrorReply] = {
    Fault.UNAUTHORIZED: _anthropic(401, "authentication_error", "invalid x-api-key"),
    Fault.RATE_LIMITED: _anthropic(
        429,
        "rate_limit_error",
        "This request would exceed your organization's rate limit",
        {"retry-after": "7"},
    ),
    Fault.QUOTA: _anthropic(
        429, "rate_limit_error", "You have reached your specified API usage limits."
    ),
    Fault.SERVER_ERROR: _anthropic(500, "api_error", "Internal server error"),
    Fault.OVERLOADED: _anthropic(529, "overloaded_error", "Overloaded"),
    Fault.BAD_REQUEST: _anthropic(400, _BAD, "zebra: Extra inputs are not permitted"),
    Fault.TOO_LONG: _anthropic(400, _BAD, "prompt is too long: 1000001 tokens > 1000000 maximum"),
    Fault.NO_MODEL: _anthropic(404, "not_found_error", f"model: {MODEL}"),
}

_GEMINI: Mapping[Fault | None, ErrorReply] = {
    Fault.UNAUTHORIZED: _gemini(400, "INVALID_ARGUMENT", "API key not valid.", "API_KEY_INVALID"),
    Fault.RATE_LIMITED: _gemini(429, "RESOURCE_EXHAUSTED", "Too many requests", delay="7s"),
    Fault.QUOTA: _gemini(
        429,
        "RESOURCE_EXHAUSTED",
        "You exceeded your current quota, please check your plan and billing details.",
    ),
    Fault.SERVER_ERROR: _gemini(500, "INTERNAL", "An internal error has occurred."),
    Fault.OVERLOADED: _gemini(503, "UNAVAILABLE", "The model is overloaded."),
    Fault.BAD_REQUEST: _gemini(400, "INVALID_ARGUMENT", 'Unknown name "zebra": no such field.'),
    Fault.TOO_LONG: _gemini(
        400,
        "INVALID_ARGUMENT",
        "The input token count (1000001) exceeds the maximum number of tokens allowed (1000000).",
    ),
    Fault.NO_MODEL: _gemini(404, "NOT_FOUND", f"models/{MODEL} is not found for API version v1"),
}

_ERRORS: Mapping[Protocol, Mapping[Fault | None, ErrorReply]] = {
    Protocol.MESSAGES: _ANTHROPIC,
    Protocol.GEMINI: _GEMINI,
}


def _no_structure(request: ReceivedRequest) -> ErrorReply:
    match request.protocol:
        case Protocol.GEMINI:
            return _gemini(400, "INVALID_ARGUMENT", "responseSchema is not supported")
        case Protocol.RESPONSES:
            message = "Invalid parameter: 'text.format' is not supported with this model."
            return _openai(400, _BAD, message, param="text.format")
        case Protocol.CHAT:
            message = "'response_format' of type 'json_schema' is not supported"
            return _openai(400, _BAD, message, param="response_format")
        case Protocol.MESSAGES if "output_config" in request.body:
            message = "output_config.format: this model does not support structured outputs"
            return _anthropic(400, _BAD, message)
        case Protocol.MESSAGES:
            message = "tool_choice: forced tool use is not supported with this model"
            return _anthropic(400, _BAD, message)
