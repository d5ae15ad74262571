"""G5, K5: whatever models, agents and providers do, no budget is passed.

A history is played by several boxes at once. Each box has a turn with calls, some of them at the
same time. The provider honours the cap in the body that it gets. A body has at most one token
for each byte. If it has more than one for three bytes, one call may pass a budget.
"""

import json
from functools import partial

import anyio
import pytest
from anyio.lowlevel import checkpoint
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct

from allstop.adapters.gateway import model_call
from allstop.adapters.gateway.model_call import Metering
from allstop.adapters.gateway.model_connection import Target
from allstop.core.budget import Amount, Cap
from allstop.core.moves import Usage
from allstop.engine.budgets import SHARED, Budgets
from allstop.engine.call_account import TurnAccount
from allstop.metering.call_reservation import usage_of
from allstop.metering.model_routes import find_route
from allstop.metering.request_body import read_call, write_body
from allstop.metering.usage import UsageReader
from allstop.metering.wire_formats import Provider, WireFormat
from support.sweeps import short

REQUESTS = {
    WireFormat.RESPONSES: (Provider.OPENAI, "/v1/responses", "max_output_tokens"),
    WireFormat.CHAT: (Provider.OPENAI, "/v1/chat/completions", "max_tokens"),
    WireFormat.MESSAGES: (Provider.ANTHROPIC, "/v1/messages", "max_tokens"),
    WireFormat.GEMINI: (Provider.GEMINI, "/v1beta/models/m:streamGenerateContent", None),
}


def cost(total, output):
    return 3 * total + 15 * output


class Asked(Struct):
    """A call that an agent wants to make, and what its provider does."""

    chars: int  # of the prompt
    wanted: int | None  # the agent's cap
    wish: int  # the tokens that the model would like to write
    density: int  # bytes of the prompt for each token; at least three if nothing is reported
    report: str  # what the provider tells
    retries: int  # with a doubled cap, if the reply was cut
    pause: int  # how often others run before the reply begins


ASKED = st.builds(
    Asked,
    chars=st.integers(1, 30_000),
    wanted=st.none() | st.integers(1, 40_000),
    wish=st.integers(0, 60_000),
    density=st.integers(1, 12),
    report=st.sampled_from(["true", "true", "missing", "absurd", "cut", "refused"]),
    retries=st.integers(0, 2),
    pause=st.integers(0, 3),
)
BOXES = st.lists(st.lists(ASKED, min_size=1, max_size=6), min_size=1, max_size=4)
LIMITS = st.none() | st.integers(1, 150_000)
MONEY = st.none() | st.integers(1, 1_000_000)


def body_of(wire, asked):
    text, cap = "x" * asked.chars, asked.wanted
    name = REQUESTS[wire][2]
    if name is None:
        settings = {"generationConfig": {"maxOutputTokens": cap}} if cap else {}
        return {"contents": [{"parts": [{"text": text}]}], **settings}
    return {"model": "m", "stream": True, "input": text} | ({name: cap} if cap else {})


def cap_in(wire, sent):
    """The output cap that the provider sees; None: there is none."""
    match wire:
        case WireFormat.GEMINI:
            return sent.get("generationConfig", {}).get("maxOutputTokens")
        case WireFormat.CHAT:
            names = ("max_tokens", "max_completion_tokens")
            return min((sent[name] for name in names if name in sent), default=None)
        case _:
            return sent.get(REQUESTS[wire][2])


REPORTS = {
    WireFormat.RESPONSES: ("input_tokens", "output_tokens"),
    WireFormat.CHAT: ("prompt_tokens", "completion_tokens"),
    WireFormat.MESSAGES: ("input_tokens", "output_tokens"),
    WireFormat.GEMINI: ("promptTokenCount", "candidatesTokenCount"),
}
ABSURD = [-1, float("nan"), 10**12, "many", None]


def events_of(wire, asked, total, output, *, was_cut):
    """The events of a reply. Nonsense in a report differs between providers."""
    tokens = (total, output) if asked.report in ("true", "cut") else None
    if asked.report == "absurd":
        tokens = ABSURD[asked.chars % 5], ABSURD[output % 5]
    usage = dict(zip(REPORTS[wire], tokens, strict=True)) if tokens else {}
    if wire is WireFormat.MESSAGES and tokens:
        begun = {"input_tokens": tokens[0], "output_tokens": 1}
        yield {"type": "message_start", "message": {"usage": begun}}
    yield words_of(wire, "abc" * output)
    if asked.report == "cut":  # the connection broke before the end
        return
    for _ in range(1 + (asked.report == "true")):  # some providers repeat it
        yield end_of(wire, usage, was_cut=was_cut)


def words_of(wire, words):
    match wire:
        case WireFormat.RESPONSES:
            return {"type": "response.output_text.delta", "delta": words}
        case WireFormat.CHAT:
            return {"choices": [{"delta": {"content": words}}]}
        case WireFormat.MESSAGES:
            return {"type": "content_block_delta", "delta": {"text": words}}
        case WireFormat.GEMINI:
            return {"candidates": [{"content": {"parts": [{"text": words}]}}]}


def end_of(wire, usage, *, was_cut):
    match wire:
        case WireFormat.RESPONSES:
            end = {"status": "incomplete" if was_cut else "completed", "usage": usage}
            return {"type": "response.completed", "response": end}
        case WireFormat.CHAT:
            choice = {"finish_reason": "length" if was_cut else "stop"}
            return {"choices": [choice], "usage": usage}
        case WireFormat.MESSAGES:
            delta = {"stop_reason": "max_tokens" if was_cut else "end_turn"}
            late = {name: count for name, count in usage.items() if name != "input_tokens"}
            return {"type": "message_delta", "delta": delta, "usage": late}
        case WireFormat.GEMINI:
            candidate = {"finishReason": "MAX_TOKENS" if was_cut else "STOP"}
            return {"candidates": [candidate], "usageMetadata": usage}


class Served:
    """Counts what a provider has truly served."""

    def __init__(self):
        self.tokens = self.cost = 0
        self.extra_tokens = self.extra_cost = 0  # of the call that passed its reservation most

    def use(self, total, output, reserved):
        self.tokens += total + output
        self.cost += cost(total, output)
        self.extra_tokens = max(self.extra_tokens, total + output - reserved.tokens)
        self.extra_cost = max(self.extra_cost, cost(total, output) - reserved.cost_microusd)


class Box:
    """One turn of one run, with several calls at a time."""

    def __init__(self, wire, name, budgets, provider, *, is_capped=True):
        self.wire = wire
        self.account = TurnAccount(name, budgets)
        self.metering = Metering(
            Target(provider=REQUESTS[wire][0], base_url="", key="", is_capped=is_capped),
            None,
            self.account,
            judge=None,
            held=None,
            seen=None,
            report=None,
            cost_of=lambda model, total, output: cost(total, output),
        )
        self.provider = provider

    async def work(self, calls):
        async with anyio.create_task_group() as group:
            for asked in calls:
                group.start_soon(self._call, asked)

    async def _call(self, asked):
        for _ in range(asked.retries + 1):
            if not await self._once(asked):
                return
            asked.wanted = (asked.wanted or 32_000) * 2

    async def _once(self, asked):
        """Whether the reply was cut, so that an agent may ask again."""
        family, path, _ = REQUESTS[self.wire]
        body = json.dumps(body_of(self.wire, asked)).encode()
        call = read_call(find_route(family, "POST", path), body)
        reserved = await self.metering.reserve(call)
        if reserved is None:
            return False
        number, reservation = reserved
        sent = json.loads(write_body(call, reservation.output))
        for _ in range(asked.pause):
            await checkpoint()
        if asked.report == "refused":
            self.account.settle(number, Usage())
            return False
        cap = cap_in(self.wire, sent)
        output = asked.wish if cap is None else min(asked.wish, cap)
        total = call.size // (asked.density if asked.report == "true" else max(3, asked.density))
        self.provider.use(total, output, reservation)
        reader = UsageReader(self.wire)
        was_cut = cap is not None and asked.wish > cap
        for event in events_of(self.wire, asked, total, output, was_cut=was_cut):
            reader.event(json.dumps(event).encode())
            await checkpoint()
        used = usage_of(reader.reported, reservation, call, reader.chars)
        price = cost(used.input, used.output)
        self.account.settle(
            number, Usage(input=used.input, output=used.output, cost_microusd=price)
        )
        self.metering.estimates.learn(call, used)
        return was_cut


async def play(wire, boxes, board, day, money, *, is_capped=True):
    budgets, provider = Budgets(), Served()
    budgets.open("board", Cap(tokens=board, cost_microusd=money))
    budgets.open(f"{SHARED}day", Cap(tokens=day))
    with anyio.fail_after(60):  # no call may wait for ever
        async with anyio.create_task_group() as group:
            for number, calls in enumerate(boxes):
                box = Box(wire, f"board/T{number}", budgets, provider, is_capped=is_capped)
                group.start_soon(box.work, calls)
    for cap in (board, day):
        assert cap is None or provider.tokens <= cap + provider.extra_tokens
    assert money is None or provider.cost <= money + provider.extra_cost
    assert budgets.account("board").reserved.tokens == 0
    assert budgets.account("board").spent.tokens >= provider.tokens


@pytest.mark.parametrize("wire", WireFormat)
def test_g5_k5_no_history_of_calls_passes_a_budget(wire):
    """G5, K5: parallel boxes, missing and absurd usage, cut streams, retries with larger caps."""

    @settings(max_examples=short(2_500, 100))
    @given(BOXES, LIMITS, LIMITS, MONEY)
    def histories(boxes, board, day, money):
        anyio.run(partial(play, wire, boxes, board, day, money))

    histories()


def test_g5_g9_calls_without_caps_pass_a_budget_by_no_more_than_one_of_them():
    """G5, G9: a login at ChatGPT allows no caps; boxes side by side count as one."""

    @settings(max_examples=short(2_500, 100))
    @given(BOXES, LIMITS, LIMITS)
    def histories(boxes, board, day):
        for calls in boxes:
            for asked in calls:
                asked.wanted = None
        played = partial(play, WireFormat.RESPONSES, boxes, board, day, None, is_capped=False)
        anyio.run(played)

    histories()


async def test_g5_a_call_in_a_turn_with_a_limit_of_its_own_is_alone_in_it():
    """G5: what is reserved for the whole turn is no other call."""
    budgets, own = Budgets(), Amount(tokens=2_000, cost_microusd=cost(0, 2_000))
    budgets.open("board", Cap(cost_microusd=2 * own.cost_microusd))
    assert budgets.reserve("board/T1", own) is None
    box = Box(WireFormat.RESPONSES, "board/T1", budgets, Served())
    box.account = box.metering.account = TurnAccount("board/T1", budgets, own)
    body = json.dumps({"model": "m", "input": "x" * 3_000}).encode()
    call = read_call(find_route(Provider.OPENAI, "POST", "/v1/responses"), body)

    with anyio.fail_after(30):
        _, reservation = await box.metering.reserve(call)

    assert box.account.left != box.account.left_if_settled, "the call is under way"
    assert (reservation.is_lowered, reservation.tokens) == (True, 2_000)


async def test_g5_a_call_does_not_wait_for_ever_to_be_alone(monkeypatch):
    """G5: a process that died may have reserved, and nobody frees that."""
    monkeypatch.setattr(model_call, "ALONE_S", 0.01)
    budgets = Budgets()
    budgets.open("board", Cap(tokens=3_000))
    assert budgets.reserve("board/T0", Amount(tokens=500)) is None
    box = Box(WireFormat.RESPONSES, "board/T1", budgets, Served())
    call = read_call(
        find_route(Provider.OPENAI, "POST", "/v1/responses"), b'{"model": "m", "input": "Hello"}'
    )

    with anyio.fail_after(30):
        _, reservation = await box.metering.reserve(call)

    assert reservation.tokens == 2_500


@pytest.mark.parametrize("is_capped", [True, False])
async def test_g5_g9_a_call_without_a_cap_takes_the_rest_of_a_budget_only_alone(is_capped):
    """G5, G9: two of them could each pass it."""
    budgets = Budgets()
    budgets.open("board", Cap(tokens=200_000))
    box = Box(WireFormat.RESPONSES, "board/T1", budgets, Served(), is_capped=is_capped)
    route = find_route(Provider.OPENAI, "POST", "/v1/responses")
    call = read_call(route, b'{"model": "m", "input": "Hello"}')
    second = []

    async def reserve_again():
        second.append(await box.metering.reserve(call))

    number, _ = await box.metering.reserve(call)
    async with anyio.create_task_group() as group:
        group.start_soon(reserve_again)
        await anyio.wait_all_tasks_blocked()
        is_waiting = not second
        box.account.settle(number, Usage(input=100_000, output=90_000))

    assert is_waiting is not is_capped
    ((_, reservation),) = second
    assert (reservation.output is None) is not is_capped
