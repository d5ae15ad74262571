"""Boards whose agents take random times and costs; the real pilot decides what starts."""

import heapq
from datetime import timedelta
from random import Random

from allstop.board.forecast import forecast, history
from allstop.core.brakes import Tally
from allstop.core.commands import AddTasks
from allstop.core.events import ChildClosed, Closed, Commanded, MoveEnded, MoveStarted, Opened
from allstop.core.ids import BOARD, child_of
from allstop.core.moves import (
    ChecksDone,
    Outcome,
    RunChecks,
    TakeTurn,
    TurnDone,
    Usage,
    without_prompt_text,
)
from allstop.core.prompt import prompt
from allstop.core.tasks import NewTask
from allstop.ports import Entry
from support.pilot_steps import BoardSteps
from support.strategies import NOW

TAGS = ("api", "docs", "ui")
MINUTES = {"fast": 4.0, "slow": 15.0}
"""How long an agent's attempts take: the median."""

FACTOR = {"api": 1.5, "docs": 0.5, "ui": 1.0}
FAILURES = (Outcome.FAILED, Outcome.BLOCKED, Outcome.TIMED_OUT, Outcome.CRASHED)


class SimulatedBoard(BoardSteps):
    """A board with a clock that goes to the next end of an attempt or a merge."""

    def __init__(self, seed, begins_at=NOW, **spec):
        super().__init__(agents=["fast", "slow"], slots=4, errors=0, **spec)
        self.now = begins_at
        self.below = []  # the records of the child runs
        self.chance = Random(seed)
        self.failures = self.chance.uniform(0.05, 0.25)
        self.ending = []  # when each open run ends

    def tasks(self, first, count, needs=0.3, is_later=False):
        """New tasks; some need one or two of the five before."""
        made = []
        for number in range(first, first + count):
            before = range(max(first, number - 5), number)
            picked = self.chance.sample(before, min(len(before), self.chance.randint(1, 2)))
            made.append(
                NewTask(
                    id=f"T{number}",
                    title="x",
                    tags=(self.chance.choice(TAGS),),
                    agent=self.chance.choice(list(MINUTES)),
                    needs=tuple(f"T{n}" for n in picked) if self.chance.random() < needs else (),
                )
            )
        self.plan(*made) if is_later else self._begin(self.add(*made))
        return made

    def command(self, *commands):
        self._begin(self.tell(*commands))

    def plan(self, *tasks):
        """Tasks that nobody starts yet."""
        self._write(Commanded(at=self.now, command=AddTasks(tasks=tasks)))

    def work(self, most=None):
        """Let runs end until nothing is open, or until `most` of them have ended."""
        while self.ending and most != 0:
            _, ref, outcome, tally, self.now = heapq.heappop(self.ending)
            closed = ChildClosed(
                at=self.now, ref=ref, run=f"board/{ref}", outcome=outcome, tally=tally
            )
            self._write(closed)
            self._begin(self.go())
            most = None if most is None else most - 1

    def forecast(self, seed=0, **more):
        state = self.state.pilot
        tasks = state.board.tasks()
        return forecast(
            state.board, tasks, history(tasks), state.spec, self.now, chance=Random(seed), **more
        )

    def under_way(self):
        """What the running attempts have used so far: their share of what they will use."""
        found = {}
        for ends_at, ref, _, tally, _ in self.ending:
            if "merge" not in ref:
                took_s = (self.now - (ends_at - timedelta(seconds=tally.busy_s))).total_seconds()
                share = took_s / tally.busy_s
                cost = int(tally.cost_microusd * share)
                found[f"board/{ref}"] = Tally(input=cost, cost_microusd=cost, busy_s=took_s)
        return found

    def _begin(self, refs):
        for ref in refs:
            self._plan_end(ref)

    def _plan_end(self, ref):
        chance = self.chance
        task = self.task(self.state.pilot.refs[ref])
        if "merge" in ref:
            seconds, outcome, cost, turns = chance.uniform(5, 40), Outcome.DONE, 0, 0
        else:
            median = 60 * MINUTES[task.agent] * FACTOR[task.tags[0]]
            seconds = median * chance.lognormvariate(0, 0.6)
            fails = chance.random() < self.failures
            outcome = chance.choice(FAILURES) if fails else Outcome.DONE
            cost = round(seconds * 900 * chance.lognormvariate(0, 0.3))
            turns = 1 + chance.randrange(5)
        tally = Tally(turns=turns, input=cost, cost_microusd=cost, busy_s=seconds)
        ends_at = self.now + timedelta(seconds=seconds)
        self._record(ref, task, outcome, tally, turns)
        heapq.heappush(self.ending, (ends_at, ref, outcome, tally, ends_at))

    def _record(self, ref, task, outcome, tally, turns):
        """The events of a child run: its turns, and checks in the last tenth of its time."""
        run, kind = child_of(BOARD, ref), "merge" if "merge" in ref else "task"
        at = self.now
        below = [Opened(at=at, kind=kind, spec=self.spec_of(ref), parent=BOARD, ref=ref)]
        turn = TakeTurn(agent=task.agent, prompt=prompt("x"))
        steps = [(turn, 0.9 / turns) for _ in range(turns)]
        steps.append((RunChecks(checks=(), workspace=task.id), 0.1 if turns else 1.0))
        for number, (move, share) in enumerate(steps, start=1):
            done = ChecksDone()
            if isinstance(move, TakeTurn):
                cost = tally.cost_microusd // turns
                done = TurnDone(text="", usage=Usage(input=cost, cost_microusd=cost, model="m"))
            below.append(MoveStarted(at=at, id=number, move=without_prompt_text(move)))
            at += timedelta(seconds=tally.busy_s * share)
            below.append(MoveEnded(at=at, id=number, result=done))
        below.append(Closed(at=at, outcome=outcome))
        self.below += [(run, event) for event in below]

    async def store(self, journal):
        """Write everything that happened so far to a journal; no run may be open."""
        records = [*((BOARD, event) for event in self.events), *self.below]
        entries = [Entry(run, event) for run, event in sorted(records, key=lambda r: r[1].at)]
        for start in range(0, len(entries), 500):
            await journal.append(*entries[start : start + 500])
