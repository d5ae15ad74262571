"""G4: a box can use only a few methods and paths of its provider."""

import pytest

from allstop.metering.model_routes import find_route
from allstop.metering.wire_formats import Provider, WireFormat
from support.cases import for_each

OPENAI, ANTHROPIC, GEMINI = Provider.OPENAI, Provider.ANTHROPIC, Provider.GEMINI


@for_each(
    ("provider", "method", "target", "path", "wire"),
    [
        (OPENAI, "POST", "/v1/responses", "/responses", WireFormat.RESPONSES),
        (OPENAI, "POST", "/v1/chat/completions", "/chat/completions", WireFormat.CHAT),
        (OPENAI, "GET", "/v1/models?client_version=1", "/models?client_version=1", None),
        (OPENAI, "GET", "/v1/models/org/name-1", "/models/org/name-1", None),
        (
            ANTHROPIC,
            "POST",
            "/v1/messages?beta=true",
            "/v1/messages?beta=true",
            WireFormat.MESSAGES,
        ),
        (ANTHROPIC, "POST", "/v1/messages/count_tokens", "/v1/messages/count_tokens", None),
        (ANTHROPIC, "GET", "/v1/models?limit=5&key=sk-1", "/v1/models?limit=5", None),
        (
            GEMINI,
            "POST",
            "/v1beta/models/g-1:streamGenerateContent?alt=sse&key=AIza",
            "/v1beta/models/g-1:streamGenerateContent?alt=sse",
            WireFormat.GEMINI,
        ),
        (GEMINI, "POST", "/v1beta/models/g-1:countTokens", "/v1beta/models/g-1:countTokens", None),
    ],
)
def test_g4_an_allowed_request_is_passed_on_below_the_providers_address(
    provider, method, target, path, wire
):
    route = find_route(provider, method, target)

    assert route is not None
    assert (route.path, route.wire) == (path, wire)


@for_each(
    ("provider", "method", "target"),
    [
        (OPENAI, "GET", "/v1/responses"),
        (OPENAI, "DELETE", "/v1/responses"),
        (OPENAI, "POST", "/v1/files"),
        (OPENAI, "POST", "/v1/responses/"),
        (OPENAI, "POST", "/v1/responses/r_1/cancel"),
        (OPENAI, "POST", "//v1/responses"),
        (OPENAI, "POST", "/v1/%72esponses"),
        (OPENAI, "POST", "http://elsewhere.example/v1/responses"),
        (OPENAI, "GET", "/v1/models/../files"),
        (OPENAI, "GET", "/v1/models/x/../../files"),
        (OPENAI, "POST", "/v1/messages"),
        (OPENAI, "POST", "/v1/responses" + "?beta=" + "x" * 3000),
        (ANTHROPIC, "POST", "/v1/responses"),
        (ANTHROPIC, "POST", "/v1/files"),
        (ANTHROPIC, "POST", "/v1/messages/batches"),
        (GEMINI, "POST", "/v1beta/models/g:batchGenerateContent"),
        (GEMINI, "POST", "/upload/v1beta/files"),
        (OPENAI, "POST", "/v1/responses\u2025"),
    ],
)
def test_g4_any_other_request_is_refused(provider, method, target):
    assert find_route(provider, method, target) is None


@pytest.mark.parametrize("kind", ["generateContent", "streamGenerateContent"])
def test_the_path_of_gemini_names_the_model_and_whether_it_streams(kind):
    route = find_route(GEMINI, "POST", f"/v1beta/models/gemini-9-pro:{kind}")

    assert route is not None
    assert (route.model, route.is_stream) == ("gemini-9-pro", kind != "generateContent")
