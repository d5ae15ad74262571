"""K10, K12, K18: rare behaviour of ACP agents, with a fake agent."""

import json
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest

from adapters.agents.acp.launch_claude import until
from allstop.adapters.agents.acp import SessionSettings
from allstop.core.moves import FailureKind, Item, TurnDone
from allstop.testing.agent_contract import RecordingWatch


class Thinking(RecordingWatch):
    """A watch that never answers."""

    def __init__(self):
        super().__init__()
        self.was_asked, self.was_let_go = anyio.Event(), False

    async def ask(self, ask):
        self.asks.append(ask)
        self.was_asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.was_let_go = True


class Forgetful(RecordingWatch):
    def live(self, live):
        pass

    async def saw(self, item):
        pass


@contextmanager
def growing_at_most(most_mb):
    """Check the growth of this process's memory within the block."""
    Path("/proc/self/clear_refs").write_text("5")
    before = memory_mb("VmRSS")
    yield
    assert memory_mb("VmHWM") - before <= most_mb


def memory_mb(field):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field)) / 1024


async def taken(bench, scenario, watch=None, agent=None, **fields):
    agent = agent or bench.peer(scenario)
    with anyio.fail_after(60):
        return await bench.turn(agent, watch, **fields)


def methods(bench):
    return (bench.work / "methods").read_text().split()


async def stopped(bench, agent, watch, when):
    """Run a turn, and cancel it at the given moment."""
    async with anyio.create_task_group() as group:
        group.start_soon(bench.turn, agent, watch)
        await when()
        group.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("scenario", "how"), [("late", "load"), ("timely", "load"), ("resumes", "resume")]
)
async def test_f1_a_history_that_is_told_again_is_no_reply(bench, scenario, how):
    """F1, K10: even if it arrives after the session is open."""
    watch = RecordingWatch()

    result = await taken(bench, scenario, watch, thread="s1")

    assert (result.text, result.thread) == ("zebra", "s1")
    assert watch.items == [Item(kind="message", text="zebra")]
    assert methods(bench) == ["initialize", f"session/{how}", "session/prompt"]


@pytest.mark.parametrize(
    ("scenario", "words"), [("forgets", "did not find"), ("plain", "can't resume")]
)
async def test_k10_a_conversation_that_is_lost_begins_again_and_says_so(bench, scenario, words):
    """K10: with its new id and a notice."""
    watch = RecordingWatch()

    result = await taken(bench, scenario, watch, thread="gone")

    assert (result.text, result.thread, watch.threads) == ("zebra", "s1", ["s1"])
    assert words in watch.items[0].text


async def test_k10_a_conversation_that_can_not_be_copied_is_a_clear_failure(bench):
    result = await taken(bench, "ordinary", thread="s1", fork=True)

    assert result.kind is FailureKind.BAD_REQUEST
    assert "can't fork" in result.message


async def test_k18_what_nobody_knows_is_answered_with_an_error(bench):
    """K18, F1: also requests for the client's files and terminals."""
    result = await taken(bench, "unknown")

    assert json.loads(result.text) == [[f"q{number}", -32601] for number in range(4)]


async def test_k12_noise_and_bytes_that_are_no_text_lose_nothing_around_them(bench):
    result = await taken(bench, "garbled")

    assert isinstance(result, TurnDone), result
    assert result.text == "z\N{REPLACEMENT CHARACTER}bra"


async def test_k12_a_line_of_200_mb_is_thrown_away_and_told(bench):
    """K12: the messages after it are read."""
    watch = RecordingWatch()

    with growing_at_most(100):
        result = await taken(bench, "long_update", watch)

    assert result.text == "zebra"
    assert "was too long to read" in watch.items[0].text


async def test_k12_an_answer_that_is_too_long_fails_the_turn(bench):
    """K12: the turn doesn't wait for the lost end."""
    result = await taken(bench, "long_answer")

    assert result.kind is FailureKind.CRASHED
    assert "was too long to read" in result.message


async def test_k12_200_mb_of_words_and_tools_neither_hang_nor_bloat(bench):
    """K12, Q18: memory grows by 50 MB at most."""
    with growing_at_most(50):
        result = await taken(bench, "flood", Forgetful())

    assert isinstance(result, TurnDone), result
    assert result.text == "zebra"


async def test_f1_its_death_in_mid_turn_is_a_failure_and_the_next_turn_goes_on(bench):
    """F1: a failed turn with its last words, then a new process and the same conversation."""
    watch, agent = RecordingWatch(), bench.peer("reborn")

    first = await taken(bench, "reborn", watch, agent)
    second = await taken(bench, "reborn", None, agent, thread=watch.threads[0])

    assert first.kind is FailureKind.CRASHED
    assert "ended with code 3" in first.message
    assert "out of cheese" in first.message
    assert watch.items == [Item(kind="message", text="begun")]
    assert (second.text, second.thread) == ("zebra", "s1")
    assert methods(bench)[-2:] == ["session/load", "session/prompt"]


@pytest.mark.parametrize(
    ("scenario", "allows", "chosen"),
    [
        ("asks", True, {"outcome": "selected", "optionId": "yes"}),
        ("asks", False, {"outcome": "selected", "optionId": "no"}),
        ("asks_briefly", True, {"outcome": "selected", "optionId": "yes"}),
        ("always_or_no", True, {"outcome": "selected", "optionId": "no"}),
        ("only_always", True, {"outcome": "cancelled"}),
        ("only_always", False, {"outcome": "cancelled"}),
    ],
)
async def test_k18_a_permission_counts_once(bench, scenario, allows, chosen):
    """K18: a lasting permission would cover more than the judged call."""
    watch = RecordingWatch(allows=allows)

    result = await taken(bench, scenario, watch)

    assert json.loads(result.text) == chosen
    assert [ask.argv for ask in watch.asks] == [("make", "install")]


async def test_k18_two_questions_at_once_are_both_answered(bench):
    watch = RecordingWatch(allows=True)

    result = await taken(bench, "asks_twice", watch)

    assert json.loads(result.text) == ["yes", "yes"]
    assert {ask.text for ask in watch.asks} == {"make install", "make check"}
    assert len({ask.id for ask in watch.asks}) == 2


async def test_k10_answers_and_names_that_make_no_sense_do_no_harm(bench):
    result = await taken(bench, "confused")

    assert json.loads(result.text) == ["yes", "yes"]


async def test_k10_a_no_that_ends_the_turn_is_no_failure(bench):
    """K10: the next turn can give it another instruction."""
    result = await taken(bench, "no_is_the_end", RecordingWatch(allows=False, message="Not today."))

    assert isinstance(result, TurnDone), result
    assert result.text == "The turn ended because this was not allowed: make install Not today."


async def test_k10_a_withdrawn_ask_is_dropped(bench):
    watch = Thinking()

    result = await taken(bench, "taken_back", watch)

    assert watch.was_let_go
    assert json.loads(result.text) == {"outcome": "cancelled"}


async def test_k10_a_stopped_turn_is_cancelled_before_it_is_ended(bench):
    """K10: the open question is cancelled too."""
    watch = Thinking()

    await stopped(bench, bench.peer("waits"), watch, watch.was_asked.wait)

    heard = [json.loads(line) for line in (bench.work / "heard").read_text().splitlines()]
    assert heard[0]["method"] == "session/cancel"
    assert (heard[1]["id"], heard[1]["result"]) == ("p1", {"outcome": {"outcome": "cancelled"}})


async def test_k10_one_that_does_not_heed_a_cancel_is_ended(bench, tmp_path):
    """K10, K2: otherwise it would run forever."""
    watch = RecordingWatch()

    await stopped(bench, bench.peer("deaf"), watch, watch.live_seen.wait)

    assert list((tmp_path / "live").glob("*.json")) == []


async def test_k10_one_that_is_still_starting_can_be_stopped(bench, tmp_path):
    async def when():
        await until((bench.work / "methods").exists)

    await stopped(bench, bench.peer("mute"), RecordingWatch(), when)

    assert list((tmp_path / "live").glob("*.json")) == []


async def test_k10_one_that_never_answers_has_stalled(bench):
    result = await taken(bench, "mute", agent=bench.peer("mute", answer_within_s=0.5))

    assert result.kind is FailureKind.STALLED
    assert "initialize" in result.message


@pytest.mark.parametrize(
    ("scenario", "kind", "words"),
    [
        ("gives_up", FailureKind.CRASHED, "on its own"),
        ("mysterious", FailureKind.CRASHED, "'zebra'"),
        ("cut", FailureKind.BAD_REQUEST, "too long"),
        ("locked", FailureKind.AUTH, "Authentication required"),
        ("modern", FailureKind.BAD_REQUEST, "ACP version 2"),
        ("worded", FailureKind.RATE_LIMITED, "429"),
    ],
)
async def test_k10_an_end_that_is_none_is_a_failure_with_its_class(bench, scenario, kind, words):
    """K10: even if it is reported as a success."""
    result = await taken(bench, scenario)

    assert result.kind is kind, result
    assert words in result.message


async def test_k10_a_reply_that_talks_of_errors_is_a_reply(bench):
    result = await taken(bench, "talkative")

    assert isinstance(result, TurnDone), result
    assert (result.usage.input, result.usage.output) == (10, 5)


async def test_k10_what_is_not_reported_is_estimated(bench):
    """K10: a token budget also holds for an agent that reports no usage."""
    result = await taken(bench, "ordinary", text="x" * 4000)

    assert 500 <= result.usage.input <= 2000
    assert result.usage.output > 0


async def test_k10_a_cost_is_of_the_turn_although_sums_are_told(bench):
    first, second, elsewhere = bench.peer("costly"), bench.peer("costlier"), bench.peer("costlier")
    second._costs = first._costs  # the same agent, in two moods

    costs = [
        (await taken(bench, "", agent=first)).usage.cost_microusd,
        (await taken(bench, "", agent=second, thread="s1")).usage.cost_microusd,
        (await taken(bench, "", agent=elsewhere, thread="s1")).usage.cost_microusd,
    ]

    assert costs == [500_000, 250_000, 0]


async def test_k9_its_model_can_be_chosen(bench):
    result = await taken(
        bench, "", agent=bench.peer("choosy", session=SessionSettings(model="zebra-1"))
    )

    assert result.text == "zebra-1"


async def test_k9_a_model_that_can_not_be_chosen_is_a_clear_failure(bench):
    result = await taken(
        bench, "", agent=bench.peer("ordinary", session=SessionSettings(model="zebra-1"))
    )

    assert result.kind is FailureKind.BAD_REQUEST
    assert "its model: leave it out" in result.message


async def test_k10_a_program_that_is_not_there_is_a_clear_failure(bench):
    """K10: a failed turn, not an exception."""
    result = await bench.turn(bench.at("/no/such/agent"))

    assert result.kind is FailureKind.UNAVAILABLE
    assert "/no/such/agent" in result.message


async def test_k10_an_error_of_the_watch_comes_through_as_it_is(bench):
    """K10: not in an exception group."""

    class Broken(RecordingWatch):
        async def ask(self, ask):
            raise LookupError("no journal")

    with pytest.raises(LookupError, match="no journal"):
        await taken(bench, "asks", Broken())


async def test_r1_it_takes_turns_without_a_workspace(bench):
    """R1: in its own home, as in a room."""
    result = await taken(bench, "ordinary", place=None)

    assert result.text == "zebra"
