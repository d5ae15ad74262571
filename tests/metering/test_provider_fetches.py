"""G2, G4: a closed box can't send its provider to other hosts."""

import json

import pytest

from allstop.metering.model_routes import Route
from allstop.metering.request_body import FetchError, check_free, read_call
from allstop.metering.wire_formats import WireFormat
from support.cases import for_each

RESPONSES, CHAT = WireFormat.RESPONSES, WireFormat.CHAT
MESSAGES, GEMINI = WireFormat.MESSAGES, WireFormat.GEMINI
AWAY = "https://evil.example/?data=everything"


def read(wire, body):
    data = body if isinstance(body, bytes) else json.dumps({"model": "m", **body}).encode()
    return read_call(Route(path="/x", wire=wire, model="m"), data)


def part(**fields):
    return {"input": [{"role": "user", "content": [fields]}]}


def block(**fields):
    return {"messages": [{"role": "user", "content": [fields]}]}


def gemini(**fields):
    return {"contents": [{"parts": [fields]}]}


URL_SOURCE = {"type": "url", "url": AWAY}
FETCHES = [
    (RESPONSES, part(type="input_image", image_url=AWAY)),
    (RESPONSES, part(type="input_image", image_url=f" HTTPS{AWAY[5:]}")),
    (RESPONSES, part(type="input_file", file_url=AWAY)),
    (RESPONSES, {"input": [{"type": "function_call_output", "output": [{"image_url": AWAY}]}]}),
    (RESPONSES, {"tools": [{"type": "mcp", "server_label": "x", "server_url": AWAY}]}),
    (RESPONSES, {"tools": [{"type": "mcp", "connector_id": "connector_dropbox"}]}),
    (
        RESPONSES,
        {"tools": [{"type": "shell", "environment": {"network_policy": {"type": "allowlist"}}}]},
    ),
    (CHAT, block(type="image_url", image_url={"url": AWAY})),
    (CHAT, block(type="image_url", image_url=AWAY)),
    (CHAT, block(type="image_url", image_url={"url": "http://169.254.169.254/latest"})),
    (MESSAGES, block(type="image", source=URL_SOURCE)),
    (MESSAGES, block(type="tool_result", content=[{"type": "document", "source": URL_SOURCE}])),
    (MESSAGES, {"system": [{"type": "document", "source": URL_SOURCE}]}),
    (MESSAGES, {"mcp_servers": [{"type": "url", "url": AWAY, "name": "x"}]}),
    (MESSAGES, {"tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]}),
    (MESSAGES, {"tools": [{"type": "mcp_toolset", "mcp_server_name": "x"}]}),
    (GEMINI, gemini(fileData={"fileUri": AWAY})),
    (GEMINI, gemini(file_data={"file_uri": AWAY})),
    (GEMINI, {"tools": [{"urlContext": {}}]}),
    (GEMINI, {"tools": [{"url_context": {}}]}),
    (
        RESPONSES,
        b'{"model": "m", "input": [{"type": "input_image", "im\\u0061ge\\u005furl": "\\u0068ttp://e"}]}',
    ),
]


@for_each(("wire", "body"), FETCHES)
def test_g4_what_a_provider_would_fetch_for_a_box_is_refused(wire, body):
    with pytest.raises(FetchError, match="another host"):
        read(wire, body)


PASSED = [
    (RESPONSES, part(type="input_image", image_url="data:image/png;base64,aGVsbG8=")),
    (RESPONSES, part(type="input_text", text=f'{{"image_url": "{AWAY}"}}')),
    (RESPONSES, part(type="output_text", annotations=[{"type": "url_citation", "url": AWAY}])),
    (RESPONSES, {"input": [{"type": "function_call", "arguments": f'{{"url": "{AWAY}"}}'}]}),
    (RESPONSES, {"tools": [{"type": "web_search"}, {"type": "function", "name": "mcp__x"}]}),
    (RESPONSES, {"tools": [{"type": "function", "parameters": {"image_url": {"type": "string"}}}]}),
    (CHAT, block(type="image_url", image_url={"url": "data:image/png;base64,aGVsbG8="})),
    (MESSAGES, block(type="tool_use", name="WebFetch", input={"type": "url", "url": AWAY})),
    (MESSAGES, block(type="web_search_result", url=AWAY)),
    (MESSAGES, {"mcp_servers": []}),
    (GEMINI, gemini(functionCall={"args": {"fileUri": AWAY}})),
    (GEMINI, gemini(functionResponse={"response": {"imageUrl": AWAY}})),
    (GEMINI, {"tools": [{"functionDeclarations": [{"name": "urlContext"}]}]}),
]


@for_each(("wire", "body"), PASSED)
def test_g4_an_address_that_only_the_agent_uses_passes(wire, body):
    assert read(wire, body).model == "m"


def test_g4_a_count_of_tokens_fetches_nothing_either():
    with pytest.raises(FetchError):
        check_free(json.dumps(block(type="image", source=URL_SOURCE)).encode())
    check_free(json.dumps(block(type="text", text=AWAY)).encode())
    check_free(b"")
