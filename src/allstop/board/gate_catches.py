"""What the gate caught in the work of tasks, by verdict and kind."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct

from allstop.board.statistics import Period
from allstop.core.events import Event, MoveEnded
from allstop.core.gate import Verdict, finding_name
from allstop.core.ids import BOARD, RunId, label_of, root_of
from allstop.core.moves import ChecksDone, Finding

FAILED_CHECK = "failed_check"
"""The kind of a required check that failed; the others are kinds of findings."""


class Caught(Struct, frozen=True, gc=False, kw_only=True):
    verdict: Verdict
    kind: str
    name: str  # of the kind, for people
    count: int  # each place in the work of a task counts once
    tasks: int  # in whose work it was found


class GateCatches(Struct, frozen=True, gc=False, kw_only=True):
    runs: int = 0
    failed: int = 0  # of these runs
    caught: tuple[Caught, ...] = ()  # the worst verdict first, then the most frequent kind


class _Catch(NamedTuple):
    task: str
    at: datetime
    verdict: Verdict
    kind: str
    place: tuple[str, ...]


class _GateRun(NamedTuple):
    task: str
    at: datetime
    passed: bool


class CatchLedger:
    """Collects what the gate found in the events of a board's child runs."""

    def __init__(self) -> None:
        self._runs: list[_GateRun] = []
        self._catches: dict[_Catch, None] = {}

    def take(self, run: RunId, event: Event) -> None:
        if run == BOARD or root_of(run) != BOARD:
            return
        match event:
            case MoveEnded(result=ChecksDone() as gate, at=at):
                task = label_of(run)
                self._runs.append(_GateRun(task, at, gate.passed))
                self._catches.update(dict.fromkeys(_catches(task, at, gate)))
            case _:
                pass

    def catches(self, period: Period, tasks: Collection[str]) -> GateCatches:
        """Those of some tasks in a period."""
        runs = [each for each in self._runs if each.task in tasks and period.holds(each.at)]
        places: defaultdict[tuple[Verdict, str], set[tuple[str, ...]]] = defaultdict(set)
        by_task: defaultdict[tuple[Verdict, str], Counter[str]] = defaultdict(Counter)
        for each in self._catches:
            if each.task in tasks and period.holds(each.at):
                places[each.verdict, each.kind].add((each.task, *each.place))
                by_task[each.verdict, each.kind][each.task] += 1
        found = [
            Caught(
                verdict=verdict,
                kind=kind,
                name=finding_name(kind),
                count=len(where),
                tasks=len(by_task[verdict, kind]),
            )
            for (verdict, kind), where in places.items()
        ]
        return GateCatches(
            runs=len(runs),
            failed=sum(not each.passed for each in runs),
            caught=tuple(sorted(found, key=_rank)),
        )


def _catches(task: str, at: datetime, gate: ChecksDone) -> Iterator[_Catch]:
    for check in gate.failed:
        yield _Catch(task, at, Verdict.FAIL, FAILED_CHECK, (check.name,))
    for each in gate.findings:
        place = (each.path, each.test, each.text)
        yield _Catch(task, at, _verdict(each), each.kind, place)


def _verdict(finding: Finding) -> Verdict:
    """Old records have none."""
    if finding.verdict is not None:
        return finding.verdict
    return Verdict.FAIL if finding.fatal else Verdict.ASK


def _rank(caught: Caught) -> tuple[int, int, str]:
    return tuple(Verdict).index(caught.verdict), -caught.count, caught.kind
