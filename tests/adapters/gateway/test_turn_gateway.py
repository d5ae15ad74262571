"""G3 to G7: calls through the gateway of one turn, to a scripted model server."""

import json
import socket
import ssl
import subprocess
from contextlib import suppress

import anyio
import pytest
from anyio.streams.tls import TLSStream
from hypothesis import given
from hypothesis import strategies as st

from allstop.adapters.gateway.model_call import Limit
from allstop.adapters.gateway.name_refusal import refuse_name
from allstop.metering.call_reservation import HIDDEN_TOKENS
from allstop.metering.refusals import JSON_HEADERS, Answer
from allstop.metering.wire_formats import Provider
from allstop.testing.model_server import ErrorReply, Fault, Protocol, Say, model_server
from support.cases import for_each
from support.open_gateway import KEY, PLACEHOLDER, lookup, open_gateway

RESPONSES = {"model": "gpt-9", "stream": True, "input": "Hello"}
CHAT = {"model": "q", "stream": True, "messages": [{"role": "user", "content": "Hello"}]}
MESSAGES = {**CHAT, "max_tokens": 128_000}
AUTHORIZED = {
    "authorization": f"Bearer {PLACEHOLDER}",
    "x-api-key": PLACEHOLDER,
    "accept-encoding": "gzip, br",
    "cookie": "a=b",
    "anthropic-version": "2023-06-01",
}
BUDGET = 2_000


async def until(condition):
    with anyio.fail_after(30):
        while not condition():
            await anyio.sleep(0.01)


@pytest.mark.parametrize(
    ("provider", "path", "body", "header", "shown"),
    [
        (Provider.OPENAI, "/v1/responses", RESPONSES, "authorization", f"Bearer {KEY}"),
        (Provider.OPENAI, "/v1/chat/completions", CHAT, "authorization", f"Bearer {KEY}"),
        (Provider.ANTHROPIC, "/v1/messages", MESSAGES, "x-api-key", KEY),
    ],
)
async def test_g3_g7_a_call_gets_the_real_key_and_is_measured(provider, path, body, header, shown):
    async with model_server([Say(pieces=("Hi there",), input=900, output=40)]) as server:
        url = server.openai_url if provider is Provider.OPENAI else server.anthropic_url
        async with open_gateway(url, provider=provider) as there:
            reply = await there.client.post(path, json=body, headers=AUTHORIZED)
            await until(lambda: there.records)

    (asked,) = server.requests
    (record,) = there.records
    assert (reply.status_code, "Hi there" in reply.text) == (200, True)
    assert asked.headers[header] == shown
    assert PLACEHOLDER not in json.dumps([asked.headers, asked.body])
    assert asked.headers["accept-encoding"] == "identity"
    assert "cookie" not in asked.headers
    assert (record.usage.input, record.usage.output, record.status) == (900, 40, 200)
    assert (record.model, record.request_id) == (body["model"], "req_0")
    assert not record.is_estimated


async def test_g9_a_token_of_a_subscription_is_sent_as_one():
    """G9: what `claude setup-token` prints, as the agent's key."""
    token = "sk-ant-oat01-0123456789"
    async with (
        model_server([Say(text="Hi")]) as server,
        open_gateway(server.anthropic_url, provider=Provider.ANTHROPIC, key=token) as there,
    ):
        await there.client.post("/v1/messages", json=MESSAGES, headers=AUTHORIZED)

    (asked,) = server.requests
    assert asked.headers["authorization"] == f"Bearer {token}"
    assert "x-api-key" not in asked.headers


async def test_g5_the_cap_is_what_the_budget_leaves():
    async with (
        model_server([Say(text="Hi", input=100, output=50)]) as server,
        open_gateway(server.openai_url, max_tokens=BUDGET) as there,
    ):
        for number in (1, 2):
            await there.client.post("/v1/responses", json=RESPONSES)
            await until(lambda number=number: len(there.records) == number)
        caps = [asked.body["max_output_tokens"] for asked in server.requests]

    assert caps[0] < BUDGET
    assert caps[1] == caps[0] - 150


async def test_g5_over_the_budget_a_call_is_refused_and_costs_nothing():
    async with (
        model_server([Say(text="Hi", input=400, output=1_500)]) as server,
        open_gateway(server.openai_url, max_tokens=BUDGET) as there,
    ):
        await there.client.post("/v1/responses", json=RESPONSES)
        await until(lambda: there.records)
        refused = await there.client.post("/v1/responses", json=RESPONSES)

    assert refused.status_code == 402
    message = refused.json()["error"]["message"]
    assert "has used 1,900 tokens, its budget leaves 100 tokens" in message
    assert there.metering.over
    assert (len(server.requests), len(there.records)) == (1, 1)


async def test_g5_g9_without_caps_the_budget_holds_to_within_one_call():
    """G5, G9: ChatGPT refuses a cap: the whole reply is charged, and no call follows."""
    async with (
        model_server([Say(text="Hi", input=400, output=9_000)]) as server,
        open_gateway(server.openai_url, max_tokens=BUDGET, is_capped=False) as there,
    ):
        await there.client.post("/v1/responses", json=RESPONSES)
        await until(lambda: there.records)
        refused = await there.client.post("/v1/responses", json=RESPONSES)

    (asked,) = server.requests
    assert "max_output_tokens" not in asked.body
    assert there.metering.account.used.tokens == 9_400
    assert refused.status_code == 402


async def test_g9_the_gateway_itself_answers_what_a_placeholder_asks_for():
    """G9: a renewal by the agent reaches nobody, and is no refused request."""
    own = {("POST", "/oauth/token"): Answer(status=200, headers=JSON_HEADERS, body=b'{"a": 1}')}
    async with (
        model_server(["Hi"]) as server,
        open_gateway(server.openai_url, own_answers=own) as there,
    ):
        answered = await there.client.post("/oauth/token?x=1", json={})
        refused = await there.client.get("/oauth/token")
        there.gateway.end()
        late = await there.client.post("/oauth/token", json={})

    assert (answered.json(), refused.status_code, late.status_code) == ({"a": 1}, 404, 410)
    assert there.gateway.paths == ["GET /oauth/token"]
    assert server.requests == []


async def test_g5_a_second_call_waits_for_the_first_one_to_be_settled():
    """G5: the first one, without a cap of its own, has reserved everything."""
    async with (
        model_server([Say(text="a b c d", input=100, output=10, pause_s=0.05)]) as server,
        open_gateway(server.openai_url, max_tokens=BUDGET) as there,
        anyio.create_task_group() as group,
    ):
        for _ in range(3):
            group.start_soon(_post, there, [])

        await until(lambda: len(there.records) == 3)

    assert there.metering.account.used.tokens == 330
    assert len(server.requests) == 3


async def _post(there, replies):
    replies.append(await there.client.post("/v1/responses", json=RESPONSES))


async def test_g5_a_reply_that_is_cut_by_the_budget_is_told():
    cut = Say(text="Hi", input=100, output=50, fault=Fault.TRUNCATED)
    async with (
        model_server([cut]) as server,
        open_gateway(server.openai_url, max_tokens=BUDGET) as there,
    ):
        await there.client.post("/v1/chat/completions", json=CHAT)
        await until(lambda: there.records)

    assert there.records[0].is_cut
    assert "cut off" in there.metering.over


async def test_g5_a_stream_that_breaks_is_charged_by_estimate():
    async with (
        model_server([Say(text="word " * 300, input=100, fault=Fault.CUT)]) as server,
        open_gateway(server.openai_url) as there,
    ):
        with pytest.raises(Exception, match=r"peer closed|incomplete"):
            await there.client.post("/v1/chat/completions", json=CHAT)
        await until(lambda: there.metering.records)

    (record,) = there.metering.records
    assert record.is_estimated
    assert record.usage.input > 400


async def test_g4_g5_a_client_that_leaves_cuts_its_call_and_pays_for_the_most():
    body = json.dumps(RESPONSES).encode()
    async with (
        model_server([Say(pieces=("word ",) * 5_000, pause_s=0.05)]) as server,
        open_gateway(server.openai_url) as there,
    ):
        async with there.client.stream("POST", "/v1/responses", content=body) as reply:
            await anext(reply.aiter_raw())
        with anyio.fail_after(30):
            await server.left.wait()
        await until(lambda: there.metering.records)

    assert server.disconnects == 1
    (record,) = there.metering.records
    assert record.is_estimated
    assert record.usage.input == len(body) + HIDDEN_TOKENS


async def test_g4_the_end_of_the_turn_cuts_calls_and_later_ones_get_410():
    async with (
        model_server([Say(pieces=("word ",) * 5_000, pause_s=0.05)]) as server,
        open_gateway(server.openai_url) as there,
    ):
        async with there.client.stream("POST", "/v1/responses", json=RESPONSES) as reply:
            chunks = reply.aiter_raw()
            await anext(chunks)
            there.gateway.end()
            with pytest.raises(Exception, match=r"peer closed|incomplete"):
                async for _ in chunks:
                    pass
        with anyio.fail_after(30):
            await server.left.wait()
        late = await there.client.post("/v1/responses", json=RESPONSES)

    assert late.status_code == 410
    assert (there.gateway.cut, there.gateway.late, len(server.requests)) == (1, 1, 1)


async def test_g4_cancelling_the_turn_cuts_its_calls_at_once():
    async with model_server([Say(pieces=("word ",) * 5_000, pause_s=0.05)]) as server:
        with anyio.CancelScope() as turn:
            async with (
                open_gateway(server.openai_url) as there,
                there.client.stream("POST", "/v1/responses", json=RESPONSES) as reply,
            ):
                await anext(reply.aiter_raw())
                turn.cancel()
                await anyio.sleep_forever()
        with anyio.fail_after(30):
            await server.left.wait()


@for_each(
    ("method", "path", "headers", "content", "status"),
    [
        ("GET", "/v1/responses", {"connection": "upgrade", "upgrade": "websocket"}, b"", 426),
        ("POST", "/v1/files", {}, b"{}", 404),
        ("GET", "/v1/../admin", {}, b"", 404),
        ("POST", "/v1/responses", {}, b"{", 400),
        ("POST", "/v1/responses", {}, b'{"model": "m", "background": true}', 400),
        ("POST", "/v1/responses", {}, b"x" * (17 * 1024 * 1024), 413),
    ],
    ids=["upgrade", "path", "dots", "no JSON", "background", "size"],
)
def test_g4_other_requests_never_reach_the_provider(method, path, headers, content, status):
    async def ask():
        async with model_server(["Hi"]) as server, open_gateway(server.openai_url) as there:
            reply = await there.client.request(method, path, headers=headers, content=content)
        return server.requests, reply

    requests, reply = anyio.run(ask)

    assert (reply.status_code, requests) == (status, [])
    assert reply.json()["error"]["message"].startswith("Allstop: ")


async def test_g4_what_a_box_wanted_is_remembered():
    async with open_gateway("http://127.0.0.1:9/v1") as there:
        for _ in range(2):
            await there.client.post("/v1/files?secret=1", content=b"")

    assert there.gateway.paths == ["POST /v1/files"]


async def test_g4_lists_of_models_and_counts_pass_without_a_charge():
    async with model_server(["Hi"]) as server:
        async with open_gateway(server.openai_url, max_tokens=1) as there:
            models = await there.client.get("/v1/models")
        url = server.anthropic_url
        async with open_gateway(url, provider=Provider.ANTHROPIC, max_tokens=1) as there:
            counted = await there.client.post("/v1/messages/count_tokens", json=MESSAGES)

    assert models.json()["data"][0]["id"] == "zebra-1"
    assert counted.json()["input_tokens"] > 0
    assert there.records == []


async def test_an_error_of_the_provider_is_passed_on_and_costs_nothing():
    wrong = Say(error=ErrorReply(status=400, body={"error": {"message": "no such model"}}))
    async with model_server([wrong]) as server, open_gateway(server.openai_url) as there:
        reply = await there.client.post("/v1/responses", json=RESPONSES)
        await until(lambda: there.records)

    assert (reply.status_code, reply.json()) == (400, {"error": {"message": "no such model"}})
    (record,) = there.records
    assert (record.status, record.usage.tokens, there.metering.account.used.tokens) == (400, 0, 0)


@pytest.mark.parametrize(("wait_s", "status"), [(2.0, 429), (None, 402)])
async def test_g6_a_long_limit_of_the_account_ends_the_turn(wait_s, status):
    limited = Say(error=ErrorReply(status=429, body={"error": {"message": "slow"}}))
    seen = []

    def judge(code, headers, body):
        seen.append((code, json.loads(body)))
        return Limit("the account is limited", wait_s)

    async with (
        model_server([limited]) as server,
        open_gateway(server.openai_url, judge=judge) as there,
    ):
        reply = await there.client.post("/v1/responses", json=RESPONSES)
        if wait_s is None:  # another try doesn't reach the provider
            await there.client.post("/v1/responses", json=RESPONSES)

    assert reply.status_code == status
    assert seen == [(429, {"error": {"message": "slow"}})]
    assert (there.metering.limit is not None) == (wait_s is None)


@pytest.mark.parametrize(("wait_s", "status"), [(2.0, 429), (None, 402)])
async def test_g6_a_limit_that_another_run_met_holds_this_one(wait_s, status):
    async with (
        model_server(["Hi"]) as server,
        open_gateway(server.openai_url, limit=Limit("held", wait_s)) as there,
    ):
        reply = await there.client.post("/v1/responses", json=RESPONSES)

    assert (reply.status_code, server.requests) == (status, [])
    assert ("retry-after" in reply.headers) == (wait_s is not None)


async def test_a_provider_that_can_not_be_reached_is_told():
    async with open_gateway("http://127.0.0.1:9/v1") as there:
        reply = await there.client.post("/v1/responses", json=RESPONSES)

    assert reply.status_code == 502
    assert "can't" in reply.text or "failed" in reply.text


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 302 Found\r\nlocation: http://elsewhere.example/\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nbroken\r\n\r\n",
        b"",
    ],
    ids=["redirect", "compressed", "broken", "nothing"],
)
async def test_g4_what_is_no_answer_of_a_model_is_not_passed_on(head):
    async def serve(stream):
        async with stream:
            await stream.receive()
            await stream.send(head)

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with (
            anyio.create_task_group() as group,
            open_gateway(f"http://127.0.0.1:{port}/v1") as there,
        ):
            group.start_soon(listener.serve, serve)
            reply = await there.client.post("/v1/responses", json=RESPONSES)
            group.cancel_scope.cancel()

    assert reply.status_code == 502


async def test_g3_an_error_that_repeats_the_key_is_passed_on_without_it():
    wrong = Say(error=ErrorReply(401, {"error": {"message": f"wrong key: {KEY}"}}))
    async with model_server([wrong]) as server, open_gateway(server.openai_url) as there:
        reply = await there.client.post("/v1/responses", json=RESPONSES)

    assert (reply.status_code, KEY in reply.text) == (401, False)
    assert "wrong key: [the key]" in reply.text


@pytest.fixture
def certificate(tmp_path):
    key, file = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
         "-nodes", "-days", "2", "-subj", "/CN=model", "-addext", "subjectAltName=DNS:localhost",
         "-keyout", key, "-out", file],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return file, key


@pytest.mark.parametrize(
    ("host", "is_trusted", "status"),
    [("localhost", True, 200), ("localhost", False, 502), ("127.0.0.1", True, 502)],
    ids=["its name", "unknown authority", "another name"],
)
async def test_g4_the_providers_certificate_is_verified(certificate, host, is_trusted, status):
    file, key = certificate
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(file, key)
    trusting = ssl.create_default_context(cafile=file if is_trusted else None)
    received = []

    async def serve(stream):
        async with stream:
            with suppress(ssl.SSLError, anyio.BrokenResourceError, anyio.EndOfStream):
                secure = await TLSStream.wrap(
                    stream, server_side=True, ssl_context=serving, standard_compatible=False
                )
                received.append(await secure.receive())
                await secure.send(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}")

    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener:
        port = listener.extra(anyio.abc.SocketAttribute.local_port)
        async with (
            anyio.create_task_group() as group,
            open_gateway(f"https://{host}:{port}/v1", tls=trusting) as there,
        ):
            group.start_soon(listener.serve, serve)
            reply = await there.client.post("/v1/responses", json=RESPONSES)
            group.cancel_scope.cancel()

    assert reply.status_code == status
    assert bool(received) == (status == 200)


async def test_one_connection_carries_many_calls():
    """Also one whose body comes in chunks."""

    async def pieces():
        for piece in (b'{"model":', b'"m","input":"x"}'):
            yield piece

    async with model_server(["Hi"]) as server, open_gateway(server.openai_url) as there:
        first = await there.client.post("/v1/responses", content=pieces())
        again = await there.client.post("/v1/responses", json={"model": "m", "input": "x"})

    assert (first.status_code, again.status_code) == (200, 200)
    assert {asked.protocol for asked in server.requests} == {Protocol.RESPONSES}


@given(st.binary(max_size=600) | st.binary(max_size=40).map(lambda more: lookup("a.b")[:12] + more))
def test_g2_no_query_for_a_name_breaks_the_responder(query):
    refused = refuse_name(query)

    if refused is not None:
        name, reply = refused
        assert name.isprintable() or not name
        assert reply[:2] == query[:2]
        assert reply[3] & 15 == 3, "there is no such name"
        assert len(reply) <= len(query), "nothing is amplified"


async def test_g2_names_are_refused_at_once_and_remembered():
    async with open_gateway("http://127.0.0.1:9/v1") as there:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asks:
            asks.settimeout(30)
            for query in (b"", b"\xff" * 40, lookup("x" * 63)[:-3], lookup("Pypi.example.org")):
                asks.sendto(query, there.names)
            reply = await anyio.to_thread.run_sync(asks.recv, 500)

    assert reply[:4] == b"\x12\x34\x81\x83"
    assert reply[12:] == lookup("Pypi.example.org")[12:]
    assert there.gateway.names == ["pypi.example.org"]
