"""K13: a limit holds the account, for every run and every process."""

from datetime import UTC, datetime, timedelta

import pytest

from allstop.app.agents.account_holds import AccountHolds
from allstop.core.moves import Failed, FailureKind, TurnDone

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)
LIMITED = FailureKind.RATE_LIMITED


class Clock:
    def __init__(self):
        self.at = NOW

    def now(self):
        return self.at


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def holds(tmp_path, clock):
    return AccountHolds(tmp_path / "user" / "holds.json", clock)


def limited(kind=LIMITED, seconds=None, **more):
    at = None if seconds is None else NOW + timedelta(seconds=seconds)
    return Failed(kind=kind, message="slow down", retry_at=at, **more)


def test_k13_an_account_is_held_as_long_as_was_said_for_every_run(holds, clock, tmp_path):
    holds.settle("max", "board/T1", limited(seconds=3600))

    other_process = AccountHolds(tmp_path / "user" / "holds.json", clock)
    failed = other_process.failure("max", "board/T2")
    assert (failed.kind, failed.retry_at) == (LIMITED, NOW + timedelta(hours=1))
    assert "slow down" in failed.message
    assert other_process.failure("another", "board/T2") is None

    clock.at += timedelta(seconds=3600)
    assert holds.failure("max", "board/T2") is None


def test_k13_a_turn_that_began_before_the_limit_does_not_release_the_account(holds):
    holds.settle("max", "board/T1", limited(seconds=3600))
    holds.settle("max", "board/T2", TurnDone(text="done"))

    assert holds.failure("max", "board/T3")


def test_k13_without_a_time_the_hold_grows_and_only_its_run_tries(holds, clock):
    """P5: the run that met the limit tries again after 5 s, 15 s and 45 s."""
    waits = []
    for _ in range(7):
        holds.settle("max", "board/T1", limited())
        waits.append((holds.failure("max", "board/T2").retry_at - clock.at).total_seconds() / 60)
        assert holds.failure("max", "board/T1") is None
        clock.at += timedelta(seconds=5)

    assert waits == [1, 2, 4, 8, 16, 30, 30]

    holds.settle("max", "board/T1", TurnDone(text="done"))
    assert holds.failure("max", "board/T2") is None


def test_k13_runs_that_meet_one_limit_together_count_once(holds):
    for run in ("board/T1", "board/T2", "board/T3"):
        holds.settle("max", run, limited())

    assert holds.failure("max", "board/T4").retry_at == NOW + timedelta(minutes=1)


@pytest.mark.parametrize(
    "failed",
    [
        limited(guessed=True),
        limited(FailureKind.BILLING),
        limited(FailureKind.OVERLOADED, seconds=60),
        limited(FailureKind.NETWORK),
    ],
)
def test_k13_other_failures_hold_no_account(holds, failed):
    holds.settle("max", "board/T1", failed)

    assert holds.failure("max", "board/T2") is None


def test_q18_a_damaged_file_holds_nothing_and_is_replaced(holds, tmp_path):
    (tmp_path / "user").mkdir()
    (tmp_path / "user" / "holds.json").write_bytes(b"{")

    assert holds.failure("max", "board/T1") is None
    holds.settle("max", "board/T1", limited(seconds=60))
    assert holds.failure("max", "board/T2")
