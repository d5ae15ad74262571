"""K13, P16, P19: a limit holds the account, for every run, process and repository."""

from datetime import UTC, datetime, timedelta

import pytest

from allstop.adapters.journals.in_memory import MemoryJournal
from allstop.app.agents.accounts import AccountNames, Accounts, Choice, HeldAgent
from allstop.app.agents.shared_holds import FILE_NAME, SharedHolds
from allstop.core.accounts import Window
from allstop.core.events import AccountHeld, AccountReleased, WindowsSeen
from allstop.core.ids import ACCOUNTS, RunId
from allstop.core.moves import Failed, FailureKind, TurnDone
from allstop.core.prompt import Prompt
from allstop.ports import Abilities, Live, StoreFullError, StoreUnreachableError, Turn

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
LIMITED = FailureKind.RATE_LIMITED
USED_UP = FailureKind.USAGE_LIMITED
MAX = AccountNames("max", "max|||")
OTHER = AccountNames("another", "another|||")
DONE = TurnDone(text="done")


class Clock:
    def __init__(self):
        self.at = NOW

    def now(self):
        return self.at


class Disk(MemoryJournal):
    is_full = False
    is_away = False

    async def append(self, *entries, **more):
        if self.is_full:
            raise StoreFullError("full")
        await super().append(*entries, **more)

    async def read(self, run, **more):
        if self.is_away:
            raise StoreUnreachableError("away")
        return await super().read(run, **more)


class Notes:
    """The watch of a turn: keeps what people see."""

    def __init__(self):
        self.items = []
        self.texts = []

    def live(self, live):
        self.texts.append(live.text)

    async def saw(self, item):
        self.items.append(item.text)


class Program:
    """A driver that gives its results in turn, and counts its calls."""

    def __init__(self, *results, windows=()):
        self.results = list(results)
        self.windows = windows
        self.calls = 0
        self.is_closed = False

    abilities = Abilities(usage=True)

    async def take_turn(self, turn, watch):
        self.calls += 1
        watch.live(Live("limit", "", self.windows))
        return self.results.pop(0) if self.results else DONE

    async def close(self):
        self.is_closed = True


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def journal():
    return Disk()


@pytest.fixture
def accounts(journal, clock, tmp_path):
    return Accounts(journal, clock, SharedHolds(tmp_path / "user" / FILE_NAME))


def limited(kind=LIMITED, seconds=None, message="slow down", **more):
    at = None if seconds is None else NOW + timedelta(seconds=seconds)
    return Failed(kind=kind, message=message, retry_at=at, **more)


def turn(run="board/T1"):
    return Turn(run=RunId(run), prompt=Prompt(digest="", chars=2, text="go"))


async def stream(journal):
    return [record.event for record in await journal.read(ACCOUNTS)]


async def test_p19_holds_are_one_stream_that_every_process_knows(
    accounts, journal, clock, tmp_path
):
    await accounts.settle(MAX, "board/T1", limited(seconds=3600))

    other_process = Accounts(journal, clock, SharedHolds(tmp_path / "nowhere" / FILE_NAME))
    failed = await other_process.failure(MAX, "board/T2")
    assert (failed.kind, failed.retry_at) == (LIMITED, NOW + timedelta(hours=1))
    assert "slow down" in failed.message
    assert await other_process.failure(OTHER, "board/T2") is None
    assert [type(event) for event in await stream(journal)] == [AccountHeld]
    assert await journal.heads() == []

    clock.at += timedelta(seconds=3600)
    assert await accounts.failure(MAX, "board/T2") is None


async def test_k13_a_hold_is_known_in_other_repositories_and_after_a_restart(
    accounts, clock, tmp_path
):
    await accounts.settle(MAX, "board/T1", limited())

    theirs = Disk()
    other_repository = Accounts(theirs, clock, SharedHolds(tmp_path / "user" / FILE_NAME))
    assert await other_repository.failure(MAX, "board/T1"), "a run of the same name is another run"
    assert [event.hold.elsewhere for event in await stream(theirs)] == [True]

    await accounts.settle(MAX, "board/T1", DONE)
    assert await other_repository.failure(MAX, "board/T1") is None
    assert isinstance((await stream(theirs))[-1], AccountReleased)


async def test_k13_a_turn_that_began_before_the_limit_does_not_release_the_account(accounts):
    await accounts.settle(MAX, "board/T1", limited(seconds=3600))
    await accounts.settle(MAX, "board/T2", DONE)

    assert await accounts.failure(MAX, "board/T3")


async def test_k13_without_a_time_the_hold_grows_and_only_its_run_tries(accounts, clock):
    """P5: the run that met the limit tries again after 5 s, 15 s and 45 s."""
    waits = []
    for _ in range(7):
        await accounts.settle(MAX, "board/T1", limited())
        held = await accounts.failure(MAX, "board/T2")
        waits.append((held.retry_at - clock.at).total_seconds() / 60)
        assert await accounts.failure(MAX, "board/T1") is None
        clock.at += timedelta(seconds=5)

    assert waits == [1, 2, 4, 8, 16, 30, 30]

    await accounts.settle(MAX, "board/T1", DONE)
    assert await accounts.failure(MAX, "board/T2") is None


@pytest.mark.parametrize("later", [{"seconds": 20}, {}])
async def test_k13_a_limit_met_at_the_same_time_does_not_shorten_a_hold(accounts, later):
    await accounts.settle(MAX, "board/T1", limited(USED_UP, seconds=7200))
    await accounts.settle(MAX, "board/T2", limited(**later))

    assert (await accounts.failure(MAX, "board/T2")).retry_at == NOW + timedelta(hours=2)


async def test_k13_runs_that_meet_one_limit_together_count_once(accounts):
    for run in ("board/T1", "board/T2", "board/T3"):
        await accounts.settle(MAX, run, limited())

    assert (await accounts.failure(MAX, "board/T4")).retry_at == NOW + timedelta(minutes=1)


@pytest.mark.parametrize(
    "failed",
    [
        limited(guessed=True),
        limited(FailureKind.OVERLOADED),
        limited(FailureKind.NETWORK),
    ],
)
async def test_k13_other_failures_hold_no_account(accounts, failed):
    await accounts.settle(MAX, "board/T1", failed)

    assert await accounts.failure(MAX, "board/T2") is None


async def test_g6_an_overloaded_provider_is_left_alone_for_as_long_as_it_says(accounts, clock):
    await accounts.settle(MAX, "board/T1", limited(FailureKind.OVERLOADED, seconds=60))

    held = await accounts.failure(MAX, "board/T2")
    clock.at += timedelta(seconds=61)

    assert (held.kind, held.retry_at) == (FailureKind.OVERLOADED, NOW + timedelta(seconds=60))
    assert await accounts.failure(MAX, "board/T2") is None


async def test_g6_an_account_without_credit_is_held_for_a_minute_and_never_longer(accounts, clock):
    """G6, K13: a person who has paid doesn't wait long; the pilots leave it to a person."""
    for _ in range(5):
        await accounts.settle(MAX, "board/T1", limited(FailureKind.BILLING))
        held = await accounts.failure(MAX, "board/T2")
        assert (held.kind, held.retry_at) == (FailureKind.BILLING, None)
        assert await accounts.failure(MAX, "board/T1") is None
        clock.at += timedelta(seconds=61)
        assert await accounts.failure(MAX, "board/T2") is None


async def test_q18_a_damaged_file_holds_nothing_and_is_replaced(accounts, tmp_path):
    file = tmp_path / "user" / FILE_NAME
    file.parent.mkdir()
    file.write_bytes(b"{")

    assert await accounts.failure(MAX, "board/T1") is None
    await accounts.settle(MAX, "board/T1", limited(seconds=60))
    assert SharedHolds(file).get(MAX.shared)


async def test_q19_a_hold_applies_while_the_disk_is_full_and_is_written_later(accounts, journal):
    journal.is_full = True
    await accounts.settle(MAX, "board/T1", limited(seconds=60))
    assert await accounts.failure(MAX, "board/T2")

    journal.is_full = False
    assert await accounts.failure(MAX, "board/T2")
    assert len(await stream(journal)) == 1


async def test_z5_a_turn_that_ends_while_the_server_is_away_is_kept(accounts, journal, clock):
    journal.is_away = journal.is_full = True
    agent = HeldAgent(accounts, [Choice(MAX, Program(DONE, limited(seconds=60)))], clock)

    assert await agent.take_turn(turn(), Notes()) == DONE
    assert (await agent.take_turn(turn(), Notes())).kind is LIMITED
    journal.is_away = journal.is_full = False
    assert await accounts.failure(MAX, "board/T2")
    assert [type(event) for event in await stream(journal)] == [AccountHeld]


async def test_p19_a_turn_on_a_held_account_makes_no_call(accounts, clock):
    program = Program(limited(USED_UP, seconds=7200))
    agent = HeldAgent(accounts, [Choice(MAX, program)], clock)

    first = await agent.take_turn(turn("board/T1"), Notes())
    second = await agent.take_turn(turn("board/T2"), Notes())
    clock.at += timedelta(hours=2)
    third = await agent.take_turn(turn("board/T2"), Notes())

    assert (first.retry_at, second.retry_at) == (NOW + timedelta(hours=2),) * 2
    assert third == DONE
    assert program.calls == 2


async def test_p16_a_second_account_takes_over_once_and_gives_back_after_the_reset(
    accounts, clock, journal
):
    first, second = Program(DONE, limited(USED_UP, seconds=7200)), Program()
    choices = [Choice(MAX, first), Choice(OTHER, second)]
    agent, notes = HeldAgent(accounts, choices, clock), Notes()

    await agent.take_turn(turn(), notes)
    hopped = await agent.take_turn(turn(), notes)
    assert hopped.retry_at == NOW + timedelta(seconds=1)
    assert "account another continues" in hopped.message
    for _ in range(3):
        clock.at += timedelta(minutes=10)
        assert await agent.take_turn(turn(), notes) == DONE
    clock.at = NOW + timedelta(hours=2)
    assert await agent.take_turn(turn(), notes) == DONE

    assert (first.calls, second.calls) == (3, 3)
    assert notes.items == [
        "account another works now, not max",
        "account max works now, not another",
    ]


async def test_p16_a_short_limit_is_waited_for_instead_of_hopping(accounts, clock):
    first, second = Program(limited(seconds=20)), Program()
    agent = HeldAgent(accounts, [Choice(MAX, first), Choice(OTHER, second)], clock)

    failed = await agent.take_turn(turn(), Notes())
    again = await agent.take_turn(turn("board/T2"), Notes())

    assert failed.retry_at == again.retry_at == NOW + timedelta(seconds=20)
    assert second.calls == 0


async def test_p16_with_both_accounts_exhausted_it_waits_for_the_first_reset(accounts, clock):
    first = Program(limited(USED_UP, seconds=7200))
    second = Program(limited(USED_UP, seconds=3600))
    agent = HeldAgent(accounts, [Choice(MAX, first), Choice(OTHER, second)], clock)

    await agent.take_turn(turn(), Notes())
    await agent.take_turn(turn(), Notes())
    failed = await agent.take_turn(turn(), Notes())

    assert failed.retry_at == NOW + timedelta(hours=1)
    assert (first.calls, second.calls) == (1, 1)
    await agent.close()
    assert first.is_closed
    assert second.is_closed


async def test_p16_windows_are_recorded_when_they_change(accounts, clock, journal):
    week = Window(name="week", used=0.58, resets_at=NOW + timedelta(days=2), span_s=604800.0)
    program = Program(windows=(week,))
    agent, notes = HeldAgent(accounts, [Choice(MAX, program)], clock), Notes()

    await agent.take_turn(turn(), notes)
    await agent.take_turn(turn(), notes)

    assert await stream(journal) == [WindowsSeen(at=NOW, account="max", windows=(week,))]
    assert notes.texts == []


async def test_p16_the_window_that_a_limit_names_is_used_up(accounts, clock, journal):
    words = "5-hour limit reached ∙ resets 2pm"
    program = Program(limited(USED_UP, seconds=7200, message=words))

    await HeldAgent(accounts, [Choice(MAX, program)], clock).take_turn(turn(), Notes())

    seen = [event for event in await stream(journal) if isinstance(event, WindowsSeen)]
    reset = NOW + timedelta(hours=2)
    assert seen[0].windows == (Window(name="5 hours", used=1.0, resets_at=reset, span_s=18000.0),)
