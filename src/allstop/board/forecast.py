"""Forecast of when tasks end and what they cost, by simulating them from the board's history.

A simulation stands for one way the work could go. It ends when nothing more can run without a
person. Waiting for people and for providers' limits isn't simulated.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol, TypeAlias

from msgspec import Struct

from allstop.board import graph
from allstop.board.graph import Board
from allstop.core.board_specs import BoardSpec, ReviewMode
from allstop.core.brakes import Tally
from allstop.core.commands import Range
from allstop.core.ids import RunId
from allstop.core.moves import Outcome
from allstop.core.tasks import MET, Attempt, Status, Task

LEAST_ATTEMPTS = 10
"""How many finished attempts a forecast needs."""

MOST_TASKS = 2000
LATEST = 300
"""How many of the latest attempts are drawn from."""

BORROWED = 5
"""A group with this many attempts of its own draws every second one from the wider group."""

SIMULATIONS, FEWEST_SIMULATIONS = 200, 40
SIMULATED_ATTEMPTS = 40_000
"""With many tasks there are fewer simulations, so that a page need not wait."""

SPREAD = 0.25
"""An attempt to come is like an earlier one, times a random factor of about this size."""

FACTORS = 512
CHOSEN = 0.5
"""The share of the history that each simulation draws from: little history makes wide ranges."""

MOST_TRIES = 5
"""How often an agent may die at one task within a simulation."""

AGAIN = frozenset({Outcome.CRASHED, Outcome.CONFLICT})
"""After such an attempt the board starts the task again."""

UNTYPICAL = frozenset({None, Outcome.ABORTED})


class Chance(Protocol):
    """Random numbers, as `random.Random` gives them."""

    def random(self) -> float: ...
    def choices(self, population: Sequence[Sample], *, k: int) -> list[Sample]: ...
    def lognormvariate(self, mu: float, sigma: float) -> float: ...


class CoursePoint(Struct, frozen=True, kw_only=True):
    """When so many tasks have finished."""

    finished: int
    seconds: Range


class Forecast(Struct, frozen=True, kw_only=True, tag_field="forecast", tag="made"):
    """What a set of tasks takes from a moment on. Costs are those from that moment on."""

    made_at: datetime
    tasks: int  # that can run without a person
    left_out: int  # that can't: they need a task that failed, or a review
    slots: int
    attempts: int  # of the history
    seconds: Range  # until nothing more can run without a person
    finished: Range  # tasks: verified, failed, timed out or blocked
    completed: Range  # of these: verified
    cost_usd: Range | None  # None: no agent reports its cost
    cost_partial: bool = False  # some costs of the history are unknown: it may be more
    tokens: Range | None
    course: tuple[CoursePoint, ...] = ()  # as far as 9 of 10 simulations get


class NoForecast(Struct, frozen=True, kw_only=True, tag_field="forecast", tag="none"):
    """Why there is no forecast."""

    made_at: datetime
    code: str  # too_little_history, nothing_to_do, too_many_tasks
    reason: str
    attempts: int = 0  # of the history
    attempts_needed: int = LEAST_ATTEMPTS


class Sample(NamedTuple):
    """One attempt of the history."""

    agent: str
    tags: tuple[str, ...]
    seconds: float
    cost_microusd: int
    tokens: int
    outcome: Outcome
    partial: bool


class History(NamedTuple):
    attempts: tuple[Sample, ...]
    merges_s: tuple[float, ...]


def history(tasks: Iterable[Task]) -> History:
    """The latest attempts of some tasks that ended by themselves, and the times of merges."""
    worked = [task for task in tasks if task.attempts]
    ended = (
        (attempt.ended_at, attempt, task)
        for task in worked
        for attempt in task.attempts
        if attempt.ended_at is not None and attempt.outcome not in UNTYPICAL
    )
    latest = heapq.nlargest(LATEST, ended, key=lambda each: each[0])
    merges_s = tuple(task.merge_s for task in worked if task.merged)
    return History(tuple(_sample(attempt, task) for _, attempt, task in latest), merges_s)


def _sample(attempt: Attempt, task: Task) -> Sample:
    assert attempt.outcome is not None, "it has ended"
    return Sample(
        agent=attempt.agent,
        tags=task.tags,
        seconds=attempt.tally.busy_s,
        cost_microusd=attempt.tally.cost_microusd,
        tokens=attempt.tally.tokens,
        outcome=attempt.outcome,
        partial=attempt.tally.partial,
    )


class Target(NamedTuple):
    """When no further task is started; None: when no task is ready."""

    tasks: int | None = None  # that have finished
    until: datetime | None = None


EVERYTHING = Target()


def forecast(
    board: Board,
    tasks: Iterable[Task],
    past: History,
    spec: BoardSpec,
    now: datetime,
    *,
    target: Target = EVERYTHING,
    under_way: Mapping[RunId, Tally] | None = None,
    chance: Chance,
) -> Forecast | NoForecast:
    """Forecast some tasks of a board; tasks that are over already don't matter.

    `under_way` is the usage of running attempts. The same numbers of `chance` give the same
    forecast.
    """
    attempts, open_ = len(past.attempts), list(filter(is_open, tasks))
    if attempts < LEAST_ATTEMPTS:
        return _none(now, "too_little_history", _too_little(attempts), attempts)
    if len(open_) > MOST_TASKS:
        most = f"A forecast covers at most {MOST_TASKS:,} tasks; these are {len(open_):,}."
        return _none(now, "too_many_tasks", most, attempts)
    jobs = _jobs(board, open_, spec, under_way or {})
    could_run = sum(not job.is_blocked for job in jobs)
    if not could_run:
        return _none(now, "nothing_to_do", "No task can run without a person.", attempts)
    setting = _setting(jobs, past, spec, target, now, chance)
    rounds = max(FEWEST_SIMULATIONS, min(SIMULATIONS, SIMULATED_ATTEMPTS // could_run))
    results = [_Simulation(setting, chance).run() for _ in range(rounds)]
    known = [sample for sample in past.attempts if sample.cost_microusd or not sample.partial]
    counted = [sample for sample in past.attempts if sample.tokens or not sample.partial]
    return Forecast(
        made_at=now,
        tasks=could_run,
        left_out=len(jobs) - could_run,
        slots=spec.slots,
        attempts=attempts,
        seconds=_range([max(each.finished_s, default=0.0) for each in results]),
        finished=_whole(_range([len(each.finished_s) for each in results])),
        completed=_whole(_range([each.completed for each in results])),
        cost_usd=_range([each.cost_microusd / 1e6 for each in results]) if known else None,
        cost_partial=any(sample.partial for sample in past.attempts),
        tokens=_range([each.tokens for each in results]) if counted else None,
        course=_course([each.finished_s for each in results]),
    )


def _none(now: datetime, code: str, reason: str, attempts: int) -> NoForecast:
    return NoForecast(made_at=now, code=code, reason=reason, attempts=attempts)


def _too_little(attempts: int) -> str:
    are = "is" if attempts == 1 else "are"
    return f"A forecast needs {LEAST_ATTEMPTS} finished attempts on this board; there {are} {attempts}."


# --- the tasks ---


class _Job(NamedTuple):
    """A task of the simulation."""

    pool: _Pool
    needs: tuple[int, ...]  # the jobs it waits for
    releases: bool  # whether tasks that need it can run before a person reviewed it
    spent: Tally | None = None  # of its running attempt
    is_verified: bool = False  # only its merge is left
    is_blocked: bool = False


def _jobs(
    board: Board, tasks: Iterable[Task], spec: BoardSpec, under_way: Mapping[RunId, Tally]
) -> list[_Job]:
    """Open tasks, best first; those that can't run without a person are marked."""
    open_ = sorted(tasks, key=lambda task: _rank(board, task))
    number = {task.id: index for index, task in enumerate(open_)}
    jobs = []
    for task in open_:
        unmet = [need for need in task.needs if board[need].status not in MET]
        agents = spec.agents_for(task.agent)
        spent = None
        if task.status is not Status.PENDING and task.attempts:
            spent = under_way.get(task.attempts[-1].run, Tally())
        jobs.append(
            _Job(
                pool=(agents[0] if agents else "", task.tags),
                needs=tuple(number[need] for need in unmet if need in number),
                releases=spec.review_of(task.tags) in (ReviewMode.SKIP, ReviewMode.AUTO),
                spent=spent,
                is_verified=task.status is Status.MERGING,
                is_blocked=task.held or any(need not in number for need in unmet),
            )
        )
    return _with_blocked(jobs)


def is_open(task: Task) -> bool:
    """Whether a forecast covers it: it may start, or has not ended."""
    return task.status in (Status.PENDING, Status.ACTIVE, Status.MERGING) or task.asks


def _rank(board: Board, task: Task) -> tuple[bool, int, int, int, int]:
    """Tasks with a low rank start first."""
    score = graph.score(board, task).total
    return not task.assigned, -task.pin, -score, -task.priority, task.number


def _with_blocked(jobs: list[_Job]) -> list[_Job]:
    """Mark also the jobs that need a blocked one, or one that only a person releases."""
    dependents = _dependents(jobs)
    closed = [
        index
        for index, job in enumerate(jobs)
        if job.is_blocked or not (job.releases or job.is_verified)
    ]
    blocked = {index for index, job in enumerate(jobs) if job.is_blocked}
    while closed:
        found = [each for each in dependents[closed.pop()] if each not in blocked]
        blocked.update(found)
        closed += found
    return [job._replace(is_blocked=index in blocked) for index, job in enumerate(jobs)]


def _dependents(jobs: Sequence[_Job]) -> list[list[int]]:
    found: list[list[int]] = [[] for _ in jobs]
    for index, job in enumerate(jobs):
        for need in job.needs:
            found[need].append(index)
    return found


# --- a simulation ---


class _Result(NamedTuple):
    finished_s: list[float]  # in order of time
    completed: int
    cost_microusd: float
    tokens: float


class _Draw(NamedTuple):
    """An attempt as a simulation imagines it."""

    seconds: float
    cost_microusd: float
    tokens: float
    outcome: Outcome


class _Setting(NamedTuple):
    """Everything that the simulations have in common."""

    jobs: Sequence[_Job]
    dependents: Sequence[Sequence[int]]
    pools: Mapping[_Pool, _Group | None]  # with the narrowest group of each
    attempts: Sequence[Sample]
    factors: Sequence[float]
    merges_s: Sequence[float]
    slots: int
    most_finished: int  # no job starts if this many have finished or are running
    until_s: float  # no job starts after this


def _setting(
    jobs: Sequence[_Job],
    past: History,
    spec: BoardSpec,
    target: Target,
    now: datetime,
    chance: Chance,
) -> _Setting:
    until_s = float("inf") if target.until is None else (target.until - now).total_seconds()
    return _Setting(
        jobs=jobs,
        dependents=_dependents(jobs),
        pools=_pools(jobs, past),
        attempts=past.attempts,
        factors=[chance.lognormvariate(0, SPREAD) for _ in range(FACTORS)],
        merges_s=past.merges_s if spec.merge else (),
        slots=spec.slots,
        most_finished=len(jobs) if target.tasks is None else target.tasks,
        until_s=until_s,
    )


class _Simulation:
    def __init__(self, setting: _Setting, chance: Chance) -> None:
        jobs = setting.jobs
        self._setting, self._chance = setting, chance
        self._decks = _decks(setting, chance)
        self._factors = setting.factors
        self._unmet = [len(job.needs) for job in jobs]
        self._ready = [
            index
            for index, job in enumerate(jobs)
            if not (job.needs or job.is_blocked or job.is_verified or job.spent is not None)
        ]
        self._running: list[tuple[float, int, Outcome | None]] = []  # None: its merge
        self._free = setting.slots
        self._tries: dict[int, int] = {}
        self._merge_free_s = 0.0
        self._finished: list[float] = []
        self._completed = 0
        self._cost = self._tokens = 0.0

    def run(self) -> _Result:
        for index, job in enumerate(self._setting.jobs):
            if job.is_verified:
                self._merge(0.0, index)
            elif job.spent is not None:
                self._go_on(index, job.spent)
        self._start(0.0)
        while self._running:
            now_s, index, outcome = heapq.heappop(self._running)
            if outcome is None:
                self._release(index)
            else:
                self._free += 1
                self._end(now_s, index, outcome)
            self._start(now_s)
        return _Result(self._finished, self._completed, self._cost, self._tokens)

    def _start(self, now_s: float) -> None:
        setting = self._setting
        while self._ready and self._free > 0 and now_s < setting.until_s:
            if len(self._finished) + setting.slots - self._free >= setting.most_finished:
                return
            index = heapq.heappop(self._ready)
            sample = self._draw(index)
            self._spend(sample.cost_microusd, sample.tokens)
            self._occupy(now_s + sample.seconds, index, sample.outcome)

    def _go_on(self, index: int, spent: Tally) -> None:
        """A running attempt: what is left of one that took at least as long as it did so far."""
        sample = self._draw(index)
        for _ in range(20):
            if sample.seconds > spent.busy_s:
                break
            sample = self._draw(index)
        left_s = sample.seconds - spent.busy_s
        if left_s <= 0:  # longer than any before
            left_s = spent.busy_s * self._chance.random()
        self._spend(
            max(0, sample.cost_microusd - spent.cost_microusd),
            max(0, sample.tokens - spent.tokens),
        )
        self._occupy(left_s, index, sample.outcome)

    def _draw(self, index: int) -> _Draw:
        chance = self._chance
        *narrower, (_, samples) = self._decks[self._setting.jobs[index].pool]
        for share, group in narrower:
            if chance.random() < share:
                samples = group
                break
        sample = samples[int(chance.random() * len(samples))]
        factor = self._factors[int(chance.random() * len(self._factors))]
        return _Draw(
            sample.seconds * factor,
            sample.cost_microusd * factor,
            sample.tokens * factor,
            sample.outcome,
        )

    def _spend(self, cost_microusd: float, tokens: float) -> None:
        self._cost += cost_microusd
        self._tokens += tokens

    def _occupy(self, ends_s: float, index: int, outcome: Outcome) -> None:
        self._free -= 1
        heapq.heappush(self._running, (ends_s, index, outcome))

    def _end(self, now_s: float, index: int, outcome: Outcome) -> None:
        if outcome in AGAIN:
            self._tries[index] = self._tries.get(index, 0) + 1
            if self._tries[index] < MOST_TRIES:
                heapq.heappush(self._ready, index)
            return
        self._finished.append(now_s)
        if outcome is Outcome.DONE:
            self._completed += 1
            if self._setting.jobs[index].releases:
                self._merge(now_s, index)

    def _merge(self, now_s: float, index: int) -> None:
        """One merge at a time; tasks that need this one can start after it."""
        times = self._setting.merges_s
        took_s = times[int(self._chance.random() * len(times))] if times else 0.0
        self._merge_free_s = max(self._merge_free_s, now_s) + took_s
        heapq.heappush(self._running, (self._merge_free_s, index, None))

    def _release(self, index: int) -> None:
        for other in self._setting.dependents[index]:
            self._unmet[other] -= 1
            job = self._setting.jobs[other]
            if not self._unmet[other] and not job.is_blocked and job.spent is None:
                heapq.heappush(self._ready, other)


# --- what is drawn from ---


_Pool: TypeAlias = tuple[str, tuple[str, ...]]
"""An agent and tags: such tasks draw from the same attempts."""

_Group: TypeAlias = tuple[str, ...]
"""An agent and a tag, an agent, or nothing for all attempts."""

_Deck: TypeAlias = list[tuple[float, list[Sample]]]
"""Groups of attempts, the narrowest first, each with the share that is drawn from it."""


def _pools(jobs: Iterable[_Job], past: History) -> dict[_Pool, _Group | None]:
    """The rarest tag of each pool that its agent has attempts with, and the agent."""
    counts = Counter((sample.agent, tag) for sample in past.attempts for tag in sample.tags)
    found: dict[_Pool, _Group | None] = {}
    for agent, tags in {job.pool for job in jobs}:
        tagged = [(agent, tag) for tag in tags if counts[agent, tag]]
        found[agent, tags] = min(tagged, key=counts.__getitem__, default=None)
    return found


def _decks(setting: _Setting, chance: Chance) -> dict[_Pool, _Deck]:
    """Each simulation has its own random choice of the history."""
    every = chance.choices(setting.attempts, k=math.ceil(CHOSEN * len(setting.attempts)))
    groups: dict[_Group, list[Sample]] = {}
    for sample in every:
        groups.setdefault((sample.agent,), []).append(sample)
        for tag in sample.tags:
            groups.setdefault((sample.agent, tag), []).append(sample)
    decks: dict[_Pool, _Deck] = {}
    for pool, narrowest in setting.pools.items():
        chosen = [groups.get(group, []) for group in (narrowest, (pool[0],)) if group]
        shares = [(len(group) / (len(group) + BORROWED), group) for group in chosen]
        decks[pool] = [*shares, (1.0, every)]
    return decks


# --- ranges ---


def _range(values: Sequence[float]) -> Range:
    ordered = sorted(values)
    p10, p50, p90 = (_quantile(ordered, share) for share in (0.1, 0.5, 0.9))
    return Range(p10=p10, p50=p50, p90=p90)


def _whole(values: Range) -> Range:
    """Counts between the two ends are inside the range."""
    return Range(p10=math.floor(values.p10), p50=round(values.p50), p90=math.ceil(values.p90))


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return round(ordered[low] + (ordered[high] - ordered[low]) * (place - low), 6)


MOST_POINTS = 40


def _course(courses: Sequence[Sequence[float]]) -> tuple[CoursePoint, ...]:
    reached = sorted(len(course) for course in courses)[len(courses) // 10]
    step = max(1, -(-reached // MOST_POINTS))
    numbers = [*range(step, reached, step), reached] if reached else []
    return tuple(
        CoursePoint(
            finished=number,
            seconds=_range([course[number - 1] for course in courses if number <= len(course)]),
        )
        for number in numbers
    )
