"""G1 to G7: which agents use the gateway, and how their turns end."""

import json
import socket
import ssl
from datetime import timedelta

import anyio
import httpx2
import pytest
from msgspec.structs import replace

from allstop.adapters.agents.api.token_prices import PriceOverride, TokenPrice
from allstop.adapters.clock import SystemClock
from allstop.adapters.gateway.model_connection import Target
from allstop.adapters.journals.in_memory import MemoryJournal
from allstop.adapters.processes.sandbox_probe import make_launcher
from allstop.app.agents import registry
from allstop.app.agents.accounts import AccountNames, Accounts, Choice, HeldAgent
from allstop.app.agents.agent_programs import AgentSetupError
from allstop.app.agents.box import box
from allstop.app.agents.gateway_agent import not_held
from allstop.app.agents.shared_holds import SharedHolds
from allstop.app.agents.token_caps import HOLD_TO_THE_CALL, describe_budgets
from allstop.app.gateway.account_limit import AccountLimit
from allstop.app.gateway.agent import GatewayAgent
from allstop.app.gateway.hosts import HostsAgent
from allstop.app.gateway.kept_calls import KeptCalls
from allstop.app.setup import doctor
from allstop.core.budget import Cap
from allstop.core.moves import Failed, FailureKind, TurnDone, Usage
from allstop.core.secrets import Secrets
from allstop.engine.budgets import Budgets
from allstop.engine.call_account import TurnAccount
from allstop.metering.wire_formats import Provider
from allstop.ports import LATE_CALLS, Abilities, Box, BoxSockets, Isolation, Network
from allstop.testing.agent_contract import RecordingWatch, turn
from allstop.testing.model_server import ErrorReply, Fault, Say, model_server
from support.open_gateway import loopback

BODY = {"model": "m", "input": "Hello", "stream": True}
PRICE = PriceOverride(input_mtok=1.0, output_mtok=10.0)
DONE = TurnDone(text="done", usage=Usage(input=1, output=1))
FAILED = Failed(kind=FailureKind.CRASHED, message="it gave up")


class Caller:
    """An agent that posts bodies from its box; here the box is this machine's loopback."""

    abilities = Abilities(usage=True)

    def __init__(self, *paths, ends=DONE, body=BODY):
        self._paths = paths
        self._body = body
        self._ends = ends
        self.statuses = []
        self.box = None

    async def take_turn(self, turn, watch):
        self.box = turn.place
        calls, names = loopback(socket.SOCK_STREAM), loopback(socket.SOCK_DGRAM)
        port = calls.getsockname()[1]
        turn.place.gateway.serve(BoxSockets(calls=calls.detach(), names=names.detach()))
        async with httpx2.AsyncClient(trust_env=False, timeout=30) as client:
            for path in self._paths:
                reply = await client.post(f"http://127.0.0.1:{port}{path}", json=self._body)
                self.statuses.append(reply.status_code)
        return self._ends

    async def close(self):
        pass


def through(caller, server, held_now=not_held, price=PRICE, clock=None, **more):
    return GatewayAgent(
        caller,
        Target(provider=Provider.OPENAI, base_url=server.openai_url, key="sk-real"),
        ssl.create_default_context(),
        clock=clock or SystemClock(),
        fallback_box=Box(home="/fallback"),
        price_of=lambda model: TokenPrice(model, own=price),
        held_now=held_now,
        **more,
    )


async def test_g7_the_usage_of_a_turn_is_what_the_gateway_measured():
    """G7: and each call is recorded, not only shown."""
    caller, watch = Caller("/v1/responses", "/v1/responses"), RecordingWatch()
    async with model_server([Say(text="Hi", input=1000, cached=400, output=50)]) as server:
        result = await through(caller, server).take_turn(turn(None), watch)

    usage = result.usage
    assert (usage.input, usage.cached, usage.output, usage.model) == (2000, 800, 100, "m")
    assert usage.cost_microusd > 0
    texts = [item.text for item in watch.items if item.kind == "model call"]
    assert len(texts) == 2
    assert texts[0].startswith("m: 1,000 tokens in (400 cached), 50 out, $0.00")
    assert "HTTP 200, req_0" in texts[0]


async def test_g7_a_call_is_recorded_with_its_numbers():
    watch = RecordingWatch()
    async with model_server([Say(text="Hi", input=1000, cached=400, output=50)]) as server:
        await through(Caller("/v1/responses"), server).take_turn(turn(None), watch)

    (call,) = [item.call for item in watch.items if item.call is not None]
    assert (call.model, call.status, call.request_id) == ("m", 200, "req_0")
    assert (call.input, call.cached, call.output, call.cut) == (1000, 400, 50, False)
    assert call.cost_microusd > 0
    assert 0 <= call.first_ms <= call.total_ms


async def test_g7_texts_are_kept_only_if_a_person_wants_them_and_without_secrets(tmp_path):
    """G7: the request as it was sent, and the stream as it came; neither key nor secret."""
    known = Secrets(["a-known-secret-of-mine"])
    kept = KeptCalls(tmp_path / "calls", SystemClock(), lambda: known, "sk-the-real-key-of-all")
    said = "sk-the-real-key-of-all and a-known-secret-of-mine"

    async with model_server(
        [Say(text=said), Say(error=ErrorReply(400, {"error": said}))]
    ) as server:
        calls = Caller("/v1/responses", "/v1/responses")
        await through(calls, server, kept=kept).take_turn(turn(None), RecordingWatch())
        await through(Caller("/v1/responses"), server).take_turn(turn(None), RecordingWatch())

    files = sorted((tmp_path / "calls").rglob("*.json"))
    texts = [file.read_text() for file in files]
    first, second = map(json.loads, texts)
    assert (first["status"], second["status"]) == (200, 400)
    assert first["request"]["input"] == "Hello"
    assert "response.completed" in first["reply"]
    assert not any("real-key-of-all" in text or "secret-of-mine" in text for text in texts)
    assert {file.stat().st_mode & 0o777 for file in files} == {0o600}


async def test_k5_four_boxes_at_once_never_pass_their_common_budget():
    """K5, X11: four tasks without a cap on each call once spent 5,400 of 2,000 tokens."""
    budgets, agents = Budgets(), []
    budgets.open("all", Cap(tokens=2_000))

    def served(asked):
        return Say(text="Hi", input=10, output=min(350, asked.body["max_output_tokens"]))

    async def one(server, name):
        budgets.open(name, Cap())
        caller = Caller(*["/v1/responses"] * 8, ends=FAILED)
        asked = replace(turn(None), account=TurnAccount(name, budgets))
        agents.append(await through(caller, server).take_turn(asked, RecordingWatch()))

    async with model_server(served) as server, anyio.create_task_group() as group:
        for number in range(4):
            group.start_soon(one, server, f"all/t{number}")

    used = sum(result.usage.tokens for result in agents)
    caps = [asked.body["max_output_tokens"] for asked in server.requests]
    assert 1_000 < used <= 2_000
    assert min(caps) < 350, "the cap is lowered to what is left"
    assert all(result.kind is FailureKind.CAPPED for result in agents if result.usage.tokens)


async def test_g2_the_box_has_no_network_but_the_gateway():
    caller = Caller("/v1/responses")
    async with model_server(["Hi"]) as server:
        await through(caller, server).take_turn(turn(None), RecordingWatch())

    assert (caller.box.home, caller.box.network) == ("/fallback", Network.NONE)


async def test_g5_a_turn_that_the_budget_ended_is_capped_and_another_one_may_fit():
    caller, watch = Caller("/v1/responses", "/v1/responses", ends=FAILED), RecordingWatch()
    async with model_server([Say(text="Hi", input=400, output=300)]) as server:
        asked = replace(turn(None), max_tokens=1_000)
        result = await through(caller, server).take_turn(asked, watch)

    assert caller.statuses == [200, 402]
    assert (result.kind, result.usage.tokens) == (FailureKind.CAPPED, 700)


async def test_g5_a_budget_that_is_too_small_for_one_call_waits_for_a_person():
    """G5: another turn would end in the same way."""
    caller = Caller("/v1/responses", ends=FAILED)
    async with model_server(["Hi"]) as server:
        asked = replace(turn(None), max_tokens=100)
        result = await through(caller, server).take_turn(asked, RecordingWatch())

    assert (result.kind, server.requests) == (FailureKind.OUT_OF_BUDGET, [])


async def test_g5_a_reply_cut_by_the_budget_is_told_even_if_the_agent_reports_success():
    caller, watch = Caller("/v1/responses"), RecordingWatch()
    cut = Say(text="Hi", input=100, output=50, fault=Fault.TRUNCATED)
    async with model_server([cut]) as server:
        result = await through(caller, server).take_turn(
            replace(turn(None), max_tokens=1000), watch
        )

    assert isinstance(result, TurnDone)
    assert any("cut by the budget" in item.text for item in watch.items)


def with_money(microusd):
    """A turn whose run may spend so much."""
    budgets = Budgets()
    budgets.open("t", Cap(cost_microusd=microusd))
    return replace(turn(None), account=TurnAccount("t", budgets))


async def test_g5_a_limit_on_money_refuses_a_model_without_a_price_before_its_first_call():
    caller = Caller("/v1/responses", ends=FAILED)
    async with model_server(["Hi"]) as server:
        asked = with_money(5_000_000)
        result = await through(caller, server, price=None).take_turn(asked, RecordingWatch())

    assert (caller.statuses, server.requests) == ([402], [])
    assert result.kind is FailureKind.OUT_OF_BUDGET
    assert '[prices."m"]' in result.message


@pytest.mark.parametrize("is_limited", [True, False])
async def test_g5_a_limit_on_money_refuses_a_faster_tier_whose_price_is_not_known(is_limited):
    """G5: it costs a multiple of the listed price."""
    ends = FAILED if is_limited else DONE
    caller = Caller("/v1/responses", ends=ends, body={**BODY, "service_tier": "priority"})
    asked = with_money(5_000_000) if is_limited else turn(None)
    async with model_server(["Hi"]) as server:
        result = await through(caller, server).take_turn(asked, RecordingWatch())

    assert caller.statuses == [402 if is_limited else 200]
    if is_limited:
        assert result.kind is FailureKind.OUT_OF_BUDGET
        assert 'service_tier = "priority"' in result.message


async def test_g5_without_a_limit_on_money_a_model_without_a_price_is_counted_in_tokens():
    async with model_server([Say(text="Hi", input=400, output=300)]) as server:
        agent = through(Caller("/v1/responses"), server, price=None)
        result = await agent.take_turn(turn(None), RecordingWatch())

    assert (result.usage.tokens, result.usage.cost_microusd, result.usage.partial) == (700, 0, True)


async def test_g5_a_limit_on_money_lowers_the_cap_and_is_never_passed():
    """G5: each call may cost what is left: its input, and the rest for the reply."""
    caller = Caller("/v1/responses", "/v1/responses", "/v1/responses", ends=FAILED)
    async with model_server([Say(text="Hi", input=400, output=900)]) as server:
        result = await through(caller, server).take_turn(with_money(19_000), RecordingWatch())
        caps = [asked.body["max_output_tokens"] for asked in server.requests]

    assert caller.statuses == [200, 200, 402]
    assert caps[0] - caps[1] == (400 + 10 * 900) // 10
    assert (result.kind, result.usage.cost_microusd) == (FailureKind.CAPPED, 18_800)


async def test_g6_a_long_limit_ends_the_turn_with_the_time_of_its_end():
    limited = ErrorReply(429, {"error": {"message": "Slow down."}}, {"retry-after": "3600"})
    caller = Caller("/v1/responses", "/v1/responses", ends=FAILED)
    async with model_server([Say(error=limited)]) as server:
        result = await through(caller, server).take_turn(turn(None), RecordingWatch())

    assert caller.statuses == [402, 402]
    assert result.kind is FailureKind.RATE_LIMITED
    assert result.retry_at - SystemClock().now() > timedelta(minutes=50)
    assert len(server.requests) == 1


async def test_g6_a_short_limit_is_left_to_the_agent():
    limited = ErrorReply(429, {"error": {"message": "Slow down."}}, {"retry-after": "2"})
    caller = Caller("/v1/responses", ends=FAILED)
    async with model_server([Say(error=limited)]) as server:
        result = await through(caller, server).take_turn(turn(None), RecordingWatch())

    assert caller.statuses == [429]
    assert (result.kind, result.message) == (FailureKind.RATE_LIMITED, "Slow down. (HTTP 429)")


async def test_g6_the_windows_that_a_provider_reports_reach_the_account():
    headers = {"x-ratelimit-limit-requests": "100", "x-ratelimit-remaining-requests": "40"}
    seen = []

    class Windows(RecordingWatch):
        def live(self, live):
            seen.extend(live.windows)

    async with model_server([Say(text="Hi", headers=headers)]) as server:
        await through(Caller("/v1/responses"), server).take_turn(turn(None), Windows())

    assert [window.used for window in seen] == [0.6]


LIMITS = [
    (429, {"retry-after": "3600"}, FailureKind.RATE_LIMITED),
    (529, {"retry-after": "3600"}, FailureKind.OVERLOADED),
    (402, {}, FailureKind.BILLING),
]


@pytest.mark.parametrize(("status", "headers", "kind"), LIMITS)
async def test_g6_a_limit_that_one_box_meets_holds_the_calls_of_another_at_once(
    tmp_path, status, headers, kind
):
    """G6, K13: two runs on one account; the second one's provider is not called again."""
    clock = SystemClock()
    accounts = Accounts(MemoryJournal(), clock, SharedHolds(tmp_path / "holds.json"))
    names = AccountNames("codex", "codex|||")
    error = ErrorReply(status, {"error": {"message": "No."}}, headers)
    first, second = (Caller("/v1/responses", ends=FAILED) for _ in range(2))

    async with model_server([Say(error=error)]) as server:
        for caller in (first, second):

            async def held_now(run):
                return await accounts.failure(names, run)

            agent = through(caller, server, held_now)
            held = HeldAgent(accounts, [Choice(names, agent)], clock)
            run = f"board/{'T1' if caller is first else 'T2'}"
            result = await held.take_turn(replace(turn(None), run=run), RecordingWatch())

    assert (first.statuses, second.statuses, len(server.requests)) == ([402], [], 1)
    assert result.kind is kind


async def test_g6_other_boxes_are_held_before_the_turn_that_met_the_limit_has_ended():
    limited = ErrorReply(429, {"error": {"message": "Slow down."}}, {"retry-after": "3600"})
    met = []

    class Stays(Caller):
        async def take_turn(self, turn, watch):
            await super().take_turn(turn, watch)
            with anyio.fail_after(30):
                while not met:
                    await anyio.sleep(0.01)
            return FAILED

    async def meet(run, failed):
        met.append((run, failed.kind))

    async with model_server([Say(error=limited)]) as server:
        agent = through(Stays("/v1/responses"), server, meet=meet)
        await agent.take_turn(turn(None), RecordingWatch())

    assert [kind for _, kind in met] == [FailureKind.RATE_LIMITED]


async def test_g6_a_hold_of_the_account_stops_the_calls_of_a_running_turn():
    at = SystemClock().now() + timedelta(hours=1)
    held = Failed(kind=FailureKind.USAGE_LIMITED, message="its account is held", retry_at=at)
    caller = Caller("/v1/responses", ends=FAILED)
    async with model_server(["Hi"]) as server:

        async def held_now(run):
            return held

        agent = through(caller, server, held_now)
        result = await agent.take_turn(turn(None), RecordingWatch())

    assert (result.kind, result.retry_at) == (FailureKind.USAGE_LIMITED, at)
    assert server.requests == []


async def test_g8_what_the_agent_wanted_besides_its_model_is_listed_and_fails_nothing():
    caller, watch = Caller("/v1/files", "/v1/responses"), RecordingWatch()
    async with model_server(["Hi"]) as server:
        result = await through(caller, server).take_turn(turn(None), watch)

    assert isinstance(result, TurnDone)
    refused = [item.text for item in watch.items if item.kind == "gateway"]
    assert refused == ["refused requests: POST /v1/files"]


async def test_g4_what_the_provider_should_fetch_for_a_box_is_refused_and_listed():
    picture = {"type": "input_image", "image_url": "https://evil.example/?secret"}
    body = {"model": "m", "input": [{"role": "user", "content": [picture]}]}
    caller, watch = Caller("/v1/responses", "/v1/responses", body=body), RecordingWatch()
    async with model_server(["Hi"]) as server:
        await through(caller, server).take_turn(turn(None), watch)

    assert (caller.statuses, server.requests) == ([400, 400], [])
    (refused,) = [item.text for item in watch.items if item.kind == "gateway"]
    assert refused == (
        "refused: the provider would go to another host for this agent: "
        "https://evil.example/?secret"
    )


class Insistent(Caller):
    """An agent that calls its model for ever."""

    async def take_turn(self, turn, watch):
        while True:
            await super().take_turn(turn, watch)


async def test_g5_an_agent_that_goes_on_after_a_refusal_is_ended():
    """G5, G6: some try for ever, whatever the answer is."""
    caller = Insistent("/v1/responses")
    async with model_server([Say(text="Hi", input=400, output=300)]) as server:
        asked = replace(turn(None), max_tokens=1_000)
        result = await through(caller, server, grace_s=0.1).take_turn(asked, RecordingWatch())

    assert (result.kind, len(server.requests)) == (FailureKind.CAPPED, 1)


async def test_q18_an_agent_that_goes_on_after_failed_calls_is_ended_with_their_kind():
    """Q18, NA4: the provider's own error counts, not the agent's silence."""
    caller = Insistent("/v1/responses")
    async with model_server([Fault.OVERLOADED]) as server:
        result = await through(caller, server, grace_s=0.1).take_turn(turn(None), RecordingWatch())

    assert result.kind is FailureKind.OVERLOADED


async def test_q18_a_turn_whose_calls_all_failed_is_no_success():
    async with model_server([Fault.UNAUTHORIZED]) as server:
        result = await through(Caller("/v1/responses"), server).take_turn(
            turn(None), RecordingWatch()
        )

    assert (result.kind, result.usage.tokens) == (FailureKind.AUTH, 0)


async def test_q18_a_turn_with_one_failed_call_at_its_end_is_still_a_success():
    """Such as the request for a title."""
    answers = iter(["Hi", Fault.SERVER_ERROR])
    async with model_server(lambda asked: next(answers)) as server:
        agent = through(Caller("/v1/responses", "/v1/responses"), server)
        result = await agent.take_turn(turn(None), RecordingWatch())

    assert isinstance(result, TurnDone)


class LateCaller(Caller):
    """An agent whose program still calls its model after its turn was cancelled."""

    def __init__(self, *paths):
        super().__init__(*paths)
        self.began = anyio.Event()

    async def take_turn(self, turn, watch):
        self.began.set()
        try:
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await super().take_turn(turn, watch)


async def test_g4_calls_after_a_stop_are_refused_and_told():
    caller, told = LateCaller("/v1/responses", "/v1/responses"), []

    class Lives(RecordingWatch):
        def live(self, live):
            told.append((live.kind, live.text))

    async with model_server(["Hi"]) as server, anyio.create_task_group() as group:
        group.start_soon(through(caller, server).take_turn, turn(None), Lives())
        await caller.began.wait()
        group.cancel_scope.cancel()

    assert (caller.statuses, server.requests) == ([410, 410], [])
    assert told == [(LATE_CALLS, "2 model calls refused after the end")]


async def test_g4_a_stop_before_the_gateway_has_begun_ends_the_turn():
    async with model_server(["Hi"]) as server:
        with anyio.fail_after(30), anyio.CancelScope() as stop:
            stop.cancel()
            await through(Caller("/v1/responses"), server).take_turn(turn(None), RecordingWatch())

    assert (stop.cancelled_caught, server.requests) == (True, [])


SETTINGS = """
[sandbox]
network = "model-only"
[agents.coder]
driver = "codex"
command = ["/bin/true"]
api_key_env = "CODER_KEY"
"""


def project_with(trusted, person, settings):
    person.variables["CODER_KEY"] = "sk-the-real-key"
    return trusted(settings, other=["x"])


async def refusal(project, name):
    launcher = await make_launcher("auto", project.live)
    with pytest.raises(AgentSetupError) as caught:
        registry.make_agent(project, launcher, name)
    return caught.value.code


async def test_g1_an_agent_that_can_not_use_the_gateway_is_refused(trusted, person):
    mine = '[agents.mine]\ndriver = "command"\ncommand = ["/bin/true"]\n'
    project = project_with(trusted, person, SETTINGS + mine)

    assert await refusal(project, "mine") == "gateway_unsupported"


async def test_g3_variables_that_hold_the_key_are_refused(trusted, person):
    passed = 'pass_env = ["CODER_KEY"]\n'
    project = project_with(trusted, person, SETTINGS + passed)

    assert await refusal(project, "coder") == "gateway_key_passed"


@pytest.mark.parametrize(
    ("network", "given"), [("full", True), ("model-only", False), ("none", False)]
)
async def test_g3_without_a_network_a_box_has_no_proxy_and_no_password_of_one(
    trusted, person, network, given
):
    """G3: a proxy can't be reached from there, and would hide the gateway from the agent."""
    proxy = "http://ann:password-of-ann@proxy.example:3128"
    person.variables |= {"HTTPS_PROXY": proxy, "http_proxy": proxy}

    made = box(project_with(trusted, person, SETTINGS.replace("model-only", network)))

    assert (proxy in made.env.values()) is given


async def test_g1_without_a_sandbox_nothing_closes_the_network(trusted, person):
    off = SETTINGS.replace("[sandbox]", '[sandbox]\nmode = "off"')
    project = project_with(trusted, person, off)
    launcher = await make_launcher("off", project.live)

    with pytest.raises(AgentSetupError) as caught:
        registry.make_agent(project, launcher, "coder")

    assert caught.value.code == "gateway_needs_sandbox"


async def test_k5_people_are_told_that_budgets_hold_to_the_call(trusted, person):
    project = project_with(trusted, person, SETTINGS)

    launcher = await make_launcher("auto", project.live)
    made = registry.make_agent(project, launcher, "coder")
    await made.close()

    assert isinstance(made, GatewayAgent)
    assert "sk-the-real-key" not in repr(vars(made))
    project.settings.agents.pop("other", None)
    assert describe_budgets(project) == HOLD_TO_THE_CALL


@pytest.mark.parametrize("line", ["", "record = true\n"])
async def test_g7_texts_are_kept_of_agents_of_which_the_settings_say_so(trusted, person, line):
    project = project_with(trusted, person, SETTINGS + line)
    launcher = await make_launcher("auto", project.live)

    made = registry.make_agent(project, launcher, "coder")
    await made.close()

    assert (vars(made)["_kept"] is not None) is bool(line)


def gateway_row(project):
    launcher = Isolation(boxed=True, allowed=True, how="here")
    return [row for row in anyio.run(doctor.examine, project, launcher) if row.name == "gateway"]


def test_g8_doctor_names_the_agents_that_reach_only_their_model(trusted, person):
    (row,) = gateway_row(project_with(trusted, person, SETTINGS))

    assert (row.ok, row.found.startswith("coder: ")) == (True, True)


def test_g1_doctor_names_the_agents_that_could_do_without_network_and_key(trusted, person):
    (row,) = gateway_row(project_with(trusted, person, SETTINGS.replace("model-only", "full")))

    assert (row.ok, row.needed) == (False, False)
    assert "coder" in row.found
    assert "model-only" in row.hint


async def test_g8_a_trial_without_a_call_through_the_gateway_proves_nothing(trusted, person):
    project = project_with(trusted, person, SETTINGS)

    trial = await doctor.try_agent(project, "coder", "hello")

    assert (trial.ok, trial.gateway.calls) == (False, 0)


def test_g8_a_trial_that_was_answered_without_a_call_through_the_gateway_is_not_ok():
    silent = doctor.GatewayTrial(calls=0, tokens=0, refused=())
    called = replace(silent, calls=1, refused=("refused names: example.org",))

    assert not doctor.AgentTrial(result=DONE, seconds=1, gateway=silent).ok
    assert doctor.AgentTrial(result=DONE, seconds=1, gateway=called).ok
    assert not doctor.AgentTrial(result=FAILED, seconds=1, gateway=called).ok


@pytest.mark.parametrize("hours", [-20_000, -1, 1, 20_000])
async def test_g6_a_clock_that_jumps_makes_no_wait_negative_and_breaks_no_call(hours):
    """G6: a limit whose end lies behind passes at once; one that moved away ends the turn."""
    clock, held = JumpingClock(), Failed(kind=FailureKind.USAGE_LIMITED, message="held")
    held = replace(held, retry_at=clock.now() + timedelta(seconds=5))

    async def held_now():
        return held

    limit = AccountLimit(clock, held_now)
    before = await limit.held()
    clock.jump(timedelta(hours=hours))
    after = await limit.held()
    judged = limit.judge(429, {"retry-after": "5"}, b"")

    assert 0 < before.wait_s <= 5
    assert after.wait_s == (0 if hours > 0 else None)
    assert 0 <= judged.wait_s <= 10


class JumpingClock:
    def __init__(self):
        self._ahead = timedelta()

    def now(self):
        return SystemClock().now() + self._ahead

    def jump(self, by):
        self._ahead += by


async def test_g7_a_clock_that_jumps_during_a_call_changes_neither_its_times_nor_its_cost():
    clock, watch = JumpingClock(), RecordingWatch()

    class Jumps(Caller):
        async def take_turn(self, turn, watch):
            clock.jump(timedelta(days=-4000))
            return await super().take_turn(turn, watch)

    async with model_server([Say(text="Hi", input=1000, output=50)]) as server:
        agent = through(Jumps("/v1/responses"), server, clock=clock)
        result = await agent.take_turn(turn(None), watch)

    (call,) = [item.call for item in watch.items if item.call is not None]
    assert 0 <= call.first_ms <= call.total_ms
    assert (result.usage.tokens, result.usage.cost_microusd) == (1050, 1500)


async def test_g10_an_agent_with_allowed_hosts_gets_a_proxy_and_is_told_what_it_lacks():
    """G10: its model calls need none, and its own loopback neither."""

    class Wants(Caller):
        async def take_turn(self, turn, watch):
            box, self.box = turn.place, turn.place
            calls, names = loopback(socket.SOCK_STREAM), loopback(socket.SOCK_DGRAM)
            place = calls.getsockname()
            box.gateway.serve(BoxSockets(calls=calls.detach(), names=names.detach()))
            async with await anyio.connect_tcp(*place) as stream:
                await stream.send(b"CONNECT other.example:443 HTTP/1.1\r\nHost: x\r\n\r\n")
                self.statuses.append((await stream.receive())[9:12])
            return DONE

    caller, watch = Wants(), RecordingWatch()
    async with model_server(["Hi"]) as server:
        agent = through(caller, server, hosts=("files.example",))
        await agent.take_turn(turn(None), watch)

    assert caller.statuses == [b"403"]
    assert caller.box.env["HTTPS_PROXY"] == "http://127.0.0.1:8787"
    assert "127.0.0.1" in caller.box.env["NO_PROXY"]
    assert "HTTP_PROXY" not in caller.box.env
    (told,) = [item.text for item in watch.items if item.kind == "gateway"]
    assert told.startswith('other.example could not be reached: add "other.example" to hosts in ')


ALLOWING = SETTINGS.replace("model-only", "allow").replace(
    "[agents", 'hosts = ["files.example"]\n[agents', 1
)


async def test_g10_an_agent_that_can_not_use_the_gateway_reaches_the_allowed_hosts(trusted, person):
    mine = '[agents.mine]\ndriver = "command"\ncommand = ["/bin/true"]\n'
    project = project_with(trusted, person, ALLOWING + mine)
    launcher = await make_launcher("auto", project.live)

    made = {name: registry.make_agent(project, launcher, name) for name in ("coder", "mine")}

    kinds = {name: type(agent) for name, agent in made.items()}
    assert kinds == {"coder": GatewayAgent, "mine": HostsAgent}
    assert box(project).hosts == ("files.example",)
    for agent in made.values():
        await agent.close()
