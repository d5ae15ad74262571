"""Where the time of tasks went: at the agent, in checks, waiting, or in the rest."""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from msgspec import Struct

from allstop.core.commands import Approve, Redo, Reject
from allstop.core.events import (
    ChildClosed,
    Closed,
    Commanded,
    Event,
    MoveEnded,
    MoveStarted,
    Opened,
    Rested,
    Waited,
)
from allstop.core.ids import BOARD, RunId, child_of, label_of, root_of
from allstop.core.moves import Failed, FailureKind, Outcome, RunChecks, Spawn, TakeTurn, Work


class Part(StrEnum):
    """What a task does or waits for."""

    AGENT = "agent"
    CHECKS = "checks"
    ANSWER = "answer"  # waits for a person who answers, allows or resumes
    REVIEW = "review"  # waits for a person who reviews it
    QUEUE = "queue"  # waits for a provider's limit or in the merge queue
    OTHER = "other"  # opens workspaces, merges


class TimeUse(Struct, frozen=True, gc=False, kw_only=True):
    """Seconds of task time; work in two slots at once counts twice."""

    agent_s: float = 0.0
    checks_s: float = 0.0
    answer_s: float = 0.0  # waited for a person to answer, allow or resume
    review_s: float = 0.0  # waited for a person's review
    queue_s: float = 0.0  # waited for a provider's limit, or in the merge queue
    other_s: float = 0.0  # workspaces were opened, work was merged

    @property
    def total_s(self) -> float:
        work_s = self.agent_s + self.checks_s + self.other_s
        return work_s + self.answer_s + self.review_s + self.queue_s


class Stretch(NamedTuple):
    """One part of a task's time. It ends at the last event that is known of it."""

    task: str
    part: Part
    began_at: datetime
    ended_at: datetime
    seconds: float


class _Run:
    """An attempt or a merge that is read."""

    def __init__(self, at: datetime) -> None:
        self.part: Part | None = None  # None: nothing says what it does
        self.since = self.seen = at
        self.until: datetime | None = None  # it waits no longer than this


class TimeLedger:
    """Finds where the time went in the events of the board and its child runs.

    Each run's events come in order. Time in which nothing drove a run counts for nothing.
    """

    def __init__(self) -> None:
        self.stretches: list[Stretch] = []
        self._runs: dict[RunId, _Run] = {}
        self._merges: set[RunId] = set()
        self._verified: dict[str, tuple[Part, datetime]] = {}  # waits for a review or a merge

    def take(self, run: RunId, event: Event) -> None:
        if run == BOARD:
            self._take_board(event)
        elif root_of(run) == BOARD:
            self._take_child(run, event)

    def under_way(self, now: datetime, in_review: Collection[str]) -> list[Stretch]:
        """The stretches that have not ended; `in_review` are the tasks that wait for a review."""
        found = [
            Stretch(task, part, at, now, _seconds(at, now))
            for task, (part, at) in self._verified.items()
            if task in in_review
        ]
        for run, read in self._runs.items():
            is_waiting = read.part in (Part.ANSWER, Part.QUEUE)
            found += _stretch(run, read, now if is_waiting else read.seen)
        return found

    def _take_board(self, event: Event) -> None:
        match event:
            case MoveStarted(move=Spawn(kind="merge", ref=ref, spec={"task": str(task)}), at=at):
                self._merges.add(child_of(BOARD, ref))
                if task in self._verified:
                    _, since = self._verified.pop(task)
                    self._add(task, Part.QUEUE, since, at)
            case MoveStarted(move=Spawn(spec={"task": str(task)})):
                self._verified.pop(task, None)
            case ChildClosed(run=run, outcome=Outcome.DONE, at=at) if run not in self._merges:
                self._verified[label_of(run)] = Part.REVIEW, at
            case Commanded(command=Approve(task=task) | Redo(task=task) | Reject(task=task)) if (
                task in self._verified
            ):
                part, since = self._verified.pop(task)
                self._add(task, part, since, event.at)
                if isinstance(event.command, Approve):
                    self._verified[task] = Part.QUEUE, event.at
            case _:
                pass

    def _take_child(self, run: RunId, event: Event) -> None:
        if isinstance(event, Opened):
            self._runs[run] = _Run(event.at)
        read = self._runs.get(run)
        if read is None:
            return
        at = event.at
        match event:
            case MoveStarted(move=move):
                self._turn_to(run, read, at, _part_of(move))
            case MoveEnded(result=result, held_s=held_s):
                is_lost = isinstance(result, Failed) and result.kind is FailureKind.INTERRUPTED
                self._end_move(run, read, read.seen if is_lost else at, held_s)
                read.since = at
            case Waited():
                self._turn_to(run, read, at, Part.ANSWER)
            case Rested(until=until):
                self._turn_to(run, read, at, Part.ANSWER if until is None else Part.QUEUE)
                read.until = until
            case Closed():
                self._turn_to(run, read, at, None)
                del self._runs[run]
            case _:
                pass
        read.seen = at

    def _turn_to(self, run: RunId, read: _Run, at: datetime, part: Part | None) -> None:
        self.stretches += _stretch(run, read, at)
        read.part, read.since, read.until = part, at, None

    def _end_move(self, run: RunId, read: _Run, at: datetime, held_s: float) -> None:
        """The time in which a person held the move, or was asked, is not the agent's."""
        held_s = min(held_s, _seconds(read.since, at))
        split = at - timedelta(seconds=held_s)
        self._turn_to(run, read, split, Part.ANSWER)
        self._turn_to(run, read, at, None)

    def _add(self, task: str, part: Part, since: datetime, until: datetime) -> None:
        self.stretches.append(Stretch(task, part, since, until, _seconds(since, until)))


def time_use(stretches: Iterable[Stretch]) -> TimeUse:
    """The sum of some stretches."""
    sums = dict.fromkeys(Part, 0.0)
    for stretch in stretches:
        sums[stretch.part] += stretch.seconds
    return TimeUse(**{f"{part}_s": round(seconds, 1) for part, seconds in sums.items()})


AT_WORK = frozenset({Part.AGENT, Part.CHECKS, Part.OTHER})


def runtime_s(stretches: Iterable[Stretch], since: datetime) -> float:
    """How long anything was at work; what ran at the same time counts once."""
    spans = sorted(
        (max(since, each.began_at), each.ended_at) for each in stretches if each.part in AT_WORK
    )
    total, end = 0.0, since
    for began_at, ended_at in spans:
        total += _seconds(max(began_at, end), ended_at)
        end = max(end, ended_at)
    return total


def _stretch(run: RunId, read: _Run, at: datetime) -> list[Stretch]:
    end = at if read.until is None else min(at, read.until)
    seconds = _seconds(read.since, end)
    if read.part is None or not seconds:
        return []
    return [Stretch(label_of(run), read.part, read.since, end, seconds)]


def _part_of(move: Work) -> Part:
    match move:
        case TakeTurn():
            return Part.AGENT
        case RunChecks():
            return Part.CHECKS
        case _:
            return Part.OTHER


def _seconds(since: datetime, until: datetime) -> float:
    return max(0.0, (until - since).total_seconds())
