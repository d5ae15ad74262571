"""One simulated run of the engine: random commands and faults, then a phase without faults.

python tests/simulation/simulated_run.py 42     runs seed 42 and prints its events
"""

import functools
import sys
from contextlib import suppress
from datetime import timedelta, timezone
from random import Random

import anyio
from msgspec.structs import replace

from allstop.core import run as runs
from allstop.core.brakes import Limits
from allstop.core.budget import NOTHING, Amount
from allstop.core.commands import (
    Abort,
    Allstop,
    Answer,
    Approve,
    Freeze,
    Give,
    Interrupt,
    Pause,
    Permit,
    Raise,
    Resume,
    Retry,
    Say,
    StartSession,
    Thaw,
)
from allstop.core.helm import Hold
from allstop.core.ids import HELM, root_of
from allstop.core.moves import Outcome
from allstop.core.replay import differences
from allstop.core.review_comments import Remark
from allstop.engine.daily_budget import DailyBudget
from allstop.engine.hands import Hands
from allstop.engine.local import HALT_S, LocalEngine
from allstop.engine.send import send_command
from allstop.ports import HeldError, StoreBusyError, StoreFullError
from allstop.testing.virtual_clock import LoopClock
from simulation import board_rules
from simulation.auditor import GRACE_S, Auditor, rule
from simulation.random_agents import (
    STUBBORN_S,
    FreezingLauncher,
    RandomAgent,
    RandomChecks,
    TurnRegistry,
)
from simulation.seeded_scheduler import run_seeded
from simulation.simulated_git import Repository
from simulation.simulated_store import Disk, Faults, Port, ProcessKilledError
from support.random_runs import SCENARIOS, some_day, some_limits, some_session

AGENTS = ("anna", "ben", "cleo")
ROOTS = ("board", "board", "fleet", "task", "room", "auto", "plan", "draft", "start")
"""Kinds that people open; boards open merges."""
PILOTS = {kind: scenario.pilot for kind, scenario in SCENARIOS.items()}
CLOCK = LoopClock()
PAUSES_S = (0.0, 0.0, 0.1, 1.0, 3.0, 7.0, 7.0, 15.0, 30.0, 200.0)
CALM_ROUNDS = 80
DEADLOCK_S = 1e7
REACTION_SHARE = 0.1
REMARK = Remark(id="r1", file="a.py", line=1, text="why?")
NO_STORE = (StoreFullError, StoreBusyError)


class Process:
    """A simulated process with an engine, which can be killed."""

    def __init__(self, history, name):
        chance = history.chance_of(name)
        self._auditor = history.auditor
        self.port = Port(history.disk, history.faults)
        self.launcher = FreezingLauncher()
        slots = chance.choice([None, 1, 2, 4])
        self.hands = TurnRegistry(slots, history.auditor)
        agents = {
            agent: RandomAgent(history.chance_of(f"{name} {agent}"), self.launcher, self.hands)
            for agent in AGENTS
        }
        self.engine = LocalEngine(
            journal=self.port,
            hands=Hands(
                agents,
                checks=RandomChecks(chance, self.launcher),
                workspaces=history.repository,
                launcher=self.launcher,
            ),
            clock=CLOCK,
            pilots=PILOTS,
            launcher=self.launcher,
            name=name,
            slots=slots,
            daily_budget=DailyBudget(self.port, history.day, history.zone),
        )
        self._scope = anyio.CancelScope()
        self._ready = anyio.Event()
        self._gone = anyio.Event()
        self.started_at = 0.0

    async def live(self):
        try:
            with self._scope:
                async with self.engine.serving():
                    self._ready.set()
                    await anyio.sleep_forever()
        except* ProcessKilledError:
            pass
        finally:
            self._gone.set()

    async def start(self, group):
        group.start_soon(self.live)
        await self._ready.wait()
        await self.take_up()
        self.started_at = anyio.current_time()

    async def take_up(self):
        """Drive all open runs that no process drives."""
        heads = await self.port.heads()
        for root in dict.fromkeys(root_of(head.run) for head in heads if not head.closed):
            with suppress(HeldError):
                await self.engine.take(root)

    async def kill(self):
        """Like kill -9: later writes of the process are lost."""
        self.port.dead = True
        await self.end()

    async def until_gone(self, then):
        await self._gone.wait()
        then()

    async def end(self):
        driven = list(self.engine._driven_runs)
        self._scope.cancel()
        await self._gone.wait()
        for run in driven:
            self._auditor.died(run)


class Simulation:
    def __init__(self, seed, tell=lambda line: None):
        self._seed = seed
        self._tell = tell
        self.chance = self.chance_of("nemesis")
        self.auditor = Auditor(PILOTS)
        self.auditor.boards = board_rules
        self.disk = Disk(self._written)
        self.reflexes = self.chance_of("reflexes")
        self.faults = Faults(self.chance_of("faults"))
        self.repository = Repository(self.chance_of("repository"), self.auditor)
        chance = self.chance_of("day")
        self.day = some_day(chance)
        self.zone = timezone(-timedelta(seconds=chance.choice([60, 600, 3600, 36_000])))
        self.auditor.tree_of = self.repository.tree_of
        self.auditor.watch_days(self.day, self.zone)
        self.processes = []
        self._folds = {}
        self.opened = 0
        self.sessions = 0
        self.started = 0
        self.stops_waiting = []  # start times
        self._has_faults = False

    def chance_of(self, name):
        return Random(f"{self._seed} {name}")

    async def play(self):
        with anyio.fail_after(DEADLOCK_S):  # in a deadlock, virtual time jumps to this limit
            return await self._run()

    async def _run(self):
        async with anyio.create_task_group() as group:
            self._group = group
            try:
                await self._run_with_faults()
                await self._finish_all()
                self._check_history()
                for process in self.processes:
                    await process.end()
            finally:
                self.faults.heal()  # so that retried writes end
        return self.disk.trace()

    async def _run_with_faults(self):
        self._has_faults = True
        self.faults.climate_s = self.chance.choice([0.0, 0.0, 0.03, 0.3])
        self.faults.heal()
        await self._start_process()
        for _ in range(self.chance.randint(2, 5)):
            await self._open_run()
        for _ in range(self.chance.randint(20, 80)):
            await anyio.sleep(self.chance.choice(PAUSES_S))
            await self._step()
            self._check_now()
        self._has_faults = False
        self.faults.climate_s = 0.0

    # --- random events ---

    async def _step(self):
        act = self.chance.choice(self.ACTS)
        self._tell(f"{anyio.current_time():10.1f}  {act.__name__.strip('_').replace('_', ' ')}")
        await act(self)

    def _written(self, entries):
        """Sometimes react to a write at once, before the writer gets its confirmation."""
        self.auditor(entries)
        run = entries[0].run
        if self._has_faults and run != HELM and self.reflexes.random() < REACTION_SHARE:
            self._group.start_soon(self._react, run)

    async def _react(self, run):
        chance = self.reflexes
        where = HELM if chance.random() < 0.2 else run
        await anyio.sleep(chance.choice([0.0, 0.0, 0.01, 0.1]))
        await self._command(where, chance.choice([Allstop(), Allstop(), Freeze(), Pause()]))
        await anyio.sleep(chance.choice([0.0, 1.0, 20.0]))
        await self._command(where, Resume())

    async def _start_process(self):
        if len(self.processes) < 2:
            self.started += 1
            process = Process(self, f"engine {self.started}")
            self.processes.append(process)
            await process.start(self._group)

    async def _kill_process(self):
        if self.processes:
            await self.processes.pop(self.chance.randrange(len(self.processes))).kill()

    async def _end_process(self):
        if self.processes:
            await self.processes.pop(self.chance.randrange(len(self.processes))).end()

    async def _open_run(self):
        if not self.processes or self.opened >= 10:
            return
        self.opened += 1
        kind = self.chance.choice(ROOTS)
        name = f"{kind}-{self.opened}"
        spec = SCENARIOS[kind].make(self.chance, name, AGENTS)
        engine = self.chance.choice(self.processes).engine
        with suppress(*NO_STORE):
            await engine.open(name, kind, spec, limits=some_limits(self.chance))
        if kind == "board" and name in self.auditor.states:
            await self._command(name, board_rules.first_tasks(self.chance, name))
        if kind == "room" and name in self.auditor.states:
            await self._start_session(name)

    async def _start_session(self, run):
        self.sessions += 1
        session = some_session(self.chance, self.sessions, AGENTS)
        await self._command(run, Resume())
        await self._command(run, StartSession(session=session, instead=self.chance.random() < 0.1))

    async def _tell_a_room(self):
        known = [r for r in self.auditor.open_runs() if self._kind(r) == "room"]
        if known:
            run = self.chance.choice(known)
            said = self.chance.choice([Say(text="@ben and you?"), Say(text="hm"), Interrupt()])
            await (
                self._start_session(run) if self.chance.random() < 0.5 else self._command(run, said)
            )

    async def _say_something(self):
        run = self._some_run()
        if run is None:
            return
        commands = [Say(text="hm"), Pause(), Resume(), Resume(), Freeze(), Thaw(), Allstop()]
        more = [
            Retry(),
            Answer(text="both"),
            Say(text="", remarks=(REMARK,)),
            Give(commit="by hand"),
        ]
        await self._command(run, self.chance.choice([*commands, *more]))

    async def _tell_a_board(self):
        known = [r for r in self.auditor.open_runs() if self._kind(r) == "board"]
        if known:
            run = self.chance.choice(known)
            state = self.auditor.states[run]
            await self._command(run, board_rules.some_command(self.chance, run, state, CLOCK.now()))

    def _kind(self, run):
        return self.auditor.states[run].opened.kind

    async def _say_to_all(self):
        await self._command(HELM, self.chance.choice([Pause(), Freeze(), Thaw(), Resume()]))

    async def _resume_everything(self):
        await self._command(HELM, Resume())
        for run in self.auditor.open_runs():
            if "/" not in run:
                await self._command(run, Resume())

    async def _abort(self):
        run = self._some_run()
        if run is not None and self.chance.random() < 0.3:
            await self._command(run, Abort())

    async def _raise_limits(self):
        run = self._some_run()
        if run is not None:
            await self._command(run, Raise(limits=higher(self.auditor.states[run].limits)))

    async def _raise_the_day(self):
        limits = self.auditor.day_limits(CLOCK.now())
        await self._command(HELM, Raise(limits=higher(limits)))

    async def _permit(self):
        for run in self.auditor.open_runs():
            for ask in self.auditor.states[run].asks:
                await self._command(run, Permit(ask=ask, allow=self.chance.random() < 0.5))

    async def _allstop(self):
        """Stop everything from a terminal; a living process must write the receipt."""
        if not self.processes:
            await self._command(HELM, Allstop())
            return
        for _ in range(self.chance.choice([1, 1, 2])):
            self._group.start_soon(self._stop_through, self.chance.choice(self.processes))

    async def _stop_through(self, process):
        async with anyio.create_task_group() as group:
            group.start_soon(process.until_gone, group.cancel_scope.cancel)
            asked_at = anyio.current_time()
            self.stops_waiting.append(asked_at)
            try:
                with suppress(*NO_STORE, ProcessKilledError):
                    await process.engine.allstop()
            finally:
                self.stops_waiting.remove(asked_at)
            group.cancel_scope.cancel()

    async def _store_is_full_for_a_while(self):
        self.faults.full = True
        self.faults.reserve = self.chance.choice([0, 1, 2])
        self._group.start_soon(self._heal_later)

    async def _store_is_busy_for_a_while(self):
        self.faults.busy = True
        self._group.start_soon(self._heal_later)

    async def _store_is_slow_for_a_while(self):
        self.faults.slowest_s = self.chance.choice([0.01, 0.4, 0.4])
        self._group.start_soon(self._heal_later)

    async def _heal_later(self):
        await anyio.sleep(self.chance.choice([0.5, 5, 30, 100]))
        self.faults.heal()

    ACTS = (
        *[_say_something] * 9,
        *[_tell_a_board] * 9,
        *[_tell_a_room] * 4,
        *[_say_to_all] * 2,
        *[_resume_everything] * 5,
        *[_permit] * 2,
        *[_start_process] * 4,
        *[_open_run] * 3,
        _abort,
        _raise_limits,
        _raise_the_day,
        _allstop,
        _kill_process,
        _kill_process,
        _end_process,
        _store_is_full_for_a_while,
        _store_is_busy_for_a_while,
        *[_store_is_slow_for_a_while] * 4,
    )

    def _some_run(self):
        known = list(self.auditor.states)
        return self.chance.choice(known) if known else None

    async def _command(self, run, command):
        port = Port(self.disk, self.faults)
        with suppress(*NO_STORE):
            await send_command(port, CLOCK, run, command, "nemesis")

    # --- invariants ---

    def _check_now(self):
        for asked_at in self.stops_waiting:
            late_s = anyio.current_time() - max(asked_at, self.faults.healed_at)
            rule(late_s <= HALT_S + GRACE_S or self.faults.any, "a stop has a receipt in time")
        for process in self.processes:
            engine = process.engine
            for run, driven_run in engine._driven_runs.items():
                self._knows_what_is_written(run, driven_run.drive)
                self._leaves_nothing_undone(run, driven_run, process)
                self._has_reserved_what_is_under_way(run, engine)
                if driven_run.drive.at_work:
                    self._is_cut_in_time(run)
                    self._has_a_parent_in_time(run)
                    self._is_frozen_in_time(run, process)
            for root in engine._claims._held:
                rule(root in self.disk.runs(), "a claimed root exists", root)

    def _knows_what_is_written(self, run, drive):
        state = self._folded(run, drive._seq)
        rule(drive.state == state, "a drive's state equals the fold of its events", run)
        since = max(self.faults.healed_at, self.auditor.written_at(run))
        if anyio.current_time() - since > GRACE_S and not self.faults.any:
            rule(
                drive.state == self.auditor.states[run], "a drive reads others' events in time", run
            )

    def _folded(self, run, seq):
        """Fold a run's first events, continuing from the last fold."""
        events = self.disk.events(run)
        pilot = PILOTS[events[0].kind]
        at, state = self._folds.get(run, (0, None))
        if at == 0 or at > seq:
            at, state = 1, runs.begin(pilot, events[0])
        for event in events[at:seq]:
            state = runs.evolve(pilot, state, event)
        self._folds[run] = (seq, state)
        return state

    def _leaves_nothing_undone(self, run, driven_run, process):
        auditor = self.auditor
        moments = (auditor.written_at(run), auditor.held_at, process.started_at)
        since = max(self.faults.healed_at, *moments)
        is_quiet = anyio.current_time() - since > GRACE_S and not self.faults.any
        if is_quiet and self._kind(run) == "board" and self.auditor.helm.hold is Hold.NONE:
            board_rules.check_at_rest(run, driven_run.drive.state, CLOCK.now())

    def _has_reserved_what_is_under_way(self, run, engine):
        below = [
            driven_run.drive._reservations._reserved
            for other, driven_run in engine._driven_runs.items()
            if other == run or other.startswith(f"{run}/")
        ]
        expected = functools.reduce(Amount.plus, below, NOTHING)
        rule(
            engine.budgets.account(run).reserved == expected,
            "reservations equal the open turns",
            run,
        )

    def _has_a_parent_in_time(self, run):
        parent = self.auditor.states[run].opened.parent
        if parent is not None and self.auditor.states[parent].closed is not None:
            late_s = anyio.current_time() - self.auditor.written_at(parent)
            rule(late_s <= GRACE_S + STUBBORN_S or self.faults.any, "orphans end", run)

    def _is_cut_in_time(self, run):
        late_s = anyio.current_time() - self.auditor.cut_since(run) - GRACE_S - STUBBORN_S
        rule(not self.auditor.is_cut(run) or late_s <= 0, "work ends after a stop", run)

    def _is_frozen_in_time(self, run, process):
        is_over = self.auditor.is_cut(run)  # a cut move needn't be thawed
        if anyio.current_time() - self.auditor.held_since(run) > GRACE_S and not is_over:
            frozen = run in process.launcher.frozen
            rule(
                frozen == self.auditor.is_frozen(run),
                "the launcher's frozen labels match the holds",
                run,
                frozen,
            )

    async def _finish_all(self):
        """Without faults, answer all questions and bring every run to its end."""
        self.faults.heal()
        self.repository.calm = True
        while self.processes:
            await self.processes.pop().end()
        await self._start_process()
        for _ in range(CALM_ROUNDS):
            self.faults.heal()
            await self._command(HELM, Resume())
            await self._command(HELM, Raise(limits=Limits()))
            for run in self.auditor.open_runs():
                await self._answer_everything(run)
            await anyio.sleep(7200)
            self._check_now()
            if not self.auditor.open_runs():
                return
        left = {run: self.auditor.states[run] for run in self.auditor.open_runs()}
        rule(not left, "all runs end", left)

    async def _answer_everything(self, run):
        state = self.auditor.states[run]
        limits = replace(state.limits, turns=None, tokens=None, time_s=None, busy_s=None)
        await self._command(run, Raise(limits=limits))
        if state.opened.kind == "board":
            for command in board_rules.finishing(run, state):
                await self._command(run, command)
        if state.opened.kind == "room":
            await self._command(run, Abort() if state.pilot.session is None else Say(text="go on"))
        if state.opened.kind in ("plan", "start"):
            await self._command(run, Approve(task=run))
        await self._command(run, Answer(text="both"))
        for ask in state.asks:
            await self._command(run, Permit(ask=ask, allow=True))
        await self._command(run, Resume())

    def _check_history(self):
        rule(not self.stops_waiting, "every Allstop has a receipt")
        for run in self.disk.runs():
            events = self.disk.events(run)
            pilot = PILOTS[events[0].kind]
            rule(differences(pilot, events) == [], "replay equals the record", run)
            rule(
                runs.fold(pilot, events) == self.auditor.states[run],
                "folding is deterministic",
                run,
            )
            self._was_delivered(run, events[0].spec)
            if events[0].kind == "board":
                board_rules.check_history(run, events, self.auditor.states, self.repository)
        for process in self.processes:
            engine = process.engine
            rule(not engine._driven_runs and not engine._claims._held, "no claims are left")
            for run in self.disk.runs():
                rule(
                    engine.budgets.account(run).reserved == NOTHING, "no reservations are left", run
                )

    def _was_delivered(self, run, spec):
        done = self.auditor.states[run].closed.outcome is Outcome.DONE
        if spec.get("branch"):
            times = self.repository.brought.count(spec["branch"])
            rule(times >= 1 or not done, "done work is delivered", run)


def higher(limits):
    """Limits that are at least as high, without additional ones."""
    return replace(
        limits,
        turns=limits.turns and limits.turns * 2,
        tokens=limits.tokens and limits.tokens * 2,
        time_s=limits.time_s and limits.time_s * 2,
        busy_s=limits.busy_s and limits.busy_s * 2,
    )


def simulate(seed, tell=lambda line: None):
    """Run a seed; returns the hash of all writes."""
    history = Simulation(seed, tell)
    return run_seeded(seed, history.play)


if __name__ == "__main__":
    for number in map(int, sys.argv[1:]):
        print(number, simulate(number, print if len(sys.argv) == 2 else lambda line: None))
