"""P5, P6, P19, K13: simulated nights with three accounts, limits, a sleeping machine and crashes.

Time is virtual. Limits of the accounts come and go by seed, some announced and some not. The machine
sleeps, so that its clock jumps ahead of the event loop's. Each process is killed about every hour.
"""

from collections import Counter
from datetime import timedelta
from random import Random
from typing import NamedTuple

import anyio
import pytest

from allstop.adapters.journals.in_memory import MemoryJournal
from allstop.app.agents.accounts import AccountNames, Accounts, Choice, HeldAgent
from allstop.app.agents.shared_holds import SharedHolds
from allstop.auto.state import EDITION
from allstop.core import run as runs
from allstop.core.commands import AddTasks
from allstop.core.events import Closed, MoveEnded, MoveStarted
from allstop.core.ids import ACCOUNTS
from allstop.core.moves import CheckResult, Failed, FailureKind, Outcome, TakeTurn, TurnDone, Usage
from allstop.core.replay import differences
from allstop.core.tasks import NewTask, Status
from allstop.engine.hands import Hands
from allstop.engine.local import LocalEngine
from allstop.kinds import PILOTS
from allstop.ports import Abilities
from allstop.testing.virtual_clock import LoopClock
from allstop.views import accounts
from simulation.seeded_scheduler import run_seeded
from simulation.simulated_store import Faults, Port, ProcessKilledError
from support.faulty_ports import MergingWorkspaces
from support.in_memory_world import DONE, FakeLauncher

NIGHTS = range(12)
HOUR_S = 3600.0
NIGHT_S = 48 * HOUR_S
LATEST_S = 60.0
"""P19: work resumes by itself at most this long after the reset."""

AGENTS = ("claude", "gpt", "cleo")
STEPS = 30
TASKS = tuple(NewTask(id=f"t{number}", title=f"task {number}") for number in range(8))
PATIENCE = {"recover": True}
PLAN = {
    "plan": {
        "phases": [
            {
                "name": "All",
                "steps": [{"id": f"s{number}", "text": f"Do {number}"} for number in range(STEPS)],
            }
        ]
    },
    "name": "plan1",
    "target": "main",
    "agents": list(AGENTS),
    "gate": {"checks": [{"name": "Tests", "run": "pytest"}]},
    "patience": PATIENCE,
}
BOARD = {
    "target": "main",
    "agents": ["gpt", "cleo", "claude"],
    "slots": 2,
    "review": "skip",
    "gate": {"checks": [{"name": "Tests", "run": "pytest"}]},
    "recover_primary": True,
}

AUTO = {
    "goal": "Write a parser.",
    "name": "auto1",
    "no_progress_turns": 100,
    "agent": "cleo",
    "fallbacks": ["claude"],
    "target": "main",
    "cooldown_s": 1.0,
    "review": "never",
    "edition": EDITION,
    "endurance": PATIENCE,
}
AUTO_TURNS = 15


class SleepingClock(LoopClock):
    """The wall clock continues while the machine sleeps; the event loop's time doesn't."""

    def __init__(self):
        self.slept = timedelta()

    def now(self):
        return super().now() + self.slept


class Limit(NamedTuple):
    begins_s: float
    ends_s: float
    is_announced: bool


class Provider:
    """Three accounts whose limits come and go. Every call is compared with the stream of holds."""

    def __init__(self, chance, journal, clock):
        self._journal = journal
        self._clock = clock
        self.began_at = clock.now()
        self.calls = Counter()
        self.turns = Counter()
        self.refused = 0
        self.forbidden = []  # calls of held accounts
        self.limits = {account: tuple(self._some_limits(chance)) for account in AGENTS}

    def _some_limits(self, chance):
        at_s = chance.uniform(0, HOUR_S)
        while at_s < NIGHT_S / 4:
            is_announced = chance.random() < 0.7
            length_s = chance.choice([20.0, HOUR_S, 3 * HOUR_S] if is_announced else [8.0, 90.0])
            yield Limit(at_s, at_s + length_s, is_announced)
            at_s += length_s + chance.uniform(0, HOUR_S)

    def call(self, account):
        """The failure of a call, or None."""
        now = self._clock.now()
        events = [record.event for record in self._journal._records.get(ACCOUNTS, ())]
        state = accounts.fold({}, events).get(account, accounts.UNKNOWN)
        hold = accounts.hold_of(state, now)
        if hold is not None and hold.announced:  # an exception here would only fail the turn
            self.forbidden.append((account, now, hold))
        self.calls[account] += 1
        at_s = (now - self.began_at).total_seconds()
        limit = next((each for each in self.limits[account] if each.begins_s <= at_s < each.ends_s), None)  # fmt: skip
        if limit is None:
            return None
        self.refused += 1
        until = self.began_at + timedelta(seconds=limit.ends_s) if limit.is_announced else None
        kind = FailureKind.USAGE_LIMITED if limit.is_announced else FailureKind.RATE_LIMITED
        return Failed(kind=kind, message="limited", retry_at=until)


class Worker:
    """An agent that calls the provider at the beginning of each turn."""

    abilities = Abilities()

    def __init__(self, provider, account):
        self._provider = provider
        self._account = account

    async def take_turn(self, turn, watch):
        if (failed := self._provider.call(self._account)) is not None:
            return failed
        await anyio.sleep(240)
        self._provider.turns[turn.run] += 1
        is_over = turn.run != "auto1" or self._provider.turns[turn.run] > AUTO_TURNS
        return TurnDone(
            text=DONE if is_over else f"Part {self._provider.turns[turn.run]} is there.",
            thread="t",
            usage=Usage(output=10),
        )

    async def close(self):
        pass


class PassingChecks:
    async def run(self, check, place, label, progress):
        await anyio.sleep(1)
        return CheckResult(name=check.name, run=check.run, passed=True, code=0)


class Night:
    """Three processes at a time drive a plan, a board and a thread of Full Auto."""

    def __init__(self, seed, folder):
        self.chance = Random(f"night {seed}")
        self.journal = MemoryJournal()
        self.clock = SleepingClock()
        self.workspaces = MergingWorkspaces()
        self.holds = folder / "holds.json"
        self.late = []
        self._due_at = {}
        self.crashes = 0

    async def play(self):
        self.provider = Provider(self.chance, self.journal, self.clock)
        with anyio.fail_after(NIGHT_S):
            async with anyio.create_task_group() as machine:
                machine.start_soon(self._sleep_now_and_then)
                async with anyio.create_task_group() as work:
                    work.start_soon(self._processes, "plan1", "plan", PLAN)
                    work.start_soon(self._processes, "board", "board", BOARD)
                    work.start_soon(self._processes, "auto1", "auto", AUTO)
                machine.cancel_scope.cancel()

    async def _sleep_now_and_then(self):
        while True:
            await anyio.sleep(self.chance.uniform(HOUR_S / 2, 3 * HOUR_S))
            self.clock.slept += timedelta(seconds=self.chance.uniform(60, 3 * HOUR_S))

    async def _processes(self, run, kind, spec):
        """One after another until the work is done; each but the last is killed."""
        while not await self._is_over(run):
            port = Port(self.journal, Faults(self.chance))
            with anyio.CancelScope() as life:
                try:
                    async with self._engine(port).serving() as engine:
                        await self._drive(engine, run, kind, spec)
                        port.dead = not await self._is_over(run)
                        self.crashes += port.dead
                        life.cancel()
                except* ProcessKilledError:
                    pass

    async def _drive(self, engine, run, kind, spec):
        dies_at = anyio.current_time() + self.chance.uniform(0.5, 1.5) * HOUR_S
        if not await engine.open(run, kind, spec):
            await engine.take(run)
        elif kind == "board":
            await engine.command(run, AddTasks(tasks=TASKS))
        while anyio.current_time() < dies_at and not await self._is_over(run):
            await anyio.sleep(20)
            self._note_late(engine)

    def _note_late(self, engine):
        """Runs that wait more than a minute after the time for which they wait.

        The time for which the machine sleeps doesn't count.
        """
        now, at = self.clock.now(), anyio.current_time()
        for run, driven_run in engine._driven_runs.items():
            until = getattr(driven_run.resting, "until", None)
            if until is not None and until <= now:
                due_at = self._due_at.setdefault((run, until), at)
                if at - due_at > LATEST_S:
                    self.late.append((run, until, at - due_at))

    async def _is_over(self, run):
        events = [record.event for record in await self.journal.read(run)]
        if not events:
            return False
        state = runs.fold(PILOTS[events[0].kind], events)
        if run != "board":
            return state.closed is not None
        board = state.pilot.board
        return bool(board.nodes) and board.count(Status.DONE) == len(TASKS)

    def _engine(self, port):
        known = Accounts(port, self.clock, SharedHolds(self.holds))
        agents = {
            name: HeldAgent(
                known,
                [Choice(AccountNames(name, name), Worker(self.provider, name))],
                self.clock,
            )
            for name in AGENTS
        }
        launcher = FakeLauncher()
        return LocalEngine(
            journal=port,
            hands=Hands(
                agents, checks=PassingChecks(), workspaces=self.workspaces, launcher=launcher
            ),
            clock=self.clock,
            pilots=PILOTS,
            launcher=launcher,
        )

    def events(self, run):
        return [record.event for record in self.journal._records[run]]

    def check(self):
        """Everything is finished once, no run came late, and each record replays."""
        assert self.provider.forbidden == []
        assert self.late == []
        for run in ("plan1", "auto1"):
            closed = [event for event in self.events(run) if isinstance(event, Closed)]
            assert [event.outcome for event in closed] == [Outcome.DONE]
        assert turns_done(self.events("plan1")) == STEPS
        assert sorted(self.workspaces.merged) == sorted(
            ["plan1", "auto1", *(task.id for task in TASKS)]
        )
        assert self.crashes
        assert self.provider.refused
        for run, records in self.journal._records.items():
            events = [record.event for record in records]
            if run != ACCOUNTS and run != "helm":
                assert differences(PILOTS[events[0].kind], events) == [], run


def turns_done(events):
    starts = {e.id: e.move for e in events if isinstance(e, MoveStarted)}
    ends = [e for e in events if isinstance(e, MoveEnded) and isinstance(e.result, TurnDone)]
    return sum(isinstance(starts[end.id], TakeTurn) for end in ends)


@pytest.mark.parametrize("seed", NIGHTS)
def test_p19_a_night_with_limits_sleep_and_crashes_finishes_all_work_once(seed, tmp_path):
    """No held account is called, and work resumes within a minute after the reset."""
    night = Night(seed, tmp_path)

    run_seeded(seed, night.play)

    night.check()
