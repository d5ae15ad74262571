"""One simulated fleet: control rooms and workers on one store, with faults, then without.

python tests/simulation/simulated_fleet.py 42     runs seed 42 and prints its events
"""

import sys
from contextlib import suppress
from datetime import timedelta
from random import Random

import anyio

from allstop.core import run as runs
from allstop.core.brakes import AtLimit, Limits
from allstop.core.commands import Allstop, Answer, Pause, Permit, Raise, Resume, Say
from allstop.core.ids import BOARD, HELM
from allstop.core.replay import differences
from allstop.engine.handout import ControlEngine
from allstop.engine.hands import Hands
from allstop.engine.send import send_command
from allstop.engine.worker import Lane, WorkerEngine
from allstop.ports import HeldError, StaleError, StoreTroubleError
from allstop.testing.virtual_clock import LoopClock
from simulation import board_rules
from simulation.auditor import Auditor, rule
from simulation.random_agents import FreezingLauncher, RandomAgent, RandomChecks, TurnRegistry
from simulation.seeded_scheduler import run_seeded
from simulation.shared_store import TIMES, SharedDisk, SharedPort, SharedQueue, Weather
from simulation.simulated_git import Repository
from simulation.simulated_store import ProcessKilledError
from support.random_runs import SCENARIOS

AGENTS = ("anna", "ben", "cleo")
PILOTS = {kind: scenario.pilot for kind, scenario in SCENARIOS.items()}
KINDS = ("task", "merge")
CALM_ROUNDS = 400
DEADLOCK_S = 1e7
PAUSES_S = (0.0, 0.1, 1.0, 3.0, 7.0, 15.0, 30.0, 60.0)


class SkewedClock(LoopClock):
    """Clocks of machines differ."""

    def __init__(self, skew_s):
        self._skew = timedelta(seconds=skew_s)

    def now(self):
        return super().now() + self._skew


class OneAgentAtATime(TurnRegistry):
    """No two machines work on a run in the same moment."""

    def __init__(self, slots, auditor, busy):
        super().__init__(slots, auditor)
        self._busy = busy

    async def take(self, turn, act, watch):
        rule(turn.run not in self._busy, "one machine works on a run", turn.run)
        self._busy.add(turn.run)
        try:
            return await super().take(turn, act, watch)
        finally:
            self._busy.discard(turn.run)


class Machine:
    """A process of the fleet: a control room without slots, or a worker."""

    def __init__(self, fleet, name, slots):
        chance = fleet.chance_of(name)
        self._fleet = fleet
        self.name = name
        self.slots = slots
        self.port = SharedPort(fleet.disk, name, fleet.weather)
        self.queue = SharedQueue(self.port, fleet.weather, fleet.tell_workers)
        self.clock = SkewedClock(chance.uniform(-120, 120))
        launcher = FreezingLauncher()
        hands = OneAgentAtATime(slots or None, fleet.auditor, fleet.busy)
        agents = {
            agent: RandomAgent(fleet.chance_of(f"{name} {agent}"), launcher, hands)
            for agent in AGENTS
        }
        parts = {
            "journal": self.port,
            "hands": Hands(
                agents,
                checks=RandomChecks(chance, launcher),
                workspaces=fleet.repository,
                launcher=launcher,
            ),
            "clock": self.clock,
            "pilots": PILOTS,
            "launcher": launcher,
            "name": name,
            "slots": slots or None,
            "dispatch": self.queue,
        }
        if slots:
            lanes = (Lane("task", slots, needs("task")), Lane("merge", 1, needs("merge")))
            self.engine = WorkerEngine(lanes=lanes, run_budgets=self.port, **parts)
        else:
            self.engine = ControlEngine(needs_of=lambda opened: needs(opened.kind), **parts)
        self._scope = anyio.CancelScope()
        self._gone = anyio.Event()

    async def live(self):
        try:
            with self._scope:
                async with self.engine.serving():
                    if not self.slots:
                        await self._keep_the_board()
                    await anyio.sleep_forever()
        except* ProcessKilledError:
            pass
        except* StoreTroubleError:
            pass  # it could not begin: a person starts another one
        finally:
            self._gone.set()

    async def _keep_the_board(self):
        """Drive the board as soon as no other process does."""
        while True:
            with suppress(HeldError, StoreTroubleError):
                if self.engine.state(BOARD) is None:
                    await self.engine.take(BOARD)
            await anyio.sleep(5)

    @property
    def is_gone(self):
        return self._gone.is_set()

    async def kill(self):
        """Like kill -9: nothing is written any more, and the claims stay."""
        self.port.dead = True
        await self.end()

    async def end(self):
        driven = list(self.engine._driven_runs)
        self._scope.cancel()
        await self._gone.wait()
        for run in driven:
            if run in self._fleet.auditor.states:
                self._fleet.auditor.died(run)


def needs(kind):
    return frozenset([f"kind {kind}"])


class Fleet:
    def __init__(self, seed, tell=lambda line: None):
        self._seed = seed
        self._tell = tell
        self.chance = self.chance_of("nemesis")
        self.auditor = Auditor(PILOTS)
        self.auditor.boards = board_rules
        self.disk = SharedDisk(self.auditor)
        self.weather = Weather(self.chance_of("weather"))
        self.repository = Repository(self.chance_of("repository"), self.auditor)
        self.auditor.tree_of = self.repository.tree_of
        self.busy = set()
        self.machines = []
        self.started = 0

    def chance_of(self, name):
        return Random(f"fleet {self._seed} {name}")

    def tell_workers(self):
        for machine in self.machines:
            if machine.slots:
                machine.engine.tell()

    async def play(self):
        with anyio.fail_after(DEADLOCK_S):
            async with anyio.create_task_group() as group:
                self._group = group
                await self._open_board()
                await self._run_with_faults()
                await self._finish()
                self._check_history()
                for machine in self.machines:
                    await machine.end()
        return self.disk.trace()

    async def _open_board(self):
        spec = SCENARIOS["board"].make(self.chance, BOARD, AGENTS) | {"slots": 3}
        await self._start(0)
        first = self.machines[0]
        await anyio.sleep(0.1)
        turns = self.chance_of("limits").choice([None, None, 4, 12])
        limits = Limits(turns=turns, at_limit=AtLimit.PAUSE)
        await first.engine.open(BOARD, "board", spec, limits=limits)
        await self._command(BOARD, board_rules.first_tasks(self.chance, BOARD))

    async def _run_with_faults(self):
        chance = self.chance
        self.weather.loss = chance.choice([0.0, 0.02, 0.1])
        self.weather.slowest_s = chance.choice([0.0, 0.03, 0.5])
        for _ in range(2):
            await self._start_worker()
        for _ in range(chance.randint(15, 60)):
            await anyio.sleep(chance.choice(PAUSES_S))
            act = chance.choice(self.ACTS)
            self._tell(f"{anyio.current_time():10.1f}  {act.__name__.strip('_')}")
            await act(self)
            self.machines = [each for each in self.machines if not each.is_gone]

    # --- random events ---

    async def _start(self, slots):
        self.started += 1
        machine = Machine(self, f"{'worker' if slots else 'room'} {self.started}", slots)
        self.machines.append(machine)
        self._group.start_soon(machine.live)

    async def _start_worker(self):
        if sum(machine.slots > 0 for machine in self.machines) < 4:
            await self._start(self.chance.randint(1, 3))

    async def _start_control_room(self):
        if sum(machine.slots == 0 for machine in self.machines) < 2:
            await self._start(0)

    def _some(self):
        return self.chance.choice(self.machines) if self.machines else None

    async def _kill(self):
        if machine := self._some():
            self.machines.remove(machine)
            await machine.kill()

    async def _drain(self):
        if machine := self._some():
            self.machines.remove(machine)
            await machine.end()

    async def _cut(self):
        if machine := self._some():
            machine.port.is_cut = True
            self._group.start_soon(self._mend_later, machine)

    async def _mend_later(self, machine):
        await anyio.sleep(self.chance.choice([1, 10, 22, 40, 100]))
        machine.port.is_cut = False

    async def _cut_all(self):
        """The database is down."""
        down = [machine for machine in self.machines if not machine.port.is_cut]
        for machine in down:
            machine.port.is_cut = True
        await anyio.sleep(self.chance.choice([1, 10, 25, 45]))
        for machine in down:
            machine.port.is_cut = False

    async def _stop_everything(self):
        await self._command(HELM, Allstop())

    async def _resume_everything(self):
        await self._command(HELM, Resume())
        for run in self.auditor.open_runs():
            await self._command(run, Resume())

    async def _steer_a_run(self):
        run = self.chance.choice(list(self.auditor.states))
        words = [Say(text="hm"), Pause(), Resume(), Resume(), Allstop()]
        await self._command(run, self.chance.choice(words))

    async def _tell_the_board(self):
        state = self.auditor.states[BOARD]
        if state.closed is None:
            now = LoopClock().now()
            await self._command(BOARD, board_rules.some_command(self.chance, BOARD, state, now))

    ACTS = (
        *[_start_worker] * 4,
        *[_start_control_room] * 2,
        *[_kill] * 2,
        _drain,
        *[_cut] * 4,
        _cut_all,
        _stop_everything,
        *[_resume_everything] * 4,
        *[_steer_a_run] * 3,
        *[_tell_the_board] * 6,
    )

    async def _command(self, run, command):
        port = SharedPort(self.disk, "person", Weather(self.chance))
        with suppress(StoreTroubleError, StaleError):
            await send_command(port, LoopClock(), run, command, "nemesis")

    # --- without faults ---

    async def _finish(self):
        self.weather.loss = self.weather.slowest_s = 0.0
        self.repository.calm = True
        for machine in self.machines:
            machine.port.is_cut = False
        await anyio.sleep(TIMES.lease_s + 10)
        while self.machines:  # fewer machines make virtual time pass more quickly
            await self.machines.pop().end()
        await self._start(0)
        await self._start(2)
        for _ in range(CALM_ROUNDS):
            await self._command(HELM, Resume())
            for run in self.auditor.open_runs():
                await self._answer_everything(run)
            await anyio.sleep(400)
            if not self.auditor.open_runs():
                return
        left = {run: self.auditor.states[run] for run in self.auditor.open_runs()}
        rule(not left, "all runs end", left)

    async def _answer_everything(self, run):
        state = self.auditor.states[run]
        await self._command(run, Raise(limits=Limits()))
        if run == BOARD:
            for command in board_rules.finishing(run, state):
                await self._command(run, command)
        await self._command(run, Answer(text="both"))
        for ask in state.asks:
            await self._command(run, Permit(ask=ask, allow=True))
        await self._command(run, Resume())

    def _check_history(self):
        for run in self.disk.runs():
            events = self.disk.events(run)
            pilot = PILOTS[events[0].kind]
            rule(differences(pilot, events) == [], "replay equals the record", run)
            rule(runs.fold(pilot, events) == self.auditor.states[run], "folds are equal", run)
            if run == BOARD:
                board_rules.check_history(run, events, self.auditor.states, self.repository)
        for machine in self.machines:
            rule(not machine.engine._driven_runs, "no run is driven at the end", machine.name)
            rule(not machine.port._held, "no claim is left", machine.name)


def simulate(seed, tell=lambda line: None):
    """Run a seed; returns the hash of all writes."""
    fleet = Fleet(seed, tell)
    return run_seeded(seed, fleet.play)


if __name__ == "__main__":
    for number in map(int, sys.argv[1:]):
        print(number, simulate(number, print if len(sys.argv) == 2 else lambda line: None))
