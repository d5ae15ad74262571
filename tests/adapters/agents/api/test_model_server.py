"""Q18: the providers' SDKs accept the replies of the fake model server."""

import pytest

from allstop.testing.model_server import Call, Say, model_server

CALL = Say(text="I will look.", calls=(Call(name="look", arguments={"at": "zebra"}),), cached=40)
ASKED = [{"role": "user", "content": "look"}]


@pytest.fixture
async def server(anyio_backend):
    async with model_server([CALL]) as server:
        yield server


@pytest.fixture
async def openai(server):
    from openai import AsyncOpenAI  # takes a second

    async with AsyncOpenAI(api_key="x", base_url=server.openai_url, max_retries=0) as client:
        yield client


@pytest.fixture
async def anthropic(server):
    from anthropic import AsyncAnthropic  # takes two seconds

    async with AsyncAnthropic(api_key="x", base_url=server.anthropic_url, max_retries=0) as client:
        yield client


async def test_q18_responses(openai):
    """Q18: text, a call and usage, streamed and whole."""
    async with openai.responses.stream(model="m", input=ASKED) as stream:
        streamed = await stream.get_final_response()
    whole = await openai.responses.create(model="m", input=ASKED)

    for response in (streamed, whole):
        _, call = response.output
        assert response.output_text == "I will look."
        assert (call.type, call.name, call.arguments) == (
            "function_call",
            "look",
            '{"at": "zebra"}',
        )
        assert (response.usage.input_tokens, response.usage.output_tokens) == (100, 20)
        assert response.usage.input_tokens_details.cached_tokens == 40


async def test_q18_chat(openai):
    """Q18: text, a call and usage, streamed and whole."""
    options = {"stream_options": {"include_usage": True}}
    async with openai.chat.completions.stream(model="m", messages=ASKED, **options) as stream:
        streamed = await stream.get_final_completion()
    whole = await openai.chat.completions.create(model="m", messages=ASKED)

    for completion in (streamed, whole):
        message = completion.choices[0].message
        assert message.content == "I will look."
        assert message.tool_calls[0].function.name == "look"
        assert completion.choices[0].finish_reason == "tool_calls"
        assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (100, 20)


async def test_q18_messages(anthropic):
    """Q18: text, a call and usage, streamed and whole."""
    asked = {"model": "m", "max_tokens": 9, "messages": ASKED}
    async with anthropic.messages.stream(**asked) as stream:
        streamed = await stream.get_final_message()
    whole = await anthropic.messages.create(**asked)

    for message in (streamed, whole):
        text, call = message.content
        assert text.text == "I will look."
        assert (call.name, call.input) == ("look", {"at": "zebra"})
        assert message.stop_reason == "tool_use"
        assert (message.usage.input_tokens, message.usage.cache_read_input_tokens) == (60, 40)
        assert message.usage.output_tokens == 20


async def test_q18_other_endpoints(openai, anthropic):
    """Q18: the models, and how many tokens a prompt has."""
    models = [model.id async for model in openai.models.list()]
    counted = await anthropic.messages.count_tokens(model="m", messages=ASKED)

    assert models == ["zebra-1"]
    assert counted.input_tokens > 0
